#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the numbered examples: examples_test.py FOLDER, where they were built."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import models

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "examples")
FOLDER = sys.argv.pop(1)


def run(name, *args, text_in="", model):
    done = subprocess.run([os.path.join(FOLDER, name), model, *args], input=text_in.encode(),
                          capture_output=True, timeout=600, check=False)
    return (done.returncode, done.stdout.decode("utf-8", "replace"),
            done.stderr.decode("utf-8", "replace"))


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tiny = models.write_tiny(os.path.join(cls.folder.name, "tiny.gguf"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_ok(self, name, *args, **more):
        status, out, error = run(name, *args, model=more.pop("model", self.tiny), **more)
        self.assertEqual(status, 0, f"{name}: {error}")
        return out, error

    def test_each_is_one_file_under_120_lines(self):
        names = [n for n in sorted(os.listdir(SOURCES)) if re.fullmatch(r"\d\d_\w+\.c", n)]
        self.assertGreaterEqual(len(names), 6)
        for name in names:
            with open(os.path.join(SOURCES, name), encoding="utf-8") as file:
                text = file.read()
            self.assertLess(text.count("\n"), 120, name)
            self.assertEqual(re.findall(r'#include "', text), [], name)

    def test_hello(self):
        self.run_ok("01_hello")

    def test_hello_says_what_is_wrong(self):
        status, _, error = run("01_hello", model=os.path.join(self.folder.name, "absent.gguf"))
        self.assertNotEqual(status, 0)
        self.assertIn("NOT_FOUND", error)
        self.assertIn("absent.gguf", error)

    def test_stream(self):
        _, error = self.run_ok("02_stream", "Hello?")
        self.assertRegex(error, r"\[\d+ prompt tokens, \d+ generated, [\d.]+ tokens/s\]")
        self.assertNotIn("loading", error)

    def test_chat_keeps_what_was_computed(self):
        out, _ = self.run_ok("03_chat", text_in="hello\nand now?\n")
        turns = re.findall(r"\[(\d+) tokens, (\d+) of them kept\]", out)
        self.assertEqual(len(turns), 2)
        self.assertEqual(turns[0][1], "0")
        self.assertGreater(int(turns[1][1]), 0)

    def test_cancel_stops_and_goes_on(self):
        out, _ = self.run_ok("04_cancel")
        stopped = int(re.search(r"\[CANCELLED at position (\d+)\]", out)[1])
        went_on = int(re.search(r"\[went on to position (\d+)\]", out)[1])
        self.assertEqual(went_on, stopped + 16)

    def test_plan_is_the_account(self):
        out, _ = self.run_ok("05_plan", "512")
        planned = int(re.search(r"^context +(\d+) bytes", out, re.MULTILINE)[1])
        peak = int(re.search(r"peak is (\d+) bytes", out)[1])
        self.assertEqual(peak, planned)
        wanted = int(re.search(r"RESOURCE_EXHAUSTED, wanted (\d+)", out)[1])
        self.assertEqual(wanted, planned)

    def test_two_sessions_share_the_steps(self):
        out, _ = self.run_ok("06_two_sessions")
        steps, prompt, decoded = map(int, re.search(
            r"\[(\d+) steps for (\d+) prompt and (\d+) generated rows\]", out).groups())
        self.assertGreater(prompt, 0)
        self.assertLess(steps, decoded)

    def test_all_run_on_a_real_model(self):
        real = models.real()
        if real is None:
            return
        out, _ = self.run_ok("01_hello", model=real)
        self.assertIn("Paris", self.run_ok("02_stream", "What is the capital of France?",
                                           model=real)[0])
        self.assertTrue(out.strip())
        self.run_ok("03_chat", model=real, text_in="Say hello.\n")
        self.run_ok("04_cancel", model=real)
        self.run_ok("05_plan", model=real)
        self.run_ok("06_two_sessions", model=real)


if __name__ == "__main__":
    unittest.main()
