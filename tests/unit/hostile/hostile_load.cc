// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hostile/hostile_load.h"

#include <algorithm>
#include <new>

#include "engine/chat_prompt.h"
#include "engine/context.h"
#include "engine/session.h"
#include "tests/support/alloc_counter.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

struct CountedReader {
  const std::string* bytes;
  uint64_t reads = 0;
  uint64_t bytes_read = 0;

  static int32_t ReadAt(void* user_data, uint64_t offset, void* buffer, size_t size) {
    CountedReader& self = *static_cast<CountedReader*>(user_data);
    if (offset > self.bytes->size() || size > self.bytes->size() - offset) return 15;
    self.bytes->copy(static_cast<char*>(buffer), size, offset);
    ++self.reads;
    self.bytes_read += size;
    return 0;
  }
};

// Backend buffers go through the counted operator new, too.
HostAllocator CountedAllocator() {
  HostAllocator allocator;
  allocator.alloc = [](void*, size_t bytes, size_t alignment) -> void* {
    return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
  };
  allocator.free = [](void*, void* memory, size_t, size_t alignment) {
    ::operator delete(memory, std::align_val_t(alignment));
  };
  return allocator;
}

Status Use(const std::shared_ptr<const Model>& model) {
  std::vector<int32_t> ids;
  MF_RETURN_IF_ERROR(model->tokenizer().Encode("a b", EncodeOptions(), &ids));
  ChatPrompt chat(model);
  ChatPromptRequest request;
  request.chat.messages.emplace_back();
  (void)chat.Encode(std::move(request), &ids);
  if (ids.empty()) ids.push_back(0);
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = 16;
  MF_ASSIGN_OR_RETURN(std::shared_ptr<Context> context, Context::Create(model, options));
  MF_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, context->CreateSession());
  ids.resize(std::min<size_t>(ids.size(), 4));
  MF_RETURN_IF_ERROR(session->Feed(ids));
  MF_RETURN_IF_ERROR(session->Decode(nullptr));
  return session->Sample().status();
}

StatusOr<std::shared_ptr<const Model>> LoadFrom(CountedReader* reader) {
  MF_ASSIGN_OR_RETURN(ByteSourcePtr source,
                      MakeReaderSource(&CountedReader::ReadAt, reader, reader->bytes->size()));
  MF_ASSIGN_OR_RETURN(ModelFiles files, ModelFiles::FromSources({std::move(source)}));
  ModelOptions options;
  options.read_weights = true;
  options.allocator = CountedAllocator();
  return Model::Load(std::move(files), options);
}

}  // namespace

HostileLoad TryLoad(const std::string& bytes) {
  HostileLoad result;
  CountedReader reader{&bytes};
  const AllocPeak peak;
  const uint64_t calls = ReadAllocCounts().calls;
  StatusOr<std::shared_ptr<const Model>> model = LoadFrom(&reader);
  result.cost.allocations = ReadAllocCounts().calls - calls;
  result.cost.peak_bytes = peak.Bytes();
  result.cost.reads = reader.reads;
  result.cost.bytes_read = reader.bytes_read;
  result.status = model.status();
  if (model.ok()) CHECK(Use(*model).code() != StatusCode::kInternal);
  return result;
}

void CheckCost(const LoadCost& cost, uint64_t file_bytes) {
  // The header is read through a window of 64 KiB.
  constexpr uint64_t kWindow = 64 << 10;
  CHECK(cost.peak_bytes <= 4 * file_bytes + kWindow);
  CHECK(cost.allocations <= file_bytes / 16 + 500);
  CHECK(cost.bytes_read <= 2 * file_bytes + kWindow);
  CHECK(cost.reads <= file_bytes / 4096 + 20);
}

void CheckRefusal(const Status& status, uint64_t file_bytes) {
  CHECK(status.code() != StatusCode::kInternal);
  CHECK_FALSE(status.message().empty());
  CHECK_FALSE(status.name().empty());
  CHECK(status.file_offset() <= file_bytes);
}

}  // namespace minfer::testing
