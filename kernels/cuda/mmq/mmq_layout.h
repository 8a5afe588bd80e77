// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Sizes of the activations of MMQ (mmq.h has the layout) and of a unit of the copies of weights
// that it alone reads (mmq_copy.h).
#pragma once

namespace minfer::kernels::cuda {

inline constexpr int kMmqUnit = 256;  // values of k
inline constexpr int kMmqScalesAt = 2048;
inline constexpr int kMmqSumsAt = 2304;
inline constexpr int kMmqUnitBytes = 2560;
inline constexpr int kMmqCopyQ6KBytes = 288;
inline constexpr int kMmqCopyQ4KBytes = 176;

}  // namespace minfer::kernels::cuda
