# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that an ISA unit shares no inline function with other objects.

The linker keeps one copy of a weak symbol. If that copy came from a unit compiled for AVX-512, a
processor without it would run it and die. So every external symbol of a unit must be its table or
carry the name of the unit's own namespace.

Usage: unit_symbols.py OBJECT...
"""

import re
import subprocess
import sys

UNIT = re.compile(r"/(?:unit|ops)_(avx2|avx512|avx512_vnni|avx512_bf16)\.cc\.o(?:bj)?$")
# Data that the compiler emits beside exception tables; no code.
HARMLESS = {"DW.ref.__gxx_personality_v0"}
TABLE = re.compile(r"^_ZN6minfer7kernels\d+k[A-Za-z0-9]+E$")


def shared_symbols(nm_output, isa):
    """The external symbols that don't belong to the namespace `isa`."""
    own = f"{len(isa)}{isa}"
    found = []
    for line in nm_output.splitlines():
        fields = line.split()
        if len(fields) < 3 or fields[-2] not in "TDBRVWu":
            continue
        name = fields[-1]
        if own not in name and name not in HARMLESS and not TABLE.match(name):
            found.append(name)
    return found


def check_the_check():
    planted = (
        "0000 W _ZN6minfer7kernels11HalfToFloatEt\n"
        "0000 W _ZN6minfer7kernels6avx5123AddEv\n"
        "0000 W _ZN6minfer7kernels4avx23AddEv\n"
        "0000 R _ZN6minfer7kernels12kAvx2KernelsE\n"
        "0000 t _ZN6minfer7kernels5LocalEv\n"
    )
    want = ["_ZN6minfer7kernels11HalfToFloatEt", "_ZN6minfer7kernels6avx5123AddEv"]
    if shared_symbols(planted, "avx2") != want:
        sys.exit("unit_symbols: the planted violations were not found")


def main(objects):
    check_the_check()
    units = 0
    bad = 0
    for path in objects:
        match = UNIT.search(path)
        if not match:
            continue
        units += 1
        output = subprocess.run(
            ["nm", "--defined-only", path], check=True, capture_output=True, text=True
        ).stdout
        for name in shared_symbols(output, match.group(1)):
            bad += 1
            print(f"{path}: shared symbol {name}")
    print(f"unit_symbols: {units} units, {bad} shared symbols")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
