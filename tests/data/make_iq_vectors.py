#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Writes iq_vectors.json: what the Python package gguf (0.19.0 was used) makes of random blocks.

For each type two blocks with their values, and the FNV-1a hash over the 32-bit values of many
blocks, which the test draws again with the same generator (xorshift32 from `seed`).
Usage: make_iq_vectors.py > iq_vectors.json
"""

import json

import numpy as np
from gguf import GGMLQuantizationType, GGML_QUANT_SIZES, quants

TYPES = "IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S TQ1_0 TQ2_0 NVFP4".split()
# The upper byte of the scale, whose bit 6 is cleared so that the half is finite.
SCALE_BYTE = {"IQ1_M": 55, "TQ1_0": 53, "TQ2_0": 65}
BLOCKS = 512


def random_blocks(seed, count, size):
    data = bytearray()
    for _ in range(count * size):
        seed ^= seed << 13 & 0xFFFFFFFF
        seed ^= seed >> 17
        seed ^= seed << 5 & 0xFFFFFFFF
        data.append(seed >> 24)
    return np.frombuffer(bytes(data), np.uint8).reshape(count, size).copy()


def fnv1a(words):
    value = 0xCBF29CE484222325
    for word in words:
        value = (value ^ word) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def case(name):
    kind = GGMLQuantizationType[name]
    _, size = GGML_QUANT_SIZES[kind]
    seed = 1000 + int(kind)
    blocks = random_blocks(seed, BLOCKS, size)
    if name != "NVFP4":
        blocks[:, SCALE_BYTE.get(name, 1)] &= 0xBF
    values = quants.dequantize(blocks, kind).astype(np.float32)
    return {
        "type": int(kind),
        "name": name,
        "seed": seed,
        "blocks": BLOCKS,
        "scale_byte": None if name == "NVFP4" else SCALE_BYTE.get(name, 1),
        "hash": f"{fnv1a(values.reshape(-1).view(np.uint32).tolist()):016x}",
        "block": blocks[:2].tobytes().hex(),
        "want": values[:2].tobytes().hex(),
    }


def main():
    print(json.dumps([case(name) for name in TYPES], indent=1))


if __name__ == "__main__":
    main()
