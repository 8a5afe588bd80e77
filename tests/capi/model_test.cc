// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

std::string Bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

struct Reader {
  const std::string* bytes;
  int reads = 0;
  int32_t fail_with = 0;
  bool throws = false;
};

int32_t ReadAt(void* user_data, uint64_t offset, void* out, size_t length) {
  auto& reader = *static_cast<Reader*>(user_data);
  ++reader.reads;
  if (reader.throws) throw std::runtime_error("reader");
  if (reader.fail_with != 0) return reader.fail_with;
  if (offset > reader.bytes->size() || length > reader.bytes->size() - offset) return 11;
  std::memcpy(out, reader.bytes->data() + offset, length);
  return 0;
}

std::vector<float> LogitsOf(mf_model* model) {
  const Context context = MakeContext(model);
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_session_decode(session.get(), nullptr, &error));
  return Logits(session.get());
}

TEST_CASE("Model: path, memory and reader, mapped and read, give the same logits", "[capi]") {
  const std::string path = TinyModel("llama");
  const std::string bytes = Bytes(path);
  const std::vector<float> want = LogitsOf(LoadModel().get());
  mf_error error = {};
  for (const mf_source_kind kind : {MF_SOURCE_PATH, MF_SOURCE_MEMORY, MF_SOURCE_READER}) {
    for (const mf_load_mode mode : {MF_LOAD_MAP, MF_LOAD_READ}) {
      INFO("kind " << kind << " mode " << mode);
      Reader reader{&bytes};
      mf_source source = MF_SOURCE_INIT;
      source.kind = kind;
      source.path = path.c_str();
      source.data = bytes.data();
      source.size = bytes.size();
      source.read = &ReadAt;
      source.read_user_data = &reader;
      mf_model_options options = CpuModel();
      options.load_mode = mode;
      mf_model* raw = nullptr;
      CAPI_REQUIRE_OK(mf_model_load(&source, 1, &options, &raw, &error));
      const Model model(raw);
      const int reads = reader.reads;
      CHECK(LogitsOf(model.get()) == want);
      // The callback is not called after the call that took it.
      CHECK(reader.reads == reads);
    }
  }
}

TEST_CASE("Model: what a reader answers is what the load answers", "[capi]") {
  const std::string bytes = Bytes(TinyModel("llama"));
  Reader reader{&bytes};
  mf_source source = MF_SOURCE_INIT;
  source.kind = MF_SOURCE_READER;
  source.size = bytes.size();
  source.read = &ReadAt;
  source.read_user_data = &reader;
  mf_model* model = nullptr;
  mf_error error = {};
  reader.fail_with = MF_STATUS_PERMISSION_DENIED;
  CHECK(mf_model_load(&source, 1, nullptr, &model, &error) == MF_STATUS_PERMISSION_DENIED);
  reader.fail_with = 999;
  CHECK(mf_model_load(&source, 1, nullptr, &model, &error) == MF_STATUS_UNAVAILABLE);
  reader.fail_with = 0;
  reader.throws = true;
  CHECK(mf_model_load(&source, 1, nullptr, &model, &error) == MF_STATUS_ABORTED);
  source.kind = 42;
  CHECK(mf_model_load(&source, 1, nullptr, &model, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(mf_model_load(&source, 0, nullptr, &model, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(model == nullptr);
}

TEST_CASE("Model: an error is filled for real: offset, name and bytes", "[capi]") {
  const std::string bytes = Bytes(TinyModel("llama"));
  mf_model* model = nullptr;
  mf_error error = {};
  mf_source source = MF_SOURCE_INIT;
  source.kind = MF_SOURCE_MEMORY;
  source.data = bytes.data();
  // Cut in the weights: the tensor that no longer fits is named, with its bytes.
  source.size = bytes.size() - 64;
  CHECK(mf_model_load(&source, 1, nullptr, &model, &error) == MF_STATUS_DATA_LOSS);
  CHECK(error.subsystem == MF_SUBSYSTEM_GGUF);
  CHECK(std::string(error.name).find('.') != std::string::npos);
  CHECK(error.file_offset > 0);
  CHECK(error.bytes_wanted > error.bytes_available);
  CHECK(mf_model_validate(&source, 1, nullptr, &error) == MF_STATUS_DATA_LOSS);
  // Cut in the header.
  source.size = 100;
  CHECK(mf_model_load(&source, 1, nullptr, &model, &error) == MF_STATUS_DATA_LOSS);
  CHECK(error.file_offset > 0);
  // An architecture that is none.
  std::string other = bytes;
  const size_t at = other.find("llama", other.find("general.architecture"));
  REQUIRE(at != std::string::npos);
  other[at] = 'x';
  source.data = other.data();
  source.size = other.size();
  CHECK(mf_model_load(&source, 1, nullptr, &model, &error) == MF_STATUS_UNIMPLEMENTED);
  CHECK(std::string(error.message).find("xlama") + std::string(error.name).find("xlama") !=
        2 * std::string::npos);
  CHECK(model == nullptr);
}

TEST_CASE("Model: validate finds a good file good and takes no weights", "[capi]") {
  mf_source source = MF_SOURCE_INIT;
  const std::string path = TinyModel("qwen3");
  source.kind = MF_SOURCE_PATH;
  source.path = path.c_str();
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_model_validate(&source, 1, nullptr, &error));
}

TEST_CASE("Model: describe, capabilities and metadata", "[capi]") {
  const Model model = LoadModel();
  mf_error error = {};
  mf_model_info info = MF_MODEL_INFO_INIT;
  CAPI_REQUIRE_OK(mf_model_describe(model.get(), &info, &error));
  CHECK(std::string(info.architecture) == "llama");
  CHECK(info.n_layers == 2);
  CHECK(info.n_embd == 32);
  CHECK(info.n_heads == 4);
  CHECK(info.n_kv_heads == 2);
  CHECK(info.n_vocab == 264);
  CHECK(info.n_parameters > 0);
  CHECK(info.n_bytes == 4 * info.n_parameters);
  CHECK(info.n_files == 1);
  CHECK(mf_model_can(model.get(), MF_CAPABILITY_FORK) == 1);
  CHECK(mf_model_can(model.get(), MF_CAPABILITY_TRUNCATE) == 1);
  CHECK(mf_model_can(model.get(), MF_CAPABILITY_SHIFT) == 0);
  CHECK(mf_model_can(model.get(), 999) == 0);

  mf_metadata_value value = MF_METADATA_VALUE_INIT;
  CAPI_REQUIRE_OK(mf_metadata_get(model.get(), "general.architecture", &value, &error));
  CHECK(value.type == MF_METADATA_STRING);
  CHECK(std::string(value.string, value.string_length) == "llama");
  CAPI_REQUIRE_OK(mf_metadata_get(model.get(), "llama.block_count", &value, &error));
  CHECK(value.as_unsigned == 2);
  CHECK(mf_metadata_get(model.get(), "no.such", &value, &error) == MF_STATUS_NOT_FOUND);
  CHECK(std::string(error.name) == "no.such");
  CAPI_REQUIRE_OK(mf_metadata_get(model.get(), "tokenizer.ggml.tokens", &value, &error));
  CHECK(value.type == MF_METADATA_ARRAY);
  CHECK(value.n_elements == 264);
  mf_metadata_value element = MF_METADATA_VALUE_INIT;
  CAPI_REQUIRE_OK(mf_metadata_element(model.get(), "tokenizer.ggml.tokens", 263, &element, &error));
  CHECK(element.type == MF_METADATA_STRING);
  CHECK(mf_metadata_element(model.get(), "tokenizer.ggml.tokens", 264, &element, &error) ==
        MF_STATUS_OUT_OF_RANGE);
  CHECK(mf_metadata_element(model.get(), "general.architecture", 0, &element, &error) ==
        MF_STATUS_INVALID_ARGUMENT);
  const size_t count = mf_metadata_count(model.get());
  REQUIRE(count > 5);
  for (size_t i = 0; i < count; ++i) {
    mf_text key = {nullptr, 0};
    CAPI_REQUIRE_OK(mf_metadata_key(model.get(), i, &key, &error));
    mf_metadata_value by_key = MF_METADATA_VALUE_INIT;
    mf_metadata_value by_index = MF_METADATA_VALUE_INIT;
    const std::string name(key.data, key.length);
    CAPI_REQUIRE_OK(mf_metadata_get(model.get(), name.c_str(), &by_key, &error));
    CAPI_REQUIRE_OK(mf_metadata_at(model.get(), i, &by_index, &error));
    CHECK(std::memcmp(&by_key, &by_index, sizeof(by_key)) == 0);
  }
  mf_text key = {nullptr, 0};
  CHECK(mf_metadata_key(model.get(), count, &key, &error) == MF_STATUS_OUT_OF_RANGE);
}

// Case G17.
TEST_CASE("Model: progress tells the bytes, can stop the load, and may throw", "[capi]") {
  struct Seen {
    uint64_t done = 0;
    uint64_t total = 0;
    int calls = 0;
    int stop_at = 1 << 30;
    bool falls = false;
  } seen;
  mf_model_options options = MF_MODEL_OPTIONS_INIT;
  options.load_mode = MF_LOAD_READ;
  options.progress_user_data = &seen;
  options.progress = [](void* user_data, uint64_t done, uint64_t total) -> int32_t {
    auto& in = *static_cast<Seen*>(user_data);
    in.falls |= done < in.done || (in.calls > 0 && total != in.total);
    in.done = done;
    in.total = total;
    return ++in.calls >= in.stop_at ? 1 : 0;
  };
  mf_error error = {};
  mf_model* model = nullptr;
  const std::string path = TinyModel("llama");
  CAPI_REQUIRE_OK(mf_model_load_path(path.c_str(), &options, &model, &error));
  mf_model_destroy(model);
  CHECK(seen.calls > 1);
  CHECK(seen.done == seen.total);
  CHECK(!seen.falls);
  seen = Seen();
  seen.stop_at = 2;
  model = nullptr;
  CHECK(mf_model_load_path(path.c_str(), &options, &model, &error) == MF_STATUS_CANCELLED);
  CHECK(seen.calls == 2);
  options.progress = [](void*, uint64_t, uint64_t) -> int32_t { throw 7; };
  CHECK(mf_model_load_path(path.c_str(), &options, &model, &error) == MF_STATUS_ABORTED);
  CHECK(model == nullptr);
}

TEST_CASE("Model: the log goes to its sink, silent without one", "[capi]") {
  std::vector<std::string> lines;
  mf_model_options options = MF_MODEL_OPTIONS_INIT;
  options.log.level = MF_LOG_DEBUG;
  options.log.write_user_data = &lines;
  options.log.write = [](void* out, mf_log_level level, const char* message, size_t length) {
    CHECK(level >= MF_LOG_DEBUG);
    CHECK(level <= MF_LOG_ERROR);
    static_cast<std::vector<std::string>*>(out)->emplace_back(message, length);
    throw std::runtime_error("dropped");
  };
  {
    const Model model = LoadModel("llama", &options);
    CHECK(!lines.empty());
  }
  lines.clear();
  options.log.level = MF_LOG_OFF;
  const Model model = LoadModel("llama", &options);
  CHECK(lines.empty());
}

TEST_CASE("Tokenizer: tokens, pieces and attributes through the header", "[capi]") {
  const Model model = LoadModel();
  mf_error error = {};
  CHECK(mf_tokenizer_size(model.get()) == 264);
  const mf_token bos = mf_tokenizer_special(model.get(), MF_SPECIAL_BOS);
  const mf_token eos = mf_tokenizer_special(model.get(), MF_SPECIAL_EOS);
  REQUIRE(bos != MF_TOKEN_NONE);
  REQUIRE(eos != MF_TOKEN_NONE);
  CHECK(mf_tokenizer_special(model.get(), 99) == MF_TOKEN_NONE);
  CHECK((mf_tokenizer_attributes(model.get(), bos) & MF_TOKEN_CONTROL) != 0);
  CHECK(mf_tokenizer_is_eog(model.get(), eos) == 1);
  CHECK((mf_tokenizer_attributes(model.get(), eos) & MF_TOKEN_END) != 0);
  CHECK(mf_tokenizer_is_eog(model.get(), 264) == 0);
  CHECK(mf_tokenizer_attributes(model.get(), -1) == 0);
  size_t count = 0;
  CAPI_REQUIRE_OK(mf_tokenizer_count(model.get(), "abc", 3, MF_ENCODE_ADD_SPECIAL, &count, &error));
  std::vector<mf_token> tokens(16);
  size_t n = 0;
  CAPI_REQUIRE_OK(mf_tokenizer_encode(model.get(), "abc", 3, MF_ENCODE_ADD_SPECIAL, tokens.data(),
                                      tokens.size(), &n, &error));
  CHECK(n == count);
  CHECK(tokens[0] == bos);
  CHECK(mf_tokenizer_encode(model.get(), "abc", 3, 0x80, tokens.data(), tokens.size(), &n,
                            &error) == MF_STATUS_INVALID_ARGUMENT);
  char text[32];
  size_t length = 99;
  CAPI_REQUIRE_OK(mf_tokenizer_piece(model.get(), bos, 0, text, sizeof(text), &length, &error));
  CHECK(length == 0);
  CAPI_REQUIRE_OK(
      mf_tokenizer_piece(model.get(), bos, MF_DECODE_SPECIAL, text, sizeof(text), &length, &error));
  CHECK(length > 0);
  CHECK(mf_tokenizer_piece(model.get(), 264, 0, text, sizeof(text), &length, &error) ==
        MF_STATUS_INVALID_ARGUMENT);
  const mf_token bad = 9999;
  CHECK(mf_tokenizer_decode(model.get(), &bad, 1, 0, text, sizeof(text), &length, &error) ==
        MF_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Chat: rendering, limits and refusals through the header", "[capi]") {
  const Model model = LoadModel();
  mf_error error = {};
  mf_chat_message message = MF_CHAT_MESSAGE_INIT;
  message.role = {"user", 4};
  message.content = {"</s>", 4};
  char text[256];
  size_t length = 0;
  // The tiny models have no template of their own.
  CHECK(mf_model_can(model.get(), MF_CAPABILITY_CHAT) == 0);
  CHECK(mf_chat_render(model.get(), &message, 1, nullptr, text, sizeof(text), &length, &error) ==
        MF_STATUS_NOT_FOUND);
  mf_text source = {nullptr, 0};
  CHECK(mf_chat_template_source(model.get(), nullptr, &source, &error) == MF_STATUS_NOT_FOUND);
  const auto with = [&](const std::string& program, mf_chat_options options) {
    options.template_text = {program.data(), program.size()};
    return mf_chat_render(model.get(), &message, 1, &options, text, sizeof(text), &length, &error);
  };
  const mf_chat_options plain = MF_CHAT_OPTIONS_INIT;
  CAPI_REQUIRE_OK(
      with("{{ bos_token }}{{ messages[0].content }}{{ add_generation_prompt }}", plain));
  CHECK(std::string(text, length).find("</s>True") != std::string::npos);
  mf_chat_options options = plain;
  options.max_steps = 100;
  CHECK(with("{% for i in range(100000) %}x{% endfor %}", options) == MF_STATUS_RESOURCE_EXHAUSTED);
  options = plain;
  options.max_output_bytes = 10;
  CHECK(with("{% for i in range(100) %}xxxx{% endfor %}", options) == MF_STATUS_RESOURCE_EXHAUSTED);
  CHECK(with("{{ raise_exception('no such role') }}", plain) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("no such role") != std::string::npos);
  CHECK(with("a\n{% import 'x' as y %}", plain) == MF_STATUS_UNIMPLEMENTED);
  CHECK(std::string(error.message).find("line 2") != std::string::npos);
  CHECK(std::string(error.name) == "import");
  options = plain;
  options.variables_json = {"{\"x\": 5}", 8};
  options.has_now = 1;
  options.now = 0;
  CAPI_REQUIRE_OK(with("{{ x }} {{ strftime_now('%Y') }}", options));
  CHECK(std::string(text, length) == "5 1970");
  options.variables_json = {"[1", 2};
  CHECK(with("x", options) == MF_STATUS_INVALID_ARGUMENT);

  // What a message says never becomes a control token.
  const std::string program = "<s>{{ messages[0].content }}</s>";
  options = plain;
  options.template_text = {program.data(), program.size()};
  std::vector<mf_token> tokens(64);
  size_t n = 0;
  CAPI_REQUIRE_OK(
      mf_chat_encode(model.get(), &message, 1, &options, tokens.data(), tokens.size(), &n, &error));
  tokens.resize(n);
  const mf_token eos = mf_tokenizer_special(model.get(), MF_SPECIAL_EOS);
  REQUIRE(n > 2);
  CHECK(tokens.back() == eos);
  for (size_t i = 0; i + 1 < n; ++i) CHECK(tokens[i] != eos);
}

}  // namespace
}  // namespace capi_test
