/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Stop in the middle, from a signal handler, and go on afterwards: 04_cancel MODEL.gguf
 *
 * Ctrl-C stops the answer and not the program. So that it can be seen without a hand on the
 * keyboard, the program sends itself the signal after a few tokens.
 */
#include <minfer/minfer.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static mf_cancel* cancel;

/* mf_cancel_request() is one of the few things that a signal handler may call. */
static void on_interrupt(int signal_number) {
  (void)signal_number;
  mf_cancel_request(cancel);
}

static void check(mf_status status, const mf_error* error) {
  if (status == MF_STATUS_OK) return;
  fprintf(stderr, "%s: %s\n", mf_status_name(status), error->message);
  exit(1);
}

/* Counts tokens; when the count comes to 0, it is as if somebody had pressed Ctrl-C. */
static int32_t take_text(void* user_data, const mf_token_event* event) {
  int* countdown = user_data;
  fwrite(event->text, 1, event->text_length, stdout);
  fflush(stdout);
  if (--*countdown == 0) raise(SIGINT);
  return 0;
}

int main(int argc, char** argv) {
  const char prompt[] = "Once upon a time";
  mf_error error;
  mf_model* model;
  mf_context* context;
  mf_session* session;
  mf_model_options model_options = MF_MODEL_OPTIONS_INIT;
  mf_context_options context_options = MF_CONTEXT_OPTIONS_INIT;
  mf_generate_options generate_options = MF_GENERATE_OPTIONS_INIT;
  mf_status status;
  int countdown = 8;
  if (argc != 2) {
    fprintf(stderr, "usage: %s MODEL.gguf\n", argv[0]);
    return 2;
  }
  check(mf_cancel_create(&cancel, &error), &error);
  signal(SIGINT, on_interrupt);

  /* One flag can stop the load, the creation and every later call. */
  model_options.cancel = cancel;
  check(mf_model_load_path(argv[1], &model_options, &model, &error), &error);
  context_options.n_ctx = 256;
  check(mf_context_create(model, &context_options, &context, &error), &error);
  check(mf_session_create(context, NULL, &session, &error), &error);

  check(
      mf_session_feed_text(session, prompt, sizeof prompt - 1, MF_ENCODE_ADD_SPECIAL, NULL, &error),
      &error);
  generate_options.cancel = cancel;
  generate_options.max_tokens = 64;
  generate_options.ignore_end = 1;
  status = mf_session_generate(session, &generate_options, take_text, &countdown, NULL, &error);
  if (status != MF_STATUS_CANCELLED) check(status, &error);
  printf("\n[%s at position %u]\n", mf_status_name(status), mf_session_position(session));

  /* The request holds until it is taken back. The session is where its last whole step left it, so
   * it simply goes on. */
  mf_cancel_reset(cancel);
  generate_options.max_tokens = 16;
  check(mf_session_generate(session, &generate_options, take_text, &countdown, NULL, &error),
        &error);
  printf("\n[went on to position %u]\n", mf_session_position(session));

  mf_session_destroy(session);
  mf_context_destroy(context);
  mf_model_destroy(model);
  mf_cancel_destroy(cancel);
  return 0;
}
