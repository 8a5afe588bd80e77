#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Writes quantize_error.json: the error of the public Python package `gguf` on one tensor, for each
type that it can quantise. Needs that package and numpy; the tests need only the file.

usage: quantize_error.py > quantize_error.json
"""

import json

import gguf
import numpy as np

ROWS, COLUMNS = 128, 512
TYPES = ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "MXFP4"]


def tensor():
    """Bell-shaped numbers, every eighth row four times as wide; exact in any language: a linear
    congruential generator, four draws a value."""
    draws = np.empty(4 * ROWS * COLUMNS, dtype=np.float64)
    state = 1
    for i in range(draws.size):
        state = (state * 1664525 + 1013904223) % 2**32
        draws[i] = state / 2**32
    bell = draws.reshape(-1, 4).sum(axis=1) - 2.0
    scale = np.where(np.arange(ROWS) % 8 == 0, 0.25, 0.0625)
    return (bell.reshape(ROWS, COLUMNS) * scale[:, None]).astype(np.float32)


def main():
    x = tensor()
    errors = {}
    for name in TYPES:
        kind = gguf.GGMLQuantizationType[name]
        back = gguf.quants.dequantize(gguf.quants.quantize(x, kind), kind)
        errors[name] = float(np.sqrt(np.mean((back.astype(np.float64) - x) ** 2)))
    out = {
        "package": "gguf 0.19.0",
        "rows": ROWS,
        "columns": COLUMNS,
        "rms": float(np.sqrt(np.mean(x.astype(np.float64) ** 2))),
        "rms_error": errors,
    }
    print(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
