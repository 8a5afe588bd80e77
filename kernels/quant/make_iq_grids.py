#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Writes iq_grids.cc beside itself from the grids of the Python package gguf (0.19.0 was used).

Run by hand; `--check` compares instead. The grids are data of the formats and change no more.
Usage: make_iq_grids.py [--check]
"""

import pathlib
import sys

try:
    import numpy as np
    from gguf import quants
except ImportError as error:
    if "--check" not in sys.argv[1:]:
        raise
    print(f"SKIPPED: {error}: the grids were not compared with those of the package gguf")
    sys.exit()

HEAD = """\
// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Written by make_iq_grids.py; do not edit.
#include "kernels/quant/iq_grids.h"

namespace minfer::kernels {

// clang-format off
"""
TAIL = """\
// clang-format on

}  // namespace minfer::kernels
"""
GRIDS = [
    ("kGridIq1", quants.IQ1_S, 2),
    ("kGridIq2Xxs", quants.IQ2_XXS, 2),
    ("kGridIq2Xs", quants.IQ2_XS, 2),
    ("kGridIq2S", quants.IQ2_S, 2),
    ("kGridIq3Xxs", quants.IQ3_XXS, 3),
    ("kGridIq3S", quants.IQ3_S, 3),
]
PER_LINE = 12


def entries(quant, bits):
    """One number a grid entry, with the place of each value in the map as a code of `bits`."""
    quant.init_grid()
    values = np.array(quant.grid_map, np.float32)
    grid = quant.grid.reshape(quant.grid_shape)
    codes = np.searchsorted(values, grid)
    assert np.array_equal(values[codes], grid)
    return [sum(int(code) << (bits * i) for i, code in enumerate(entry)) for entry in codes]


def source():
    text = HEAD
    for name, quant, bits in GRIDS:
        numbers = entries(quant, bits)
        text += f"const uint16_t {name}[{len(numbers)}] = {{\n"
        for at in range(0, len(numbers), PER_LINE):
            line = ", ".join(f"0x{n:04x}" for n in numbers[at : at + PER_LINE])
            text += f"    {line},\n"
        text += "};\n"
    return text + TAIL


def main():
    path = pathlib.Path(__file__).with_name("iq_grids.cc")
    if "--check" in sys.argv[1:]:
        if path.read_text() != source():
            sys.exit(f"{path.name} is not what this script writes")
    else:
        path.write_text(source())


if __name__ == "__main__":
    main()
