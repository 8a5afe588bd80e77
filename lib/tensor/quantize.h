// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The library's door to the encoders that the kernels define.
#pragma once

#include "kernels/quant/quantize.h"  // IWYU pragma: export
