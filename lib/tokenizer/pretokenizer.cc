// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/str_cat.h"
#include "tokenizer/splitting_rules.h"
#include "tokenizer/utf8.h"

namespace minfer {
namespace {

// No pattern needs backtracking memory that grows with the text.
constexpr uint32_t kHeapLimitKib = 1024;
// Steps that the engine may take for one piece: a few a byte.
constexpr uint64_t kStepsPerByte = 4;
constexpr uint64_t kStepsAtLeast = 10000;

Status EngineError(std::string_view rule, int error) {
  PCRE2_UCHAR8 text[128] = {};
  pcre2_get_error_message_8(error, text, sizeof(text));
  const bool limit = error == PCRE2_ERROR_MATCHLIMIT || error == PCRE2_ERROR_DEPTHLIMIT ||
                     error == PCRE2_ERROR_HEAPLIMIT || error == PCRE2_ERROR_NOMEMORY;
  return Status(limit ? StatusCode::kResourceExhausted : StatusCode::kInternal,
                Subsystem::kTokenizer,
                StrCat("splitting text failed: ", reinterpret_cast<const char*>(text)))
      .WithName(rule);
}

// What one call of Split needs of the engine.
class Matcher {
 public:
  Matcher(std::string_view rule, size_t text_size) : rule_(rule) {
    match_ = pcre2_match_data_create_8(1, nullptr);
    limits_ = pcre2_match_context_create_8(nullptr);
    if (!ready()) return;
    const uint64_t steps = kStepsAtLeast + kStepsPerByte * text_size;
    pcre2_set_match_limit_8(limits_, static_cast<uint32_t>(std::min<uint64_t>(steps, UINT32_MAX)));
    pcre2_set_heap_limit_8(limits_, kHeapLimitKib);
  }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;
  ~Matcher() {
    pcre2_match_data_free_8(match_);
    pcre2_match_context_free_8(limits_);
  }
  bool ready() const { return match_ != nullptr && limits_ != nullptr; }

  // Appends the ends of what `code` matches in well-formed `text`, which starts at `offset` of the
  // whole, and of what lies between its matches.
  Status Cut(const pcre2_code_8* code, std::string_view text, size_t offset,
             std::vector<size_t>* ends) {
    for (size_t position = 0; position < text.size();) {
      // Told that the text is well formed, so that no call looks at more than it takes.
      const int result = pcre2_match_8(code, reinterpret_cast<PCRE2_SPTR8>(text.data()),
                                       text.size(), position, PCRE2_NO_UTF_CHECK, match_, limits_);
      if (result == PCRE2_ERROR_NOMATCH) {
        ends->push_back(offset + text.size());
        return OkStatus();
      }
      if (result < 0) return EngineError(rule_, result);
      const size_t begin = pcre2_get_ovector_pointer_8(match_)[0];
      const size_t end = pcre2_get_ovector_pointer_8(match_)[1];
      if (begin > position) ends->push_back(offset + begin);
      ends->push_back(offset + end);
      position = end;
    }
    return OkStatus();
  }

 private:
  std::string_view rule_;
  pcre2_match_data_8* match_ = nullptr;
  pcre2_match_context_8* limits_ = nullptr;
};

}  // namespace

struct Pretokenizer::Pattern {
  ~Pattern() { pcre2_code_free_8(code); }

  static StatusOr<std::unique_ptr<Pattern>> Compile(std::string_view rule, const char* text) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    auto pattern = std::make_unique<Pattern>();
    // Not compiled to machine code: hosts may forbid memory that is both written and run.
    pattern->code = pcre2_compile_8(reinterpret_cast<PCRE2_SPTR8>(text), PCRE2_ZERO_TERMINATED,
                                    PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
    if (pattern->code == nullptr) return EngineError(rule, error);
    return pattern;
  }

  pcre2_code_8* code = nullptr;
};

Pretokenizer::Pretokenizer() = default;
Pretokenizer::Pretokenizer(Pretokenizer&&) noexcept = default;
Pretokenizer& Pretokenizer::operator=(Pretokenizer&&) noexcept = default;
Pretokenizer::~Pretokenizer() = default;

StatusOr<Pretokenizer> Pretokenizer::Create(std::string_view rule_name) {
  const SplittingRule* rule = FindSplittingRule(rule_name);
  if (rule == nullptr) {
    return Status(StatusCode::kUnimplemented, Subsystem::kTokenizer,
                  StrCat("no splitting rule is known by the name '", rule_name,
                         "' (tokenizer.ggml.pre)"))
        .WithName(rule_name);
  }
  Pretokenizer pretokenizer;
  pretokenizer.rule_name_ = rule->name;
  pretokenizer.llama3_kind_ = rule->llama3_kind;
  for (const char* text : rule->patterns) {
    if (text == nullptr) break;
    MF_ASSIGN_OR_RETURN(std::unique_ptr<Pattern> pattern, Pattern::Compile(rule->name, text));
    pretokenizer.patterns_.push_back(std::move(pattern));
  }
  return pretokenizer;
}

Status Pretokenizer::Split(std::string_view text, std::vector<size_t>* ends) const {
  Matcher matcher(rule_name_, text.size());
  if (!matcher.ready()) return EngineError(rule_name_, PCRE2_ERROR_NOMEMORY);
  std::vector<size_t> pieces;
  std::vector<size_t> cut;
  for (size_t position = 0; position < text.size();) {
    const size_t valid = ValidUtf8Prefix(text.substr(position));
    pieces.clear();
    if (valid > 0) pieces.push_back(position + valid);
    for (const std::unique_ptr<Pattern>& pattern : patterns_) {
      cut.clear();
      size_t begin = position;
      for (size_t end : pieces) {
        MF_RETURN_IF_ERROR(
            matcher.Cut(pattern->code, text.substr(begin, end - begin), begin, &cut));
        begin = end;
      }
      std::swap(pieces, cut);
    }
    ends->insert(ends->end(), pieces.begin(), pieces.end());
    position += valid;
    const size_t invalid = InvalidUtf8Prefix(text.substr(position));
    if (invalid > 0) ends->push_back(position + invalid);
    position += invalid;
  }
  return OkStatus();
}

}  // namespace minfer
