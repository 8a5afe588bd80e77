/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Two conversations at once, in the host's own loop: 06_two_sessions MODEL.gguf
 *
 * Every step advances both sessions with one pass over the weights. Nothing blocks and nothing
 * calls back: the loop belongs to the program.
 */
#include <inttypes.h>
#include <minfer/minfer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_SESSIONS = 2, MAX_TEXT = 2048 };

static const char* const prompts[N_SESSIONS] = {"The best thing about winter is",
                                                "The best thing about summer is"};

static void check(mf_status status, const mf_error* error) {
  if (status == MF_STATUS_OK) return;
  fprintf(stderr, "%s: %s\n", mf_status_name(status), error->message);
  exit(1);
}

/* Fetches the token that the step has picked, if there is one. Returns 1 when it was the last. */
static int fetch(mf_session* session, char* text, size_t* length) {
  mf_error error;
  mf_token_event event = MF_TOKEN_EVENT_INIT;
  const mf_status status = mf_session_next(session, &event, &error);
  if (status == MF_STATUS_NOT_FOUND) return 0;
  check(status, &error);
  if (*length + event.text_length <= MAX_TEXT) {
    memcpy(text + *length, event.text, event.text_length);
    *length += event.text_length;
  }
  return event.finish != MF_FINISH_NONE;
}

int main(int argc, char** argv) {
  static char texts[N_SESSIONS][MAX_TEXT];
  size_t lengths[N_SESSIONS] = {0};
  int finished[N_SESSIONS] = {0};
  int i, n_finished = 0;
  mf_error error;
  mf_model* model;
  mf_context* context;
  mf_session* sessions[N_SESSIONS];
  mf_context_options context_options = MF_CONTEXT_OPTIONS_INIT;
  mf_generate_options generate_options = MF_GENERATE_OPTIONS_INIT;
  mf_context_statistics statistics = MF_CONTEXT_STATISTICS_INIT;
  if (argc != 2) {
    fprintf(stderr, "usage: %s MODEL.gguf\n", argv[0]);
    return 2;
  }
  check(mf_model_load_path(argv[1], NULL, &model, &error), &error);
  context_options.n_ctx = 128;
  context_options.n_sessions = N_SESSIONS;
  check(mf_context_create(model, &context_options, &context, &error), &error);

  generate_options.max_tokens = 32;
  for (i = 0; i < N_SESSIONS; ++i) {
    check(mf_session_create(context, NULL, &sessions[i], &error), &error);
    check(mf_session_feed_text(sessions[i], prompts[i], strlen(prompts[i]), MF_ENCODE_ADD_SPECIAL,
                               NULL, &error),
          &error);
    check(mf_session_start(sessions[i], &generate_options, &error), &error);
  }
  while (n_finished < N_SESSIONS) {
    check(mf_context_step(context, NULL, NULL, &error), &error);
    for (i = 0; i < N_SESSIONS; ++i) {
      if (finished[i] || !fetch(sessions[i], texts[i], &lengths[i])) continue;
      finished[i] = 1;
      ++n_finished;
    }
  }
  for (i = 0; i < N_SESSIONS; ++i) {
    printf("%s%.*s\n\n", prompts[i], (int)lengths[i], texts[i]);
  }
  check(mf_context_get_statistics(context, &statistics, &error), &error);
  printf("[%" PRIu64 " steps for %" PRIu64 " prompt and %" PRIu64 " generated rows]\n",
         statistics.n_steps, statistics.n_prefill_rows, statistics.n_decode_rows);

  for (i = 0; i < N_SESSIONS; ++i) mf_session_destroy(sessions[i]);
  mf_context_destroy(context);
  mf_model_destroy(model);
  return 0;
}
