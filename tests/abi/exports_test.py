# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""The shared library shows exactly what exports.txt lists and the headers declare, each symbol
under its version node; the static archive shows the same names.

usage: exports_test.py LIBRARY ARCHIVE EXPORTS INCLUDE_DIR
"""
import pathlib
import re
import subprocess
import sys

import headers


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def dynamic_symbols(library):
    """{name: node} of what is defined, and the set of nodes."""
    symbols, nodes = {}, set()
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[-2:]
        if kind == "A":
            nodes.add(name)
            continue
        base, _, node = name.partition("@@")
        symbols[base] = node
    return symbols, nodes


def archive_symbols(archive):
    lines = run("nm", "-g", "--defined-only", archive).splitlines()
    return {line.split()[-1] for line in lines if len(line.split()) == 3}


def listed_symbols(text):
    """{name: node} of exports.txt, with its faults."""
    listed, faults, order = {}, [], []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"(MINFER_\d+) (mf_[a-z0-9_]+)", line)
        if not match:
            faults.append(f"exports.txt: cannot read {line!r}")
            continue
        node, name = match.groups()
        if name in listed:
            faults.append(f"exports.txt: {name} stands there twice")
        listed[name] = node
        order.append((int(node.split("_")[1]), name))
    if order != sorted(order):
        faults.append("exports.txt: not in order")
    return listed, faults


def compare(what, have, want):
    faults = [f"{what}: {name} should not be there" for name in sorted(have - want)]
    return faults + [f"{what}: {name} is missing" for name in sorted(want - have)]


def check(symbols, nodes, archive, exports_text, declared):
    listed, faults = listed_symbols(exports_text)
    faults += compare("library", set(symbols), set(listed))
    faults += compare("archive", archive, set(listed))
    faults += compare("headers", declared, set(listed))
    faults += compare("version nodes", nodes, set(listed.values()))
    for name in set(symbols) & set(listed):
        if symbols[name] != listed[name]:
            faults.append(f"{name}: in node {symbols[name]}, listed under {listed[name]}")
    return faults


def main():
    library, archive_path, exports, include = sys.argv[1:]
    symbols, nodes = dynamic_symbols(library)
    archive = archive_symbols(archive_path)
    text = pathlib.Path(exports).read_text(encoding="utf-8")
    declared = {function.name for function in headers.read(include)}
    any_name = next(iter(symbols))

    def less(names):
        return {name for name in names if name != any_name}

    planted = {
        "extra symbol": ({**symbols, "leaked": "MINFER_0"}, nodes, archive, text, declared),
        "wrong node": ({**symbols, any_name: "MINFER_9"}, nodes, archive, text, declared),
        "no node": ({**symbols, any_name: ""}, nodes, archive, text, declared),
        "extra node": (symbols, nodes | {"OTHER_1"}, archive, text, declared),
        "leak in the archive": (symbols, nodes, archive | {"_ZN6minfer6StatusC1Ev"}, text, declared),
        "missing in the archive": (symbols, nodes, less(archive), text, declared),
        "declared, not exported": (symbols, nodes, archive, text, declared | {"mf_more"}),
        "exported, not declared": (symbols, nodes, archive, text, less(declared)),
        "not listed": (symbols, nodes, archive, text.replace(f" {any_name}\n", " mf_zzz\n"), declared),
        "listed twice": (symbols, nodes, archive, text + f"MINFER_0 {any_name}\n", declared),
    }
    failures = [f"planted violation not caught: {k}" for k, v in planted.items() if not check(*v)]
    failures += check(symbols, nodes, archive, text, declared)
    for failure in failures:
        print(failure)
    print(f"{len(symbols)} symbols in {sorted(nodes)}, {len(planted)} planted violations")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
