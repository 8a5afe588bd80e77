// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Models and contexts for tests: the tiny reference models of the scripts in tests/data, and the
// real ones that examples/setup.sh fetches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/context.h"
#include "engine/model.h"
#include "tensor/element_type.h"
#include "tests/support/test_data.h"

namespace minfer::testing {

// Writes tiny model `name` of a script in tests/data once a process and gives its path.
std::string TinyModelPath(const std::string& name, const std::string& script = "tiny_ref.py");
std::shared_ptr<const Model> LoadTinyModel(const std::string& name,
                                           const std::string& script = "tiny_ref.py");
// The same model with its matrices in another type (those whose rows are whole blocks of it).
std::string QuantizedTinyModelPath(const std::string& name, ElementType type);
std::string QuantizedModelPath(const std::string& source, ElementType type);

// The files of the golden answers, or nothing (with a printed reason) where one is absent.
std::optional<std::string> SmolLm2Path();
std::optional<std::string> Gemma3Path();
std::shared_ptr<const Model> LoadModel(const std::string& path, int32_t device = 0);
// The index of the first CUDA device, or nothing (with a printed reason) where there is none.
std::optional<int32_t> CudaDeviceIndex();

std::shared_ptr<Context> MakeContext(std::shared_ptr<const Model> model,
                                     const ContextOptions& options);
std::unique_ptr<Session> MakeSession(const std::shared_ptr<Context>& context);

// Feeds and decodes; the logits after the last token.
std::vector<float> Decode(Session* session, absl::Span<const int32_t> tokens);
// Greedy continuation of `n` tokens, or up to an end token, which is included.
std::vector<int32_t> Greedy(Session* session, int64_t n);

int32_t ArgMax(absl::Span<const float> logits);

}  // namespace minfer::testing
