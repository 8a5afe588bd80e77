#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""The program in README.md compiles as printed, with plain cc, and answers.

readme_test.py LIBRARY_FOLDER CC
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import models

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir)
LIBRARY = sys.argv.pop(1)
COMPILER = sys.argv.pop(1)


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


class Readme(unittest.TestCase):
    def setUp(self):
        blocks = re.findall(r"^```c\n(.*?)^```$", read("README.md"), re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 1)
        self.program = blocks[0]

    def test_the_program_is_the_first_example_in_30_lines(self):
        self.assertLessEqual(self.program.count("\n"), 30)
        self.assertIn(self.program, read("examples/01_hello.c"))

    def test_the_program_compiles_as_printed_and_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            source, binary = os.path.join(folder, "hello.c"), os.path.join(folder, "hello")
            with open(source, "w", encoding="utf-8") as file:
                file.write(self.program)
            subprocess.run([COMPILER, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", source,
                            "-I", os.path.join(ROOT, "include"), "-L", LIBRARY, "-lminfer",
                            "-Wl,-rpath," + LIBRARY, "-o", binary], check=True)
            model = models.write_tiny(os.path.join(folder, "tiny.gguf"))
            subprocess.run([binary, model], check=True, timeout=120, stdout=subprocess.DEVNULL)
            real = models.real()
            if real:
                out = subprocess.run([binary, real], check=True, timeout=120, capture_output=True)
                self.assertTrue(out.stdout.strip())

    def test_links_lead_somewhere(self):
        for page in ("README.md", "CHANGELOG.md", "bindings-docs/README.md"):
            for target in re.findall(r"\]\(([^)#]+)\)", read(page)):
                if not target.startswith("http"):
                    path = os.path.join(ROOT, os.path.dirname(page), target)
                    self.assertTrue(os.path.exists(path), f"{page}: {target}")

    def test_the_two_commands_are_there(self):
        for command in ("bash examples/quickstart.sh", "bash tests/run.sh"):
            self.assertIn(command, read("README.md"))
            self.assertTrue(os.path.exists(os.path.join(ROOT, command.split()[1])))


if __name__ == "__main__":
    unittest.main()
