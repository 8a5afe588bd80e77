#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of bert_tables.h from Python's Unicode data.

    make_bert_tables.py fold > bert_fold_table.cc
    make_bert_tables.py classes > bert_class_tables.cc
"""
import sys
import unicodedata

HEAD = """// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Written by make_bert_tables.py from Unicode {version}.
#include "tokenizer/bert_tables.h"

// The tables are laid out to be short, not to be read.
// clang-format off
namespace minfer {{
"""


def characters():
    for code in range(0x80, 0x110000):
        if not 0xD800 <= code < 0xE000 and not 0xAC00 <= code < 0xD7A4:
            yield code, chr(code)


def fold(char):
    """Canonical decomposition without nonspacing marks, in lower case."""
    parts = unicodedata.normalize("NFD", char)
    return "".join(p.lower() for p in parts if unicodedata.category(p) != "Mn")


def write_lines(items):
    line = "   "
    for item in items:
        if len(line) + 1 + len(item) > 100:
            print(line)
            line = "   "
        line += " " + item
    print(line)


def write_ranges(name, codes):
    ranges = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    print(f"\nconst CodePointRange {name}[] = {{")
    write_lines(f"{{0x{a:X},0x{b:X}}}," for a, b in ranges)
    print(f"}};\nconst size_t {name}Count = {len(ranges)};")


def write_folds():
    single, several = [], []
    for code, char in characters():
        if unicodedata.category(char) == "Mn":
            continue
        folded = fold(char)
        if folded == char:
            continue
        if len(folded) == 1:
            single.append((code, ord(folded)))
        else:
            several.append((code, [ord(c) for c in folded]))
    print("\nconst CodePointPair kBertFold[] = {")
    write_lines(f"{{0x{a:X},0x{b:X}}}," for a, b in single)
    print(f"}};\nconst size_t kBertFoldCount = {len(single)};")
    print("\nconst CodePointFold kBertFoldLong[] = {")
    write_lines("{0x%X,{%s}}," % (a, ",".join(f"0x{c:X}" for c in b)) for a, b in several)
    print(f"}};\nconst size_t kBertFoldLongCount = {len(several)};")


def write_classes():
    category = unicodedata.category
    dropped = ("Cc", "Cf", "Co", "Mn")
    write_ranges("kBertDropped", (c for c, s in characters() if category(s) in dropped))
    write_ranges("kBertMarks", (c for c, s in characters() if category(s)[0] == "P"))


if __name__ == "__main__":
    if sys.argv[1:] not in (["fold"], ["classes"]):
        sys.exit(__doc__)
    print(HEAD.format(version=unicodedata.unidata_version), end="")
    write_folds() if sys.argv[1] == "fold" else write_classes()
    print("\n}  // namespace minfer\n// clang-format on")
