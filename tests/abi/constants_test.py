# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers of the header's constants never change and none goes away: they are compiled into
hosts, where no tool that reads the library sees them.

usage: constants_test.py INCLUDE_DIR BASELINE.txt [--update]
"""
import pathlib
import re
import sys


def constants(text):
    """{name: value as written} of all constants."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    found = dict(re.findall(r"\b(MF_[A-Z0-9_]+) = ([^,\n}]+)", text))
    found.update(re.findall(r"#define (MF_[A-Z0-9_]+) (\(?-?\d+\)?)$", text, re.M))
    return found


def check(baseline, now):
    faults = [f"{n}: was {v}, is {now.get(n, 'gone')}" for n, v in baseline.items() if now.get(n) != v]
    return faults + [f"{n}: not in the baseline" for n in now if n not in baseline]


def main():
    texts = [p.read_text(encoding="utf-8") for p in sorted(pathlib.Path(sys.argv[1]).glob("*.h"))]
    now = constants("\n".join(texts))
    # The versions are meant to move.
    now = {name: value for name, value in sorted(now.items()) if not name.startswith("MF_VERSION_")}
    path = pathlib.Path(sys.argv[2])
    if "--update" in sys.argv:
        path.write_text("".join(f"{name} {value}\n" for name, value in now.items()), encoding="utf-8")
        return 0
    baseline = dict(line.split(" ", 1) for line in path.read_text(encoding="utf-8").splitlines())
    one = next(iter(now))
    less = {name: value for name, value in now.items() if name != one}
    failures = []
    for what, planted in (("changed", {**now, one: "77"}), ("gone", less), ("new", {**now, "MF_X": "1"})):
        if not check(now, planted):
            failures.append(f"planted violation not caught: {what}")
    failures += check(baseline, now)
    for failure in failures:
        print(failure)
    print(f"{len(now)} constants, 3 planted violations")
    return 1 if failures or len(now) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
