// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Preloaded into a benchmark: its clocks show the processor time that the program used, so that one
// thread can be measured on a busy machine. type_bench.py --processor-time does that.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* now) {
  if (clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME) clock = CLOCK_PROCESS_CPUTIME_ID;
  return (int)syscall(SYS_clock_gettime, clock, now);
}
