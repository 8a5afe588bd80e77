# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""What the lint needs to know about C and C++ text: code without comments, and where functions are."""

import re

# Comments, string, character and raw string literals. A quote after a digit or letter separates
# digits (1'000) and opens nothing.
_TOKEN = re.compile(
    r"""//(?:\\\n|[^\n])*
    |/\*.*?\*/
    |\bu?8?[RLU]*R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"
    |"(?:\\.|[^"\\\n])*"
    |(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL | re.VERBOSE)


def strip_comments_and_literals(text):
    """The text with the same lines, comments blank and literals empty."""

    def blank(match):
        found = match.group(0)
        newlines = "\n" * found.count("\n")
        if found.startswith("/"):
            return " " + newlines
        return '""' + newlines

    return _TOKEN.sub(blank, text)


def _without_preprocessor(code):
    """Directives, their continuation lines included, as empty lines."""
    lines = []
    continued = False
    for line in code.split("\n"):
        directive = continued or line.lstrip().startswith("#")
        continued = directive and line.endswith("\\")
        lines.append("" if directive else line)
    return "\n".join(lines)


# What opens a scope that holds functions and is none itself.
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum)\b|\bextern\s*\"\"\s*$")
_NAME = re.compile(r"([~\w:]+|operator\s*\S+)\s*\(")


def functions(text):
    """(name, first line, number of lines) of each function defined in the text, bodies included.

    A function is what opens a brace after a parameter list at namespace or class scope. Lambdas and
    local classes belong to the function around them.
    """
    code = _without_preprocessor(strip_comments_and_literals(text))
    result = []
    stack = []  # per open brace: None for a scope or initializer, (name, line) for a function
    depth_of_function = None
    header_start = 0
    parentheses = 0
    line = 1
    for match in re.finditer(r"[{}();\n]", code):
        mark = match.group(0)
        if mark == "\n":
            line += 1
        elif mark == "(":
            parentheses += 1
        elif mark == ")":
            parentheses = max(0, parentheses - 1)
        elif mark == ";":
            if parentheses == 0:
                header_start = match.end()
        elif mark == "{":
            opened = None
            header = code[header_start:match.start()]
            if depth_of_function is None and parentheses == 0:
                opened = _function_of(header)
            if opened is not None:
                first = line - header.lstrip().count("\n")
                opened = (opened, first)
                depth_of_function = len(stack)
            stack.append((opened, parentheses))
            parentheses = 0
            header_start = match.end()
        elif stack:
            opened, parentheses = stack.pop()
            if depth_of_function == len(stack):
                result.append((opened[0], opened[1], line - opened[1] + 1))
                depth_of_function = None
            header_start = match.end()
    return result


def _function_of(header):
    """The name of the function whose body follows this text, or None."""
    stripped = header.strip()
    if ")" not in stripped or stripped.endswith("="):
        return None
    before_parameters = stripped.split("(", 1)[0]
    if _SCOPE.search(re.sub(r"template\s*<[^{}]*?>\s*", "", before_parameters)):
        # `struct S f() {` returns a struct; `struct alignas(8) S {` is one.
        if not re.search(r"\)\s*(const|noexcept|override|final)?\s*$", stripped):
            return None
    name = _NAME.search(stripped)
    return name.group(1) if name else "(unnamed)"
