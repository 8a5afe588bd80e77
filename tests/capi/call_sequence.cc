// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/capi/call_sequence.h"

#include <limits>
#include <vector>

#include "tests/capi/call_looks.h"
#include "tests/capi/call_state.h"

namespace capi_test {
namespace {

// Memory for any struct_size that the library may believe, as a later header would have it.
template <typename T>
struct Extended {
  T known;
  uint8_t beyond[4096] = {};
};

class Driver : private CallState {
 public:
  Driver(const std::string& model_path, const uint8_t* data, size_t size)
      : CallState(data, size), model_path_(model_path) {}
  ~Driver() {
    // In an order that the bytes choose.
    for (int i = 0; i < 3; ++i) {
      switch ((i + Byte()) % 3) {
        case 0:
          DestroyAll(&models_, &mf_model_destroy);
          break;
        case 1:
          DestroyAll(&contexts_, &mf_context_destroy);
          break;
        default:
          DestroyAll(&sessions_, &mf_session_destroy);
      }
    }
    DestroyAll(&models_, &mf_model_destroy);
    DestroyAll(&contexts_, &mf_context_destroy);
    DestroyAll(&sessions_, &mf_session_destroy);
    mf_cancel_destroy(cancel_);
  }

  std::string Run() {
    Check("mf_cancel_create", mf_cancel_create(&cancel_, &error_));
    while (!AtEnd() && fault_.empty()) {
      const uint8_t what = Byte() % 40;
      if (what < 10) {
        ModelCalls(what);
      } else if (what < 15) {
        ContextCalls(what - 10);
      } else if (what < 30) {
        SessionCalls(what - 15);
      } else if (what < 36) {
        LookAtModel(Pick(models_), this);
      } else if (what < 39) {
        UseFile(model_path_, cancel_, this);
      } else {
        LookAtLibrary(this);
      }
    }
    return fault_;
  }

 private:
  template <typename T>
  T* Pick(const std::vector<T*>& from) {
    if (from.empty()) return nullptr;
    const uint8_t byte = Byte();
    return byte == 255 ? nullptr : from[byte % from.size()];
  }
  template <typename T>
  static void DestroyAll(std::vector<T*>* all, void (*destroy)(T*)) {
    for (T* one : *all) destroy(one);
    all->clear();
  }
  template <typename T>
  void DestroyOne(std::vector<T*>* all, void (*destroy)(T*)) {
    if (all->empty()) return;
    const size_t at = Byte() % all->size();
    destroy((*all)[at]);
    all->erase(all->begin() + static_cast<std::ptrdiff_t>(at));
  }

  void ModelCalls(int what) {
    const mf_model* model = Pick(models_);
    size_t n = 0;
    char text[40];
    mf_token tokens[20];
    const size_t capacity = Byte() % 20;
    switch (what) {
      case 0: {
        if (models_.size() >= 2) return DestroyOne(&models_, &mf_model_destroy);
        Extended<mf_model_options> extended = {MF_MODEL_OPTIONS_INIT};
        mf_model_options& options = extended.known;
        options.load_mode = static_cast<mf_load_mode>(Byte() % 4);
        if (Byte() % 8 == 0) options.struct_size = Number();
        if (Byte() % 8 == 0) options.reserved[0] = Byte();
        if (Byte() % 4 == 0) options.cancel = cancel_;
        mf_model* made = nullptr;
        Check("mf_model_load_path",
              mf_model_load_path(model_path_.c_str(), Byte() % 4 == 0 ? nullptr : &options, &made,
                                 &error_));
        if (made != nullptr) models_.push_back(made);
        return;
      }
      case 1:
        return DestroyOne(&models_, &mf_model_destroy);
      case 2: {
        mf_model_info info = MF_MODEL_INFO_INIT;
        if (Byte() % 4 == 0) info.struct_size = Number() % (sizeof(info) + 1);
        return Check("mf_model_describe", mf_model_describe(model, &info, &error_));
      }
      case 3:
        return Check("mf_tokenizer_encode",
                     mf_tokenizer_encode(model, Rest().data(), Rest().size() % 50, Byte() % 16,
                                         tokens, capacity, &n, &error_));
      case 4:
        for (mf_token& token : tokens) token = static_cast<mf_token>(Number());
        return Check("mf_tokenizer_decode", mf_tokenizer_decode(model, tokens, capacity, Byte() % 8,
                                                                text, capacity, &n, &error_));
      case 5:
        return Check("mf_tokenizer_piece",
                     mf_tokenizer_piece(model, static_cast<mf_token>(Number()), Byte() % 8,
                                        Byte() % 2 ? text : nullptr, capacity, &n, &error_));
      case 6: {
        mf_metadata_value value = MF_METADATA_VALUE_INIT;
        return Check("mf_metadata_at", mf_metadata_at(model, Number(), &value, &error_));
      }
      case 7: {
        mf_chat_message message = MF_CHAT_MESSAGE_INIT;
        mf_chat_options options = MF_CHAT_OPTIONS_INIT;
        message.role = {"user", 4};
        options.template_text = {Rest().data(), Rest().size() % 60};
        options.max_steps = 1000;
        return Check("mf_chat_render", mf_chat_render(model, &message, Byte() % 2, &options, text,
                                                      capacity, &n, &error_));
      }
      case 8:
        (void)mf_tokenizer_attributes(model, static_cast<mf_token>(Number()));
        (void)mf_tokenizer_special(model, static_cast<mf_special>(Number()));
        (void)mf_model_can(model, static_cast<mf_capability>(Number()));
        return;
      default:
        if (Byte() % 2 == 0) {
          mf_cancel_request(cancel_);
          if (mf_cancel_is_requested(cancel_) != 1) Fault("mf_cancel_request", "not requested");
        } else {
          mf_cancel_reset(cancel_);
        }
    }
  }

  void ContextCalls(int what) {
    mf_context* context = Pick(contexts_);
    switch (what) {
      case 0: {
        if (contexts_.size() >= 3) return DestroyOne(&contexts_, &mf_context_destroy);
        mf_context_options options = MF_CONTEXT_OPTIONS_INIT;
        options.n_threads = 1;
        options.n_ctx = Byte() % 100;
        if (options.n_ctx == 0) options.n_ctx = 16;
        options.n_sessions = Byte() % 4;
        options.n_batch = Byte() % 10;
        options.n_micro_batch = Byte() % 10;
        options.kv_type_k = Byte() % 5;
        options.kv_type_v = Byte() % 5;
        if (Byte() % 8 == 0) options.budget_bytes = Number();
        if (Byte() % 4 == 0) options.cancel = cancel_;
        mf_context* made = nullptr;
        Check("mf_context_create", mf_context_create(Pick(models_), &options, &made, &error_));
        if (made != nullptr) contexts_.push_back(made);
        return;
      }
      case 1:
        return DestroyOne(&contexts_, &mf_context_destroy);
      case 2: {
        mf_step_options options = MF_STEP_OPTIONS_INIT;
        options.time_budget_ns = Number();
        if (Byte() % 4 == 0) options.cancel = cancel_;
        mf_step_result result = MF_STEP_RESULT_INIT;
        return Check("mf_context_step", mf_context_step(context, &options, &result, &error_));
      }
      case 3: {
        mf_memory_use use = MF_MEMORY_USE_INIT;
        return Check("mf_context_get_memory",
                     mf_context_get_memory(context, Number(), &use, nullptr, &error_));
      }
      default: {
        (void)mf_context_n_ctx(context);
        mf_context_statistics statistics = MF_CONTEXT_STATISTICS_INIT;
        mf_kernel_use rows[2] = {MF_KERNEL_USE_INIT, MF_KERNEL_USE_INIT};
        size_t n = 0;
        Trace(context);
        Check("mf_context_get_kernels",
              mf_context_get_kernels(context, Byte() % 2 == 0 ? rows : nullptr, Byte() % 3, &n,
                                     &error_));
        return Check("mf_context_get_statistics",
                     mf_context_get_statistics(context, &statistics, &error_));
      }
    }
  }

  void Trace(mf_context* context) {
    const mf_trace_callback drop = [](void*, const char*, size_t) {};
    mf_trace_options options = MF_TRACE_OPTIONS_INIT;
    if (Byte() % 8 == 0) mf_trace_options_init(&options, sizeof(options));
    options.values = static_cast<uint8_t>(Byte() % 3);
    if (Byte() % 4 != 0) options.write = drop;
    Check("mf_context_trace_start", mf_context_trace_start(context, &options, &error_));
    if (Byte() % 2 == 0) {
      Check("mf_context_trace_stop", mf_context_trace_stop(context, &error_));
    }
    Check("mf_context_dump_graph",
          mf_context_dump_graph(context, Byte() % 3, Byte() % 4 == 0 ? nullptr : drop, nullptr,
                                &error_));
  }

  void SessionCalls(int what) {
    mf_session* session = Pick(sessions_);
    switch (what) {
      case 0: {
        if (sessions_.size() >= 6) return DestroyOne(&sessions_, &mf_session_destroy);
        mf_session_options options = MF_SESSION_OPTIONS_INIT;
        options.reserved = Byte() % 16 == 0 ? 1 : 0;
        mf_session* made = nullptr;
        Check("mf_session_create", mf_session_create(Pick(contexts_), &options, &made, &error_));
        if (made != nullptr) sessions_.push_back(made);
        return;
      }
      case 1:
        return DestroyOne(&sessions_, &mf_session_destroy);
      case 2:
        return Sampling(session);
      case 3:
      case 4: {
        mf_token tokens[16];
        const size_t n = Byte() % 16;
        for (mf_token& token : tokens) token = static_cast<mf_token>(Byte());
        if (n > 0 && Byte() % 8 == 0) tokens[n - 1] = static_cast<mf_token>(Number());
        return Check("mf_session_feed_tokens", mf_session_feed_tokens(session, tokens, n, &error_));
      }
      case 5:
        return Check("mf_session_feed_text",
                     mf_session_feed_text(session, Rest().data(), Rest().size() % 20, Byte() % 8,
                                          nullptr, &error_));
      case 6:
        return Check("mf_session_decode",
                     mf_session_decode(session, Byte() % 4 == 0 ? cancel_ : nullptr, &error_));
      case 7: {
        mf_token token = 0;
        return Check("mf_session_sample", mf_session_sample(session, &token, &error_));
      }
      case 8:
        return GenerateSome(session);
      case 9: {
        mf_generate_options options = MF_GENERATE_OPTIONS_INIT;
        options.max_tokens = Byte() % 6;
        return Check("mf_session_start", mf_session_start(session, &options, &error_));
      }
      case 10: {
        mf_token_event event = MF_TOKEN_EVENT_INIT;
        return Check("mf_session_next", mf_session_next(session, &event, &error_));
      }
      case 11:
        return Check("mf_session_truncate", mf_session_truncate(session, Number(), &error_));
      case 12: {
        if (sessions_.size() >= 6) return;
        mf_session* made = nullptr;
        Check("mf_session_fork", mf_session_fork(session, &made, &error_));
        if (made != nullptr) sessions_.push_back(made);
        return;
      }
      case 13:
        mf_session_cancel(session);
        return Check("mf_session_stop", mf_session_stop(session, &error_));
      default:
        return Look(session);
    }
  }

  // By the position, since the settings outlive the call: some edits fail, some throw, some make
  // NaN.
  static int32_t EditLogits(void*, float* logits, size_t n, uint32_t position) {
    if (position % 8 == 5) return 1;
    if (position % 8 == 6) throw 1;
    if (position % 8 == 7 && n > 0) logits[0] = std::numeric_limits<float>::quiet_NaN();
    return 0;
  }

  void Sampling(mf_session* session) {
    Extended<mf_sampling> extended;
    mf_sampling& sampling = extended.known;
    mf_sampling_init(&sampling, sizeof(sampling));
    sampling.seed = Byte();
    sampling.top_k = static_cast<int32_t>(Number());
    sampling.temperature = static_cast<float>(Byte()) / 64.0F - 0.5F;
    sampling.mirostat = Byte() % 4;
    sampling.mirostat_tau = 5.0F;
    sampling.mirostat_eta = 0.1F;
    if (Byte() % 8 == 0) sampling.struct_size = Number();
    const mf_logit_bias bias = {static_cast<mf_token>(Number()), -1.0F};
    if (Byte() % 4 == 0) {
      sampling.logit_bias = &bias;
      sampling.n_logit_bias = 1;
    }
    if (Byte() % 4 == 0) sampling.edit_logits = &EditLogits;
    Check("mf_session_set_sampling",
          mf_session_set_sampling(session, Byte() % 4 == 0 ? nullptr : &sampling, &error_));
  }

  void GenerateSome(mf_session* session) {
    struct Inside {
      Driver* driver;
      mf_session* session;
    } inside = {this, session};
    mf_generate_options options = MF_GENERATE_OPTIONS_INIT;
    options.max_tokens = 1 + Byte() % 5;
    options.ignore_end = Byte() % 3;
    mf_generate_result result = MF_GENERATE_RESULT_INIT;
    Check("mf_session_generate", mf_session_generate(
                                     session, &options,
                                     [](void* user_data, const mf_token_event*) -> int32_t {
                                       auto& in = *static_cast<Inside*>(user_data);
                                       switch (in.driver->Byte() % 8) {
                                         case 0:
                                           return 1;
                                         case 1:
                                           throw 1;
                                         case 2:
                                           mf_session_cancel(in.session);
                                           return 0;
                                         case 3:
                                           return mf_session_truncate(in.session, 0, nullptr) ==
                                                          MF_STATUS_FAILED_PRECONDITION
                                                      ? 0
                                                      : 1;
                                         default:
                                           return 0;
                                       }
                                     },
                                     &inside, &result, &error_));
  }

  // The numbers of a session always add up.
  void Look(mf_session* session) {
    const uint32_t position = mf_session_position(session);
    size_t n = 0;
    const mf_status status = mf_session_tokens(session, nullptr, 0, &n, &error_);
    Check("mf_session_tokens", status);
    if (status == MF_STATUS_OK && n != position) Fault("mf_session_tokens", "not the position");
    const float* logits = nullptr;
    Check("mf_session_logits", mf_session_logits(session, &logits, &n, &error_));
    mf_token_log_probability top[2];
    Check("mf_session_top_tokens", mf_session_top_tokens(session, top, 2, &n, &error_));
    const mf_token asked[2] = {static_cast<mf_token>(Number()), 1};
    float log_probabilities[2];
    Check("mf_session_log_probabilities",
          mf_session_log_probabilities(session, asked, Byte() % 3, log_probabilities, &error_));
    (void)mf_session_pending(session);
    (void)mf_session_room(session);
    mf_session_statistics statistics = MF_SESSION_STATISTICS_INIT;
    Check("mf_session_get_statistics", mf_session_get_statistics(session, &statistics, &error_));
  }

  const std::string model_path_;
  mf_cancel* cancel_ = nullptr;
  std::vector<mf_model*> models_;
  std::vector<mf_context*> contexts_;
  std::vector<mf_session*> sessions_;
};

}  // namespace

std::string RunCallSequence(const std::string& model_path, const uint8_t* data, size_t size) {
  return Driver(model_path, data, size).Run();
}

}  // namespace capi_test
