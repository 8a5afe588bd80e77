// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// '%s' % x and '{}'.format(x).
#pragma once

#include "base/status.h"
#include "chat/format_spec.h"
#include "chat/runtime.h"
#include "chat/value.h"

namespace minfer::chat {

// `arguments` is one value, a tuple of them, or a mapping for %(name)s.
StatusOr<Value> FormatPercent(Runtime& rt, const Value& format, const Value& arguments);
// The methods format and format_map of strings.
StatusOr<Value> FormatBraces(Runtime& rt, const Value& self, const CallArguments& args);
StatusOr<Value> FormatBracesMap(Runtime& rt, const Value& self, const CallArguments& args);

}  // namespace minfer::chat
