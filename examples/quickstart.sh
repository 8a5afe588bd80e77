#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0

# From a fresh Debian 12 machine to an answer:
#   bash examples/quickstart.sh "Why is the sky blue?"
# Installs the packages, builds, fetches a small model once, and streams the answer.
# MODEL=gemma-3-270m takes another model, MODEL=path any GGUF file. A second start only checks that
# all is there.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=examples/setup.sh
. "$root/examples/setup.sh"

question=${*:-Why is the sky blue?}
build=$root/build/quickstart
log=$root/build/quickstart.log

build_chat() {
  mkdir -p "$root/build"
  if [ ! -f "$build/build.ninja" ]; then
    say "Building (a few minutes, once)"
    configure_build "$build" -DCMAKE_BUILD_TYPE=Release -DMINFER_BUILD_TESTS=OFF > "$log" 2>&1 ||
      return 1
  fi
  if [ -t 2 ]; then
    ninja -C "$build" minfer_chat > "$log" 2>&1 &
    local ninja=$!
    while kill -0 "$ninja" 2> /dev/null; do
      printf '\r%s ' "$(grep -o '^\[[0-9/]*\]' "$log" | tail -n 1)" >&2
      sleep 0.2
    done
    printf '\r\033[K' >&2
    wait "$ninja"
  else
    ninja -C "$build" minfer_chat > "$log" 2>&1
  fi
}

model=
if [ -n "${MODEL:-}" ]; then
  if choose_model "$MODEL"; then
    say "$MODEL_NAME, under the licence: $MODEL_LICENSE"
  elif [ -f "$MODEL" ]; then
    model=$MODEL
  else
    say "MODEL=$MODEL: there is no such file; the models known by name: ${MODEL_CHOICES[*]}"
    exit 1
  fi
fi
install_packages "${BUILD_PACKAGES[@]}"
# The model first: a missing network then shows before the build.
[ -n "$model" ] || model=$(fetch_model)
if ! build_chat; then
  tail -n 20 "$log" >&2
  say "The build failed; the whole log is $log"
  exit 1
fi
# Greedy, so that everybody sees the same answer. A model that was not trained to answer finds no
# end by itself.
exec "$build/examples/chat/minfer-chat" -m "$model" -p "$question" --temp 0 --max-tokens 512
