// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/capi/call_looks.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

namespace capi_test {
namespace {

// A piece of what has not been read, up to `n` bytes; it is read on the way.
std::string Text(CallState* state, size_t n) {
  std::string text;
  for (size_t i = state->Byte() % (n + 1); i > 0; --i) {
    text.push_back(static_cast<char>(state->Byte()));
  }
  return text;
}

// JSON as it should be, or anything.
std::string Json(CallState* state, const char* sound) {
  return state->Byte() % 2 == 0 ? std::string(sound) : Text(state, 20);
}

mf_text Borrow(const std::string& text) { return {text.data(), text.size()}; }

void LookAtMetadata(const mf_model* model, CallState* state) {
  static const char* const kKeys[] = {"general.architecture", "tokenizer.ggml.tokens",
                                      "tokenizer.ggml.scores", "no.such.key"};
  mf_metadata_value value = MF_METADATA_VALUE_INIT;
  if (state->Byte() % 8 == 0) value.struct_size = state->Number() % (sizeof(value) + 1);
  const char* key = kKeys[state->Byte() % 4];
  state->Check("mf_metadata_get", mf_metadata_get(model, key, &value, &state->error_));
  mf_metadata_value element = MF_METADATA_VALUE_INIT;
  state->Check("mf_metadata_element",
               mf_metadata_element(model, key, state->Number(), &element, &state->error_));
  mf_text name = {nullptr, 0};
  const size_t n = mf_metadata_count(model);
  const mf_status status = mf_metadata_key(model, state->Number(), &name, &state->error_);
  state->Check("mf_metadata_key", status);
  if (status == MF_STATUS_OK && n == 0) state->Fault("mf_metadata_key", "a key of none");
}

void LookAtTensors(const mf_model* model, CallState* state) {
  mf_tensor_info info = MF_TENSOR_INFO_INIT;
  if (state->Byte() % 8 == 0) info.struct_size = state->Number() % (sizeof(info) + 1);
  const mf_status status = mf_tensor_at(model, state->Number(), &info, &state->error_);
  state->Check("mf_tensor_at", status);
  if (status == MF_STATUS_OK && mf_tensor_count(model) == 0) {
    state->Fault("mf_tensor_at", "a tensor of none");
  }
  const std::string name =
      state->Byte() % 2 == 0 ? std::string("token_embd.weight") : Text(state, 20);
  mf_tensor_info named = MF_TENSOR_INFO_INIT;
  state->Check("mf_tensor_get", mf_tensor_get(model, name.c_str(), &named, &state->error_));
  (void)mf_tensor_type_name(static_cast<mf_tensor_type>(state->Number()));
}

void RenderChat(const mf_model* model, CallState* state) {
  static constexpr char kTemplate[] =
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}";
  const std::string content = Text(state, 12);
  const std::string extra = Json(state, "{\"name\": \"x\"}");
  const std::string tools = Json(state, "[{\"type\": \"function\"}]");
  const std::string variables = Json(state, "{\"enable_thinking\": false}");
  mf_chat_message messages[2] = {MF_CHAT_MESSAGE_INIT, MF_CHAT_MESSAGE_INIT};
  for (mf_chat_message& message : messages) {
    message.role = state->Byte() % 2 == 0 ? mf_text{"user", 4} : mf_text{"assistant", 9};
    message.content = Borrow(content);
    if (state->Byte() % 4 == 0) message.extra_json = Borrow(extra);
  }
  mf_chat_options options = MF_CHAT_OPTIONS_INIT;
  if (state->Byte() % 4 != 0) options.template_text = {kTemplate, sizeof(kTemplate) - 1};
  if (state->Byte() % 8 == 0) options.template_name = "tool_use";
  if (state->Byte() % 4 == 0) options.tools_json = Borrow(tools);
  if (state->Byte() % 4 == 0) options.variables_json = Borrow(variables);
  options.continue_last = state->Byte() % 3;
  options.no_generation_prompt = state->Byte() % 3;
  options.max_steps = state->Number();
  if (options.max_steps > 10000) options.max_steps = 10000;
  options.max_output_bytes = state->Number();
  options.max_recursion = state->Byte();
  mf_token tokens[40];
  size_t n = 0;
  state->Check("mf_chat_encode", mf_chat_encode(model, messages, state->Byte() % 3, &options,
                                                tokens, state->Byte() % 40, &n, &state->error_));
  char text[40];
  state->Check("mf_chat_render", mf_chat_render(model, messages, state->Byte() % 3, &options, text,
                                                state->Byte() % 40, &n, &state->error_));
  mf_text source = {nullptr, 0};
  state->Check("mf_chat_template_source",
               mf_chat_template_source(model, state->Byte() % 2 == 0 ? nullptr : "tool_use",
                                       &source, &state->error_));
}

// The file's bytes, read once a program.
const std::string& FileBytes(const std::string& path) {
  static const std::string bytes = [&] {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  return bytes;
}

int32_t ReadFrom(void* user_data, uint64_t offset, void* out, size_t length) {
  const std::string& bytes = *static_cast<const std::string*>(user_data);
  if (offset > bytes.size() || length > bytes.size() - offset) return MF_STATUS_DATA_LOSS;
  bytes.copy(static_cast<char*>(out), length, offset);
  return 0;
}

// Takes what is written until its patience ends, then refuses it or throws.
struct Sink {
  uint64_t length = 0;
  uint64_t patience = UINT64_MAX;
  bool throws = false;

  static int32_t Write(void* user_data, const void*, size_t length) {
    auto& sink = *static_cast<Sink*>(user_data);
    sink.length += length;
    if (sink.length <= sink.patience) return 0;
    if (sink.throws) throw 1;
    return 1;
  }
};

void Quantize(const mf_source& source, const mf_cancel* cancel, CallState* state) {
  static constexpr mf_tensor_type kTypes[] = {MF_TENSOR_F16,  MF_TENSOR_Q8_0,   MF_TENSOR_Q4_0,
                                              MF_TENSOR_Q4_K, MF_TENSOR_IQ4_NL, MF_TENSOR_IQ1_S};
  Sink sink;
  if (state->Byte() % 4 == 0) sink.patience = uint64_t{256} * state->Byte();
  sink.throws = state->Byte() % 2 == 0;
  mf_quantize_options options = MF_QUANTIZE_OPTIONS_INIT;
  options.n_threads = 1;
  options.pure = state->Byte() % 3;
  options.allow_requantize = state->Byte() % 2;
  if (state->Byte() % 4 == 0) options.cancel = cancel;
  if (state->Byte() % 8 == 0) {
    options.tensor = [](void*, const mf_quantize_event*) -> int32_t { throw 1; };
  }
  const uint8_t chosen = state->Byte();
  const mf_tensor_type type =
      chosen < 200 ? kTypes[chosen % 6] : static_cast<mf_tensor_type>(state->Number());
  (void)mf_quantize_supports(type);
  mf_quantize_result result = MF_QUANTIZE_RESULT_INIT;
  const mf_status status =
      mf_model_quantize(&source, 1, type, &options, &Sink::Write, &sink, &result, &state->error_);
  state->Check("mf_model_quantize", status);
  if (status == MF_STATUS_OK && result.file_bytes != sink.length) {
    state->Fault("mf_model_quantize", "another length than was written");
  }
}

// Memory for any struct_size that the host may say, as a later header would have it.
template <typename T>
void Init(void (*init)(T*, size_t), CallState* state) {
  struct {
    T known;
    uint8_t beyond[256] = {};
  } memory;
  const size_t size = (size_t{state->Byte()} << 2) % (sizeof(memory) + 1);
  init(state->Byte() == 255 ? nullptr : &memory.known, size);
}

void InitOne(CallState* state) {
  switch (state->Byte() % 21) {
    case 0:
      return Init(&mf_chat_message_init, state);
    case 1:
      return Init(&mf_chat_options_init, state);
    case 2:
      return Init(&mf_context_options_init, state);
    case 3:
      return Init(&mf_context_statistics_init, state);
    case 4:
      return Init(&mf_device_info_init, state);
    case 5:
      return Init(&mf_generate_options_init, state);
    case 6:
      return Init(&mf_generate_result_init, state);
    case 7:
      return Init(&mf_kernel_use_init, state);
    case 8:
      return Init(&mf_lever_info_init, state);
    case 9:
      return Init(&mf_memory_use_init, state);
    case 10:
      return Init(&mf_metadata_value_init, state);
    case 11:
      return Init(&mf_model_device_init, state);
    case 12:
      return Init(&mf_model_info_init, state);
    case 13:
      return Init(&mf_model_options_init, state);
    case 14:
      return Init(&mf_quantize_event_init, state);
    case 15:
      return Init(&mf_quantize_options_init, state);
    case 16:
      return Init(&mf_quantize_result_init, state);
    case 17:
      Init(&mf_session_options_init, state);
      return Init(&mf_session_statistics_init, state);
    case 18:
      return Init(&mf_source_init, state);
    case 19:
      Init(&mf_step_options_init, state);
      return Init(&mf_step_result_init, state);
    default:
      Init(&mf_tensor_info_init, state);
      return Init(&mf_token_event_init, state);
  }
}

void Load(const mf_source* sources, size_t n, const mf_model_options& options, CallState* state) {
  mf_model* model = nullptr;
  const mf_status status = mf_model_load(sources, n, &options, &model, &state->error_);
  state->Check("mf_model_load", status);
  if ((status == MF_STATUS_OK) != (model != nullptr)) {
    state->Fault("mf_model_load", "a status that the handle denies");
  }
  if (model != nullptr) LookAtModel(model, state);
  mf_model_destroy(model);
}

}  // namespace

void LookAtModel(const mf_model* model, CallState* state) {
  switch (state->Byte() % 5) {
    case 0:
      return LookAtMetadata(model, state);
    case 1:
      return LookAtTensors(model, state);
    case 2:
      return RenderChat(model, state);
    case 3: {
      mf_memory_use use = MF_MEMORY_USE_INIT;
      return state->Check("mf_model_get_memory",
                          mf_model_get_memory(model, state->Number(), &use, &state->error_));
    }
    default: {
      const std::string text = Text(state, 30);
      const auto token = static_cast<mf_token>(state->Number());
      (void)mf_tokenizer_is_eog(model, token);
      (void)mf_tokenizer_size(model);
      size_t n = 0;
      return state->Check("mf_tokenizer_count",
                          mf_tokenizer_count(model, text.data(), text.size(), state->Byte() % 8, &n,
                                             &state->error_));
    }
  }
}

void UseFile(const std::string& path, const mf_cancel* cancel, CallState* state) {
  std::string bytes = FileBytes(path);
  for (int i = state->Byte() % 4; i > 0 && state->Byte() % 2 == 0; --i) {
    const size_t at = (size_t{state->Byte()} << 8 | state->Byte()) % bytes.size();
    bytes[at] = static_cast<char>(state->Byte());
  }
  if (state->Byte() % 8 == 0) bytes.resize(bytes.size() * state->Byte() / 256);
  mf_source sources[2] = {MF_SOURCE_INIT, MF_SOURCE_INIT};
  for (mf_source& source : sources) {
    source.kind = 1 + state->Byte() % 4;  // one that does not exist too
    source.path = path.c_str();
    source.data = bytes.data();
    source.size = bytes.size();
    source.read = &ReadFrom;
    source.read_user_data = &bytes;
    if (state->Byte() % 16 == 0) source.struct_size = state->Number() % sizeof(source);
  }
  mf_model_options options = MF_MODEL_OPTIONS_INIT;
  options.load_mode = state->Byte() % 4;
  options.allow_unknown_keys = state->Byte() % 3;
  if (state->Byte() % 4 == 0) options.cancel = cancel;
  const size_t n = state->Byte() % 8 == 0 ? state->Byte() % 3 : 1;
  switch (state->Byte() % 4) {
    case 0:
      return state->Check("mf_model_validate",
                          mf_model_validate(sources, n, &options, &state->error_));
    case 1: {
      mf_context_options context = MF_CONTEXT_OPTIONS_INIT;
      context.n_ctx = state->Number();
      context.n_sessions = state->Byte();
      mf_memory_use model_use = MF_MEMORY_USE_INIT;
      mf_memory_use context_use = MF_MEMORY_USE_INIT;
      return state->Check("mf_model_plan",
                          mf_model_plan(sources, n, &options, &context, state->Number(), &model_use,
                                        &context_use, &state->error_));
    }
    case 2:
      return Quantize(sources[0], cancel, state);
    default:
      return Load(sources, n, options, state);
  }
}

void LookAtLibrary(CallState* state) {
  mf_device_info device = MF_DEVICE_INFO_INIT;
  state->Check("mf_device_get_info", mf_device_get_info(state->Number(), &device, &state->error_));
  size_t picked = 0;
  const mf_status status = mf_device_pick(static_cast<mf_device_kind>(state->Number()),
                                          state->Number(), &picked, &state->error_);
  state->Check("mf_device_pick", status);
  if (status == MF_STATUS_OK && picked >= mf_device_count()) {
    state->Fault("mf_device_pick", "a device that does not exist");
  }
  mf_lever_info lever = MF_LEVER_INFO_INIT;
  const size_t index = state->Number();
  const mf_status found = mf_lever_get(index, &lever, &state->error_);
  state->Check("mf_lever_get", found);
  if ((found == MF_STATUS_OK) != (index < mf_lever_count())) {
    state->Fault("mf_lever_get", "another number of levers");
  }
  const auto number = static_cast<int32_t>(state->Number());
  if (mf_version() == 0 || mf_version_string() == nullptr || mf_build_info() == nullptr ||
      mf_abi_version() != MF_ABI_VERSION || mf_subsystem_name(number) == nullptr ||
      mf_memory_class_name(number) == nullptr || mf_log_level_name(number) == nullptr) {
    state->Fault("mf_version", "no answer");
  }
  (void)mf_supports(number);
  InitOne(state);
}

}  // namespace capi_test
