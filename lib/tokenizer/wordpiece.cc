// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/wordpiece.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "tokenizer/bert_tables.h"
#include "tokenizer/utf8.h"

namespace minfer {
namespace {

// GGUF files write this before the tokens that begin a word, and take away the "##" of the others.
constexpr std::string_view kWordMark = "\xE2\x96\x81";
// Longer words are unknown, as in the tokenizers that such vocabularies come from.
constexpr size_t kLongestWord = 100;

bool InRanges(const CodePointRange* ranges, size_t count, uint32_t c) {
  const CodePointRange* end = ranges + count;
  const CodePointRange* range = std::lower_bound(
      ranges, end, c, [](const CodePointRange& r, uint32_t value) { return r.last < value; });
  return range != end && range->first <= c;
}

template <typename Entry>
const Entry* FindFold(const Entry* entries, size_t count, uint32_t c) {
  const Entry* end = entries + count;
  const Entry* entry = std::lower_bound(
      entries, end, c, [](const Entry& e, uint32_t value) { return e.from < value; });
  return entry != end && entry->from == c ? entry : nullptr;
}

bool IsSpace(uint32_t c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool IsDropped(uint32_t c) {
  if (c < 0x80) return c < 0x20 || c == 0x7F;
  return c == 0xFFFD || InRanges(kBertDropped, kBertDroppedCount, c);
}

bool IsMark(uint32_t c) {
  if (c < 0x80) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  }
  return InRanges(kBertMarks, kBertMarksCount, c);
}

// The blocks that BERT's own tokenizer lists.
bool IsCjk(uint32_t c) {
  constexpr CodePointRange kBlocks[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                        {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
                                        {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  return InRanges(kBlocks, std::size(kBlocks), c);
}

uint32_t DecodeCharacter(std::string_view bytes) {
  const auto byte = [&bytes](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  switch (bytes.size()) {
    case 1:
      return byte(0);
    case 2:
      return (byte(0) & 0x1Fu) << 6 | (byte(1) & 0x3Fu);
    case 3:
      return (byte(0) & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    default:
      return (byte(0) & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 |
             (byte(3) & 0x3Fu);
  }
}

void AppendCharacter(uint32_t c, std::string* out) {
  const auto tail = [c](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    *out += static_cast<char>(c);
  } else if (c < 0x800) {
    *out += static_cast<char>(0xC0 | c >> 6);
    *out += tail(0);
  } else if (c < 0x10000) {
    *out += static_cast<char>(0xE0 | c >> 12);
    *out += tail(6);
    *out += tail(0);
  } else {
    *out += static_cast<char>(0xF0 | c >> 18);
    *out += tail(12);
    *out += tail(6);
    *out += tail(0);
  }
}

// The words of a text as its characters come.
class WordWriter {
 public:
  WordWriter(std::string* words, std::vector<size_t>* ends) : words_(words), ends_(ends) {}

  void EndWord() {
    const size_t begin = ends_->empty() ? 0 : ends_->back();
    if (words_->size() > begin) ends_->push_back(words_->size());
  }
  // A character that is folded already.
  void Write(uint32_t c) {
    if (IsSpace(c)) {
      EndWord();
    } else if (IsMark(c)) {
      WriteAlone(c);
    } else {
      AppendCharacter(c, words_);
    }
  }
  void WriteAlone(uint32_t c) {
    EndWord();
    AppendCharacter(c, words_);
    EndWord();
  }

 private:
  std::string* words_;
  std::vector<size_t>* ends_;
};

// Unicode's arithmetic decomposition of a Hangul syllable.
void WriteHangul(uint32_t c, WordWriter* writer) {
  constexpr uint32_t kVowels = 21;
  constexpr uint32_t kTrailing = 28;
  const uint32_t index = c - 0xAC00;
  writer->Write(0x1100 + index / (kVowels * kTrailing));
  writer->Write(0x1161 + index / kTrailing % kVowels);
  if (index % kTrailing != 0) writer->Write(0x11A7 + index % kTrailing);
}

void WriteFolded(uint32_t c, WordWriter* writer) {
  if (c < 0x80) {
    writer->Write(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  } else if (c >= 0xAC00 && c <= 0xD7A3) {
    WriteHangul(c, writer);
  } else if (const CodePointPair* pair = FindFold(kBertFold, kBertFoldCount, c)) {
    writer->Write(pair->to);
  } else if (const CodePointFold* fold = FindFold(kBertFoldLong, kBertFoldLongCount, c)) {
    for (uint32_t part : fold->to) {
      if (part != 0) writer->Write(part);
    }
  } else {
    writer->Write(c);
  }
}

}  // namespace

void SplitBertWords(std::string_view text, std::string* words, std::vector<size_t>* ends) {
  WordWriter writer(words, ends);
  while (!text.empty()) {
    const size_t length = Utf8CharacterLength(text);
    if (length == 0) {
      text.remove_prefix(1);
      continue;
    }
    const uint32_t c = DecodeCharacter(text.substr(0, length));
    text.remove_prefix(length);
    if (IsSpace(c)) {
      writer.EndWord();
    } else if (IsDropped(c)) {
      continue;
    } else if (IsCjk(c)) {
      writer.EndWord();
      WriteFolded(c, &writer);
      writer.EndWord();
    } else {
      WriteFolded(c, &writer);
    }
  }
  writer.EndWord();
}

WordPieceEncoder::WordPieceEncoder(const Vocabulary* vocabulary) : vocabulary_(vocabulary) {
  for (int32_t id = 0; id < vocabulary->size(); ++id) {
    const std::string_view text = vocabulary->Text(id);
    if (vocabulary->Find(text) == id) trie_.Add(text, id);
  }
  word_start_ = TokenAutomaton::kRoot;
  for (char c : kWordMark) {
    word_start_ = trie_.Child(word_start_, static_cast<uint8_t>(c));
    if (word_start_ == TokenAutomaton::kRoot) break;
  }
}

Status WordPieceEncoder::Encode(std::string_view text, std::vector<int32_t>* ids,
                                EncodeStats* stats) const {
  std::string words;
  std::vector<size_t> ends;
  SplitBertWords(text, &words, &ends);
  stats->steps += text.size();
  const int32_t unknown = vocabulary_->Special(SpecialToken::kUnknown);
  size_t begin = 0;
  for (size_t end : ends) {
    ++stats->pieces;
    const size_t before = ids->size();
    if (!AppendWord(std::string_view(words).substr(begin, end - begin), ids, stats)) {
      ids->resize(before);
      if (unknown == kNoToken) {
        return Status(StatusCode::kFailedPrecondition, Subsystem::kTokenizer,
                      "the vocabulary has neither the tokens for a word nor an unknown token")
            .WithName("tokenizer.ggml.tokens");
      }
      ids->push_back(unknown);
    }
    begin = end;
  }
  return OkStatus();
}

bool WordPieceEncoder::AppendWord(std::string_view word, std::vector<int32_t>* ids,
                                  EncodeStats* stats) const {
  const auto is_start = [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; };
  const auto characters = static_cast<size_t>(std::count_if(word.begin(), word.end(), is_start));
  if (characters > kLongestWord) return false;
  if (word_start_ == TokenAutomaton::kRoot) return false;
  uint32_t node = word_start_;
  for (size_t position = 0; position < word.size();) {
    int32_t id = kNoToken;
    size_t end = position;
    for (size_t i = position; i < word.size(); ++i) {
      ++stats->steps;
      node = trie_.Child(node, static_cast<uint8_t>(word[i]));
      if (node == TokenAutomaton::kRoot) break;
      if (trie_.Id(node) < 0 || (i + 1 < word.size() && !is_start(word[i + 1]))) continue;
      id = trie_.Id(node);
      end = i + 1;
    }
    if (id == kNoToken) return false;
    ids->push_back(id);
    position = end;
    node = TokenAutomaton::kRoot;
  }
  return true;
}

}  // namespace minfer
