#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0

# Installs what is missing, builds, and runs every test:
#   bash tests/run.sh          the build, all tests, lint, format, symbols and ABI, ASan and UBSan,
#                              and where nvcc is, a build with CUDA for one architecture
#   bash tests/run.sh --all    and the portable build, TSan, clang-tidy, long loops, fuzzing
# Everything lands in build/tests; a stage that fails shows the end of its log. The last line is
# "N passed, N failed, N skipped".
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
# shellcheck source=examples/setup.sh
. examples/setup.sh

all=0
case "${1:-}" in
  --all) all=1 ;;
  "") ;;
  *)
    say "usage: bash tests/run.sh [--all]"
    exit 2
    ;;
esac

TEST_PACKAGES=(catch2 python3 zlib1g-dev abigail-tools binutils clang-format ccache file)
ALL_PACKAGES=(clang-19 clang-tidy-19 libclang-rt-19-dev llvm-19)
FUZZ_SECONDS=${FUZZ_SECONDS:-60}
JOBS=$(nproc)
# gcc takes three times as long for the same sources at -O2 with sanitizers.
SANITIZED=(-DCMAKE_BUILD_TYPE=Sanitized "-DCMAKE_CXX_FLAGS_SANITIZED=-O1 -g1"
           "-DCMAKE_C_FLAGS_SANITIZED=-O1 -g1")

build=$root/build/tests
logs=$build/logs
rm -rf "$logs"
mkdir -p "$logs"
checks=$logs/checks.tsv
: > "$checks"
results=("$checks")
if [ -z "${CCACHE_DIR:-}" ] && [ ! -w "${HOME:-/nonexistent}" ]; then
  export CCACHE_DIR=$build/ccache
fi
# Nobody answers a question here, and no setting of the caller's shall change the tests.
exec < /dev/null
export LC_ALL=C.UTF-8 ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1

record() { printf '%s\t%s\n' "$1" "$2" >> "$checks"; }

# stage NAME COMMAND...: runs it with its output in a log, and tells how it went and how long it
# took. What it writes to descriptor 3 is shown.
stage() {
  local name=$1 start=$SECONDS log
  log=$logs/${name//[^a-zA-Z0-9]/_}.log
  shift
  if "$@" > "$log" 2>&1 3> "$log.shown"; then
    printf 'ok      %-44s %4d s\n' "$name" $((SECONDS - start))
    record passed "$name"
    sed 's/^/        /' "$log.shown"
    return 0
  fi
  printf 'FAILED  %-44s %4d s   %s\n' "$name" $((SECONDS - start)) "${log#"$root"/}"
  sed 's/^/        /' "$log.shown"
  tail -n "${FAILED_LINES:-40}" "$log" | sed 's/^/    | /'
  record failed "$name"
  return 1
}

skip() {
  printf 'skipped %s: %s\n' "$1" "$2"
  record skipped "$1: $2"
}

finish() {
  echo
  python3 tests/count_results.py "${results[@]}"
  exit
}

# run_ctest FOLDER OPTION...: its results are counted by case at the end.
run_ctest() {
  local folder=$1 junit status
  shift
  junit=$logs/$(basename "$folder")-$RANDOM.xml
  ctest --test-dir "$folder" --output-on-failure --no-tests=error --timeout 1200 \
    --test-output-size-passed 4000000 --test-output-size-failed 4000000 \
    --output-junit "$junit" "$@"
  status=$?
  echo "$junit" >> "$logs/junit.list"
  return $status
}

# Like stage, but its failures are counted from the results of ctest.
test_stage() {
  local before
  before=$(wc -l < "$checks")
  : > "$logs/junit.list"
  stage "$@"
  if [ -s "$logs/junit.list" ]; then
    head -n "$before" "$checks" > "$checks.kept" && mv "$checks.kept" "$checks"
    mapfile -t -O "${#results[@]}" results < "$logs/junit.list"
  fi
}

# planted NAME TEXT COMMAND...: a check must fail on the source TEXT, given to it as a file.
planted() {
  local file=$build/planted/$1.cc text=$2
  shift 2
  mkdir -p "$build/planted"
  cp .clang-format .clang-tidy "$build/planted"
  printf '%s\n' "$text" > "$file"
  if "$@" "$file"; then
    echo "finds nothing wrong with: $text"
    return 1
  fi
}

check_format() {
  planted format 'int  f( ) ;' clang-format --dry-run --Werror || return 1
  git ls-files -z '*.cc' '*.h' '*.c' '*.hpp' '*.cu' '*.cuh' '*.inc' |
    xargs -0 clang-format --dry-run --Werror
}

# build_matching FOLDER REGEX OPTION...: builds the test programs whose names match.
build_matching() {
  local folder=$1 regex=$2 targets
  shift 2
  configure_build "$folder" -DMINFER_BUILD_EXAMPLES=OFF "$@" || return 1
  mapfile -t targets < <(ninja -C "$folder" -t targets all | sed -n 's/: phony$//p' |
    grep -E "$regex" | grep -v /)
  [ "${#targets[@]}" -gt 0 ] || { echo "no target matches $regex"; return 1; }
  ninja -C "$folder" "${targets[@]}"
}

have_nvcc() { PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin command -v nvcc > /dev/null; }

# tidy_cuda FILE...: the host's pass over units of CUDA, which reads device code too. An empty
# header stands for one that clang 19 includes and CUDA 13 has no more.
tidy_cuda() {
  local shim=$build/tidy/shim nvcc
  mkdir -p "$shim"
  : > "$shim/texture_fetch_functions.h"
  nvcc=$(PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin command -v nvcc)
  printf '%s\0' "$@" | xargs -0 -P "$JOBS" -I{} clang-tidy-19 --quiet {} -- -x cuda \
    --cuda-path="$(dirname "$(dirname "$(readlink -f "$nvcc")")")" --cuda-host-only -nocudalib \
    -Wno-unknown-cuda-version -std=c++20 -I"$shim" -I"$root" -I"$root/lib" -I"$root/include"
}

tidy() {
  planted name 'int bad_name(int a) { return a; }' clang-tidy-19 --quiet || return 1
  python3 -c 'import json, sys; print(*(unit["file"] for unit in json.load(sys.stdin)), sep="\n")' \
    < "$build/tidy/compile_commands.json" | grep -E "^$root/(lib|capi|kernels)/.*\.(c|cc)\$" |
    xargs -P "$JOBS" -n 4 clang-tidy-19 -p "$build/tidy" --quiet || return 1
  have_nvcc || return 0
  planted device_name '__global__ void bad_name(int* a) { *a = 1; }' tidy_cuda || return 1
  mapfile -t units < <(git ls-files 'kernels/*.cu')
  tidy_cuda "${units[@]}"
}

configure_tidy() {
  local cuda=OFF
  have_nvcc && cuda=ON
  CC=clang-19 CXX=clang++-19 configure_build "$build/tidy" -DMINFER_BUILD_TESTS=OFF \
    -DMINFER_CUDA=$cuda -DMINFER_CUDA_ARCHS=90 &&
    ninja -C "$build/tidy" -t targets all > /dev/null
}

fuzz_one() {
  local target=$1 folder=$build/fuzz
  mkdir -p "$folder/found/$target" "$folder/grown/$target"
  "$folder/tests/fuzz/$target" -max_total_time="$FUZZ_SECONDS" -timeout=20 -rss_limit_mb=4096 \
    -print_final_stats=1 -artifact_prefix="$folder/found/$target/" \
    "$folder/grown/$target" "$folder/tests/fuzz/corpus/${target#fuzz_}" || return 1
  grep -h 'stat::number_of_executed_units' "$logs/fuzz__$target.log" |
    sed "s/.*units: */executions: /" >&3
}

build_fuzz() {
  CC=clang-19 CXX=clang++-19 configure_build "$build/fuzz" -DMINFER_FUZZ=ON \
    -DMINFER_BUILD_EXAMPLES=OFF "${SANITIZED[@]}" "-DMINFER_SANITIZE=address;undefined" &&
    ninja -C "$build/fuzz" fuzz_targets
}

long_loops() {
  local program found=0
  for program in "$build/release/tests/capi/"*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    # Its exit status is the number of tests, which pipefail would take for a failure.
    [ -n "$("$program" --list-test-names-only '[loop]' 2> /dev/null)" ] || continue
    echo "== $program"
    found=1
    GLIBC_TUNABLES=glibc.malloc.tcache_count=0 "$program" '[loop]' || return 1
  done
  [ "$found" = 1 ] || { echo "no program has a loop"; return 1; }
}

long_model_tests() { "$build/release/tests/model/model_golden_test" '[long]'; }

stage "packages" install_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" || finish
if stage "model" fetch_model; then
  export MINFER_TEST_MODEL_DIR=$MODEL_CACHE
else
  skip "model tests" "the model could not be fetched; see above"
  sed -i '/^failed\tmodel$/d' "$checks"
fi
fetch_second_model() { (choose_model gemma-3-270m && fetch_model); }
if ! stage "second model" fetch_second_model; then
  skip "tests of the second model" "it could not be fetched; see above"
  sed -i '/^failed\tsecond model$/d' "$checks"
fi
stage "configure" configure_build "$build/release" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DMINFER_BUILD_TESTS=ON -DMINFER_BUILD_EXAMPLES=ON || finish
stage "build" ninja -C "$build/release" || finish
test_stage "tests" run_ctest "$build/release" -j "$JOBS"
stage "format" check_format
# One architecture, and what only this build has. Devices are not asked for: tests that want one
# print a skip where there is none.
if have_nvcc; then
  if stage "build with CUDA" build_matching "$build/cuda" '^cuda_' -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DMINFER_CUDA=ON -DMINFER_CUDA_ARCHS=90; then
    test_stage "tests with CUDA" run_ctest "$build/cuda" -j "$JOBS" -R '^cuda_'
  fi
else
  skip "CUDA build" "there is no nvcc"
fi
if stage "build with ASan and UBSan" build_matching "$build/asan" '^(unit|capi)_' \
  "${SANITIZED[@]}" "-DMINFER_SANITIZE=address;undefined"; then
  test_stage "tests with ASan and UBSan" run_ctest "$build/asan" -j "$JOBS" -R '^(unit|capi)_'
fi
[ "$all" = 1 ] || finish

stage "packages for --all" install_packages "${ALL_PACKAGES[@]}" || finish
if stage "portable build" configure_build "$build/portable" -DCMAKE_BUILD_TYPE=Release \
  -DMINFER_PORTABLE=ON -DMINFER_BUILD_EXAMPLES=OFF &&
  stage "portable build: compile" ninja -C "$build/portable"; then
  test_stage "portable tests" run_ctest "$build/portable" -j "$JOBS" -R '^(abi|install|portable)'
fi
# The tests in which threads meet.
threaded='^(unit_(threads|engine)|capi)_'
if stage "build with TSan" build_matching "$build/tsan" "$threaded" \
  "${SANITIZED[@]}" -DMINFER_SANITIZE=thread; then
  test_stage "tests with TSan" run_ctest "$build/tsan" -j "$JOBS" \
    -R "$threaded"
fi
stage "clang-tidy: configure" configure_tidy && stage "clang-tidy" tidy
stage "long loops" long_loops
stage "whole model with scalar code" long_model_tests
if stage "build fuzz targets" build_fuzz; then
  for target in "$build"/fuzz/tests/fuzz/fuzz_*; do
    [ -f "$target" ] && [ -x "$target" ] || continue
    target=${target##*/}
    stage "fuzz: $target" fuzz_one "$target"
  done
fi
finish
