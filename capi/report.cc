// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/report.h"

#include <cstdint>
#include <cstring>
#include <string>

namespace minfer::capi {
namespace {

// Bytes of the UTF-8 character at the front of `text`; 0 when there is none.
size_t CharacterLength(std::string_view text) noexcept {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead == 0) return 0;
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and numbers past U+10FFFF.
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

mf_status Fill(StatusCode code, Subsystem subsystem, std::string_view name,
               std::string_view message, mf_error* error) noexcept {
  const auto number = static_cast<mf_status>(code);
  if (error == nullptr) return number;
  std::memset(error, 0, sizeof(*error));
  error->status = number;
  error->subsystem = static_cast<mf_subsystem>(subsystem);
  CopyText(name, error->name, sizeof(error->name));
  CopyText(message, error->message, sizeof(error->message));
  return number;
}

}  // namespace

void CopyText(std::string_view text, char* out, size_t size) noexcept {
  size_t used = 0;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    const size_t needed = length == 0 ? 1 : length;
    if (used + needed >= size) break;
    if (length == 0) {
      out[used] = '?';
    } else {
      std::memcpy(out + used, text.data(), length);
    }
    used += needed;
    text.remove_prefix(needed);
  }
  out[used] = '\0';
}

mf_status Report(const Status& status, mf_error* error) noexcept {
  if (status.ok()) {
    if (error != nullptr) error->status = MF_STATUS_OK;
    return MF_STATUS_OK;
  }
  const mf_status number =
      Fill(status.code(), status.subsystem(), status.name(), status.message(), error);
  if (error != nullptr) {
    error->bytes_wanted = status.bytes_wanted();
    error->bytes_available = status.bytes_available();
    error->file_offset = status.file_offset();
  }
  return number;
}

mf_status Report(StatusCode code, std::string_view message, mf_error* error) noexcept {
  return Fill(code, Subsystem::kApi, {}, message, error);
}

Status InvalidArgument(std::string_view name, std::string_view message) {
  return Status(StatusCode::kInvalidArgument, Subsystem::kApi, std::string(message)).WithName(name);
}

Status FailedPrecondition(std::string_view message) {
  return Status(StatusCode::kFailedPrecondition, Subsystem::kApi, std::string(message));
}

Status NullArgument(std::string_view name) { return InvalidArgument(name, "must not be NULL"); }

}  // namespace minfer::capi
