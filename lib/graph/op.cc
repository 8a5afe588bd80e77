// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/op.h"

namespace minfer {

std::string_view OpName(OpKind kind) {
  switch (kind) {
    case OpKind::kGetRows:
      return "get_rows";
    case OpKind::kSelectRows:
      return "select_rows";
    case OpKind::kRmsNorm:
      return "rms_norm";
    case OpKind::kLayerNorm:
      return "layer_norm";
    case OpKind::kMatMul:
      return "matmul";
    case OpKind::kMatMulGroup:
      return "matmul_group";
    case OpKind::kAddBias:
      return "add_bias";
    case OpKind::kAdd:
      return "add";
    case OpKind::kMul:
      return "mul";
    case OpKind::kScale:
      return "scale";
    case OpKind::kSoftcap:
      return "softcap";
    case OpKind::kAct:
      return "act";
    case OpKind::kGatedAct:
      return "gated_act";
    case OpKind::kGatedMatMul:
      return "gated_matmul";
    case OpKind::kRopeTable:
      return "rope_table";
    case OpKind::kRope:
      return "rope";
    case OpKind::kKvStore:
      return "kv_store";
    case OpKind::kRopeKvStore:
      return "rope_kv_store";
    case OpKind::kAttention:
      return "attention";
    case OpKind::kTopExperts:
      return "top_experts";
    case OpKind::kGroupExperts:
      return "group_experts";
    case OpKind::kExpertMatMul:
      return "expert_matmul";
    case OpKind::kCombineExperts:
      return "combine_experts";
    case OpKind::kGateRows:
      return "gate_rows";
  }
  return "unknown";
}

}  // namespace minfer
