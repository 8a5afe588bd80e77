// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/source.h"

#include "capi/sized.h"

void mf_source_init(mf_source* out, size_t struct_size) {
  minfer::capi::InitSized(out, struct_size);
}
