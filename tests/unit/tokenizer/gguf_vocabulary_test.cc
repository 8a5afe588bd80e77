// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/gguf_vocabulary.h"

#include <set>

#include "gguf/model_files.h"
#include "tests/support/gguf_variants.h"
#include "tests/support/test_data.h"
#include "tests/unit/gguf/gguf_support.h"
#include "tests/unit/tokenizer/test_vocabulary.h"

namespace minfer {
namespace {

using testing::GgufVariant;
using Ids = std::vector<int32_t>;

std::unique_ptr<Tokenizer> LoadVariant(const std::string& name, Status* status) {
  for (const GgufVariant& variant : testing::GgufVariants()) {
    if (variant.name != name) continue;
    auto files = ModelFiles::Open(variant.path, FileAccess::kMap);
    MF_REQUIRE_OK(files);
    auto tokenizer = LoadTokenizer(files->metadata());
    *status = tokenizer.status();
    return tokenizer.ok() ? *std::move(tokenizer) : nullptr;
  }
  FAIL("no variant " << name);
  return nullptr;
}

std::unique_ptr<Tokenizer> LoadVariant(const std::string& name) {
  Status status;
  auto tokenizer = LoadVariant(name, &status);
  MF_REQUIRE_OK(status);
  return tokenizer;
}

TEST_CASE("GgufVocabulary: every vocabulary variant loads or is refused as its list says (A47-A60)",
          "[tokenizer]") {
  // Sound vocabularies whose fault is that the embedding has another number of rows.
  const std::set<std::string> for_the_model = {"tok_fewer", "tok_more"};
  const std::string text = " ab a\tz\n\xC3\xA9\xFF<|end|></s>";
  size_t refused = 0;
  size_t loaded = 0;
  for (const GgufVariant& variant : testing::GgufVariants()) {
    if (variant.stage != "vocab") continue;
    auto files = ModelFiles::Open(variant.path, FileAccess::kMap);
    INFO(variant.name << ": " << variant.note << ": " << files.status().ToString());
    if (!files.ok()) {
      CHECK(variant.want != "load");
      continue;
    }
    auto tokenizer = LoadTokenizer(files->metadata());
    INFO(tokenizer.status().ToString());
    if (variant.want == "load") CHECK(tokenizer.ok());
    if (variant.want == "reject" && for_the_model.count(variant.name) == 0) {
      CHECK_FALSE(tokenizer.ok());
    }
    if (!tokenizer.ok()) {
      ++refused;
      CHECK_FALSE(tokenizer.status().name().empty());
      continue;
    }
    ++loaded;
    for (const bool parse_special : {false, true}) {
      Ids ids;
      std::string back;
      if (!(*tokenizer)->Encode(text, true, parse_special, &ids).ok()) continue;
      for (int32_t id : ids) CHECK((*tokenizer)->Contains(id));
      MF_REQUIRE_OK((*tokenizer)->Decode(ids, {}, &back));
    }
  }
  CHECK(refused >= 10);
  CHECK(loaded >= 15);
}

TEST_CASE("GgufVocabulary: lists of a wrong type are refused by key (A48, A60)", "[tokenizer]") {
  for (const auto& [variant, key] : std::vector<std::pair<std::string, std::string>>{
           {"scores_u8", "tokenizer.ggml.scores"},
           {"scores_short", "tokenizer.ggml.scores"},
           {"types_u8", "tokenizer.ggml.token_type"},
           {"types_short", "tokenizer.ggml.token_type"},
           {"tok_none", "tokenizer.ggml.tokens"},
           {"tok_u32", "tokenizer.ggml.tokens"},
           {"tok_empty_list", "tokenizer.ggml.tokens"},
           {"tok_model_unknown", "nosuch"},
           {"merges_none", "tokenizer.ggml.merges"},
           {"pre_unknown", "nosuch"}}) {
    INFO(variant);
    Status status;
    CHECK(LoadVariant(variant, &status) == nullptr);
    CHECK(status.name() == key);
  }
}

TEST_CASE("GgufVocabulary: a file without a rule's name says so and has the default one (B01)",
          "[tokenizer]") {
  const auto tokenizer = LoadVariant("pre_none");
  CHECK(tokenizer->RuleName() == "default");
  REQUIRE_FALSE(tokenizer->warnings().empty());
  CHECK(tokenizer->warnings()[0].starts_with("tokenizer.ggml.pre: "));
}

TEST_CASE("GgufVocabulary: special ids past the vocabulary count as none (A54, A55)",
          "[tokenizer]") {
  for (const char* variant : {"bos_range", "bos_max", "bos_none_add", "default_id"}) {
    INFO(variant);
    const auto tokenizer = LoadVariant(variant);
    CHECK(tokenizer->Special(SpecialToken::kBos) == kNoToken);
    CHECK(testing::Encode(*tokenizer, "a", true, true).size() <= 2);  // a space may be put before
    CHECK((tokenizer->warnings().empty() == (variant == std::string("default_id"))));
  }
  CHECK(LoadVariant("eos_range")->Special(SpecialToken::kEos) == kNoToken);
}

TEST_CASE("GgufVocabulary: a token of 70000 bytes keeps its text (A52)", "[tokenizer]") {
  CHECK(LoadVariant("tok_long")->Piece(263) == std::string(70000, 'z'));
}

TEST_CASE("GgufVocabulary: a display name changes nothing (A58)", "[tokenizer]") {
  const auto named = LoadVariant("name_phi3");
  const auto plain = LoadVariant("ok_spm");
  const std::string text = "ab a<s>b";
  CHECK(testing::Encode(*named, text, true, true) == testing::Encode(*plain, text, true, true));
}

TEST_CASE("GgufVocabulary: SentencePiece text is stable after the first round (B16)",
          "[tokenizer]") {
  const auto tokenizer = LoadVariant("ok_spm");
  for (const std::string text : {" a", "a", ""}) {
    std::string round = text;
    for (int i = 0; i < 3; ++i) {
      round = testing::Decode(*tokenizer, testing::Encode(*tokenizer, round));
      CHECK(round == text);
    }
  }
}

TEST_CASE("GgufVocabulary: reads the lists of end tokens and what unigram and WordPiece need (B21)",
          "[tokenizer]") {
  GgufWriter writer;
  writer.SetString("general.architecture", "t5");
  writer.SetString("tokenizer.ggml.model", "t5");
  const std::vector<std::string> tokens = {"<pad>", "</s>", "<unk>", "a"};
  writer.SetStringArray("tokenizer.ggml.tokens", tokens);
  writer.SetArray<int32_t>("tokenizer.ggml.eos_token_ids", std::vector<int32_t>{1, -1});
  writer.SetArray<uint32_t>("tokenizer.ggml.eog_token_ids", std::vector<uint32_t>{3});
  writer.Set<uint32_t>("tokenizer.ggml.cls_token_id", 2);
  writer.Set<bool>("tokenizer.ggml.add_sep_token", false);
  writer.Set<bool>("tokenizer.ggml.remove_extra_whitespaces", true);
  writer.SetArray<uint8_t>("tokenizer.ggml.precompiled_charsmap", std::vector<uint8_t>{0, 0, 0, 0});
  const std::string bytes = testing::WriteToBytes(writer);
  const StatusOr<GgufFile> file = testing::ParseBytes(bytes);
  MF_REQUIRE_OK(file);
  const auto data = LoadVocabulary(file->metadata());
  MF_REQUIRE_OK(data);
  CHECK(data->end_ids == std::vector<uint64_t>{1, 3});
  CHECK(data->special_ids[static_cast<size_t>(SpecialToken::kBos)] == 2);
  CHECK(data->add_separator == false);
  CHECK(data->remove_extra_whitespaces == true);
  CHECK(data->characters_map.size() == 4);
}

}  // namespace
}  // namespace minfer
