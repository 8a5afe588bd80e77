// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "facts.h"

namespace inspect {

// The document as text for people, on the standard output.
void Print(const Json& facts);

}  // namespace inspect
