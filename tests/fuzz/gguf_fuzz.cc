// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Reads the input as a GGUF container. What is accepted must lie inside the file, and all of it can
// be read. Then as a model: its keys, tensors and vocabulary, without a weight.
#include <utility>
#include <vector>

#include "engine/model.h"
#include "gguf/gguf_file.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

// A tensor that was accepted can be read at both ends, and no further.
void CheckTensor(const minfer::GgufFile& file, const minfer::TensorInfo& tensor, size_t size) {
  FUZZ_REQUIRE(tensor.bytes <= size);
  FUZZ_REQUIRE(tensor.file_offset <= size - tensor.bytes);
  FUZZ_REQUIRE(file.FindTensor(tensor.name) == &tensor);
  FUZZ_REQUIRE(tensor.n_dims >= 0 && tensor.n_dims <= 4);
  uint8_t byte = 0;
  if (tensor.bytes > 0) {
    FUZZ_REQUIRE(file.ReadTensor(tensor, 0, absl::MakeSpan(&byte, 1)).ok());
    FUZZ_REQUIRE(file.ReadTensor(tensor, tensor.bytes - 1, absl::MakeSpan(&byte, 1)).ok());
  }
  FUZZ_REQUIRE(!file.ReadTensor(tensor, tensor.bytes, absl::MakeSpan(&byte, 1)).ok());
}

// Whatever the header says, it is a model that encodes text or a refusal with a name and a place.
void CheckModel(minfer::ByteSourcePtr source) {
  minfer::StatusOr<minfer::ModelFiles> files = minfer::ModelFiles::FromSources({std::move(source)});
  if (!files.ok()) return;
  minfer::StatusOr<minfer::ModelHeader> header =
      minfer::ReadModelHeader(*std::move(files), minfer::ModelOptions());
  if (!header.ok()) {
    const minfer::Status status = header.status();
    FUZZ_REQUIRE(status.code() != minfer::StatusCode::kInternal);
    FUZZ_REQUIRE(!status.name().empty() && status.file_offset() != 0);
    return;
  }
  std::vector<int32_t> ids;
  if (!header->tokenizer->Encode("a b<s>", minfer::EncodeOptions(), &ids).ok()) return;
  for (const int32_t id : ids) FUZZ_REQUIRE(header->tokenizer->Contains(id));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // On the heap and of the exact size, so that a read past the end is seen.
  const std::vector<uint8_t> bytes(data, data + size);
  const minfer::StatusOr<minfer::GgufFile> file =
      minfer::GgufFile::Parse(minfer::MakeMemorySource(bytes));
  if (!file.ok()) {
    FUZZ_REQUIRE(!file.status().message().empty());
    return 0;
  }
  FUZZ_REQUIRE(file->header_bytes() <= size);
  for (const minfer::TensorInfo& tensor : file->tensors()) CheckTensor(*file, tensor, size);
  CheckModel(minfer::MakeMemorySource(bytes));
  return 0;
}
