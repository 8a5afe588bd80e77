/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One question, one answer, explained: 02_stream MODEL.gguf ["question"]
 *
 * Loads a model, renders the question by the model's own chat template, and prints the answer
 * while it is made.
 */
#include <minfer/minfer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every fallible call returns a status and fills an error that we own. */
static void check(mf_status status, const mf_error* error) {
  if (status == MF_STATUS_OK) return;
  fprintf(stderr, "\n%s (%s): %s\n", mf_status_name(status), mf_subsystem_name(error->subsystem),
          error->message);
  exit(1);
}

/* Told how far the load is, on a terminal only: a log wants no progress. Returning something else
 * than 0 would cancel the load. */
static int32_t show_progress(void* user_data, uint64_t done, uint64_t total) {
  (void)user_data;
  if (total > 0) fprintf(stderr, "\rloading %3d %%", (int)(done * 100 / total));
  if (done == total) fprintf(stderr, "\r               \r");
  return 0;
}

/* Takes each token. The text is never cut inside a character, and may be empty. */
static int32_t print_text(void* user_data, const mf_token_event* event) {
  (void)user_data;
  fwrite(event->text, 1, event->text_length, stdout);
  fflush(stdout);
  return 0;
}

/* Renders the question with the model's template and feeds its tokens. What the question says stays
 * plain text, even where it looks like a control token. */
static void feed_question(const mf_model* model, mf_session* session, const char* question) {
  mf_error error;
  mf_chat_message message = MF_CHAT_MESSAGE_INIT;
  mf_token* tokens;
  size_t count;
  message.role.data = "user";
  message.role.length = strlen("user");
  message.content.data = question;
  message.content.length = strlen(question);
  /* The two-call form: first the number, then the tokens. */
  check(mf_chat_encode(model, &message, 1, NULL, NULL, 0, &count, &error), &error);
  tokens = malloc(count * sizeof *tokens);
  if (tokens == NULL) exit(1);
  check(mf_chat_encode(model, &message, 1, NULL, tokens, count, &count, &error), &error);
  check(mf_session_feed_tokens(session, tokens, count, &error), &error);
  free(tokens);
}

int main(int argc, char** argv) {
  mf_error error;
  mf_model* model;
  mf_context* context;
  mf_session* session;
  mf_model_options model_options = MF_MODEL_OPTIONS_INIT;
  mf_context_options context_options = MF_CONTEXT_OPTIONS_INIT;
  mf_generate_options generate_options = MF_GENERATE_OPTIONS_INIT;
  mf_generate_result result = MF_GENERATE_RESULT_INIT;
  mf_session_statistics statistics = MF_SESSION_STATISTICS_INIT;
  mf_sampling sampling;
  if (argc < 2) {
    fprintf(stderr, "usage: %s MODEL.gguf [\"question\"]\n", argv[0]);
    return 2;
  }

  /* A model can serve any number of contexts; a context holds threads and the cache. */
  if (isatty(STDERR_FILENO)) model_options.progress = show_progress;
  check(mf_model_load_path(argv[1], &model_options, &model, &error), &error);
  context_options.n_ctx = 512; /* tokens of the conversation, prompt and answer together */
  check(mf_context_create(model, &context_options, &context, &error), &error);
  check(mf_session_create(context, NULL, &session, &error), &error);

  /* The defaults sample with a temperature of 0.8; another seed gives another answer. */
  mf_sampling_init(&sampling, sizeof sampling);
  sampling.seed = 42;
  check(mf_session_set_sampling(session, &sampling, &error), &error);

  feed_question(model, session, argc > 2 ? argv[2] : "Why is the sky blue?");
  generate_options.max_tokens = 200;
  check(mf_session_generate(session, &generate_options, print_text, NULL, &result, &error), &error);
  putchar('\n');

  check(mf_session_get_statistics(session, &statistics, &error), &error);
  fprintf(stderr, "[%u prompt tokens, %u generated, %.1f tokens/s]\n", result.n_prompt_tokens,
          result.n_tokens,
          statistics.generate_time_ns > 0
              ? (double)statistics.n_generated_tokens * 1e9 / (double)statistics.generate_time_ns
              : 0.0);

  /* Any order is safe; children first is the usual one. */
  mf_session_destroy(session);
  mf_context_destroy(context);
  mf_model_destroy(model);
  return 0;
}
