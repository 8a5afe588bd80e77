# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""The random calls of tests/capi/call_*.cc make a call of every function that the library shows."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def exported():
    text = (ROOT / "capi/exports.txt").read_text(encoding="utf-8")
    return set(re.findall(r"^MINFER_\d+ (mf_\w+)$", text, re.M))


def called():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests/capi").glob("call_*.*")]
    return set(re.findall(r"\bmf_\w+", re.sub(r'"[^"]*"', "", "".join(texts))))


class CallCoverage(unittest.TestCase):
    def test_every_function_is_called(self):
        self.assertGreater(len(exported()), 90)
        self.assertEqual(sorted(exported() - called()), [])

    def test_a_function_that_is_not_called_is_seen(self):
        self.assertEqual((exported() | {"mf_planted"}) - called(), {"mf_planted"})


if __name__ == "__main__":
    unittest.main()
