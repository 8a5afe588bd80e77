// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The "attribute" argument of filters: 'a.b.0' reads item['a']['b'][0].
#pragma once

#include <vector>

#include "base/status.h"
#include "chat/runtime.h"
#include "chat/value.h"

namespace minfer::chat {

class AttributeGetter {
 public:
  // A null attribute gives the item itself.
  static StatusOr<AttributeGetter> Make(Runtime& rt, const Value* attribute);
  // `fallback` stands for what is undefined, when there is one.
  StatusOr<Value> Get(Runtime& rt, const Value& item, const Value* fallback) const;

 private:
  StatusOr<Value> Follow(Runtime& rt, const Value& item, const std::vector<Value>& path,
                         const Value* fallback) const;

  // Several, separated by commas, give a list.
  std::vector<std::vector<Value>> paths_;
};

}  // namespace minfer::chat
