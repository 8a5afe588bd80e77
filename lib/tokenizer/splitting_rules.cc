// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/splitting_rules.h"

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

// In each pattern the alternatives are tried in order. None backs up over more than it has read
// once, and none reads far without a match, so that splitting is linear.

// openai-community/gpt2.
constexpr char kGpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d"
    "| ?\\p{L}++| ?\\p{N}++| ?[^" MF_SPACE "\\p{L}\\p{N}]++|" MF_SPACE_RUNS;

// Qwen/Qwen2-7B.
constexpr char kQwen2[] = MF_ANY_CASE_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}++|\\p{N}"
    "| ?[^" MF_SPACE "\\p{L}\\p{N}]++[\\r\\n]*+|" MF_LINE_ENDS "|" MF_SPACE_RUNS;

// meta-llama/Meta-Llama-3-8B.
constexpr char kLlama3[] = MF_ANY_CASE_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}++|\\p{N}{1,3}+"
    "| ?[^" MF_SPACE "\\p{L}\\p{N}]++[\\r\\n]*+|" MF_LINE_ENDS "|" MF_SPACE_RUNS;

// Qwen/Qwen3.5-4B.
constexpr char kQwen35[] = MF_ANY_CASE_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]++|\\p{N}"
    "| ?[^" MF_SPACE "\\p{L}\\p{M}\\p{N}]++[\\r\\n]*+|" MF_LINE_ENDS "|" MF_SPACE_RUNS;

// Letters of words that begin with capitals, and of words that end in small ones. Letters without
// case and marks are in both.
#define MF_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define MF_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define MF_CASED_WORDS(suffix)                                                                  \
  "[^\\r\\n\\p{L}\\p{N}]?" MF_UPPER "*" MF_LOWER "++" suffix "|[^\\r\\n\\p{L}\\p{N}]?" MF_UPPER \
  "++" MF_LOWER "*+" suffix "|"
#define MF_SYMBOLS_AND_SPACE \
  "| ?[^" MF_SPACE "\\p{L}\\p{N}]++[\\r\\n/]*+|" MF_LINE_ENDS "|" MF_SPACE_RUNS

// mistralai/Mistral-Nemo-Instruct-2407.
constexpr char kTekken[] = MF_CASED_WORDS("") "\\p{N}" MF_SYMBOLS_AND_SPACE;

// openai/gpt-oss-20b.
constexpr char kGpt4o[] =
    MF_CASED_WORDS(MF_ANY_CASE_CONTRACTIONS "?+") "\\p{N}{1,3}+" MF_SYMBOLS_AND_SPACE;

// HuggingFaceTB/SmolLM2-135M and bigcode/starcoder2-3b: each number first, then kGpt2.
constexpr char kNumber[] = "\\p{N}";
constexpr char kNumbers[] = "\\p{N}++";
constexpr char kUpTo3Numbers[] = "\\p{N}{1,3}+";
constexpr char k3Digits[] = "[0-9][0-9][0-9]";

// deepseek-ai/deepseek-llm-7b-base, its alphabet of cased letters as published.
constexpr char kLineEnd[] = "[\\r\\n]";
constexpr char kDeepSeekWords[] =
    "[" MF_SPACE
    "]?[A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-\\x{"
    "293}"
    "\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}\\x{386}"
    "\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}"
    "\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}"
    "\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{"
    "1F15}"
    "\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}"
    "\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}"
    "\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{"
    "1FF4}"
    "\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}"
    "\\x{2126}\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}"
    "\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}"
    "\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}"
    "\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{"
    "FB17}"
    "\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}"
    "\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}"
    "\\x{1E900}-\\x{1E943}]++";
constexpr char kDeepSeekMarks[] =
    "[" MF_SPACE
    "]?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3001}\\x{3002}]++";
// Published as one range from U+0800 to U+9FA5. White space is left out, as in the readers that
// GGUF files are made for.
constexpr char kDeepSeekCjk[] =
    "[\\x{800}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}\\x{202A}-\\x{202E}"
    "\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{9FA5}\\x{AC00}-\\x{D7FF}]++";
// White space at the end. It is tried once a run: from inside of one it cannot begin.
constexpr char kSpaceAtEnd[] = "(?<![" MF_SPACE "])[" MF_SPACE "]++\\z";

// deepseek-ai/deepseek-coder-6.7b-base.
constexpr char kCoderWords[] = "[" MF_SPACE "]?\\p{L}++";
constexpr char kCoderMarks[] = "[" MF_SPACE "]?\\p{P}++";

// deepseek-ai/DeepSeek-V3.
constexpr char kV3Cjk[] = "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]++";
constexpr char kV3[] =
    "[!-/:-@\\[-`{-~][A-Za-z]++|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]++"
    "| ?[\\p{P}\\p{S}]++[\\r\\n]*+|" MF_LINE_ENDS "|" MF_SPACE_RUNS;

// tiiuae/falcon-7b. Files without a rule's name (and those that say "default") are split almost
// like it.
constexpr char kFalconMarks[] = "[\\p{P}$+<=>^~|`]++";
constexpr char kDefaultMarks[] = "[\\p{P}$+<=>^~|]++";

#undef MF_SPACE
#undef MF_BLANK
#undef MF_SPACE_RUNS
#undef MF_LINE_ENDS
#undef MF_ANY_CASE_CONTRACTIONS
#undef MF_UPPER
#undef MF_LOWER
#undef MF_CASED_WORDS
#undef MF_SYMBOLS_AND_SPACE

constexpr SplittingRule kRules[] = {
    {"gpt-2", {kGpt2}, false},
    {"phi-2", {kGpt2}, false},
    {"mpt", {kGpt2}, false},
    {"olmo", {kGpt2}, false},
    {"smollm", {kNumber, kGpt2}, false},
    {"starcoder", {kNumber, kGpt2}, false},
    {"refact", {kNumber, kGpt2}, false},
    {"command-r", {kNumber, kGpt2}, false},
    {"codeshell", {kNumber, kGpt2}, false},
    {"exaone", {kNumber, kGpt2}, false},
    {"falcon", {kFalconMarks, kGpt2, kNumbers, k3Digits}, false},
    {"default", {kDefaultMarks, kGpt2, kNumbers, k3Digits}, false},
    {"qwen2", {kQwen2}, false},
    {"deepseek-r1-qwen", {kQwen2}, false},
    {"stablelm2", {kQwen2}, false},
    {"qwen35", {kQwen35}, false},
    {"llama-bpe", {kLlama3}, true},
    {"llama3", {kLlama3}, true},
    {"llama-v3", {kLlama3}, true},
    {"falcon3", {kLlama3}, true},
    {"pixtral", {kLlama3}, true},
    {"dbrx", {kLlama3}, false},
    {"smaug-bpe", {kLlama3}, false},
    {"chatglm-bpe", {kLlama3}, false},
    {"glm4", {kLlama3}, false},
    {"tekken", {kTekken}, true},
    {"gpt-4o", {kGpt4o}, false},
    {"llama4", {kGpt4o}, false},
    {"deepseek-llm",
     {kLineEnd, kDeepSeekWords, kDeepSeekMarks, kSpaceAtEnd, kDeepSeekCjk, kNumbers},
     false},
    {"deepseek-coder", {kLineEnd, kCoderWords, kCoderMarks, kDeepSeekCjk, kNumber}, false},
    {"deepseek-v3", {kUpTo3Numbers, kV3Cjk, kV3}, false},
};

}  // namespace

const SplittingRule* FindSplittingRule(std::string_view name) {
  for (const SplittingRule& rule : kRules) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

}  // namespace minfer
