// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/log.h"

const char* mf_log_level_name(mf_log_level level) {
  switch (level) {
    case MF_LOG_DEFAULT:
      return "default";
    case MF_LOG_DEBUG:
      return "debug";
    case MF_LOG_INFO:
      return "info";
    case MF_LOG_WARNING:
      return "warning";
    case MF_LOG_ERROR:
      return "error";
    case MF_LOG_OFF:
      return "off";
    default:
      return "unknown";
  }
}
