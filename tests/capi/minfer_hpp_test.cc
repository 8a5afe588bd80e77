// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <minfer/minfer.hpp>

#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

TEST_CASE("minfer.hpp: a conversation, and everything given back", "[capi]") {
  auto missing = mf::Model::load("/nowhere/a.gguf");
  REQUIRE(!missing);
  CHECK(missing.error().status() == MF_STATUS_NOT_FOUND);
  CHECK(!missing.error().message().empty());

  auto model = mf::Model::load(TinyModel("llama"));
  REQUIRE(model);
  CHECK(model->describe()->n_layers == 2);
  auto tokens = model->encode("hello world", MF_ENCODE_ADD_SPECIAL);
  REQUIRE(tokens);
  auto text = model->decode(*tokens);
  REQUIRE(text);
  CHECK(*text == "hello world");
  CHECK(!model->decode({100000}));
  mf_chat_options chat = MF_CHAT_OPTIONS_INIT;
  const std::string program =
      "{% for m in messages %}{{ m.role }}:{{ m.content * 400 }};{% endfor %}";
  chat.template_text = {program.data(), program.size()};
  // Longer than the first guess.
  auto rendered = model->render({{"user", "hello"}, {"assistant", "x"}}, &chat);
  REQUIRE(rendered);
  CHECK(rendered->size() == 5 + 400 * 5 + 1 + 10 + 400 + 1);

  mf_context_options options = SmallContext();
  auto context = mf::Context::create(*model, &options);
  REQUIRE(context);
  auto session = mf::Session::create(*context);
  REQUIRE(session);
  REQUIRE(session->set_sampling(mf_sampling()));
  REQUIRE(session->feed(Prompt()));
  int told = 0;
  mf_generate_options generate = MF_GENERATE_OPTIONS_INIT;
  generate.ignore_end = 1;
  generate.max_tokens = 5;
  auto result = session->generate([&](const mf_token_event&) { ++told; }, &generate);
  REQUIRE(result);
  CHECK(told == 5);
  auto stopped = session->generate([&](std::string_view) { return false; }, &generate);
  REQUIRE(stopped);
  CHECK(stopped->finish == MF_FINISH_STOPPED);
  auto thrown = session->generate([&](std::string_view) { throw 1; }, &generate);
  REQUIRE(!thrown);
  CHECK(thrown.error().status() == MF_STATUS_ABORTED);
  auto fork = session->fork();
  REQUIRE(fork);
  CHECK(fork->position() == session->position());
  REQUIRE(session->truncate(3));
  CHECK(session->room() == options.n_ctx - 3);
  mf::Session moved = std::move(*fork);
  CHECK(fork->get() == nullptr);
  CHECK(moved.position() > 3);
  auto cancel = mf::Cancel::create();
  REQUIRE(cancel);
  cancel->request();
  REQUIRE(moved.feed("abc", 0));
  CHECK(moved.decode(cancel->get()).error().status() == MF_STATUS_CANCELLED);
  CHECK(context->statistics()->n_sessions == 2);
}

TEST_CASE("minfer.hpp: tensors, and a model written anew", "[capi]") {
  auto model = mf::Model::load(TinyModel("llama"));
  REQUIRE(model);
  auto tensors = model->tensors();
  REQUIRE(tensors);
  CHECK(tensors->size() == model->describe()->n_tensors);
  size_t bytes = 0;
  auto result =
      mf::quantize(TinyModel("llama").c_str(), MF_TENSOR_Q8_0, [&](std::string_view piece) {
        bytes += piece.size();
        return true;
      });
  REQUIRE(result);
  CHECK(result->file_bytes == bytes);
  auto full = mf::quantize(TinyModel("llama").c_str(), MF_TENSOR_Q8_0,
                           [](std::string_view) { return false; });
  CHECK(full.error().status() == MF_STATUS_UNAVAILABLE);
}

}  // namespace
}  // namespace capi_test
