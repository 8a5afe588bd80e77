// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/str_cat.h"
#include "tokenizer/utf8.h"

namespace minfer {
namespace {

// Unicode white space written out: PCRE2's \s also takes U+180E, which is white space no longer.
#define MF_SPACE \
  "\\t-\\r "     \
  "\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}"
// The same without carriage return and line feed.
#define MF_BLANK       \
  "\\t\\x{0B}\\x{0C} " \
  "\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}"

// White space whose last character goes to the word after it, and white space that no word follows.
#define MF_SPACE_RUNS "[" MF_SPACE "]+(?![^" MF_SPACE "])|[" MF_SPACE "]+"
// White space up to its last line end. Possessive throughout: a run of blanks without a line end is
// read once and given up.
#define MF_LINE_ENDS "(?:[" MF_BLANK "]*+[\\r\\n]++)++"
#define MF_ANY_CASE_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"

// Each alternative is tried in order at the end of the piece before; together they take any
// character, and none backs up over more than one, so that splitting is linear.
constexpr char kGpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d"
    "| ?\\p{L}++| ?\\p{N}++| ?[^" MF_SPACE "\\p{L}\\p{N}]++|" MF_SPACE_RUNS;
constexpr char kQwen2[] = MF_ANY_CASE_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}++|\\p{N}"
    "| ?[^" MF_SPACE "\\p{L}\\p{N}]++[\\r\\n]*+|" MF_LINE_ENDS "|" MF_SPACE_RUNS;
constexpr char kLlama3[] = MF_ANY_CASE_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}++|\\p{N}{1,3}+"
    "| ?[^" MF_SPACE "\\p{L}\\p{N}]++[\\r\\n]*+|" MF_LINE_ENDS "|" MF_SPACE_RUNS;
constexpr char kQwen35[] = MF_ANY_CASE_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]++|\\p{N}"
    "| ?[^" MF_SPACE "\\p{L}\\p{M}\\p{N}]++[\\r\\n]*+|" MF_LINE_ENDS "|" MF_SPACE_RUNS;
constexpr char kNoNumbers[] = "\\P{N}++";

#undef MF_SPACE
#undef MF_BLANK
#undef MF_SPACE_RUNS
#undef MF_LINE_ENDS
#undef MF_ANY_CASE_CONTRACTIONS

struct Rule {
  std::string_view name;
  // What the pattern sees at a time, each character between such stretches being a piece of its
  // own; null for the whole text.
  const char* stretch;
  const char* pattern;
  bool llama3_kind;
};

constexpr Rule kRules[] = {
    {"gpt-2", nullptr, kGpt2, false},
    {"phi-2", nullptr, kGpt2, false},
    {"smollm", kNoNumbers, kGpt2, false},
    {"qwen2", nullptr, kQwen2, false},
    {"deepseek-r1-qwen", nullptr, kQwen2, false},
    {"qwen35", nullptr, kQwen35, false},
    {"llama-bpe", nullptr, kLlama3, true},
    {"llama3", nullptr, kLlama3, true},
    {"llama-v3", nullptr, kLlama3, true},
    {"falcon3", nullptr, kLlama3, true},
    {"pixtral", nullptr, kLlama3, true},
};

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

  // The bytes that `code` takes at the very start of well-formed `text`; 0 for no match.
  StatusOr<size_t> MatchHere(const pcre2_code_8* code, std::string_view text) {
    // Anchored, and told that the text is well formed, so that no call looks at more than it takes.
    const int result = pcre2_match_8(code, reinterpret_cast<PCRE2_SPTR8>(text.data()), text.size(),
                                     0, PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK, match_, limits_);
    if (result == PCRE2_ERROR_NOMATCH) return size_t{0};
    if (result < 0) return EngineError(rule_, result);
    return size_t{pcre2_get_ovector_pointer_8(match_)[1]};
  }

  // Appends the ends of the pieces of well-formed `text`, which starts at `offset` of the whole.
  Status SplitStretch(const pcre2_code_8* pattern, std::string_view text, size_t offset,
                      std::vector<size_t>* ends) {
    for (size_t position = 0; position < text.size();) {
      MF_ASSIGN_OR_RETURN(size_t length, MatchHere(pattern, text.substr(position)));
      if (length == 0) length = Utf8CharacterLength(text.substr(position));
      position += length;
      ends->push_back(offset + position);
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
  for (const Rule& rule : kRules) {
    if (rule.name != rule_name) continue;
    Pretokenizer pretokenizer;
    pretokenizer.rule_name_ = rule.name;
    pretokenizer.llama3_kind_ = rule.llama3_kind;
    if (rule.stretch != nullptr) {
      MF_ASSIGN_OR_RETURN(pretokenizer.stretch_, Pattern::Compile(rule.name, rule.stretch));
    }
    MF_ASSIGN_OR_RETURN(pretokenizer.pattern_, Pattern::Compile(rule.name, rule.pattern));
    return pretokenizer;
  }
  return Status(StatusCode::kNotFound, Subsystem::kTokenizer,
                StrCat("no splitting rule is known by the name '", rule_name,
                       "' (tokenizer.ggml.pre)"))
      .WithName(rule_name);
}

Status Pretokenizer::Split(std::string_view text, std::vector<size_t>* ends) const {
  Matcher matcher(rule_name_, text.size());
  if (!matcher.ready()) return EngineError(rule_name_, PCRE2_ERROR_NOMEMORY);
  for (size_t position = 0; position < text.size();) {
    const size_t valid_end = position + ValidUtf8Prefix(text.substr(position));
    while (position < valid_end) {
      const std::string_view rest = text.substr(position, valid_end - position);
      size_t stretch = rest.size();
      if (stretch_ != nullptr) {
        MF_ASSIGN_OR_RETURN(stretch, matcher.MatchHere(stretch_->code, rest));
      }
      if (stretch > 0) {
        MF_RETURN_IF_ERROR(
            matcher.SplitStretch(pattern_->code, rest.substr(0, stretch), position, ends));
      } else {
        stretch = Utf8CharacterLength(rest);
        ends->push_back(position + stretch);
      }
      position += stretch;
    }
    const size_t invalid = InvalidUtf8Prefix(text.substr(position));
    if (invalid > 0) ends->push_back(position + invalid);
    position += invalid;
  }
  return OkStatus();
}

}  // namespace minfer
