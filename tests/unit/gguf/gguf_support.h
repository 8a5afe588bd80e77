// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What the tests of the GGUF reader share.
#pragma once

#include <string>
#include <vector>

#include "gguf/gguf_file.h"
#include "gguf/model_files.h"
#include "gguf/writer.h"
#include "tests/support/gguf_variants.h"
#include "tests/support/test_data.h"

namespace minfer::testing {

inline absl::Span<const uint8_t> AsBytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// `bytes` must outlive the file.
inline StatusOr<GgufFile> ParseBytes(const std::string& bytes) {
  return GgufFile::Parse(MakeMemorySource(AsBytes(bytes)));
}

inline Status OpenVariant(const std::string& name) {
  return ModelFiles::Open(FindGgufVariant(name).path, FileAccess::kRead).status();
}

// Every tensor's bytes are the low byte of (index + position).
inline GgufWriter::TensorProducer CountingProducer(const GgufWriter& writer) {
  return [&writer](size_t index, const GgufWriter::ByteSink& out) {
    std::vector<uint8_t> bytes(writer.tensor_bytes(index));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(index + i);
    return out(bytes);
  };
}

inline std::string WriteToBytes(const GgufWriter& writer) {
  StatusOr<std::string> bytes = writer.WriteToString(CountingProducer(writer));
  MF_REQUIRE_OK(bytes);
  return *bytes;
}

// The variant is refused, and the message holds each of the texts.
inline void CheckRefused(const std::string& variant, const std::vector<std::string>& texts) {
  const Status status = OpenVariant(variant);
  INFO(variant << ": " << status.ToString());
  CHECK_FALSE(status.ok());
  for (const std::string& text : texts) {
    CHECK_THAT(std::string(status.message()), Catch::Contains(text));
  }
}

}  // namespace minfer::testing
