// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Which tensors of a model are stored anew, and in which type.
//
// Matrices are: tensors of two dimensions or more whose names end in ".weight". Norms, routers of
// experts, position and token-type embeddings, and what recurrent layers mix with stay as they are:
// they are small and errors in them are felt everywhere. The matrix that makes the logits takes
// Q6_K where the type asked for is narrower.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "gguf/model_files.h"
#include "tensor/element_type.h"

namespace minfer {

struct TypeRules {
  ElementType type = ElementType::kF16;
  bool pure = false;              // the matrix of the logits is no exception
  bool allow_requantize = false;  // take what is quantised already
};

// The type of each tensor of the new file, in order. UNIMPLEMENTED for a type that cannot be
// written, or a tensor that cannot be read; FAILED_PRECONDITION, naming the tensor, for one that is
// quantised already.
StatusOr<std::vector<ElementType>> ChooseTypes(const ModelFiles& files, const TypeRules& rules);

// The number in general.file_type of a file whose matrices have the type.
uint32_t FileTypeOf(ElementType type);

}  // namespace minfer
