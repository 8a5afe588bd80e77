// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The damaged and odd GGUF files that tests/data/gguf_bad.py writes, made once a program.
#pragma once

#include <string>
#include <vector>

namespace minfer::testing {

struct GgufVariant {
  std::string name;     // "key_len_max"
  std::string case_id;  // "A04"
  std::string stage;    // where the fault sits: "gguf" (container), "model" or "vocab"
  std::string want;     // of a model loader: "load", "reject" or "safe" (either, but no harm)
  std::string note;
  std::string path;  // of the file
};

// All of them, in the script's order; the files are removed when the program ends.
const std::vector<GgufVariant>& GgufVariants();
// One of them; the test fails when there is none of that name.
const GgufVariant& FindGgufVariant(const std::string& name);

// Whether reading the container must refuse the variant. The rest of those with want "reject" are
// sound containers whose model or vocabulary is at fault: the model loader must refuse them.
bool ContainerMustRefuse(const GgufVariant& variant);

}  // namespace minfer::testing
