// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A prompt that ends inside of its last message, so that the model goes on with it: the host has
// begun the assistant's answer.
#pragma once

#include <string>

#include "base/status.h"
#include "chat/chat_template.h"
#include "chat/message.h"

namespace minfer::chat {

// A short text that nothing in the request contains. Written behind the last message's content, it
// shows where the template puts that content's end.
std::string UnusedMark(const ChatRequest& request);

// The text up to the last mark, without any mark. INVALID_ARGUMENT when the template has not
// written it: it does not show the last message's content, or changes it on the way.
StatusOr<RenderedText> CutAtMark(const RenderedText& rendered, const std::string& mark);

}  // namespace minfer::chat
