/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

#include <minfer/minfer.h>
#include <stdio.h>

static int32_t print_text(void* user_data, const mf_token_event* event) {
  (void)user_data;
  fwrite(event->text, 1, event->text_length, stdout);
  return fflush(stdout); /* not 0 would end the generation */
}

int main(int argc, char** argv) {
  const char prompt[] = "The capital of France is";
  mf_generate_options options = MF_GENERATE_OPTIONS_INIT;
  mf_model* model = NULL;
  mf_context* context = NULL;
  mf_session* session = NULL;
  mf_error error = {0};
  options.max_tokens = 32;
  if (mf_model_load_path(argc > 1 ? argv[1] : "model.gguf", NULL, &model, &error) ||
      mf_context_create(model, NULL, &context, &error) ||
      mf_session_create(context, NULL, &session, &error) ||
      mf_session_feed_text(session, prompt, sizeof prompt - 1, 0, NULL, &error) ||
      mf_session_generate(session, &options, print_text, NULL, NULL, &error)) {
    fprintf(stderr, "%s: %s\n", mf_status_name(error.status), error.message);
  }
  mf_session_destroy(session);
  mf_context_destroy(context);
  mf_model_destroy(model);
  return error.status;
}
