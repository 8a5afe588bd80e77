/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/* The smallest host: what the install tests build in every way there is. */
#include <minfer/minfer.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  mf_model_options options = MF_MODEL_OPTIONS_INIT;
  mf_model* model = NULL;
  mf_cancel* cancel = NULL;
  mf_error error;
  if (mf_version() != MF_VERSION_NUMBER(MF_VERSION_MAJOR, MF_VERSION_MINOR, MF_VERSION_PATCH)) {
    return 1;
  }
  if (mf_cancel_create(&cancel, &error) != MF_STATUS_OK || error.status != MF_STATUS_OK) return 2;
  mf_cancel_request(cancel);
  if (mf_cancel_is_requested(cancel) != 1) return 3;
  options.cancel = cancel;
  if (mf_model_load_path("no-such-model.gguf", &options, &model, &error) != MF_STATUS_CANCELLED) {
    return 4;
  }
  mf_cancel_reset(cancel);
  if (mf_model_load_path("no-such-model.gguf", &options, &model, &error) != MF_STATUS_NOT_FOUND) {
    return 5;
  }
  if (error.status != MF_STATUS_NOT_FOUND || strlen(error.message) == 0 || model != NULL) return 6;
  mf_cancel_destroy(cancel);
  printf("libminfer %s, %u devices\n", mf_version_string(), (unsigned)mf_device_count());
  return 0;
}
