// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What there is to say about a model's file, as one JSON document, which is printed as it is or as
// text. No weight is read.
#pragma once

#include <minfer/minfer.hpp>

#include <nlohmann/json.hpp>
#include <string>

namespace inspect {

using Json = nlohmann::ordered_json;

struct Settings {
  std::string path;
  uint32_t n_ctx = 0;  // 0: what the model was trained on
  uint32_t n_sessions = 1;
  mf_kv_type kv_type = MF_KV_DEFAULT;
  size_t n_elements = 8;  // of an array that are shown
  bool tensors = false;   // one by one
};

// "file", "runs", "metadata", "tensor_types", "tensors", "plan", "chat_template". What the model
// has not is not there.
mf::Result<Json> Collect(const mf::Model& model, const Settings& settings);

}  // namespace inspect
