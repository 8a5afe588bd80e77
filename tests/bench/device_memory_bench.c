/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a model takes of a GPU, beside what was planned: device_memory_bench MODEL.gguf [n_ctx]
 *
 * A context is filled to its end with a prompt and 128 tokens more. The limit of the last line is
 * weights + KV + 600 MB. What others take of the device meanwhile is counted too.
 */
#include <inttypes.h>
#include <minfer/minfer.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOKENS = 128 };

static const double MEGABYTE = 1e6;

static void check(mf_status status, const mf_error* error) {
  if (status == MF_STATUS_OK) return;
  fprintf(stderr, "%s: %s\n", mf_status_name(status), error->message);
  exit(1);
}

static uint64_t free_bytes(size_t device) {
  mf_error error;
  mf_device_info info = MF_DEVICE_INFO_INIT;
  check(mf_device_get_info(device, &info, &error), &error);
  return info.memory_free;
}

static void print_use(const char* what, const mf_memory_use* use) {
  mf_memory_class c;
  printf("%s, planned: %.1f MB\n", what, (double)use->total / MEGABYTE);
  for (c = 0; c < MF_MEMORY_CLASS_ROOM; ++c) {
    if (use->bytes[c] == 0) continue;
    printf("  %-18s %10.1f MB\n", mf_memory_class_name(c), (double)use->bytes[c] / MEGABYTE);
  }
}

/* The least that was free, as told after each token. */
static int32_t look(void* user_data, const mf_token_event* event) {
  uint64_t* least = user_data;
  const uint64_t now = free_bytes(1);
  (void)event;
  if (now < *least) *least = now;
  return 0;
}

int main(int argc, char** argv) {
  mf_error error;
  mf_model* model;
  mf_context* context;
  mf_session* session;
  mf_source source = MF_SOURCE_INIT;
  mf_model_device gpu = MF_MODEL_DEVICE_INIT;
  mf_model_options load = MF_MODEL_OPTIONS_INIT;
  mf_context_options options = MF_CONTEXT_OPTIONS_INIT;
  mf_generate_options generate = MF_GENERATE_OPTIONS_INIT;
  mf_model_info info = MF_MODEL_INFO_INIT;
  mf_memory_use weights = MF_MEMORY_USE_INIT;
  mf_memory_use memory = MF_MEMORY_USE_INIT;
  mf_token* prompt;
  uint64_t before;
  uint64_t loaded;
  uint64_t least;
  uint32_t i;
  double limit;
  double taken;
  if (argc < 2) {
    fprintf(stderr, "usage: %s MODEL.gguf [n_ctx]\n", argv[0]);
    return 2;
  }
  if (mf_device_count() < 2) {
    fprintf(stderr, "there is no GPU\n");
    return 77;
  }
  gpu.device = 1;
  load.devices = &gpu;
  load.n_devices = 1;
  source.kind = MF_SOURCE_PATH;
  source.path = argv[1];
  options.n_ctx = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 4096;
  check(mf_model_plan(&source, 1, &load, &options, 1, &weights, &memory, &error), &error);
  print_use("model", &weights);
  print_use("context", &memory);

  before = free_bytes(1);
  check(mf_model_load(&source, 1, &load, &model, &error), &error);
  loaded = free_bytes(1);
  check(mf_model_describe(model, &info, &error), &error);
  check(mf_context_create(model, &options, &context, &error), &error);
  check(mf_session_create(context, NULL, &session, &error), &error);
  prompt = malloc(options.n_ctx * sizeof *prompt);
  if (prompt == NULL) return 1;
  for (i = 0; i < options.n_ctx; ++i) prompt[i] = (mf_token)((i * 7919U) % info.n_vocab);
  check(mf_session_feed_tokens(session, prompt, options.n_ctx - TOKENS, &error), &error);
  least = free_bytes(1);
  generate.max_tokens = TOKENS;
  generate.ignore_end = 1;
  check(mf_session_generate(session, &generate, look, &least, NULL, &error), &error);

  taken = (double)(before - least);
  limit = (double)(weights.total + memory.bytes[MF_MEMORY_KV]) + 600 * MEGABYTE;
  printf("tensors in the file %.1f MB, weights on the device %.3f times that\n",
         (double)info.n_bytes / MEGABYTE, (double)weights.total / (double)info.n_bytes);
  printf("gone: %.1f MB for the model, %.1f MB more at most with the context, %.1f MB in all\n",
         (double)(before - loaded) / MEGABYTE, (double)(loaded - least) / MEGABYTE,
         taken / MEGABYTE);
  printf("limit %.1f MB: %s\n", limit / MEGABYTE, taken <= limit ? "kept" : "BROKEN");
  free(prompt);
  mf_session_destroy(session);
  mf_context_destroy(context);
  mf_model_destroy(model);
  return taken <= limit ? 0 : 1;
}
