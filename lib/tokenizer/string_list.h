// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Many strings in one buffer: a vocabulary has up to a few hundred thousand short ones.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

namespace minfer {

// Views stay valid when the list is moved, and until the next Add.
class StringList {
 public:
  void Add(std::string_view text) {
    // Not insert(end, begin, end): gcc 12 warns of an overflow in it that cannot happen.
    const size_t old_size = bytes_.size();
    bytes_.resize(old_size + text.size());
    if (!text.empty()) std::memcpy(bytes_.data() + old_size, text.data(), text.size());
    ends_.push_back(bytes_.size());
  }
  size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  std::string_view operator[](size_t index) const {
    const size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(bytes_.data() + begin, ends_[index] - begin);
  }
  size_t total_bytes() const { return bytes_.size(); }

 private:
  std::vector<char> bytes_;
  std::vector<size_t> ends_;
};

}  // namespace minfer
