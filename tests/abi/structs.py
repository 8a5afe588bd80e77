# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a C program that compares, for every sized struct of the headers, X_INIT with x_init()
byte for byte, checks that a field which is not zero is struct_size alone, that no struct has hidden
padding, and that _init of a longer and a shorter struct touches what it may.

usage: structs.py INCLUDE_DIR OUT.c
"""
import pathlib
import re
import sys

HEAD = """/* Made by tests/abi/structs.py from the headers. */
#include <minfer/minfer.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void fail(const char* name, const char* what) {
  ++failures;
  printf("%s: %s\\n", name, what);
}

static void check(const char* name, const unsigned char* by_macro, const unsigned char* by_call,
                  size_t size) {
  size_t i;
  uint32_t struct_size;
  if (memcmp(by_macro, by_call, size) != 0) fail(name, "INIT and init() differ");
  memcpy(&struct_size, by_macro, sizeof struct_size);
  if (struct_size != size) fail(name, "struct_size is not sizeof");
  for (i = sizeof struct_size; i < size; ++i) {
    if (by_macro[i] != 0) fail(name, "a default is not 0");
  }
}
"""

BLOCK = """
static void check_{struct}(void) {{
  static const {struct} by_macro = {macro};
  unsigned char room[sizeof({struct}) + 16];
  {struct} by_call;
  size_t i;
  memset(&by_call, 0xA5, sizeof by_call);
  {struct}_init(&by_call, sizeof by_call);
  check("{struct}", (const unsigned char*)&by_macro, (const unsigned char*)&by_call,
        sizeof by_call);
  memset(room, 0xA5, sizeof room);
  {struct}_init(({struct}*)(void*)room, sizeof by_call + 8);
  for (i = 4; i < sizeof by_call + 8; ++i) {{
    if (room[i] != 0) fail("{struct}", "a longer struct is not zeroed to its end");
  }}
  for (; i < sizeof room; ++i) {{
    if (room[i] != 0xA5) fail("{struct}", "init() writes past struct_size");
  }}
  {struct}_init(NULL, sizeof by_call);
  if ({members} != sizeof by_call) fail("{struct}", "hidden padding");
}}
"""


PLANTED = """
/* Two structs that the check must refuse: one whose INIT and init() differ, one with a default that
   is not 0. */
static void planted(void) {
  unsigned char good[16] = {16, 0, 0, 0};
  unsigned char bad[16] = {16, 0, 0, 0, 1};
  int seen;
  check("planted: differs", good, bad, sizeof good);
  seen = failures;
  check("planted: default", bad, bad, sizeof bad);
  if (seen != 1 || failures != 2) {
    printf("the check did not see what was planted\\n");
    failures = 1000;
    return;
  }
  failures = 0;
}
"""


def member_sizes(struct, body):
    """A C expression: the sum of the sizes of the members."""
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    names = [re.search(r"(\w+)(\[\w+\])?\s*$", m.strip()).group(1) for m in body.split(";") if m.strip()]
    return " + ".join(f"sizeof((({struct}*)0)->{name})" for name in names)


def main():
    text = "\n".join(p.read_text(encoding="utf-8") for p in sorted(pathlib.Path(sys.argv[1]).glob("*.h")))
    out, calls = [HEAD], []
    for struct, body in re.findall(r"typedef struct (mf_\w+) \{(.*?)\} mf_\w+;", text, re.S):
        if "uint32_t struct_size;" not in body or struct == "mf_sampling":
            continue
        macro = struct.upper() + "_INIT"
        out.append(BLOCK.format(struct=struct, macro=macro, members=member_sizes(struct, body)))
        calls.append(f"  check_{struct}();\n")
    out.append(PLANTED)
    out.append("\nint main(void) {\n  planted();\n" + "".join(calls))
    out.append(f'  printf("{len(calls)} structs, %d failures\\n", failures);\n')
    out.append("  return failures == 0 ? 0 : 1;\n}\n")
    pathlib.Path(sys.argv[2]).write_text("".join(out), encoding="utf-8")
    return 0 if len(calls) >= 10 else 1


if __name__ == "__main__":
    sys.exit(main())
