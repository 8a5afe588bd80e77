// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What random calls share: the bytes that decide about them, and what is checked after each.
#pragma once

#include <minfer/minfer.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace capi_test {

class CallState {
 public:
  CallState(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool AtEnd() const { return size_ == 0; }
  // The next byte; 0 past the end.
  uint8_t Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  // Edges more often than chance would have them.
  uint32_t Number() {
    static constexpr uint32_t kEdges[] = {0,  1,  2,   3,   7,          63,
                                          64, 65, 263, 264, 0x7FFFFFFF, 0xFFFFFFFF};
    const uint8_t byte = Byte();
    return byte < 128 ? kEdges[byte % 12] : byte;
  }
  // What has not been read, as a text that a call may look at.
  std::string_view Rest() const { return {reinterpret_cast<const char*>(data_), size_}; }

  // A call's status must have a name, agree with error_, and say something when it is not OK.
  void Check(const char* call, mf_status status) {
    if (std::strcmp(mf_status_name(status), "UNKNOWN") == 0) Fault(call, "a status without a name");
    if (status == MF_STATUS_INTERNAL) Fault(call, "INTERNAL");
    if (error_.status != status) Fault(call, "the error has another status");
    if (status == MF_STATUS_OK) return;
    if (std::memchr(error_.message, 0, sizeof(error_.message)) == nullptr ||
        std::memchr(error_.name, 0, sizeof(error_.name)) == nullptr) {
      Fault(call, "a text without an end");
    }
    if (error_.message[0] == '\0') Fault(call, "no message");
  }
  void Fault(const char* call, const char* what) {
    if (fault_.empty()) fault_ = std::string(call) + ": " + what + ": " + error_.message;
  }

  mf_error error_ = {};
  std::string fault_;  // the first broken promise; empty: none

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace capi_test
