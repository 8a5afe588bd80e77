// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// From the structs of the C header to the engine's own, everything checked.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"
#include "capi/handles.h"
#include "engine/context_options.h"
#include "engine/memory_use.h"
#include "engine/model.h"
#include "gguf/model_files.h"
#include "minfer/context.h"
#include "minfer/memory.h"
#include "minfer/model.h"
#include "minfer/sampling.h"
#include "minfer/source.h"
#include "sampling/settings.h"

namespace minfer::capi {

// The load options with what the engine's have no place for. The progress function is not set: see
// Progress.
struct LoadSettings {
  ModelOptions engine;
  FileAccess access = FileAccess::kMap;
  CancelFlag cancel;
  mf_progress_callback progress = nullptr;
  void* progress_user_data = nullptr;
};

StatusOr<LoadSettings> ReadModelOptions(const mf_model_options* options);
StatusOr<ModelFiles> OpenSources(const mf_source* sources, size_t n_sources, FileAccess access);

struct ContextSettings {
  ContextOptions engine;
  CancelFlag cancel;  // what engine.cancel points at
};
StatusOr<ContextSettings> ReadContextOptions(const mf_context_options* options);

// NULL gives the defaults.
StatusOr<SamplingSettings> ReadSampling(const mf_sampling* sampling);
// The host's edit of the logits stands in the same struct.
StatusOr<mf_sampling> ReadSamplingStruct(const mf_sampling* sampling);

// What `device` has of a model or context.
mf_memory_use ToMemoryUse(const MemoryUse& use, size_t device);
// The bytes in use, or their peaks, of an account.
MemoryUse UseOf(const MemoryAccount::Snapshot& snapshot, bool peak);

// A field that is 0 or 1.
Status CheckFlag(uint8_t value, std::string_view name);

// NULL is an empty text.
inline std::string_view TextOf(const char* text) { return text == nullptr ? "" : text; }
StatusOr<std::string_view> TextOf(const mf_text& text, std::string_view name);
StatusOr<std::string_view> TextOf(const char* text, size_t length, std::string_view name);

}  // namespace minfer::capi
