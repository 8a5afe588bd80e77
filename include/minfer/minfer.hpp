// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

/**
 * The C++17 face of libminfer: owners that give back what they hold, and results that carry a value
 * or an error. Header-only over the C header, which says what each call does and who may make it;
 * an owner has the thread rules of its handle. Nothing here throws but std::bad_alloc.
 *
 *     auto model = mf::Model::load("model.gguf");
 *     if (!model) return report(model.error());
 *     auto context = mf::Context::create(*model);
 *     auto session = mf::Session::create(*context);
 *     session->feed("Once upon a time", MF_ENCODE_ADD_SPECIAL);
 *     session->generate([](std::string_view text) { std::cout << text; return true; });
 */
#ifndef MINFER_MINFER_HPP_
#define MINFER_MINFER_HPP_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "minfer.h"

namespace mf {

/** What went wrong. */
class Error {
 public:
  Error() : raw_() {}
  mf_status status() const { return raw_.status; }
  const char* status_name() const { return mf_status_name(raw_.status); }
  std::string_view name() const { return raw_.name; }
  std::string_view message() const { return raw_.message; }
  const mf_error& raw() const { return raw_; }
  /** For the C calls. */
  mf_error* out() { return &raw_; }

 private:
  mf_error raw_;
};

/** A value or an error. Look before you take: the value of a failed one is not there. */
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit by design
  Result(const Error& error) : error_(error) {}  // NOLINT

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return error_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Error error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(const Error& error) : error_(error) {}  // NOLINT: implicit by design
  bool ok() const { return error_.status() == MF_STATUS_OK; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

namespace detail {

/** Owns one handle. */
template <typename Handle, void (*Destroy)(Handle*)>
class Owner {
 public:
  Owner() = default;
  explicit Owner(Handle* handle) : handle_(handle) {}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    if (this != &other) reset(std::exchange(other.handle_, nullptr));
    return *this;
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() { Destroy(handle_); }

  /** Borrows the handle for the C calls. */
  Handle* get() const { return handle_; }
  /** Gives the handle away; the caller destroys it. */
  Handle* release() { return std::exchange(handle_, nullptr); }
  void reset(Handle* handle = nullptr) { Destroy(std::exchange(handle_, handle)); }

 private:
  Handle* handle_ = nullptr;
};

inline Result<void> Done(mf_status status, const Error& error) {
  if (status == MF_STATUS_OK) return Result<void>();
  return Result<void>(error);
}

/** A C++ callable behind a C callback. The library catches what it throws. */
template <typename Callback>
int32_t TokenThunk(void* user_data, const mf_token_event* event) {
  auto& callback = *static_cast<Callback*>(user_data);
  const auto call = [&] {
    if constexpr (std::is_invocable_v<Callback&, const mf_token_event&>) {
      return callback(*event);
    } else {
      return callback(std::string_view(event->text, event->text_length));
    }
  };
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    return 0;
  } else {
    return call() ? 0 : 1;
  }
}

template <typename Callback>
int32_t WriteThunk(void* user_data, const void* bytes, size_t length) {
  auto& callback = *static_cast<Callback*>(user_data);
  return callback(std::string_view(static_cast<const char*>(bytes), length))
             ? 0
             : static_cast<int32_t>(MF_STATUS_UNAVAILABLE);
}

}  // namespace detail

/** One message of a conversation. */
struct Message {
  std::string role;
  std::string content;
};

class Cancel : public detail::Owner<mf_cancel, mf_cancel_destroy> {
 public:
  using Owner::Owner;
  static Result<Cancel> create() {
    Error error;
    mf_cancel* handle = nullptr;
    if (mf_cancel_create(&handle, error.out()) != MF_STATUS_OK) return error;
    return Cancel(handle);
  }
  void request() { mf_cancel_request(get()); }
  void reset_request() { mf_cancel_reset(get()); }
  bool is_requested() const { return mf_cancel_is_requested(get()) != 0; }
};

class Model : public detail::Owner<mf_model, mf_model_destroy> {
 public:
  using Owner::Owner;
  static Result<Model> load(const char* path, const mf_model_options* options = nullptr) {
    Error error;
    mf_model* handle = nullptr;
    if (mf_model_load_path(path, options, &handle, error.out()) != MF_STATUS_OK) return error;
    return Model(handle);
  }
  static Result<Model> load(const std::string& path, const mf_model_options* options = nullptr) {
    return load(path.c_str(), options);
  }

  Result<mf_model_info> describe() const {
    Error error;
    mf_model_info info = MF_MODEL_INFO_INIT;
    if (mf_model_describe(get(), &info, error.out()) != MF_STATUS_OK) return error;
    return info;
  }
  /** All tensors of the file; their names live as long as the model. */
  Result<std::vector<mf_tensor_info>> tensors() const {
    Error error;
    std::vector<mf_tensor_info> all(mf_tensor_count(get()), MF_TENSOR_INFO_INIT);
    for (size_t i = 0; i < all.size(); ++i) {
      if (mf_tensor_at(get(), i, &all[i], error.out()) != MF_STATUS_OK) return error;
    }
    return all;
  }
  Result<std::vector<mf_token>> encode(std::string_view text, uint32_t flags = 0) const {
    Error error;
    // Enough for every text, so that one call does.
    std::vector<mf_token> tokens(text.size() + 8);
    size_t count = 0;
    if (mf_tokenizer_encode(get(), text.data(), text.size(), flags, tokens.data(), tokens.size(),
                            &count, error.out()) != MF_STATUS_OK) {
      return error;
    }
    tokens.resize(count);
    return tokens;
  }
  Result<std::string> decode(const std::vector<mf_token>& tokens, uint32_t flags = 0) const {
    return text([&](char* out, size_t capacity, size_t* length, mf_error* error) {
      return mf_tokenizer_decode(get(), tokens.data(), tokens.size(), flags, out, capacity, length,
                                 error);
    });
  }
  Result<std::string> piece(mf_token token, uint32_t flags = 0) const {
    return text([&](char* out, size_t capacity, size_t* length, mf_error* error) {
      return mf_tokenizer_piece(get(), token, flags, out, capacity, length, error);
    });
  }
  Result<std::string> render(const std::vector<Message>& messages,
                             const mf_chat_options* options = nullptr) const {
    std::vector<mf_chat_message> raw;
    raw.reserve(messages.size());
    for (const Message& message : messages) {
      mf_chat_message one = MF_CHAT_MESSAGE_INIT;
      one.role = {message.role.data(), message.role.size()};
      one.content = {message.content.data(), message.content.size()};
      raw.push_back(one);
    }
    return text([&](char* out, size_t capacity, size_t* length, mf_error* error) {
      return mf_chat_render(get(), raw.data(), raw.size(), options, out, capacity, length, error);
    });
  }
  size_t vocabulary_size() const { return mf_tokenizer_size(get()); }
  bool is_eog(mf_token token) const { return mf_tokenizer_is_eog(get(), token) != 0; }

 private:
  /** Runs a call in two-call form: once with a guess, again when it was too small. */
  template <typename Call>
  static Result<std::string> text(Call&& call) {
    Error error;
    std::string out(1024, '\0');
    size_t length = 0;
    mf_status status = call(&out[0], out.size(), &length, error.out());
    if (status == MF_STATUS_OUT_OF_RANGE && length > out.size()) {
      out.resize(length);
      status = call(&out[0], out.size(), &length, error.out());
    }
    if (status != MF_STATUS_OK) return error;
    out.resize(length);
    return out;
  }
};

class Context : public detail::Owner<mf_context, mf_context_destroy> {
 public:
  using Owner::Owner;
  static Result<Context> create(const Model& model, const mf_context_options* options = nullptr) {
    Error error;
    mf_context* handle = nullptr;
    if (mf_context_create(model.get(), options, &handle, error.out()) != MF_STATUS_OK) return error;
    return Context(handle);
  }
  Result<mf_step_result> step(const mf_step_options* options = nullptr) {
    Error error;
    mf_step_result result = MF_STEP_RESULT_INIT;
    if (mf_context_step(get(), options, &result, error.out()) != MF_STATUS_OK) return error;
    return result;
  }
  Result<mf_context_statistics> statistics() const {
    Error error;
    mf_context_statistics out = MF_CONTEXT_STATISTICS_INIT;
    if (mf_context_get_statistics(get(), &out, error.out()) != MF_STATUS_OK) return error;
    return out;
  }
};

class Session : public detail::Owner<mf_session, mf_session_destroy> {
 public:
  using Owner::Owner;
  static Result<Session> create(const Context& context) {
    Error error;
    mf_session* handle = nullptr;
    if (mf_session_create(context.get(), nullptr, &handle, error.out()) != MF_STATUS_OK) {
      return error;
    }
    return Session(handle);
  }

  Result<void> set_sampling(const mf_sampling& sampling) {
    Error error;
    return detail::Done(mf_session_set_sampling(get(), &sampling, error.out()), error);
  }
  Result<void> feed(const std::vector<mf_token>& tokens) {
    Error error;
    return detail::Done(mf_session_feed_tokens(get(), tokens.data(), tokens.size(), error.out()),
                        error);
  }
  Result<void> feed(std::string_view text, uint32_t flags) {
    Error error;
    return detail::Done(
        mf_session_feed_text(get(), text.data(), text.size(), flags, nullptr, error.out()), error);
  }
  Result<void> decode(const mf_cancel* cancel = nullptr) {
    Error error;
    return detail::Done(mf_session_decode(get(), cancel, error.out()), error);
  }
  Result<mf_token> sample() {
    Error error;
    mf_token token = MF_TOKEN_NONE;
    if (mf_session_sample(get(), &token, error.out()) != MF_STATUS_OK) return error;
    return token;
  }
  /**
   * Generates; `callback` takes a std::string_view or a const mf_token_event&, and returns nothing,
   * or false to stop.
   */
  template <typename Callback>
  Result<mf_generate_result> generate(Callback&& callback,
                                      const mf_generate_options* options = nullptr) {
    Error error;
    mf_generate_result result = MF_GENERATE_RESULT_INIT;
    using Plain = std::remove_reference_t<Callback>;
    if (mf_session_generate(get(), options, &detail::TokenThunk<Plain>, &callback, &result,
                            error.out()) != MF_STATUS_OK) {
      return error;
    }
    return result;
  }
  Result<void> truncate(uint32_t position) {
    Error error;
    return detail::Done(mf_session_truncate(get(), position, error.out()), error);
  }
  Result<Session> fork() {
    Error error;
    mf_session* handle = nullptr;
    if (mf_session_fork(get(), &handle, error.out()) != MF_STATUS_OK) return error;
    return Session(handle);
  }
  void cancel() { mf_session_cancel(get()); }
  uint32_t position() const { return mf_session_position(get()); }
  uint32_t room() const { return mf_session_room(get()); }
};

/**
 * Writes the model of a path anew in a type. `write` takes the new file's bytes as a
 * std::string_view, piece after piece, and returns false when it cannot write them.
 */
template <typename Write>
Result<mf_quantize_result> quantize(const char* path, mf_tensor_type type, Write&& write,
                                    const mf_quantize_options* options = nullptr) {
  Error error;
  mf_source source = MF_SOURCE_INIT;
  source.kind = MF_SOURCE_PATH;
  source.path = path;
  mf_quantize_result result = MF_QUANTIZE_RESULT_INIT;
  using Plain = std::remove_reference_t<Write>;
  if (mf_model_quantize(&source, 1, type, options, &detail::WriteThunk<Plain>, &write, &result,
                        error.out()) != MF_STATUS_OK) {
    return error;
  }
  return result;
}

}  // namespace mf

#endif  // MINFER_MINFER_HPP_
