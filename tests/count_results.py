#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Counts what ran: count_results.py RESULT...

A RESULT is a JUnit file that ctest wrote (.xml), or a list of other checks (.tsv: passed, failed or
skipped, a tab, and a name or reason). Catch2 and unittest programs count by their cases, others as
one. A printed "SKIPPED: reason" counts as skipped in place of passed. Names what failed or was
skipped, and closes with "N passed, N failed, N skipped"; the status is 1 if anything failed, or if
nothing passed.
"""

import re
import sys
import xml.etree.ElementTree as tree

CATCH_PASSED = re.compile(r"All tests passed \(.*? in (\d+) test cases?\)")
CATCH_FAILED = re.compile(r"test cases:\s+(\d+) \|(?:\s+(\d+) passed \|)?\s+(\d+) failed")
UNITTEST = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
UNITTEST_FAILED = re.compile(r"^FAILED \((?:failures=(\d+))?(?:, )?(?:errors=(\d+))?", re.MULTILINE)
SKIPPED = re.compile(r"^SKIPPED: (.*)$", re.MULTILINE)


def cases_of(output, status):
    """(passed, failed) of one test program that ended with `status`."""
    match = CATCH_FAILED.search(output)
    if match:
        failed = max(1, int(match[3]))
        return int(match[1]) - failed, failed
    match = CATCH_PASSED.search(output)
    if match:
        return (int(match[1]), 0) if status == "passed" else (int(match[1]) - 1, 1)
    match = UNITTEST.search(output)
    if match:
        failures = UNITTEST_FAILED.search(output)
        failed = sum(int(n or 0) for n in failures.groups()) if failures else 0
        failed = max(failed, int(status != "passed"))
        return max(0, int(match[1]) - failed), failed
    return (1, 0) if status == "passed" else (0, 1)


def from_junit(path):
    """(passed, failed, skipped, lines to print) of a file of ctest."""
    passed = failed = skipped = 0
    lines = []
    for case in tree.parse(path).getroot().iter("testcase"):
        name, output = case.get("name"), case.findtext("system-out") or ""
        if case.get("status") == "disabled":
            continue
        if case.get("status") == "notrun":
            state = "skipped" if case.find("skipped") is not None else "failed"
        else:
            state = "failed" if case.find("failure") is not None else "passed"
        if state == "skipped":
            skipped += 1
            lines.append(f"  skipped  {name}: {case.find('skipped').get('message', '')}")
            continue
        reasons = SKIPPED.findall(output)
        case_passed, case_failed = cases_of(output, state)
        case_skipped = min(len(reasons), case_passed)
        passed += case_passed - case_skipped
        failed += case_failed
        skipped += case_skipped
        if case_failed:
            lines.append(f"  FAILED   {name} ({case_failed} of {case_failed + case_passed})")
        lines += [f"  skipped  {name}: {reason}" for reason in reasons]
    return passed, failed, skipped, lines


def from_list(path):
    """The same of a list of other checks."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    lines = []
    for line in open(path, encoding="utf-8"):
        state, _, name = line.rstrip("\n").partition("\t")
        counts[state] += 1
        if state != "passed":
            lines.append(f"  {'FAILED ' if state == 'failed' else state}  {name}")
    return counts["passed"], counts["failed"], counts["skipped"], lines


def main(paths):
    totals = [0, 0, 0]
    printed = set()
    for path in paths:
        result = from_junit(path) if path.endswith(".xml") else from_list(path)
        totals = [total + more for total, more in zip(totals, result)]
        for line in result[3]:
            if line not in printed:
                print(line)
                printed.add(line)
    passed, failed, skipped = totals
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
