#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the primer: primer_test.py NVCC ARCHITECTURE [HOST_COMPILER]."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "examples",
                       "cuda_primer")
NVCC, ARCHITECTURE, *HOST = sys.argv[1:]
del sys.argv[1:]
NO_DEVICE = 77


def build(name, folder):
    program = os.path.join(folder, name[:-3])
    command = [NVCC, "-arch=sm_" + ARCHITECTURE, "-Werror=all-warnings", "-o", program,
               os.path.join(SOURCES, name)]
    for compiler in HOST:
        command += ["-ccbin", compiler]
    subprocess.run(command, check=True)
    return program


class Primer(unittest.TestCase):
    def test_each_program_builds_and_passes_at_odd_sizes(self):
        names = [n for n in sorted(os.listdir(SOURCES)) if re.fullmatch(r"\d\d_\w+\.cu", n)]
        self.assertEqual(len(names), 4)
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                program = build(name, folder)
                for size in ([], ["1"], ["1000003"]):
                    done = subprocess.run([program, *size], capture_output=True, text=True,
                                          check=False)
                    if done.returncode == NO_DEVICE:
                        print(f"SKIPPED: {name} was built, and there is no CUDA device to run it")
                        break
                    self.assertEqual(done.returncode, 0, name + done.stdout + done.stderr)
                    self.assertIn("PASS", done.stdout)


if __name__ == "__main__":
    unittest.main()
