/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A conversation of several turns: 03_chat MODEL.gguf < lines
 *
 * Every turn renders the whole conversation, and only what the session does not have yet is
 * computed: it is rewound to where old and new tokens part.
 */
#include <minfer/minfer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MESSAGES = 64, MAX_TEXT = 4096, MAX_TOKENS = 2048 };

static mf_chat_message messages[MAX_MESSAGES];
static char texts[MAX_MESSAGES][MAX_TEXT];
static size_t n_messages;

static void check(mf_status status, const mf_error* error) {
  if (status == MF_STATUS_OK) return;
  fprintf(stderr, "%s: %s\n", mf_status_name(status), error->message);
  exit(1);
}

static void add_message(const char* role, size_t length) {
  mf_chat_message* message = &messages[n_messages];
  mf_chat_message_init(message, sizeof *message);
  message->role.data = role;
  message->role.length = strlen(role);
  message->content.data = texts[n_messages];
  message->content.length = length;
  ++n_messages;
}

/* Prints the text and keeps it for the next rendering. */
static int32_t take_text(void* user_data, const mf_token_event* event) {
  size_t* length = user_data;
  if (*length + event->text_length > MAX_TEXT) return 1; /* ends the answer */
  memcpy(texts[n_messages] + *length, event->text, event->text_length);
  *length += event->text_length;
  fwrite(event->text, 1, event->text_length, stdout);
  fflush(stdout);
  return 0;
}

/* Brings the session to the conversation's tokens; what it shares with them stays. */
static size_t feed_conversation(const mf_model* model, mf_session* session) {
  static mf_token wanted[MAX_TOKENS], present[MAX_TOKENS];
  size_t n_wanted, n_present, same = 0;
  mf_error error;
  check(mf_chat_encode(model, messages, n_messages, NULL, wanted, MAX_TOKENS, &n_wanted, &error),
        &error);
  check(mf_session_tokens(session, present, MAX_TOKENS, &n_present, &error), &error);
  while (same < n_present && same + 1 < n_wanted && wanted[same] == present[same]) ++same;
  check(mf_session_truncate(session, (uint32_t)same, &error), &error);
  check(mf_session_feed_tokens(session, wanted + same, n_wanted - same, &error), &error);
  return same;
}

int main(int argc, char** argv) {
  mf_error error;
  mf_model* model;
  mf_context* context;
  mf_session* session;
  mf_context_options context_options = MF_CONTEXT_OPTIONS_INIT;
  mf_generate_options generate_options = MF_GENERATE_OPTIONS_INIT;
  if (argc != 2) {
    fprintf(stderr, "usage: %s MODEL.gguf < lines\n", argv[0]);
    return 2;
  }
  check(mf_model_load_path(argv[1], NULL, &model, &error), &error);
  context_options.n_ctx = MAX_TOKENS;
  check(mf_context_create(model, &context_options, &context, &error), &error);
  check(mf_session_create(context, NULL, &session, &error), &error);
  generate_options.max_tokens = 128;

  while (n_messages + 2 <= MAX_MESSAGES && fgets(texts[n_messages], MAX_TEXT, stdin) != NULL) {
    size_t length = 0, kept;
    printf("> %s", texts[n_messages]);
    add_message("user", strcspn(texts[n_messages], "\n"));
    kept = feed_conversation(model, session);
    check(mf_session_generate(session, &generate_options, take_text, &length, NULL, &error),
          &error);
    add_message("assistant", length);
    printf("\n[%u tokens, %u of them kept]\n", mf_session_position(session), (unsigned)kept);
  }

  mf_session_destroy(session);
  mf_context_destroy(context);
  mf_model_destroy(model);
  return 0;
}
