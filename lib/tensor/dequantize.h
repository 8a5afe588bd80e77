// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The library's door to the decoders that the kernels define.
#pragma once

#include "kernels/quant/dequantize.h"  // IWYU pragma: export
