// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/quantize.h"

#include <memory>

#include "base/host_runner.h"
#include "base/str_cat.h"
#include "base/thread_pool.h"
#include "capi/calls.h"
#include "capi/guard.h"
#include "capi/sized.h"
#include "capi/translate.h"
#include "engine/quantize.h"
#include "tensor/quantize.h"

namespace capi = minfer::capi;
using minfer::OkStatus;
using minfer::Status;
using minfer::StatusCode;
using minfer::StatusOr;
using minfer::Subsystem;

namespace {

struct Settings {
  minfer::QuantizeOptions engine;
  capi::CancelFlag cancel;  // what engine.cancel points at
};

StatusOr<Settings> ReadQuantizeOptions(const mf_quantize_options* in) {
  MF_ASSIGN_OR_RETURN(const mf_quantize_options options,
                      capi::ReadOptions(in, "mf_quantize_options"));
  MF_RETURN_IF_ERROR(
      capi::CheckReserved(options.reserved, sizeof(options.reserved), "mf_quantize_options"));
  MF_RETURN_IF_ERROR(
      capi::CheckReserved(&options.pool.reserved, sizeof(options.pool.reserved), "pool"));
  MF_RETURN_IF_ERROR(capi::CheckFlag(options.allow_requantize, "allow_requantize"));
  MF_RETURN_IF_ERROR(capi::CheckFlag(options.pure, "pure"));
  if (options.n_threads > static_cast<uint32_t>(minfer::kMaxThreads)) {
    return capi::InvalidArgument(
        "n_threads", minfer::StrCat(options.n_threads, " are more than ", minfer::kMaxThreads));
  }
  Settings settings;
  settings.engine.rules.allow_requantize = options.allow_requantize != 0;
  settings.engine.rules.pure = options.pure != 0;
  settings.engine.n_threads = static_cast<int32_t>(options.n_threads);
  settings.cancel = capi::FlagOf(options.cancel);
  settings.engine.cancel = settings.cancel.get();
  if (options.pool.parallel_for != nullptr) {
    settings.engine.runner = std::make_shared<minfer::HostRunner>(
        options.pool.parallel_for, options.pool.parallel_for_user_data, options.pool.n_threads);
  }
  return settings;
}

// A callback's answer: 0 goes on.
Status GoOn(int32_t answer, const char* name) {
  if (answer == 0) return OkStatus();
  return Status(StatusCode::kCancelled, Subsystem::kApi, "the host's callback ended the call")
      .WithName(name);
}

Status Tell(const capi::HostThread& thread, const mf_quantize_options& options,
            const minfer::QuantizedTensor& tensor, size_t n_tensors) {
  mf_quantize_event event = MF_QUANTIZE_EVENT_INIT;
  event.n_tensors = static_cast<uint32_t>(n_tensors);
  event.index = static_cast<uint32_t>(tensor.index);
  event.from = static_cast<mf_tensor_type>(tensor.from);
  event.to = static_cast<mf_tensor_type>(tensor.to);
  event.name = {tensor.name.data(), tensor.name.size()};
  event.bytes_before = tensor.bytes_before;
  event.bytes_after = tensor.bytes_after;
  event.rms = tensor.rms;
  event.rms_error = tensor.rms_error;
  event.max_error = tensor.max_error;
  int32_t answer = 1;
  MF_RETURN_IF_ERROR(capi::CallHost(
      thread, "tensor", [&] { answer = options.tensor(options.tensor_user_data, &event); }));
  return GoOn(answer, "tensor");
}

// Puts the host's callbacks behind those of the engine. `options` must outlive the settings' use.
void SetCallbacks(const capi::HostThread& thread, const mf_quantize_options& options,
                  size_t n_tensors, minfer::QuantizeOptions* engine) {
  if (options.progress != nullptr) {
    engine->progress = [&thread, &options](uint64_t done, uint64_t total) -> Status {
      int32_t answer = 1;
      MF_RETURN_IF_ERROR(capi::CallHost(thread, "progress", [&] {
        answer = options.progress(options.progress_user_data, done, total);
      }));
      return GoOn(answer, "progress");
    };
  }
  if (options.tensor != nullptr) {
    engine->tensor = [&thread, &options, n_tensors](const minfer::QuantizedTensor& tensor) {
      return Tell(thread, options, tensor, n_tensors);
    };
  }
}

Status WriteTo(const capi::HostThread& thread, mf_write_callback write, void* user_data,
               absl::Span<const uint8_t> bytes) {
  int32_t answer = 1;
  MF_RETURN_IF_ERROR(capi::CallHost(
      thread, "write", [&] { answer = write(user_data, bytes.data(), bytes.size()); }));
  if (answer == 0) return OkStatus();
  const auto code = static_cast<StatusCode>(answer);
  const bool known = minfer::StatusCodeName(code) != "UNKNOWN";
  return Status(known ? code : StatusCode::kUnavailable, Subsystem::kApi,
                "the host could not write")
      .WithName("write");
}

}  // namespace

void mf_quantize_event_init(mf_quantize_event* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

void mf_quantize_options_init(mf_quantize_options* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

void mf_quantize_result_init(mf_quantize_result* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

int32_t mf_quantize_supports(mf_tensor_type type) {
  return minfer::kernels::CanQuantize(static_cast<minfer::ElementType>(type)) ? 1 : 0;
}

mf_status mf_model_quantize(const mf_source* sources, size_t n_sources, mf_tensor_type type,
                            const mf_quantize_options* options, mf_write_callback write,
                            void* write_user_data, mf_quantize_result* out_result,
                            mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread& thread) -> Status {
    if (write == nullptr) return capi::NullArgument("write");
    if (out_result != nullptr) {
      MF_RETURN_IF_ERROR(capi::CheckOut(out_result, "out_result"));
    }
    MF_ASSIGN_OR_RETURN(Settings settings, ReadQuantizeOptions(options));
    MF_RETURN_IF_ERROR(capi::CheckNotCancelled(settings.cancel));
    settings.engine.rules.type = static_cast<minfer::ElementType>(type);
    MF_ASSIGN_OR_RETURN(const minfer::ModelFiles files,
                        capi::OpenSources(sources, n_sources, minfer::FileAccess::kRead));
    if (options != nullptr) {
      SetCallbacks(thread, *options, files.tensors().size(), &settings.engine);
    }
    MF_ASSIGN_OR_RETURN(
        const minfer::QuantizeResult result,
        minfer::QuantizeModel(files, settings.engine, [&](absl::Span<const uint8_t> bytes) {
          return WriteTo(thread, write, write_user_data, bytes);
        }));
    if (out_result != nullptr) {
      mf_quantize_result out = MF_QUANTIZE_RESULT_INIT;
      out.n_tensors = static_cast<uint32_t>(result.n_tensors);
      out.n_changed = static_cast<uint32_t>(result.n_changed);
      out.bytes_before = result.bytes_before;
      out.bytes_after = result.bytes_after;
      out.file_bytes = result.file_bytes;
      capi::WriteSized(out, out_result);
    }
    return OkStatus();
  });
}
