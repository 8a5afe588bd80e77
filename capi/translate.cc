// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/translate.h"

#include <string>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/host_runner.h"
#include "base/str_cat.h"
#include "capi/calls.h"
#include "capi/sized.h"
#include "engine/backends.h"

namespace minfer::capi {
namespace {

static_assert(MF_LOG_DEBUG == static_cast<int>(LogLevel::kDebug) &&
              MF_LOG_INFO == static_cast<int>(LogLevel::kInfo) &&
              MF_LOG_WARNING == static_cast<int>(LogLevel::kWarning) &&
              MF_LOG_ERROR == static_cast<int>(LogLevel::kError));
static_assert(MF_KV_F32 - 1 == static_cast<int>(KvFormat::kF32) &&
              MF_KV_F16 - 1 == static_cast<int>(KvFormat::kF16) &&
              MF_KV_Q8_0 - 1 == static_cast<int>(KvFormat::kQ8_0));

// Sets the three log fields of either kind of options.
template <typename Options>
Status ReadLog(const mf_log_sink& sink, Options* options) {
  if (sink.level < MF_LOG_DEFAULT || sink.level > MF_LOG_OFF) {
    return InvalidArgument("log.level", StrCat(sink.level, " is no level"));
  }
  MF_RETURN_IF_ERROR(CheckReserved(&sink.reserved, sizeof(sink.reserved), "log"));
  if (sink.level == MF_LOG_OFF) return OkStatus();
  options->log_sink = sink.write;
  options->log_user_data = sink.write_user_data;
  options->log_level =
      sink.level == MF_LOG_DEFAULT ? LogLevel::kWarning : static_cast<LogLevel>(sink.level);
  return OkStatus();
}

StatusOr<HostAllocator> ReadAllocator(const mf_host_allocator& allocator) {
  if ((allocator.allocate == nullptr) != (allocator.free == nullptr)) {
    return InvalidArgument("allocator", "allocate and free must be given together");
  }
  return HostAllocator{allocator.allocate, allocator.free, allocator.user_data};
}

// The device to run a model on: the one named, or kAnyDevice.
Status ReadDevice(const mf_model_options& options, int32_t* out) {
  if (options.n_devices > 1) {
    return Status(StatusCode::kUnimplemented, Subsystem::kApi,
                  "this version runs a model on one device")
        .WithName("n_devices");
  }
  *out = kAnyDevice;
  const size_t n_devices = FindDevices().size();
  return ReadArray(options.devices, options.n_devices, "devices",
                   [&](size_t, const mf_model_device& device) -> Status {
                     MF_RETURN_IF_ERROR(CheckIndex("devices", device.device, n_devices));
                     *out = static_cast<int32_t>(device.device);
                     return OkStatus();
                   });
}

StatusOr<ByteSourcePtr> OpenSource(const mf_source& source, FileAccess access) {
  switch (source.kind) {
    case MF_SOURCE_PATH:
      if (source.path == nullptr) return NullArgument("path");
      return access == FileAccess::kMap ? OpenMappedSource(source.path)
                                        : OpenFileSource(source.path);
    case MF_SOURCE_MEMORY:
      if (source.data == nullptr) return NullArgument("data");
      return MakeMemorySource(
          {static_cast<const uint8_t*>(source.data), static_cast<size_t>(source.size)});
    case MF_SOURCE_READER:
      if (source.read == nullptr) return NullArgument("read");
      return MakeReaderSource(source.read, source.read_user_data, source.size);
    default:
      return InvalidArgument("kind", StrCat(source.kind, " is no kind of source"));
  }
}

}  // namespace

Status CheckFlag(uint8_t value, std::string_view name) {
  if (value <= 1) return OkStatus();
  return InvalidArgument(name, StrCat(static_cast<int>(value), " is neither 0 nor 1"));
}

StatusOr<LoadSettings> ReadModelOptions(const mf_model_options* in) {
  MF_ASSIGN_OR_RETURN(const mf_model_options options, ReadOptions(in, "mf_model_options"));
  MF_RETURN_IF_ERROR(CheckReserved(options.reserved, sizeof(options.reserved), "mf_model_options"));
  MF_RETURN_IF_ERROR(CheckFlag(options.allow_unknown_keys, "allow_unknown_keys"));
  if (options.load_mode < MF_LOAD_MAP || options.load_mode > MF_LOAD_HEADER) {
    return InvalidArgument("load_mode", StrCat(options.load_mode, " is no mode"));
  }
  LoadSettings settings;
  MF_RETURN_IF_ERROR(ReadDevice(options, &settings.engine.device));
  const bool read = options.load_mode == MF_LOAD_READ;
  settings.access = read ? FileAccess::kRead : FileAccess::kMap;
  settings.engine.read_weights = read;
  settings.engine.header_only = options.load_mode == MF_LOAD_HEADER;
  settings.engine.allow_unknown_keys = options.allow_unknown_keys != 0;
  settings.engine.tuning = std::string(TextOf(options.tuning));
  settings.cancel = FlagOf(options.cancel);
  settings.engine.cancel = settings.cancel.get();
  settings.progress = options.progress;
  settings.progress_user_data = options.progress_user_data;
  MF_ASSIGN_OR_RETURN(settings.engine.allocator, ReadAllocator(options.allocator));
  MF_RETURN_IF_ERROR(ReadLog(options.log, &settings.engine));
  return settings;
}

StatusOr<ModelFiles> OpenSources(const mf_source* sources, size_t n_sources, FileAccess access) {
  if (n_sources == 0) return InvalidArgument("n_sources", "there must be one at least");
  std::vector<ByteSourcePtr> opened;
  std::string path;
  Status read =
      ReadArray(sources, n_sources, "sources", [&](size_t, const mf_source& source) -> Status {
        // One path alone may be the first part of several.
        if (n_sources == 1 && source.kind == MF_SOURCE_PATH) {
          if (source.path == nullptr) return NullArgument("path");
          path = source.path;
          return path.empty() ? InvalidArgument("path", "is empty") : OkStatus();
        }
        MF_ASSIGN_OR_RETURN(ByteSourcePtr one, OpenSource(source, access));
        opened.push_back(std::move(one));
        return OkStatus();
      });
  MF_RETURN_IF_ERROR(std::move(read));
  if (opened.empty()) return ModelFiles::Open(path, access);
  return ModelFiles::FromSources(std::move(opened));
}

StatusOr<ContextSettings> ReadContextOptions(const mf_context_options* in) {
  MF_ASSIGN_OR_RETURN(const mf_context_options options, ReadOptions(in, "mf_context_options"));
  MF_RETURN_IF_ERROR(
      CheckReserved(options.reserved, sizeof(options.reserved), "mf_context_options"));
  MF_RETURN_IF_ERROR(CheckReserved(&options.pool.reserved, sizeof(options.pool.reserved), "pool"));
  MF_RETURN_IF_ERROR(CheckFlag(options.deterministic, "deterministic"));
  for (const auto& [type, name] :
       {std::pair(options.kv_type_k, "kv_type_k"), std::pair(options.kv_type_v, "kv_type_v")}) {
    if (type < MF_KV_DEFAULT || type > MF_KV_Q8_0) {
      return InvalidArgument(name, StrCat(type, " is no KV type"));
    }
  }
  ContextSettings settings;
  ContextOptions& engine = settings.engine;
  engine.n_threads = options.n_threads;
  engine.n_ctx = options.n_ctx;
  engine.n_sessions = options.n_sessions;
  engine.n_batch = options.n_batch;
  engine.n_micro_batch = options.n_micro_batch;
  engine.deterministic = options.deterministic != 0;
  engine.kv_type_k = options.kv_type_k - 1;
  engine.kv_type_v = options.kv_type_v - 1;
  engine.budget_bytes = options.budget_bytes;
  engine.tuning = std::string(TextOf(options.tuning));
  settings.cancel = FlagOf(options.cancel);
  engine.cancel = settings.cancel.get();
  MF_ASSIGN_OR_RETURN(engine.allocator, ReadAllocator(options.allocator));
  MF_RETURN_IF_ERROR(ReadLog(options.log, &engine));
  engine.cuda_stream = options.cuda_stream;
  engine.cuda_context = options.cuda_context;
  if (options.pool.parallel_for != nullptr) {
    engine.runner = std::make_shared<HostRunner>(
        options.pool.parallel_for, options.pool.parallel_for_user_data, options.pool.n_threads);
  }
  return settings;
}

mf_memory_use ToMemoryUse(const MemoryUse& use, size_t device) {
  mf_memory_use out = MF_MEMORY_USE_INIT;
  out.device = static_cast<uint32_t>(device);
  out.total = use.total();
  for (int i = 0; i < kMemoryClassCount; ++i) out.bytes[i] = use[static_cast<MemoryClass>(i)];
  return out;
}

MemoryUse UseOf(const MemoryAccount::Snapshot& snapshot, bool peak) {
  MemoryUse use;
  for (int i = 0; i < kMemoryClassCount; ++i) {
    const auto memory_class = static_cast<MemoryClass>(i);
    const MemoryUsage& usage = snapshot.of(memory_class);
    use[memory_class] = peak ? usage.peak : usage.bytes;
  }
  return use;
}

StatusOr<std::string_view> TextOf(const char* text, size_t length, std::string_view name) {
  if (text == nullptr && length != 0) return NullArgument(name);
  return std::string_view(text == nullptr ? "" : text, length);
}

StatusOr<std::string_view> TextOf(const mf_text& text, std::string_view name) {
  return TextOf(text.data, text.length, name);
}

}  // namespace minfer::capi
