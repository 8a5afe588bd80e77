// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The numbers of math_body.h, shared with the scalar twins.
#pragma once

namespace minfer::kernels {

inline constexpr float kExpLowest = -104.0f;  // e^x rounds to 0 below
inline constexpr float kExpHighest = 89.0f;   // infinity above
inline constexpr float kLog2E = 0x1.715476p+0f;
// ln 2 in two parts; the first has 9 significant bits, so n * kLn2High is exact.
inline constexpr float kLn2High = 0x1.63p-1f;
inline constexpr float kLn2Low = -0x1.bd0106p-13f;
inline constexpr float kExpPoly[5] = {0x1.fffffcp-2f, 0x1.55549p-3f, 0x1.5558f4p-5f, 0x1.123a6cp-7f,
                                      0x1.6a2352p-10f};

inline constexpr float kTanhSmall = 0.625f;
inline constexpr float kTanhPoly[6] = {-0x1.555554p-2f, 0x1.111064p-3f, -0x1.b9ee4ep-5f,
                                       0x1.638872p-6f,  -0x1.0be62p-7f, 0x1.18a9b6p-9f};

inline constexpr float kGeluScale = 0x1.988454p-1f;  // sqrt(2 / pi)
inline constexpr float kGeluCubic = 0.044715f;

}  // namespace minfer::kernels
