// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The plain twins of the attention kernels: two passes, in double, one value at a time.
#pragma once

#include "kernels/cpu/cpu_kernels.h"

namespace minfer::kernels::reference {

// AttentionKernels::attention, rows and heads of the call; args.scratch is not used.
KernelStatus Attention(const AttentionArgs& args);

// AttentionKernels::kv_store, bit for bit.
KernelStatus KvStore(const KvLayerView& kv, const float* k, const float* v, int64_t cell);

}  // namespace minfer::kernels::reference
