# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the public headers: which functions they declare and what is written about each."""
import pathlib
import re

DECLARATION = re.compile(r"^MF_API\s+(?P<text>[^;]*?);", re.M | re.S)
NAME = re.compile(r"\b(mf_[a-z0-9_]+)\s*\(")


class Function:
    """One declared function with the comment block that stands before it."""

    def __init__(self, header, name, result, parameters, comment):
        self.header = header
        self.name = name
        self.result = result
        self.parameters = parameters
        self.comment = comment


def _parameter_names(text):
    """The names of a parameter list; none for (void)."""
    if text.strip() == "void":
        return []
    return [re.search(r"(\w+)\s*$", part.strip()).group(1) for part in text.split(",")]


def parse(header, text):
    """All functions of one header's text."""
    functions = []
    for match in DECLARATION.finditer(text):
        declaration = " ".join(match.group("text").split())
        name = NAME.search(declaration).group(1)
        result = declaration[: declaration.index(name)].strip()
        inside = declaration[declaration.index("(") + 1 : declaration.rindex(")")]
        before = text[: match.start()].rstrip()
        comment = ""
        if before.endswith("*/"):
            block = before[before.rindex("/*") :]
            comment = block if block.startswith("/**") else ""
        functions.append(Function(header, name, result, _parameter_names(inside), comment))
    return functions


def read(folder):
    """All functions of all headers, by file name."""
    functions = []
    for path in sorted(pathlib.Path(folder).glob("*.h")):
        functions += parse(path.name, path.read_text(encoding="utf-8"))
    return functions
