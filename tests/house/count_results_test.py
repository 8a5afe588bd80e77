#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""The count at the end of tests/run.sh: what failed or was skipped is never counted as passed."""

import os
import subprocess
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "count_results.py")


def case(name, output, status="run", inside=""):
    return (f'<testcase name="{name}" status="{status}">{inside}'
            f"<system-out>{escape(output)}</system-out></testcase>")


class Count(unittest.TestCase):
    def count(self, cases, checks=""):
        """(exit status, last line, everything printed)"""
        with tempfile.TemporaryDirectory() as folder:
            junit, other = os.path.join(folder, "a.xml"), os.path.join(folder, "b.tsv")
            with open(junit, "w", encoding="utf-8") as file:
                file.write("<testsuite>" + "".join(cases) + "</testsuite>")
            with open(other, "w", encoding="utf-8") as file:
                file.write(checks)
            done = subprocess.run([sys.executable, SCRIPT, junit, other], capture_output=True,
                                  text=True, check=False)
            return done.returncode, done.stdout.splitlines()[-1], done.stdout

    def test_counts_cases_and_not_programs(self):
        status, line, _ = self.count([
            case("catch", "All tests passed (31 assertions in 7 test cases)\n"),
            case("python", "...\nRan 3 tests in 0.1s\n\nOK\n"), case("plain", "fine\n")])
        self.assertEqual((status, line), (0, "11 passed, 0 failed, 0 skipped"))

    def test_one_failed_case_fails(self):
        status, line, out = self.count([
            case("catch", "test cases: 7 | 5 passed | 2 failed\nassertions: ...", "fail",
                 "<failure/>"),
            case("all", "test cases: 1 | 1 failed\n", "fail", "<failure/>")])
        self.assertEqual((status, line), (1, "5 passed, 3 failed, 0 skipped"))
        self.assertIn("FAILED   catch (2 of 7)", out)

    def test_a_crash_after_all_cases_passed_fails(self):
        status, line, _ = self.count([
            case("catch", "All tests passed (3 assertions in 2 test cases)\n", "fail",
                 "<failure/>"),
            case("python", "Ran 4 tests in 1s\nFAILED (failures=1, errors=1)\n", "fail",
                 "<failure/>"),
            case("plain", "", "fail", "<failure/>")])
        self.assertEqual((status, line), (1, "3 passed, 4 failed, 0 skipped"))

    def test_a_skip_is_no_pass(self):
        status, line, out = self.count([
            case("catch", "SKIPPED: no model\nAll tests passed (3 assertions in 2 test cases)\n"),
            case("other", "", "notrun", '<skipped message="SKIP_RETURN_CODE=77"/>')])
        self.assertEqual((status, line), (0, "1 passed, 0 failed, 2 skipped"))
        self.assertIn("catch: no model", out)

    def test_a_program_that_is_not_there_fails(self):
        status, line, _ = self.count([case("absent", "", "notrun"), case("plain", "")])
        self.assertEqual((status, line), (1, "1 passed, 1 failed, 0 skipped"))

    def test_nothing_passed_is_a_failure(self):
        self.assertEqual(self.count([])[:2], (1, "0 passed, 0 failed, 0 skipped"))

    def test_other_checks_count_too(self):
        status, line, _ = self.count([], "passed\tbuild\nfailed\tformat\nskipped\tCUDA: none\n")
        self.assertEqual((status, line), (1, "1 passed, 1 failed, 1 skipped"))


if __name__ == "__main__":
    unittest.main()
