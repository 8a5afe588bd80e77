# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the public headers against the rules of the C interface: every function documented with
its parameters, result, thread class and first version; one noun a header, an opening paragraph,
under 400 lines; only <stddef.h> and <stdint.h>; no bool and no enum in a struct.

usage: header_rules_test.py INCLUDE_DIR     and it first shows that each rule can fail
"""
import pathlib
import re
import sys

import headers

THREAD_CLASSES = {"thread-safe", "thread-compatible", "any-thread"}
MAX_LINES = 400


def check_function(function):
    """Faults of one function's comment."""
    where = f"{function.header}: {function.name}"
    comment = function.comment
    if not comment:
        return [f"{where}: no comment"]
    faults = []
    lines = [line.strip().lstrip("*").strip() for line in comment.splitlines()]
    tags = [line.split()[0] for line in lines if line.startswith("@")]
    what = [line for line in lines[1:] if line and line != "/"]
    if not what or what[0].startswith("@"):
        faults.append(f"{where}: does not say what it does")
    documented = re.findall(r"@param (\w+)\s+\S", comment)
    if documented != function.parameters:
        faults.append(f"{where}: @param {documented}, parameters {function.parameters}")
    if (function.result != "void") != ("@return" in tags):
        faults.append(f"{where}: @return is missing, or there is nothing to return")
    classes = re.findall(r"@threadsafety (\S+)", comment)
    if len(classes) != 1 or classes[0] not in THREAD_CLASSES:
        faults.append(f"{where}: @threadsafety {classes}")
    if not re.search(r"@since \d+\.\d+", comment):
        faults.append(f"{where}: @since is missing")
    order = ["@param", "@return", "@threadsafety", "@since"]
    ranks = [order.index(tag) if tag in order else -1 for tag in tags]
    if ranks != sorted(ranks) or -1 in ranks:
        faults.append(f"{where}: tags out of order: {tags}")
    if function.result == "mf_status":
        if "INVALID_ARGUMENT" not in comment and "as mf_" not in comment:
            faults.append(f"{where}: @return does not name the codes to expect")
        if function.parameters[-1:] != ["error"]:
            faults.append(f"{where}: `error` must come last")
    return faults


def check_text(name, text):
    """Faults of one header as a file."""
    faults = []
    if len(text.splitlines()) >= MAX_LINES:
        faults.append(f"{name}: {len(text.splitlines())} lines, {MAX_LINES} are too many")
    opening = re.match(r"/\* SPDX.*?\*/\n/\* SPDX.*?\*/\n\n/\*\*\n \* \S", text)
    if not opening:
        faults.append(f"{name}: no SPDX head with an opening paragraph after it")
    for include in re.findall(r"#include (\S+)", text):
        if include.startswith("<") and include not in ("<stddef.h>", "<stdint.h>"):
            faults.append(f"{name}: includes {include}")
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    if re.search(r"\b(bool|_Bool)\b", code):
        faults.append(f"{name}: uses bool")
    if re.search(r"enum\s+\w+|typedef enum", code):
        faults.append(f"{name}: has an enum type; use int32_t and unnamed constants")
    if re.search(r"^(?!.*MF_API)\w[\w\s*]*\bmf_\w+\([^;{]*\);", code, re.M):
        faults.append(f"{name}: declares a function without MF_API")
    for struct in re.findall(r"typedef struct (mf_\w+) \{(.*?)\}", code, re.S):
        if "struct_size" in struct[1] and not struct[1].strip().startswith("uint32_t struct_size;"):
            faults.append(f"{name}: {struct[0]}: struct_size must come first")
    return faults


def check(texts):
    """Faults of all headers, given as {name: text}."""
    faults = []
    seen = {}
    for name, text in texts.items():
        faults += check_text(name, text)
        for function in headers.parse(name, text):
            faults += check_function(function)
            if function.name in seen:
                faults.append(f"{name}: {function.name} is also in {seen[function.name]}")
            seen[function.name] = name
    declared = "\n".join(texts.values())
    for struct, body in re.findall(r"typedef struct (mf_\w+) \{(.*?)\}", declared, re.S):
        if "uint32_t struct_size;" not in body:
            continue
        macro = struct.upper() + "_INIT"
        if struct != "mf_sampling" and f"#define {macro}" not in declared:
            faults.append(f"{struct}: no {macro}")
        if f"{struct}_init" not in seen:
            faults.append(f"{struct}: no {struct}_init()")
    return faults


def planted(texts):
    """Violations, each as (name, texts with it)."""
    good = texts["cancel.h"]
    yield "missing @since", {"a.h": good.replace(" * @since 0.1\n", "", 1)}
    yield "missing @return", {"a.h": re.sub(r" \* @return.*?(?= \* @thread)", "", good, 1, re.S)}
    yield "missing @param", {"a.h": re.sub(r" \* @param.*\n", "", good, 1)}
    yield "parameter misnamed", {"a.h": good.replace("@param cancel", "@param flag", 1)}
    yield "no thread class", {"a.h": good.replace(" * @threadsafety any-thread\n", "", 1)}
    yield "unknown thread class", {"a.h": good.replace("any-thread\n * @since", "free\n * @since", 1)}
    yield "no comment", {"a.h": good + "\nMF_API void mf_cancel_more(mf_cancel* cancel);\n"}
    yield "tags out of order", {
        "a.h": good.replace(
            " * @threadsafety any-thread\n * @since 0.1", " * @since 0.1\n * @threadsafety any-thread", 1
        )
    }
    yield "another include", {"a.h": good.replace("#include", "#include <stdio.h>\n#include", 1)}
    yield "bool", {"a.h": good.replace("int32_t mf_cancel", "bool mf_cancel", 1)}
    yield "enum type", {"a.h": good + "\ntypedef enum mf_mode { MF_MODE_A } mf_mode;\n"}
    yield "too long", {"a.h": good + "\n" * MAX_LINES}
    yield "no opening paragraph", {"a.h": re.sub(r"\n/\*\*\n.*?\*/", "\n", good, 1, re.S)}
    yield "declared twice", {"a.h": good, "b.h": good}
    yield "struct without _init", {
        "a.h": good + "\ntypedef struct mf_x {\n  uint32_t struct_size;\n} mf_x;\n"
    }
    yield "size not first", {
        "a.h": good + "\ntypedef struct mf_x {\n  int32_t a;\n  uint32_t struct_size;\n} mf_x;\n"
    }
    yield "error not last", {"a.h": good.replace("mf_error* error)", "mf_error* problem)").replace(
        "@param error", "@param problem")}


def main():
    folder = pathlib.Path(sys.argv[1])
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.h"))}
    failures = []
    count = 0
    for name, broken in planted(texts):
        count += 1
        if not check(broken):
            failures.append(f"planted violation not caught: {name}")
    failures += check({"cancel.h": texts["cancel.h"]})
    failures += check(texts)
    for failure in failures:
        print(failure)
    functions = headers.read(folder)
    print(f"{len(texts)} headers, {len(functions)} functions, {count} planted violations")
    return 1 if failures or len(functions) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
