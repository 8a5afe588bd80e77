#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""PROOF.md names only tests that are there, and every row says something."""

import os
import re
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)


def rows(text):
    """The cells of each row of the tables, without heads and rules."""
    found = []
    for line in text.splitlines():
        if line.startswith("|") and not line.startswith(("| promise", "| ---")):
            found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found


def mistakes(text):
    problems = []
    for row in rows(text):
        if len(row) != 3 or not row[0]:
            problems.append(f"not three cells: {row}")
            continue
        names = re.findall(r"[a-z_]+/[\w/]*(?:\.\w+)?", row[1])
        problems += [f"no such test: {name}" for name in names
                     if not os.path.exists(os.path.join(TESTS, name))]
        if not row[1] and "open" not in row[2]:
            problems.append(f"neither a test nor open: {row[0]}")
    return problems


class Proof(unittest.TestCase):
    def test_every_row_names_tests_that_are_there_or_is_open(self):
        with open(os.path.join(TESTS, "PROOF.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertGreater(len(rows(text)), 40)
        self.assertEqual(mistakes(text), [])

    def test_planted_mistakes_are_found(self):
        self.assertTrue(mistakes("| a promise | unit/absent_test.cc | 3 |"))
        self.assertTrue(mistakes("| a promise | | measured |"))
        self.assertTrue(mistakes("| a promise | house/proof_test.py |"))
        self.assertEqual(mistakes("| a promise | house/proof_test.py | |\n| other | | open |"), [])


if __name__ == "__main__":
    unittest.main()
