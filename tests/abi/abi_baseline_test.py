# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the library's binary interface with the committed baseline. Any difference fails: an
intended change needs a new baseline (--update) and a line under "ABI" in CHANGELOG.md.

usage: abi_baseline_test.py LIBRARY INCLUDE_DIR BASELINE.abi [--update]
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import headers


def dump(library, include, out):
    subprocess.run(
        ["abidw", "--headers-dir", include, "--drop-private-types", "--drop-undefined-syms",
         "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--exported-interfaces-only",
         "--out-file", out, library],
        check=True)
    # Neither where it was built nor what it links is a part of the interface.
    text = pathlib.Path(out).read_text(encoding="utf-8")
    text = re.sub(r"\s*<elf-needed>.*?</elf-needed>", "", text, flags=re.S)
    text = re.sub(r" path='[^']*/([^'/]+)'", r" path='\1'", text)
    pathlib.Path(out).write_text(text, encoding="utf-8")


def differs(baseline, now):
    """What abidiff says, or an empty text when nothing changed."""
    result = subprocess.run(["abidiff", "--no-show-locs", baseline, now], capture_output=True,
                            text=True, check=False)
    if result.returncode & 3:
        return "abidiff failed: " + result.stdout + result.stderr
    return result.stdout if result.returncode else ""


def described(text):
    """The functions whose parameters and result a dump describes."""
    return set(re.findall(r"<function-decl name='(mf_\w+)'[^>]*elf-symbol-id", text))


def missing(text, declared):
    """Faults of a dump that knows a function by its symbol only, or not at all."""
    return [f"{name}: the dump does not describe it" for name in sorted(declared - described(text))]


def planted(text):
    """Changed interfaces that the comparison must see."""
    symbol = "<elf-symbol name='mf_version' version='MINFER_0'"
    assert symbol in text
    yield "removed function", re.sub(r"\s*<elf-symbol name='mf_version' .*?/>", "", re.sub(
        r"\s*<function-decl name='mf_version'.*?</function-decl>", "", text, flags=re.S))
    yield "other version node", text.replace(symbol, symbol.replace("MINFER_0", "MINFER_1"))
    member = re.search(r"layout-offset-in-bits='(\d+)'[^>]*>\s*<var-decl name='file_offset'", text)
    assert member
    yield "moved member", text.replace(
        member.group(0), member.group(0).replace(f"'{member.group(1)}'", f"'{int(member.group(1)) + 32}'"))
    struct = re.search(r"<class-decl name='mf_error' size-in-bits='(\d+)'", text)
    assert struct
    yield "larger struct", text.replace(
        struct.group(0), struct.group(0).replace(struct.group(1), str(int(struct.group(1)) + 64)))


def main():
    library, include, baseline = sys.argv[1:4]
    if not shutil.which("abidw") or not shutil.which("abidiff"):
        print("SKIPPED: abigail-tools is not installed")
        return 0
    if "--update" in sys.argv:
        pathlib.Path(baseline).parent.mkdir(exist_ok=True)
        dump(library, include, baseline)
        return 0
    with tempfile.TemporaryDirectory(prefix="minfer_abi_") as folder:
        now = pathlib.Path(folder) / "now.abi"
        dump(library, include, now)
        text = now.read_text(encoding="utf-8")
        declared = {function.name for function in headers.read(include)}
        failures, count = [], 1
        if not missing(text, declared | {"mf_planted"}):
            failures.append("planted violation not caught: a function without a description")
        failures += missing(text, declared)
        failures += missing(pathlib.Path(baseline).read_text(encoding="utf-8"), declared)
        if differs(now, now):
            failures.append("the library differs from itself")
        for name, changed in planted(text):
            count += 1
            other = pathlib.Path(folder) / "planted.abi"
            other.write_text(changed, encoding="utf-8")
            if changed == text or not differs(now, other):
                failures.append(f"planted violation not caught: {name}")
        report = differs(baseline, now)
        if report:
            failures.append(report + "an intended change needs a new baseline: see tests/abi/README.md")
    for failure in failures:
        print(failure)
    print(f"{len(declared)} functions compared, {count} planted violations")
    return 1 if failures or not declared else 0


if __name__ == "__main__":
    sys.exit(main())
