// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The flags of encoding, for the tokenizer and for sessions that are fed text.
#pragma once

#include "base/status.h"
#include "base/str_cat.h"
#include "capi/report.h"
#include "minfer/tokenizer.h"
#include "tokenizer/tokenizer.h"

namespace minfer::capi {

inline StatusOr<EncodeOptions> ReadEncodeFlags(uint32_t flags) {
  constexpr uint32_t kKnown = MF_ENCODE_ADD_SPECIAL | MF_ENCODE_PARSE_SPECIAL | MF_ENCODE_CONTINUE;
  if ((flags & ~kKnown) != 0) {
    return InvalidArgument("flags", StrCat("unknown flag in ", flags));
  }
  EncodeOptions options;
  options.add_special = (flags & MF_ENCODE_ADD_SPECIAL) != 0;
  options.parse_special = (flags & MF_ENCODE_PARSE_SPECIAL) != 0;
  options.space_prefix = (flags & MF_ENCODE_CONTINUE) == 0;
  return options;
}

}  // namespace minfer::capi
