// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What stands before the attention of decode rows: norms and rotation of Q and K, and the store of
// K and V. Where these nodes follow one another and nothing else reads what they pass on, they wait
// and attention's launch does their work, with their bits; where that launch turns out not to take
// it, they are launched as they are.
#include <algorithm>
#include <functional>

#include "backend/cuda/cuda_backend.h"

namespace minfer {
namespace {

bool Follows(const Graph& graph, const Node& node, size_t input, const Node& producer) {
  const ValueId value = producer.outputs[0];
  if (node.inputs[input] != value || graph.value(value).is_output) return false;
  int64_t reads = 0;
  for (const Node& other : graph.nodes) {
    reads += std::count(other.inputs.begin(), other.inputs.end(), value);
  }
  return reads == 1;
}

bool IsHeadNorm(const Node& norm, int32_t n_heads, int32_t head_dim) {
  return norm.attributes.n_heads == n_heads && norm.attributes.head_dim == head_dim;
}

// Whether two ranges of floats have one in common.
bool Overlap(const float* a, int64_t a_count, const float* b, int64_t b_count) {
  return std::less<>()(a, b + b_count) && std::less<>()(b, a + a_count);
}

}  // namespace

// Whether the node that runs begins a chain up to attention: norms of Q and K or neither, rotation
// of Q, rotation and store of K, with nothing else that reads between them.
bool CudaBackend::LeadsToAttention(const Graph& graph) const {
  NodeId at = split_.next;
  const auto next = [&](OpKind op) -> const Node* {
    if (at >= split_.key.end) return nullptr;
    const Node& node = graph.nodes[static_cast<size_t>(at)];
    if (node.op != op) return nullptr;
    ++at;
    return &node;
  };
  const Node* q_norm = next(OpKind::kRmsNorm);
  const Node* k_norm = q_norm != nullptr ? next(OpKind::kRmsNorm) : nullptr;
  const Node* rope = next(OpKind::kRope);
  const Node* store = rope != nullptr ? next(OpKind::kRopeKvStore) : nullptr;
  const Node* attention = store != nullptr ? next(OpKind::kAttention) : nullptr;
  if (attention == nullptr || (q_norm != nullptr) != (k_norm != nullptr)) return false;
  const OpAttributes& a = attention->attributes;
  if (!kernels::cuda::HasAttentionDecode(KvFormat::kF16, KvFormat::kF16, a.head_dim,
                                         a.head_dim_v)) {
    return false;
  }
  const OpAttributes& q = rope->attributes;
  const OpAttributes& k = store->attributes;
  if (q_norm != nullptr &&
      !(IsHeadNorm(*q_norm, a.n_heads, a.head_dim) &&
        IsHeadNorm(*k_norm, a.n_kv_heads, a.head_dim) && Follows(graph, *rope, 0, *q_norm) &&
        Follows(graph, *store, 0, *k_norm))) {
    return false;
  }
  return q.n_heads == a.n_heads && q.head_dim == a.head_dim && k.n_kv_heads == a.n_kv_heads &&
         k.head_dim == a.head_dim && k.head_dim_v == a.head_dim_v && k.layer == a.layer &&
         store->inputs[2] == rope->inputs[1] && q.rope_dim == k.rope_dim &&
         q.rope_style == k.rope_style && Follows(graph, *attention, 0, *rope) &&
         Follows(graph, *attention, 1, *store);
}

// Whether a norm over heads, or a rotation of Q, waits for attention. The first of a chain decides
// for all.
HeldTail* CudaBackend::HoldsForAttention(const NodeCall& call) {
  if (held_.tail) return &*held_.tail;
  if (direct_ || !options_.fuse_tail || !options_.fuse_rope || !options_.fa_decode ||
      options_.reference || !tier().async_copy) {
    return nullptr;
  }
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  if (shape.rows != call.graph->params.decode_rows || !LeadsToAttention(*call.graph)) {
    return nullptr;
  }
  return &held_.tail.emplace();
}

// Whether attention's launch does what waits: the layout of the store suits it, and it does not
// write over what it still reads.
bool CudaBackend::TakesTail(const NodeCall& call, const HeldTail& tail,
                            const kernels::cuda::AttentionArgs& attention) const {
  if (!UsesAttentionDecode(attention) || attention.rows != call.graph->params.decode_rows) {
    return false;
  }
  const kernels::cuda::KvStoreArgs& store = tail.store;
  const float* q = tail.n_norms > 0 ? tail.norms[0].x : store.rope.x;
  const float* k = tail.n_norms > 0 ? tail.norms[1].x : store.k;
  const auto aligned = [](const float* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  bool fits = aligned(q) && aligned(k) && aligned(store.v);
  for (int i = 0; i < tail.n_norms; ++i) fits = fits && aligned(tail.norms[i].weight);
  if (!fits || attention.out == nullptr) return fits;
  const int64_t q_count = attention.rows * attention.n_heads * attention.k.dim;
  const int64_t kv_count = attention.rows * attention.n_kv_heads * attention.k.dim;
  // The output may be Q itself: a block writes the heads that it alone has read.
  return (attention.out == q || !Overlap(attention.out, q_count, q, q_count)) &&
         !Overlap(attention.out, q_count, k, kv_count) &&
         !Overlap(attention.out, q_count, store.v, kv_count);
}

// What waits, as attention's launch takes it.
kernels::cuda::DecodeTail CudaBackend::TakeTail(HeldTail held,
                                                kernels::cuda::AttentionArgs* attention) {
  held_.tail.reset();
  const kernels::cuda::KvStoreArgs& store = held.store;
  kernels::cuda::DecodeTail tail;
  attention->q = store.rope.x;
  tail.k = store.k;
  tail.v = store.v;
  tail.cells = store.cells;
  tail.cos_sin = store.cos_sin;
  tail.rope_dim = store.rope_dim;
  tail.neox = store.neox;
  if (held.n_norms > 0) {
    attention->q = held.norms[0].x;
    tail.k = held.norms[1].x;
    tail.q_norm = held.norms[0].weight;
    tail.k_norm = held.norms[1].weight;
    tail.q_eps = held.norms[0].eps;
    tail.k_eps = held.norms[1].eps;
  }
  return tail;
}

// What waits, launched before attention.
Status CudaBackend::FlushTail(const NodeCall& call, HeldTail held) {
  held_.tail.reset();
  for (int i = 0; i < held.n_norms; ++i) {
    const HeadNorm& norm = held.norms[i];
    MF_RETURN_IF_ERROR(
        FromKernel(call, kernels::cuda::RmsNorm(norm.x, norm.weight, norm.out, norm.heads, norm.dim,
                                                norm.eps, queue())));
  }
  return held.stores ? FromKernel(call, kernels::cuda::KvStore(held.store, queue())) : OkStatus();
}

}  // namespace minfer
