// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Matrix products of more rows than MMVQ takes; the ladder is in product_choice.h.
#include <algorithm>

#include "backend/cuda/cuda_backend.h"
#include "base/str_cat.h"
#include "kernels/cuda/half_gemm/half_gemm.h"
#include "kernels/cuda/hopper_gemm/hopper_gemm.h"
#include "kernels/cuda/mmq/mmq.h"
#include "kernels/cuda/tensor_gemm/tensor_gemm.h"

namespace minfer {
namespace {

using kernels::cuda::HalfGemmGate;
using kernels::cuda::MmvqGate;

// Scratch for decoded weights: half of gate and up of a 7B.
constexpr int64_t kDecodedBytes = int64_t{144} << 20;
// A part of a matrix that does not fit is a multiple of this many rows.
constexpr int64_t kPartRows = 256;

uint64_t Align256(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

bool IsHalf(ElementType type) { return type == ElementType::kF16 || type == ElementType::kBF16; }

// Rows of weights, halves each, that scratch holds at once.
int64_t DecodedRows(int64_t k, int64_t columns) {
  const int64_t fitting = std::max(kPartRows, kDecodedBytes / (2 * k) / kPartRows * kPartRows);
  return std::min(columns, fitting);
}

// The part of those that is decoded at once: whole waves of the product's tiles of 128 rows by 256
// columns, so that a part leaves no more multiprocessors idle than the whole would.
int64_t PartRows(int64_t m, int64_t k, int64_t columns, int64_t processors) {
  const int64_t fitting = DecodedRows(k, columns);
  const int64_t wave = std::max<int64_t>(1, processors / ((m + 127) / 128)) * kPartRows;
  return fitting == columns || fitting < wave ? fitting : fitting / wave * wave;
}

struct HalfScratch {
  uint64_t decoded = 0;  // where each begins; the activations stand at 0
  uint64_t partials = 0;
  uint64_t partial_bytes = 0;
  uint64_t end = 0;
};

// columns: of the product, each matrix' rounded up to eight.
HalfScratch LayOut(int64_t m, int64_t k, int64_t columns) {
  HalfScratch at;
  at.decoded = Align256(static_cast<uint64_t>(2 * m * k));
  at.partials = at.decoded + Align256(static_cast<uint64_t>(2 * k * DecodedRows(k, columns)));
  at.partial_bytes = kernels::cuda::HalfGemmPartialBytes(m, columns);
  at.end = at.partials + Align256(at.partial_bytes);
  return at;
}

}  // namespace

// How MMQ's bytes come to shared memory.
bool CudaBackend::StagesRaw() const { return options_.mmq_raw && tier().async_copy; }

bool CudaBackend::UsesWgmma() const {
  return options_.wgmma && tier().hopper && kernels::cuda::HasHopperGemm();
}

// Of all ways that as many rows or fewer can go, so that the scratch of the largest graph covers
// every other.
uint64_t CudaBackend::ManyRowsScratch(const Graph& graph, const Node& node, bool residual) const {
  const int64_t m = graph.value(node.inputs[0]).shape.rows;
  const int64_t k = graph.value(node.inputs[0]).shape.cols;
  if (TakesFewRows(options_, m)) return 0;
  const int64_t copies = node.op == OpKind::kGatedMatMul ? 2 : 1;
  const int64_t few = std::min(m, kTurnRows);
  int64_t columns = 0;
  uint64_t integer =
      Align256(static_cast<uint64_t>(kernels::cuda::MmqActivationBytes(few, k, residual)));
  for (const ValueId output : node.outputs) {
    const int64_t n = graph.value(output).shape.cols;
    columns += copies * RoundUp(n, 8);
    integer += static_cast<uint64_t>(copies) * kernels::cuda::MmqPartialBytes(few, n, k);
  }
  const uint64_t halves = Align256(static_cast<uint64_t>(2 * m * k));
  const bool decodes = !options_.reference && options_.prefill_gemm && m > kSmallRows;
  return std::max(Align256(integer), decodes ? LayOut(m, k, columns).end : halves);
}

// Whether MMQ reads copies with less to unpack.
bool CudaBackend::HasMmqCopies(absl::Span<const Product> products) const {
  return StagesRaw() && std::all_of(products.begin(), products.end(), [](const Product& product) {
           return product.copies.mmq != nullptr;
         });
}

// Whether the products' halves were kept at load, as RunHalves wants them: side by side, or gate
// and up interleaved.
bool CudaBackend::HasHalves(absl::Span<const Product> products, bool gated) {
  const uint8_t* next = products[0].copies.halves;
  for (const Product& product : products) {
    if (product.copies.halves == nullptr || product.copies.interleaved != gated) return false;
    if (!gated && product.copies.halves != next) return false;
    next += RoundUp(product.info->ne1, 8) * product.info->ne0 * 2;
  }
  return true;
}

void CudaBackend::ReportManyRows(const NodeCall& call, const WeightInfo& info, int64_t m,
                                 ProductKernel kernel, bool residual, bool copy) {
  constexpr const char* kNames[] = {"mmvq",
                                    "mmq int8 mma",
                                    "halves in scratch",
                                    "f16 tensor cores, decoded on the way",
                                    "f32 tiles, decoded on the way",
                                    "f16 tensor cores, few rows"};
  const char* type = FindElementTraits(info.type)->name;
  const bool integer = kernel == ProductKernel::kInteger;
  const bool halves = kernel == ProductKernel::kHalves;
  const bool few = m <= kTurnRows;
  KernelReport row;
  row.detail = StrCat(type, " k=", info.ne0,
                      few                 ? ", 9 to 64 rows"
                      : m <= kTwoTurnRows ? ", 65 to 128 rows"
                                          : ", 129 rows and more");
  row.kernel = halves ? StrCat(copy ? "halves kept at load" : kNames[static_cast<size_t>(kernel)],
                               UsesWgmma() ? ", wgmma where faster" : ", mma")
                      : StrCat(kNames[static_cast<size_t>(kernel)],
                               integer && residual ? ", residual activations" : "",
                               integer && !StagesRaw() ? ", staged by registers" : "",
                               integer && copy ? ", from a copy" : "");
  row.reason = options_.reference       ? "tuning reference=1"
               : options_.deterministic ? "deterministic"
               : integer && copy
                   ? (info.type == ElementType::kQ6_K ? "tuning q6k_exp=1" : "tuning q4k_dsc=1")
               : integer && !options_.mmq_raw    ? "tuning mmq_raw=0"
               : integer && !StagesRaw()         ? StrCat("tier ", tier().name)
               : integer                         ? few ? "rows that fit a tile" : "a large matrix"
               : !tier().async_copy              ? StrCat("tier ", tier().name)
               : !options_.prefill_gemm          ? "tuning prefill_gemm=0"
               : few && !options_.mmq            ? "tuning mmq=0"
               : few && !tier().integer_matrix   ? StrCat("tier ", tier().name)
               : kernel == ProductKernel::kSmall ? "few rows of halves"
               : IsHalf(info.type) && m <= kSmallRows && !options_.small_m_gemm
                   ? "tuning small_m_gemm=0"
               : kernel == ProductKernel::kFloat ? StrCat("no tensor product for ", type)
               : few                             ? StrCat("no integer tensor product for ", type)
               : halves && copy                  ? "tuning w16_cache"
               : halves                          ? "many rows"
                                                 : "tuning decode_gemm=0";
  const int32_t range = few ? 1 : m <= kTwoTurnRows ? 2 : 3;
  const int32_t variant = static_cast<int32_t>(info.type) * 128 + range * 32 +
                          static_cast<int32_t>(kernel) * 4 + (copy ? 2 : 0) + (residual ? 1 : 0);
  CountReport(call, info.ne0, variant, std::move(row));
}

// Whether the products of a node go to one kernel of those that take several and a gate.
bool CudaBackend::TakesTogether(absl::Span<const Product> products, int64_t m, bool gated) const {
  const ProductKernel kernel = KernelFor(*products[0].info, m);
  if (kernel != ProductKernel::kInteger && kernel != ProductKernel::kHalves) return false;
  for (const Product& product : products) {
    if (KernelFor(*product.info, m) != kernel) return false;
    // MMQ takes one type at a time; halves of different types lie side by side.
    if (kernel == ProductKernel::kInteger && product.info->type != products[0].info->type)
      return false;
    // F16 is not copied.
    if (kernel == ProductKernel::kHalves && product.info->type == ElementType::kF16) return false;
    if (gated && product.info->ne1 != products[0].info->ne1) return false;
  }
  return true;
}

// The activations are quantised once for all products, as many rows at a time as the kernel takes.
Status CudaBackend::RunInteger(const NodeCall& call, absl::Span<const Product> products,
                               bool residual, MmvqGate gate, const float* x, uint8_t* scratch,
                               int64_t m) {
  const int64_t k = products[0].info->ne0;
  const bool copies = HasMmqCopies(products);
  for (int64_t first = 0; first < m; first += kTurnRows) {
    const int64_t rows = std::min(kTurnRows, m - first);
    const auto tiles =
        Align256(static_cast<uint64_t>(kernels::cuda::MmqActivationBytes(rows, k, residual)));
    kernels::cuda::MmvqArgs args;
    args.type = products[0].info->type;
    args.k = k;
    args.activations = scratch;
    args.m = rows;
    args.residual = residual;
    args.gate = gate;
    kernels::cuda::MmqScratch partials;
    for (const Product& product : products) {
      const int64_t n = product.info->ne1;
      args.parts[args.n_parts++] = {copies ? product.copies.mmq : product.weights, n, product.bias,
                                    product.out + first * n, n};
      partials.partial_bytes += kernels::cuda::MmqPartialBytes(rows, n, k);
    }
    if (tiles + partials.partial_bytes > scratch_room()) {
      return NodeError(call, "scratch is too small");
    }
    partials.partials = scratch + tiles;
    partials.shared_opt_in_bytes = tier().shared_opt_in_bytes;
    partials.raw = StagesRaw();
    partials.copies = copies;
    MF_RETURN_IF_ERROR(FromKernel(
        call,
        kernels::cuda::QuantizeTiles(x + first * k, rows, k, residual, scratch, stream_->get())));
    MF_RETURN_IF_ERROR(FromKernel(call, kernels::cuda::Mmq(args, partials, in_turn())));
  }
  return OkStatus();
}

// The columns [begin, end) of the product, counted as they lie side by side, through scratch.
Status CudaBackend::DecodeColumns(const NodeCall& call, absl::Span<const Product> products,
                                  bool gated, int64_t begin, int64_t end, uint8_t* decoded) {
  const int64_t k = products[0].info->ne0;
  // The product reads the rows between matrices as well, and stores nothing of them.
  if (std::any_of(products.begin(), products.end(),
                  [](const Product& product) { return product.info->ne1 % 8 != 0; })) {
    MF_RETURN_IF_ERROR(runtime_->Check(
        cudaMemsetAsync(decoded, 0, static_cast<size_t>((end - begin) * 2 * k), stream_->get()),
        "clearing scratch"));
  }
  int64_t first = 0;  // of this matrix
  for (size_t i = 0; i < products.size(); ++i) {
    const WeightInfo& info = *products[i].info;
    // Interleaved, column c stands for row c / 2 of both.
    const int64_t from = gated ? begin / 2 : std::max<int64_t>(0, begin - first);
    const int64_t to = std::min(info.ne1, gated ? end / 2 : end - first);
    if (from < to) {
      kernels::cuda::DecodeRowsArgs args;
      args.type = info.type;
      args.weights = products[i].weights;
      args.k = k;
      args.first = from;
      args.count = to - from;
      args.out = decoded + (gated ? 0 : (first + from - begin) * 2 * k);
      args.interleaved = gated;
      args.group_offset = static_cast<int>(8 * i);
      MF_RETURN_IF_ERROR(FromKernel(call, kernels::cuda::DecodeRowsToHalf(args, stream_->get())));
    }
    first += RoundUp(info.ne1, 8);
  }
  return OkStatus();
}

// Up to three matrices side by side, or gate and up interleaved; in parts where scratch is too
// small for all. F16 alone, and what was kept at load, is read where it lies.
Status CudaBackend::RunHalves(const NodeCall& call, absl::Span<const Product> products,
                              MmvqGate gate, uint8_t* scratch, int64_t m) {
  const WeightInfo& info = *products[0].info;
  const bool gated = gate != MmvqGate::kNone;
  int64_t columns = 0;
  for (const Product& product : products) columns += RoundUp(product.info->ne1, 8);
  const HalfScratch at = LayOut(m, info.ne0, columns);
  if (at.end > scratch_room()) return NodeError(call, "scratch is too small");
  const bool kept = HasHalves(products, gated);
  const bool in_place = kept || info.type == ElementType::kF16;
  const int64_t step = in_place ? columns : PartRows(m, info.ne0, columns, runtime_->processors());
  kernels::cuda::HalfGemmArgs args;
  args.x = scratch;
  args.m = m;
  args.k = info.ne0;
  args.w = kept ? products[0].copies.halves : in_place ? products[0].weights : scratch + at.decoded;
  args.w_stride = in_place ? RoundUp(info.ne0, 8) : info.ne0;
  args.gate = gate == MmvqGate::kSilu   ? HalfGemmGate::kSilu
              : gate == MmvqGate::kGelu ? HalfGemmGate::kGelu
                                        : HalfGemmGate::kNone;
  args.partials = scratch + at.partials;
  args.partial_bytes = at.partial_bytes;
  args.multiprocessors = runtime_->processors();
  args.shared_opt_in_bytes = tier().shared_opt_in_bytes;
  for (int64_t begin = 0; begin < columns; begin += step) {
    const int64_t end = std::min(columns, begin + step);
    if (!in_place) {
      MF_RETURN_IF_ERROR(DecodeColumns(call, products, gated, begin, end, scratch + at.decoded));
    }
    args.columns = in_place && !kept ? info.ne1 : end - begin;
    args.n_parts = 0;
    int64_t first = gated ? -begin / 2 : -begin;
    for (const Product& product : gated ? products.subspan(1) : products) {
      args.parts[args.n_parts++] = {first, product.info->ne1, product.bias, product.out,
                                    product.info->ne1};
      first += RoundUp(product.info->ne1, 8);
    }
    const auto product = UsesWgmma() && kernels::cuda::PrefersHopperGemm(args)
                             ? kernels::cuda::HopperGemm
                             : kernels::cuda::HalfGemm;
    MF_RETURN_IF_ERROR(FromKernel(call, product(args, in_turn())));
  }
  return OkStatus();
}

Status CudaBackend::RunTensor(const NodeCall& call, const Product& product, const void* halves,
                              int64_t m) {
  const auto args = MatrixArgs<kernels::cuda::TensorGemmArgs>(product, halves, m);
  return FromKernel(call, kernels::cuda::TensorGemm(args, stream_->get()));
}

// Activations are rounded to halves once for all products that take them; those of MMQ are its own.
Status CudaBackend::RunManyRows(const NodeCall& call, absl::Span<const Product> products,
                                bool residual, MmvqGate gate) {
  const ValueShape& shape = call.graph->value(call.node->inputs[0]).shape;
  const int64_t m = shape.rows;
  MF_ASSIGN_OR_RETURN(const float* x, Floats(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(uint8_t * scratch, pool_->Resolve({scratch_, 0, scratch_bytes_}));
  const bool together = TakesTogether(products, m, gate != MmvqGate::kNone);
  const size_t step = together ? products.size() : 1;
  bool halves = false;
  for (size_t i = 0; i < products.size(); i += step) {
    const absl::Span<const Product> group = products.subspan(i, step);
    const ProductKernel kernel = KernelFor(*group[0].info, m, residual);
    const bool copy = kernel == ProductKernel::kInteger  ? HasMmqCopies(group)
                      : kernel == ProductKernel::kHalves ? HasHalves(group, gate != MmvqGate::kNone)
                                                         : false;
    for (const Product& product : group) {
      ReportManyRows(call, *product.info, m, kernel, residual, copy);
    }
    if (kernel == ProductKernel::kFloat) {
      MF_RETURN_IF_ERROR(RunFloat(call, group[0], x, m));
      continue;
    }
    if (kernel == ProductKernel::kInteger) {
      MF_RETURN_IF_ERROR(RunInteger(call, group, residual, gate, x, scratch, m));
      halves = false;
      continue;
    }
    if (!halves) {
      MF_RETURN_IF_ERROR(
          FromKernel(call, kernels::cuda::RowsToHalf(x, m, shape.cols, scratch, stream_->get())));
      halves = true;
    }
    Status status = kernel == ProductKernel::kHalves  ? RunHalves(call, group, gate, scratch, m)
                    : kernel == ProductKernel::kSmall ? RunSmall(call, group[0], scratch, m)
                                                      : RunTensor(call, group[0], scratch, m);
    MF_RETURN_IF_ERROR(status);
  }
  return OkStatus();
}

}  // namespace minfer
