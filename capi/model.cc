// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/model.h"

#include <unistd.h>

#include <utility>

#include "capi/calls.h"
#include "capi/file_type.h"
#include "capi/guard.h"
#include "capi/sized.h"
#include "capi/translate.h"

namespace capi = minfer::capi;
using minfer::OkStatus;
using minfer::Status;
using minfer::StatusOr;

namespace {

// The host's progress callback during one load.
struct Progress {
  const capi::HostThread& thread;
  mf_progress_callback callback;
  void* user_data;
  Status failure;

  static bool Call(void* self, uint64_t done, uint64_t total) {
    auto& progress = *static_cast<Progress*>(self);
    int32_t answer = 1;
    progress.failure = capi::CallHost(progress.thread, "progress", [&] {
      answer = progress.callback(progress.user_data, done, total);
    });
    return answer == 0;
  }
};

StatusOr<std::shared_ptr<const minfer::Model>> Load(const mf_source* sources, size_t n_sources,
                                                    const mf_model_options* options,
                                                    const capi::HostThread& thread) {
  MF_ASSIGN_OR_RETURN(capi::LoadSettings settings, capi::ReadModelOptions(options));
  MF_RETURN_IF_ERROR(capi::CheckNotCancelled(settings.cancel));
  MF_ASSIGN_OR_RETURN(minfer::ModelFiles files,
                      capi::OpenSources(sources, n_sources, settings.access));
  Progress progress{thread, settings.progress, settings.progress_user_data, OkStatus()};
  if (settings.progress != nullptr) {
    settings.engine.progress = &Progress::Call;
    settings.engine.progress_user_data = &progress;
  }
  auto model = minfer::Model::Load(std::move(files), settings.engine);
  if (!progress.failure.ok()) return progress.failure;
  return model;
}

}  // namespace

void mf_model_device_init(mf_model_device* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

void mf_model_options_init(mf_model_options* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

void mf_model_info_init(mf_model_info* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

mf_status mf_model_load_path(const char* path, const mf_model_options* options,
                             mf_model** out_model, mf_error* error) {
  mf_source source = MF_SOURCE_INIT;
  source.kind = MF_SOURCE_PATH;
  source.path = path;
  return mf_model_load(&source, 1, options, out_model, error);
}

mf_status mf_model_load(const mf_source* sources, size_t n_sources, const mf_model_options* options,
                        mf_model** out_model, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread& thread) -> Status {
    if (out_model == nullptr) return capi::NullArgument("out_model");
    auto handle = std::make_unique<mf_model>();
    handle->state = std::make_shared<capi::ModelState>();
    MF_ASSIGN_OR_RETURN(handle->state->model, Load(sources, n_sources, options, thread));
    handle->state->chat = std::make_unique<minfer::ChatPrompt>(handle->state->model);
    handle->state->pid = getpid();
    *out_model = handle.release();
    return OkStatus();
  });
}

mf_status mf_model_validate(const mf_source* sources, size_t n_sources,
                            const mf_model_options* options, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    MF_ASSIGN_OR_RETURN(const capi::LoadSettings settings, capi::ReadModelOptions(options));
    MF_RETURN_IF_ERROR(capi::CheckNotCancelled(settings.cancel));
    MF_ASSIGN_OR_RETURN(minfer::ModelFiles files,
                        capi::OpenSources(sources, n_sources, settings.access));
    return minfer::ReadModelHeader(std::move(files), settings.engine).status();
  });
}

void mf_model_destroy(mf_model* model) {
  capi::GuardVoid([&] {
    if (model == nullptr || capi::IsForkedChild(*model->state)) return;
    const std::shared_ptr<capi::ModelState> state = std::move(model->state);
    delete model;
    state->gate.Close();
    {
      const std::lock_guard<std::mutex> lock(state->mutex);
      for (const std::weak_ptr<capi::ContextState>& weak : state->contexts) {
        if (const auto context = weak.lock()) context->context->RequestShutdown();
      }
    }
    if (!state->gate.IsInside()) state->gate.Wait();
  });
}

mf_status mf_model_describe(const mf_model* model, mf_model_info* out_info, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ModelCall call;
    MF_RETURN_IF_ERROR(call.Enter(model));
    MF_RETURN_IF_ERROR(capi::CheckOut(out_info, "out_info"));
    const minfer::Model& engine = call.model();
    const minfer::Hyperparameters& hp = engine.description().hp;
    mf_model_info info = MF_MODEL_INFO_INIT;
    info.gguf_version = engine.files().parts()[0].version();
    info.architecture = hp.architecture.c_str();
    info.name = hp.name.c_str();
    info.file_type = capi::FileTypeName(hp.file_type);
    info.n_parameters = engine.n_parameters();
    info.n_bytes = engine.files().tensor_bytes();
    info.n_tensors = static_cast<uint32_t>(engine.files().tensors().size());
    info.n_files = static_cast<uint32_t>(engine.files().parts().size());
    info.n_layers = static_cast<uint32_t>(hp.n_layers);
    info.n_embd = static_cast<uint32_t>(hp.n_embd);
    info.n_heads = static_cast<uint32_t>(hp.n_heads);
    info.n_kv_heads = static_cast<uint32_t>(hp.n_kv_heads);
    info.n_vocab = static_cast<uint32_t>(engine.n_tokens());
    info.n_ctx_train = static_cast<uint32_t>(hp.n_ctx_train);
    info.device = static_cast<uint32_t>(engine.device_index());
    capi::WriteSized(info, out_info);
    return OkStatus();
  });
}

int32_t mf_model_can(const mf_model* model, mf_capability capability) {
  if (model == nullptr) return 0;
  switch (capability) {
    case MF_CAPABILITY_CHAT: {
      int32_t can = 0;
      capi::GuardVoid([&] { can = model->state->chat->HasTemplate() ? 1 : 0; });
      return can;
    }
    case MF_CAPABILITY_TRUNCATE:
      // A windowed layer gives rows back.
      return model->state->model->description().hp.sliding_window == 0 ? 1 : 0;
    case MF_CAPABILITY_FORK:
      return 1;
    default:
      return 0;
  }
}

mf_status mf_model_get_memory(const mf_model* model, size_t device, mf_memory_use* out_use,
                              mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ModelCall call;
    MF_RETURN_IF_ERROR(call.Enter(model));
    MF_RETURN_IF_ERROR(capi::CheckOut(out_use, "out_use"));
    MF_RETURN_IF_ERROR(capi::CheckIndex("device", device, minfer::FindDevices().size()));
    const minfer::MemoryUse use =
        capi::UseOf(call.model().memory(static_cast<int32_t>(device)), /*peak=*/false);
    capi::WriteSized(capi::ToMemoryUse(use, device), out_use);
    return OkStatus();
  });
}
