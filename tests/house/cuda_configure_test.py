#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""How kernels/cuda/toolkit.cmake looks for nvcc and its host compiler, and what it says where there
is none: with stand-ins for both, so that no toolkit is needed."""

import os
import stat
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir)
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(finds LANGUAGES NONE)
include("%s")
""" % os.path.abspath(os.path.join(ROOT, "kernels", "cuda", "toolkit.cmake"))
# Takes the host compilers that TAKES names ("default" for none given), and lists architectures.
NVCC = """#!/bin/sh
host=default
while [ $# -gt 0 ]; do
  case "$1" in
    --list-gpu-arch) printf '%s\\n' $LISTS; exit 0 ;;
    -ccbin) shift; host=$(basename "$1") ;;
  esac
  shift
done
case " $TAKES " in *" $host "*) exit 0 ;; *) exit 1 ;; esac
"""


class Configure(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = self.folder.name
        os.mkdir(os.path.join(self.path, "project"))
        with open(os.path.join(self.path, "project", "CMakeLists.txt"), "w", encoding="utf-8") as f:
            f.write(PROJECT)
        # Nothing is found but below the stand-ins' root.
        self.root = os.path.join(self.path, "root")
        self.count = 0

    def tearDown(self):
        self.folder.cleanup()

    def program(self, place, text="#!/bin/sh\nexit 0\n"):
        path = os.path.join(self.root, place)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def configure(self, *options, takes="default", lists="compute_75 compute_90", **environment):
        self.count += 1
        build = os.path.join(self.path, f"build{self.count}")
        env = {k: v for k, v in os.environ.items() if k not in ("CUDACXX", "CUDA_HOME", "CUDA_PATH")}
        env.update(environment, TAKES=takes, LISTS=lists)
        only = ["-DCMAKE_FIND_ROOT_PATH=" + self.root, "-DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=ONLY"]
        done = subprocess.run(["cmake", "-S", os.path.join(self.path, "project"), "-B", build,
                               "-G", "Ninja", "-DCMAKE_MAKE_PROGRAM=true", *only, *options],
                              env=env, capture_output=True, text=True, check=False)
        # CMake breaks its messages into lines.
        return " ".join((done.stdout + done.stderr).split())

    def test_without_nvcc_it_says_what_to_install_or_set(self):
        said = self.configure()
        self.assertIn("there is no nvcc on PATH, in CUDA_HOME, CUDA_PATH or /usr/local/cuda", said)
        self.assertIn("Install the CUDA toolkit", said)
        self.assertIn("-DMINFER_CUDA=OFF", said)

    def test_nvcc_is_found_in_each_place(self):
        for place, variable in (("usr/local/cuda/bin/nvcc", None), ("opt/a/bin/nvcc", "CUDA_HOME"),
                                ("opt/b/bin/nvcc", "CUDA_PATH")):
            nvcc = self.program(place, NVCC)
            home = {variable: os.path.dirname(os.path.dirname(nvcc))} if variable else {}
            said = self.configure(**home)
            os.remove(nvcc)
            self.assertIn(f"CUDA: {nvcc} for 75-real;90-real;75-virtual;90-virtual", said)

    def test_a_host_compiler_that_was_named_and_does_not_work_is_named(self):
        self.program("usr/local/cuda/bin/nvcc", NVCC)
        said = self.configure("-DMINFER_CUDA_CCBIN=/x/g++-99")
        self.assertIn("MINFER_CUDA_CCBIN=/x/g++-99: nvcc does not compile with it", said)
        said = self.configure("-DMINFER_CUDA_CCBIN=/x/g++-99", takes="g++-99")
        self.assertIn("CUDA: ", said)

    def test_the_newest_host_compiler_that_nvcc_takes_is_used(self):
        nvcc = self.program("usr/local/cuda/bin/nvcc", NVCC)
        for name in ("g++-14", "g++-12", "g++-11"):
            self.program("usr/bin/" + name)
        said = self.configure(takes="g++-12 g++-11")
        self.assertIn("CUDA: ", said)
        cache = os.path.join(self.path, f"build{self.count}", "CMakeCache.txt")
        with open(cache, encoding="utf-8") as f:
            self.assertRegex(f.read(), r"CMAKE_CUDA_HOST_COMPILER:FILEPATH=.*/usr/bin/g\+\+-12\n")
        said = self.configure(takes="nothing")
        self.assertIn(f"{nvcc} compiles with none of its default host compiler, g++ 15 to 11", said)
        self.assertIn("-DMINFER_CUDA_CCBIN=", said)

    def test_architectures_are_those_of_the_toolkit_from_70_on_or_the_ones_given(self):
        self.program("usr/local/cuda/bin/nvcc", NVCC)
        said = self.configure(lists="compute_60 compute_100 compute_70 compute_90")
        self.assertIn("for 70-real;90-real;100-real;70-virtual;100-virtual", said)
        self.assertIn("for 80-real;80-virtual", self.configure("-DMINFER_CUDA_ARCHS=80"))
        said = self.configure(lists="compute_52")
        self.assertIn("--list-gpu-arch names no architecture from 7.0 on", said)
        self.assertIn('-DMINFER_CUDA_ARCHS="80;90"', said)


if __name__ == "__main__":
    unittest.main()
