// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The vocabulary in a GGUF file's metadata.
#pragma once

#include <memory>

#include "base/status.h"
#include "gguf/metadata.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace minfer {

// Copies what the keys say. Refuses a missing tokenizer.ggml.model and values of a wrong type;
// everything else is for Tokenizer::Create to judge.
StatusOr<VocabularyData> LoadVocabulary(const Metadata& metadata);

// Both steps.
StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(const Metadata& metadata);

}  // namespace minfer
