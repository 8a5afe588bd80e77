// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/chat_prompt.h"

#include <utility>

#include "base/str_cat.h"

namespace minfer {
namespace {

constexpr std::string_view kTemplateKey = "tokenizer.chat_template";

std::string SpecialText(const Tokenizer& tokenizer, SpecialToken role) {
  const int32_t id = tokenizer.Special(role);
  return id == kNoToken ? std::string() : std::string(tokenizer.Piece(id));
}

}  // namespace

StatusOr<std::string_view> ChatPrompt::TemplateSource(std::string_view name) const {
  const std::string key = name.empty() || name == "default" ? std::string(kTemplateKey)
                                                            : StrCat(kTemplateKey, ".", name);
  if (model_->metadata().Has(key)) return model_->metadata().GetString(key);
  return Status(StatusCode::kNotFound, Subsystem::kChat, "the model's file has no such template")
      .WithName(key);
}

StatusOr<ChatTemplate> ChatPrompt::Parsed(const ChatPromptRequest& request) const {
  if (!request.template_text.empty()) {
    return ChatTemplate::Parse(request.template_text, request.options.limits);
  }
  MF_ASSIGN_OR_RETURN(const std::string_view source, TemplateSource(request.template_name));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = parsed_.find(request.template_name);
    if (found != parsed_.end()) return found->second;
  }
  MF_ASSIGN_OR_RETURN(ChatTemplate parsed, ChatTemplate::Parse(source));
  const std::lock_guard<std::mutex> lock(mutex_);
  return parsed_.emplace(request.template_name, std::move(parsed)).first->second;
}

StatusOr<RenderedText> ChatPrompt::Render(ChatPromptRequest request) const {
  MF_ASSIGN_OR_RETURN(const ChatTemplate chat_template, Parsed(request));
  const Tokenizer& tokenizer = model_->tokenizer();
  request.chat.bos_token = SpecialText(tokenizer, SpecialToken::kBos);
  request.chat.eos_token = SpecialText(tokenizer, SpecialToken::kEos);
  return RenderMessages(chat_template, request.chat, request.options);
}

Status ChatPrompt::Encode(ChatPromptRequest request, std::vector<int32_t>* ids) const {
  MF_ASSIGN_OR_RETURN(const RenderedText rendered, Render(std::move(request)));
  const std::string_view text = rendered.text;
  std::vector<TextSegment> segments;
  segments.reserve(rendered.segments.size());
  for (const RenderedSegment& segment : rendered.segments) {
    segments.push_back(
        {text.substr(segment.begin, segment.end - segment.begin), !segment.from_content});
  }
  EncodeOptions options;
  options.add_special = false;
  return model_->tokenizer().EncodeSegments(segments, options, ids);
}

}  // namespace minfer
