// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The library's door to the element types and KV formats that the kernels define.
#pragma once

#include "kernels/quant/element_type.h"  // IWYU pragma: export
#include "kernels/quant/kv_format.h"     // IWYU pragma: export
