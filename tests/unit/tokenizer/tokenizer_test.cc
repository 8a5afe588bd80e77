// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <pthread.h>

#include <thread>

#include "tests/support/test_data.h"
#include "tests/unit/tokenizer/test_vocabulary.h"

namespace minfer {
namespace {

using testing::AddToken;
using testing::ByteVocabulary;
using testing::Decode;
using testing::Encode;
using testing::MakeTokenizer;
using testing::SentencePieceVocabulary;
using Ids = std::vector<int32_t>;

TEST_CASE("Tokenizer: text that looks like a control token stays text (B20)", "[tokenizer]") {
  VocabularyData data = ByteVocabulary("llama-bpe");
  const int32_t control = AddToken(&data, "<|im_end|>", TokenType::kControl);
  const int32_t word = AddToken(&data, "word", TokenType::kControl);
  const int32_t user = AddToken(&data, "<tool>", TokenType::kUserDefined);
  const int32_t unknown = AddToken(&data, "<unk>", TokenType::kUnknown);
  const auto tokenizer = MakeTokenizer(data);
  CHECK(Encode(*tokenizer, "<|im_end|>", true) == Ids{control});
  CHECK(Encode(*tokenizer, "<|im_end|>").size() == 10);
  // Not even where the rule would take a piece for a whole token.
  CHECK(Encode(*tokenizer, "word").size() == 4);
  CHECK(Encode(*tokenizer, "a<unk>word", true) == Ids{'a', unknown, word});
  CHECK(Encode(*tokenizer, "<unk>").size() == 5);
  CHECK(Encode(*tokenizer, "a<tool>b") == Ids{'a', user, 'b'});
}

TEST_CASE("Tokenizer: segments keep the user's text plain in a chat (B20)", "[tokenizer]") {
  VocabularyData data = ByteVocabulary("qwen2", {{"h", "i"}, {"hi", "hi"}});
  const int32_t start = AddToken(&data, "<|im_start|>", TokenType::kControl);
  const int32_t end = AddToken(&data, "<|im_end|>", TokenType::kControl);
  const auto tokenizer = MakeTokenizer(data);
  EncodeOptions options;
  Ids ids;
  const TextSegment chat[] = {{"<|im_start|>", true}, {"<|im_end|>", false}, {"<|im_end|>", true}};
  MF_REQUIRE_OK(tokenizer->EncodeSegments(chat, options, &ids));
  REQUIRE(ids.size() == 12);
  CHECK(ids.front() == start);
  CHECK(ids.back() == end);
  CHECK(Decode(*tokenizer, ids) == "<|im_start|><|im_end|><|im_end|>");

  // Half a token in the template and half in the user's text is no token.
  const TextSegment halves[] = {{"<|im_", true}, {"end|>", false}};
  MF_REQUIRE_OK(tokenizer->EncodeSegments(halves, options, &ids));
  CHECK(ids.size() == 10);
  // Two halves in segments of one kind are.
  const TextSegment whole[] = {{"<|im_", true}, {"", false}, {"end|>", true}};
  MF_REQUIRE_OK(tokenizer->EncodeSegments(whole, options, &ids));
  CHECK(ids == Ids{end});
  // Plain text is encoded as one across a border.
  const TextSegment plain[] = {{"hi", true}, {"hi", false}};
  MF_REQUIRE_OK(tokenizer->EncodeSegments(plain, options, &ids));
  CHECK(ids == Encode(*tokenizer, "hihi"));
  CHECK(ids.size() == 1);
  MF_REQUIRE_OK(tokenizer->EncodeSegments({}, options, &ids));
  CHECK(ids.empty());
}

TEST_CASE("Tokenizer: the begin token is added once (B17, B24)", "[tokenizer]") {
  VocabularyData data = SentencePieceVocabulary({"▁", "a", "▁a"});
  data.add_eos = true;
  const auto tokenizer = MakeTokenizer(data);
  const int32_t a = 261;
  CHECK(Encode(*tokenizer, "a", true, true) == Ids{1, a, 2});
  CHECK(Encode(*tokenizer, "<s>a</s>", true, true) == Ids{1, a, 2});
  CHECK(Encode(*tokenizer, "a<s>", true, true) == Ids{1, a, 1, 2});
  CHECK(Encode(*tokenizer, "", true, true) == Ids{1, 2});
  CHECK(Encode(*tokenizer, "<s>", true, true) == Ids{1, 2});
  // Plain text that spells it is no begin token.
  CHECK(Encode(*tokenizer, "<s>a", false, true).front() == 1);
  CHECK(Encode(*tokenizer, "<s>a", false, true).size() > 3);
}

TEST_CASE("Tokenizer: the flag decides on the begin token, else the kind (B18, B19)",
          "[tokenizer]") {
  for (const char* rule : {"qwen2", "llama-bpe", "sentencepiece"}) {
    const std::string name = rule;
    VocabularyData data =
        name == "sentencepiece" ? SentencePieceVocabulary({"▁", "a", "▁a"}) : ByteVocabulary(rule);
    data.special(SpecialToken::kBos) = 5;
    const auto begins = [](const VocabularyData& with) {
      return Encode(*MakeTokenizer(with), "a", false, true).size() == 2;
    };
    CHECK(begins(data) == (name != "qwen2"));
    data.add_bos = true;
    CHECK(begins(data));
    data.add_bos = false;
    CHECK_FALSE(begins(data));
  }
}

TEST_CASE("Tokenizer: no begin token is made up (A54, A55, B18)", "[tokenizer]") {
  VocabularyData data = ByteVocabulary("qwen2");
  auto tokenizer = MakeTokenizer(data);
  CHECK(tokenizer->Special(SpecialToken::kBos) == kNoToken);
  CHECK(tokenizer->warnings().empty());
  data.add_bos = true;
  data.add_eos = true;
  tokenizer = MakeTokenizer(data);
  CHECK(tokenizer->warnings().size() == 2);
  CHECK_FALSE(tokenizer->adds_bos());
  CHECK(Encode(*tokenizer, "a", true, true) == Ids{'a'});
}

TEST_CASE("Tokenizer: a special id past the vocabulary is none (A54)", "[tokenizer]") {
  for (const uint64_t id : {uint64_t{256}, uint64_t{999999}, uint64_t{0xFFFFFFFF}, UINT64_MAX}) {
    VocabularyData data = ByteVocabulary("llama-bpe");
    data.special(SpecialToken::kBos) = id;
    data.special(SpecialToken::kEos) = id;
    const auto tokenizer = MakeTokenizer(data);
    CHECK(tokenizer->Special(SpecialToken::kBos) == kNoToken);
    CHECK(tokenizer->Special(SpecialToken::kEos) == kNoToken);
    // One more for the begin token that the rule would add; 2^32 - 1 is how files write "none".
    CHECK(tokenizer->warnings().size() == (id == 0xFFFFFFFF ? 1 : 3));
    CHECK(Encode(*tokenizer, "a", true, true) == Ids{'a'});
  }
  // SentencePiece's defaults are none where the vocabulary is too small for them.
  VocabularyData data;
  data.model = "llama";
  AddToken(&data, "a", TokenType::kNormal);
  const auto tokenizer = MakeTokenizer(data);
  CHECK(tokenizer->Special(SpecialToken::kBos) == kNoToken);
  CHECK(tokenizer->Special(SpecialToken::kEos) == kNoToken);
}

TEST_CASE("Tokenizer: every known end token ends generation (B21)", "[tokenizer]") {
  VocabularyData data = ByteVocabulary("llama-bpe");
  Ids ends;
  for (const char* text :
       {"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<end_of_turn>", "<|endoftext|>",
        "<|eom_id|>", "<EOT>", "_<EOT>", "<|end_of_text|>", "<end_of_utterance>"}) {
    ends.push_back(AddToken(&data, text, TokenType::kControl));
  }
  const int32_t end = ends[2];
  const int32_t other = AddToken(&data, "<|start|>", TokenType::kControl);
  for (SpecialToken role :
       {SpecialToken::kEos, SpecialToken::kEot, SpecialToken::kEom, SpecialToken::kFimPadding,
        SpecialToken::kFimRepository, SpecialToken::kFimSeparator}) {
    ends.push_back(AddToken(&data, "role", TokenType::kControl));
    data.special(role) = static_cast<uint64_t>(ends.back());
  }
  auto tokenizer = MakeTokenizer(data);
  for (int32_t id : ends) CHECK(tokenizer->IsEndOfGeneration(id));
  CHECK_FALSE(tokenizer->IsEndOfGeneration(other));
  CHECK_FALSE(tokenizer->IsEndOfGeneration('a'));

  // The model's own list is added to these.
  data.end_ids = {static_cast<uint64_t>(other), 100000};
  tokenizer = MakeTokenizer(data);
  for (int32_t id : ends) CHECK(tokenizer->IsEndOfGeneration(id));
  CHECK(tokenizer->IsEndOfGeneration(other));
  REQUIRE_FALSE(tokenizer->warnings().empty());  // of the id past the vocabulary
  CHECK(tokenizer->warnings()[0].starts_with("tokenizer.ggml.eos_token_ids: 1 "));

  const int32_t call = AddToken(&data, "<|call|>", TokenType::kControl);
  tokenizer = MakeTokenizer(data);
  CHECK(tokenizer->IsEndOfGeneration(call));
  CHECK_FALSE(tokenizer->IsEndOfGeneration(end));
}

TEST_CASE("Tokenizer: refuses lists that are missing, empty or of other lengths (A48, A60)",
          "[tokenizer]") {
  VocabularyData data = ByteVocabulary("gpt-2");
  data.tokens = StringList();
  CHECK(Tokenizer::Create(data).status().name() == "tokenizer.ggml.tokens");
  data = ByteVocabulary("gpt-2");
  data.token_types.resize(3);
  CHECK(Tokenizer::Create(data).status().name() == "tokenizer.ggml.token_type");
  data.token_types.assign(data.tokens.size(), 99);
  const auto tokenizer = MakeTokenizer(data);
  CHECK(tokenizer->warnings().size() == 1);
  CHECK(tokenizer->Attributes('a').type == TokenType::kNormal);
}

TEST_CASE("Tokenizer: refuses a model kind that it does not know (A60)", "[tokenizer]") {
  VocabularyData data = ByteVocabulary("gpt-2");
  data.model = "nosuch";
  CHECK(Tokenizer::Create(data).status().code() == StatusCode::kUnimplemented);
  CHECK(Tokenizer::Create(data).status().name() == "nosuch");
  for (const char* kind : {"rwkv", "plamo2"}) {
    data.model = kind;
    CHECK(Tokenizer::Create(data).status().code() == StatusCode::kUnimplemented);
    CHECK(Tokenizer::Create(data).status().name() == kind);
  }
}

TEST_CASE("Tokenizer: a model without a tokenizer loads, and text is an error (A60)",
          "[tokenizer]") {
  VocabularyData data;
  data.model = "none";
  const auto tokenizer = MakeTokenizer(data);
  CHECK_FALSE(tokenizer->has_text());
  CHECK(tokenizer->RuleName() == "none");
  CHECK(tokenizer->vocab_size() == 0);
  Ids ids;
  std::string text;
  CHECK(tokenizer->Encode("a", true, true, &ids).code() == StatusCode::kFailedPrecondition);
  CHECK(tokenizer->Encode("", true, true, &ids).code() == StatusCode::kFailedPrecondition);
  CHECK(tokenizer->Count("a", {}).status().code() == StatusCode::kFailedPrecondition);
  CHECK(tokenizer->Decode(Ids{0}, {}, &text).code() == StatusCode::kFailedPrecondition);
}

TEST_CASE("Tokenizer: counts what it would encode (B10)", "[tokenizer]") {
  const auto tokenizer = MakeTokenizer(ByteVocabulary("gpt-2", {{"a", "b"}}));
  EncodeOptions options;
  auto count = tokenizer->Count("ab c", options);
  MF_REQUIRE_OK(count);
  CHECK(*count == 3);
  CHECK(tokenizer->Count("", options).value() == 0);
}

TEST_CASE("Tokenizer: any bytes come back unchanged (B08, B11, B25)", "[tokenizer]") {
  std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  for (const char* rule : {"gpt-2", "smollm", "qwen2", "llama-bpe", "qwen35"}) {
    VocabularyData data = ByteVocabulary(rule, {{"H", "e"},
                                                {"He", "l"},
                                                {"1", "2"},
                                                {"\n", "\n"},
                                                {"\xC2", "\xA0"},
                                                {"\xE6", "\xAD"},
                                                {"\t", "\t"}});
    AddToken(&data, "<|im_end|>", TokenType::kControl);
    AddToken(&data, "<s", TokenType::kUserDefined);
    tokenizers.push_back(MakeTokenizer(data));
  }
  tokenizers.push_back(MakeTokenizer(
      SentencePieceVocabulary({"▁H", "He", "▁", "e", "H", "l", "▁▁", "日", "日本", "12"})));
  testing::Random random(11);
  std::vector<std::string> texts = {
      "\xE6\xAD", "\xFF", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", std::string("a\0b", 3),
      "a\u00A0b"};
  for (const char* blank : {"\u00A0", "\u3000", "\u2028"}) {
    texts.emplace_back();
    for (int i = 0; i < 1000; ++i) texts.back() += blank;
  }
  for (int i = 0; i < 2000; ++i) texts.push_back(testing::RandomText(&random, i % 2 == 0));
  for (const auto& tokenizer : tokenizers) {
    for (const std::string& text : texts) {
      INFO(tokenizer->RuleName() << ": " << text);
      for (const bool parse_special : {false, true}) {
        const Ids ids = Encode(*tokenizer, text, parse_special);
        CHECK(Decode(*tokenizer, ids) == text);
      }
    }
  }
}

TEST_CASE("Tokenizer: many threads may use one at once", "[tokenizer]") {
  const auto tokenizer = MakeTokenizer(ByteVocabulary("smollm", {{"a", "b"}, {"1", "2"}}));
  const std::string text = "ab 12 ab\n\n'll é";
  const Ids expected = Encode(*tokenizer, text);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        Ids ids;
        std::string back;
        const bool ok = tokenizer->Encode(text, false, false, &ids).ok() && ids == expected &&
                        tokenizer->Decode(ids, {}, &back).ok() && back == text;
        if (!ok) ++wrong[static_cast<size_t>(t)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

struct SmallStackTask {
  const Tokenizer* tokenizer;
  bool lossless;
  bool ok;
};

void* EncodeLongTexts(void* argument) {
  auto* task = static_cast<SmallStackTask*>(argument);
  task->ok = true;
  for (const char c : {'a', ' ', '7', '\n', '\xFF'}) {
    const std::string text(1 << 17, c);
    Ids ids;
    std::string back;
    task->ok = task->ok && task->tokenizer->Encode(text, false, true, &ids).ok() &&
               task->tokenizer->Decode(ids, {}, &back).ok() && (!task->lossless || back == text);
  }
  return nullptr;
}

TEST_CASE("Tokenizer: 64 KiB of stack is enough for any text", "[tokenizer]") {
  constexpr size_t kStackBytes = 64 * 1024;
  const auto bpe = MakeTokenizer(ByteVocabulary("qwen2", {{"a", "a"}, {" ", " "}, {"aa", "aa"}}));
  const auto pieces = MakeTokenizer(SentencePieceVocabulary({"▁", "a", "aa", "▁▁", "aaaa"}));
  const auto unigram = MakeTokenizer(testing::UnigramVocabulary({"▁", "a", "aa", "▁▁", "aaaa"}));
  const auto words = MakeTokenizer(testing::WordPieceVocabulary({"▁a", "a", "▁7", "aaaa"}));
  for (const Tokenizer* tokenizer : {bpe.get(), pieces.get(), unigram.get(), words.get()}) {
    SmallStackTask task = {tokenizer, tokenizer != words.get(), false};
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstacksize(&attributes, kStackBytes) == 0);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, &attributes, EncodeLongTexts, &task) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    CHECK(task.ok);
  }
}

}  // namespace
}  // namespace minfer
