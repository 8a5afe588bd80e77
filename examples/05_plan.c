/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What will it take? 05_plan MODEL.gguf [n_ctx]
 *
 * Asks for the bytes from the file's header alone, makes a context with exactly that budget, and
 * shows that a byte less is refused before anything is taken.
 */
#include <inttypes.h>
#include <minfer/minfer.h>
#include <stdio.h>
#include <stdlib.h>

static void check(mf_status status, const mf_error* error) {
  if (status == MF_STATUS_OK) return;
  fprintf(stderr, "%s: %s\n", mf_status_name(status), error->message);
  exit(1);
}

static void print_use(const char* what, const mf_memory_use* use) {
  mf_memory_class c;
  printf("%-10s %12" PRIu64 " bytes\n", what, use->total);
  for (c = 0; c < MF_MEMORY_CLASS_ROOM; ++c) {
    const char* note = c > MF_MEMORY_CAPTURED_GRAPHS ? " (not in the total)" : "";
    if (use->bytes[c] == 0) continue;
    printf("  %-20s %12" PRIu64 "%s\n", mf_memory_class_name(c), use->bytes[c], note);
  }
}

int main(int argc, char** argv) {
  mf_error error;
  mf_model* model;
  mf_context* context = NULL;
  mf_source source = MF_SOURCE_INIT;
  mf_context_options options = MF_CONTEXT_OPTIONS_INIT;
  mf_memory_use model_use = MF_MEMORY_USE_INIT;
  mf_memory_use context_use = MF_MEMORY_USE_INIT;
  mf_memory_use now = MF_MEMORY_USE_INIT;
  mf_memory_use peak = MF_MEMORY_USE_INIT;
  mf_status status;
  if (argc < 2) {
    fprintf(stderr, "usage: %s MODEL.gguf [n_ctx]\n", argv[0]);
    return 2;
  }
  source.kind = MF_SOURCE_PATH;
  source.path = argv[1];
  options.n_ctx = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1024;

  /* No weights are read for this. Device 0 is the CPU. */
  check(mf_model_plan(&source, 1, NULL, &options, 0, &model_use, &context_use, &error), &error);
  print_use("model", &model_use);
  print_use("context", &context_use);

  check(mf_model_load(&source, 1, NULL, &model, &error), &error);
  options.budget_bytes = context_use.total - 1;
  status = mf_context_create(model, &options, &context, &error);
  printf("a byte less: %s, wanted %" PRIu64 ", available %" PRIu64 "\n", mf_status_name(status),
         error.bytes_wanted, error.bytes_available);
  if (status != MF_STATUS_RESOURCE_EXHAUSTED) return 1;

  options.budget_bytes = context_use.total;
  check(mf_context_create(model, &options, &context, &error), &error);
  check(mf_context_get_memory(context, 0, &now, &peak, &error), &error);
  printf("exactly that: created, the account's peak is %" PRIu64 " bytes\n", peak.total);

  mf_context_destroy(context);
  mf_model_destroy(model);
  return peak.total <= context_use.total ? 0 : 1;
}
