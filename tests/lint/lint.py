#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the tree against the house rules: python3 tests/lint/lint.py [ROOT].

Prints each violation as `path:line: check: what`, then the ten longest files and functions, and ends
with status 1 if there was a violation. Exceptions stand in exceptions.txt, each with its reason.
"""

import ast
import collections
import os
import re
import sys

import cpp_text
import layers

FOLDERS = ("lib", "capi", "kernels", "include", "examples", "tests", "bindings-docs", ".ci")
TOP_FILES = ("CMakeLists.txt", "CHANGELOG.md", "LICENSE", "README.md")
# Copies of reference data keep the text they came with.
SKIPPED = ("tests/data/",)
C_SUFFIXES = (".cc", ".h", ".c", ".hpp", ".cu", ".cuh", ".cpp", ".inc")
HASH_SUFFIXES = (".py", ".sh", ".cmake", "CMakeLists.txt")
TEXT_SUFFIXES = C_SUFFIXES + HASH_SUFFIXES + (".md", ".txt", ".in", ".yml", ".json", ".supp", "run")

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 80
MAX_KERNEL_LINES = 200

SPDX = ("SPDX-FileCopyrightText: 2026 The libminfer authors", "SPDX-License-Identifier: Apache-2.0")

# In lib/, capi/ and kernels/: what would take the host down, write to its streams, read its
# environment, or depend on or change state of the process.
SHIPPED = ("lib/", "capi/", "kernels/")
FORBIDDEN = {
    "abort": r"\babort\s*\(",
    "exit": r"\b(?:_exit|_Exit|quick_exit|exit|atexit|at_quick_exit)\s*\(",
    "terminate": r"\b(?:terminate|set_terminate|__builtin_trap)\s*\(",
    "assert": r"\bassert\s*\(|<cassert>|<assert\.h>",
    "getenv": r"\b(?:secure_getenv|getenv|setenv|putenv|unsetenv)\s*\(",
    "printf": r"\bv?(?:f|s|sn|d|as)?printf\s*\(",
    "puts": r"\b(?:f?puts|f?putc|putchar|perror)\s*\(",
    "iostream": r"\bstd::(?:cout|cerr|clog|cin)\b|<iostream>",
    "throw": r"\bthrow\b",
    "setlocale": r"\b(?:setlocale|uselocale)\s*\(|\bstd::locale\b",
    "locale-number": r"\b(?:strto(?:d|f|ld|l|ul|ll|ull)|ato[fil]|atoll|sto(?:d|f|i|l|ul|ll|ull|ld))\s*\(",
    "signal": r"\b(?:signal|sigaction|raise)\s*\(",
    "thread_local": r"\b(?:thread_local|__thread|_Thread_local)\b",
    "fork": r"\b(?:fork|vfork|pthread_atfork|system|popen)\s*\(",
    "device-wide": r"\bcuda(?:DeviceSynchronize|DeviceReset|StreamLegacy)\b|\bcudaMem(?:cpy|set)\s*\(",
    "shared-opt-in": r"\bcudaFuncSetAttribute\s*\(",
    "rand": r"\b(?:rand|srand|random_device)\b\s*[({ ]",
}

# Written in two parts, so that this file is clean by its own measure.
MARKERS = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK|WI" r"P)\b|(?i:work[ ]in[ ]progress)")
MACHINE_PATH = re.compile(r"(?<![\w./:$}-])/(?:work|home|root|Users|mnt)/[\w.]")

Violation = collections.namedtuple("Violation", "path line check what detail")


def check_top_level(root):
    for name in sorted(os.listdir(root)):
        if not name.startswith((".", "build")) and name not in FOLDERS + TOP_FILES:
            yield Violation(name, 1, "top-level", "the top level is fixed: it goes into a folder", "")


def source_files(root):
    """Paths of the tree's text files from the root, in a fixed order."""
    found = [name for name in sorted(os.listdir(root))
             if os.path.isfile(os.path.join(root, name)) and name.endswith(TEXT_SUFFIXES)]
    for folder in FOLDERS:
        for where, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = sorted(f for f in folders
                                if not f.startswith("build") and f not in ("__pycache__", ".git"))
            for name in sorted(names):
                path = os.path.relpath(os.path.join(where, name), root).replace(os.sep, "/")
                if name.endswith(TEXT_SUFFIXES) and not path.startswith(SKIPPED):
                    found.append(path)
    return found


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def check_includes(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if not match:
            continue
        include = match.group(2)
        why = layers.refuse_include(path, include)
        if why:
            yield Violation(path, number, "include-layer", f"{include}: {why}", include)
        if (include.startswith(layers.CUDA_HEADERS) and not path.startswith(layers.CUDA_FOLDERS)
                and not path.startswith("tests/")):
            yield Violation(path, number, "cuda-header", f"{include} outside the CUDA folders", include)
        ours = path.startswith(SHIPPED)
        known = include.startswith("absl/") or layers.layer_of_include(include) is not None
        if ours and match.group(1) == '"' and not known:
            yield Violation(path, number, "include-path",
                            f"{include}: quoted includes of ours start at lib/ or at the root", include)


def check_spdx(path, text):
    if path.endswith(C_SUFFIXES):
        comments = [("// ", "")]
        if path.startswith("include/") or path.endswith(".c"):
            comments.append(("/* ", " */"))  # what every C standard reads
    elif path.endswith(HASH_SUFFIXES):
        comments = [("# ", "")]
    else:
        return
    lines = text.split("\n", 3)
    if lines[0].startswith("#!"):
        lines = lines[1:]
    if all(lines[:2] != [before + spdx + after for spdx in SPDX] for before, after in comments):
        yield Violation(path, 1, "spdx-head", "the two SPDX lines do not open the file", "")


def check_forbidden(path, text):
    if not path.startswith(SHIPPED) or not path.endswith(C_SUFFIXES):
        return
    code = cpp_text.strip_comments_and_literals(text)
    for number, line in enumerate(code.split("\n"), 1):
        for word, pattern in FORBIDDEN.items():
            if re.search(pattern, line):
                yield Violation(path, number, "forbidden-word", f"{word} in library code", word)


def check_text(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        marker = MARKERS.search(line)
        if marker:
            yield Violation(path, number, "unfinished-marker", marker.group(0), marker.group(0))
        machine = MACHINE_PATH.search(line)
        if machine:
            yield Violation(path, number, "machine-path", line.strip()[:80], machine.group(0))


def functions_of(path, text):
    if path.endswith(C_SUFFIXES):
        return cpp_text.functions(text)
    if path.endswith(".py"):
        return [(node.name, node.lineno, node.end_lineno - node.lineno + 1)
                for node in ast.walk(ast.parse(text))
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return []


def check_lengths(path, text, file_lengths, function_lengths):
    if not path.endswith(C_SUFFIXES + HASH_SUFFIXES):
        return
    lines = text.count("\n")
    file_lengths.append((lines, path))
    if lines > MAX_FILE_LINES:
        yield Violation(path, MAX_FILE_LINES + 1, "file-length",
                        f"{lines} lines, {MAX_FILE_LINES} allowed", "")
    limit = MAX_KERNEL_LINES if path.startswith("kernels/") else MAX_FUNCTION_LINES
    for name, line, length in functions_of(path, text):
        function_lengths.append((length, f"{path}:{line} {name}"))
        if length > limit:
            yield Violation(path, line, "function-length",
                            f"{name}: {length} lines, {limit} allowed", name)


def read_exceptions(root):
    """{(check, path, detail): line} and the violations of the list's own form."""
    path = "tests/lint/exceptions.txt"
    exceptions = {}
    violations = []
    if not os.path.exists(os.path.join(root, path)):
        return exceptions, violations
    for number, line in enumerate(read(root, path).split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 4 or not all((fields[0], fields[1], fields[3])):
            violations.append(Violation(path, number, "exception-form",
                                        "want: check | path | detail | reason", ""))
            continue
        exceptions[tuple(fields[:3])] = number
    return exceptions, violations


def run(root):
    """(violations, file lengths, function lengths) of the tree at root."""
    file_lengths = []
    function_lengths = []
    exceptions, violations = read_exceptions(root)
    violations += check_top_level(root)
    used = set()
    for path in source_files(root):
        text = read(root, path)
        found = list(check_spdx(path, text)) + list(check_text(path, text))
        if path.endswith(C_SUFFIXES):
            found += check_includes(path, text)
        found += check_forbidden(path, text)
        found += check_lengths(path, text, file_lengths, function_lengths)
        for violation in found:
            key = (violation.check, path, violation.detail)
            if key in exceptions:
                used.add(key)
            else:
                violations.append(violation)
    for key, number in exceptions.items():
        if key not in used:
            violations.append(Violation("tests/lint/exceptions.txt", number, "exception-unused",
                                        " | ".join(key), ""))
    return violations, file_lengths, function_lengths


def print_longest(title, lengths):
    print(f"Longest {title}:")
    for length, what in sorted(lengths, key=lambda item: (-item[0], item[1]))[:10]:
        print(f"  {length:5d} {what}")


def main(arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    root = arguments[0] if arguments else os.path.dirname(os.path.dirname(here))
    violations, file_lengths, function_lengths = run(root)
    if not file_lengths:
        print(f"lint: no source files under {root}")
        return 1
    print_longest("files", file_lengths)
    print_longest("functions", function_lengths)
    for violation in violations:
        print(f"{violation.path}:{violation.line}: {violation.check}: {violation.what}")
    print(f"lint: {len(file_lengths)} files, {len(function_lengths)} functions, "
          f"{len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
