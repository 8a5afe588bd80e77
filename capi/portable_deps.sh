#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0

# Prepares what the portable build links: Abseil from Debian's own source package, patches and
# options.h included, built position-independent. The package list and the signature check are apt's;
# the machine's own lists stay as they are. Does nothing when it is there already.
#
# usage: portable_deps.sh FOLDER        needs dpkg-dev, cmake, ninja-build and a compiler
set -euo pipefail

folder=$(mkdir -p "$1" && cd "$1" && pwd)
installed=$(dpkg-query -W -f '${source:Version}' libabsl-dev)
stamp="$folder/abseil-$installed.done"
if [ -e "$stamp" ]; then exit 0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/source"
# Sources come from where this machine takes its packages.
signed="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | sort -u |
  sed "s|^|deb-src $signed |; s|\$| main|" > "$work/sources.list"
if [ ! -s "$work/sources.list" ]; then
  echo "portable: apt has no package lists; run 'apt-get update' first" >&2
  exit 1
fi
apt=(-qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
  -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
echo "portable: fetching the source package abseil $installed"
apt-get "${apt[@]}" update
(cd "$work/source" && apt-get "${apt[@]}" source "abseil=$installed")

source=$(find "$work/source" -mindepth 1 -maxdepth 1 -type d -name 'abseil-*')
launcher=()
if command -v ccache > /dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
# A host that opens the library late has little room for thread-local data: initial-exec takes what
# it needs from the loader's reserve and calls no allocator.
echo "portable: building it position-independent"
cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release "${launcher[@]}" \
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_STANDARD=14 -DBUILD_SHARED_LIBS=OFF \
  -DCMAKE_CXX_FLAGS="-fvisibility=hidden -fvisibility-inlines-hidden -ftls-model=initial-exec" \
  -DABSL_PROPAGATE_CXX_STD=ON -DCMAKE_INSTALL_PREFIX="$folder" -DCMAKE_INSTALL_LIBDIR=lib \
  > "$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
cmake --build "$work/build" > "$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
cmake --install "$work/build" > "$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
cmp "$folder/include/absl/base/options.h" /usr/include/absl/base/options.h
touch "$stamp"
echo "portable: Abseil is in $folder"
