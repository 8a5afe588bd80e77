#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Speed of one seeded model in each tensor type, beside llama-bench's, run in turns.

Writes the files that are missing to --folder with synth_gguf.py (--synth), then runs for each type
the peer, ours, ours, the peer, and prints the best of each: tokens a second of prefill and of decode,
ours, the peer's and the ratio. --processor-time counts the processor's seconds with one thread, for
a busy machine. Not a test: timings never are.
Usage: type_bench.py --synth FILE --folder DIR [--ours minfer-bench] [--peer llama-bench]
                     [--types q4_k,q5_0,...] [--threads 2] [--prompt 128] [--generate 32]
                     [--processor-time]
"""

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

Q2_K, Q3_K, IQ4_NL, IQ4_XS, MXFP4 = 10, 11, 20, 23, 39
# Type: code, values and bytes of a block, general.file_type.
MORE = {
    "q2_k": (Q2_K, 256, 84, 10),
    "q3_k": (Q3_K, 256, 110, 12),
    "iq4_nl": (IQ4_NL, 32, 18, 25),
    "iq4_xs": (IQ4_XS, 256, 136, 30),
    "mxfp4": (MXFP4, 32, 17, 38),
}
TYPES = (
    "f32 f16 bf16 q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs mxfp4".split()
)
# arch, embd, layers, heads, kv heads, head size, ffn, vocabulary, rope base, bias, qk norm, tied:
# 107 million weights, beyond the caches in every type.
MODEL = ("llama", 1024, 8, 16, 4, 64, 2816, 8192, 1e4, False, False, False)


def load_synth(path):
    spec = importlib.util.spec_from_file_location("synth_gguf", path)
    synth = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(synth)
    published = synth.blocks

    def blocks(kind, count, std, rng):
        known = [row for row in MORE.values() if row[0] == kind]
        if not known:
            return published(kind, count, std, rng)
        _, values, size, _ = known[0]
        out = np.frombuffer(rng.bytes(count // values * size), np.uint8).reshape(-1, size).copy()
        scale = rng.uniform(0.7, 1.3, len(out)).astype(np.float32) * std
        if kind == Q2_K:
            out[:, 80:82] = synth.half(scale / 8)
            out[:, 82:84] = synth.half(scale / 8)
        elif kind == Q3_K:
            out[:, 108:110] = synth.half(scale / 37)
        elif kind == IQ4_NL:
            out[:, 0:2] = synth.half(scale / 70)
        elif kind == IQ4_XS:
            out[:, 0:2] = synth.half(scale / 1300)
        elif kind == MXFP4:
            out[:, 0] = np.clip(np.floor(np.log2(scale / 5)) + 128, 0, 254).astype(np.uint8)
        return out.tobytes()

    synth.blocks = blocks
    for name, (kind, values, size, file_type) in MORE.items():
        synth.BLOCK[kind] = (values, size)
        synth.BY_NAME[name] = kind
        synth.FTYPE[name] = file_type
    synth.MODELS["types"] = MODEL
    return synth


def model_file(synth, folder, name):
    path = folder / f"{name}.gguf"
    if not path.exists():
        sys.argv = ["synth_gguf.py", "--model", "types", "--mix", name, "--out", str(path)]
        sys.argv += ["--ctx", "4096"]
        synth.main()
    return path


def run(options, command):
    environment = dict(os.environ)
    if options.processor_time:
        environment["LD_PRELOAD"] = str(options.folder / "processor_clock.so")
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout)


def speed(options, program, path):
    """Tokens a second of prefill and decode."""
    command = [program, "-m", path, "-p", options.prompt, "-n", options.generate]
    command += ["-t", options.threads, "-r", 3, "-o", "json"]
    rows = run(options, [str(word) for word in command])
    if "samples" in rows[0]:  # ours, prefill first
        assert len(rows) == 2
        return tuple(max(row["samples"]) for row in rows)
    rows.sort(key=lambda row: row["n_gen"])
    return tuple(max(row["samples_ts"]) for row in rows)


def measure(options, name, path):
    """One row: name, then ours and the peer's for prefill and decode."""
    turns = [options.peer, options.ours, options.ours, options.peer]
    results = [(program, speed(options, program, path)) for program in turns if program]
    cells = [name]
    for phase in range(2):
        mine = max(result[phase] for program, result in results if program == options.ours)
        cells.append(f"{mine:.1f}")
        if options.peer:
            other = max(result[phase] for program, result in results if program == options.peer)
            cells += [f"{other:.1f}", f"{mine / other:.2f}"]
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--synth", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--ours")
    parser.add_argument("--peer")
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--generate", type=int, default=32)
    parser.add_argument("--processor-time", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.processor_time:
        options.threads = 1
        source = pathlib.Path(__file__).with_name("processor_clock.c")
        shim = ["cc", "-O2", "-shared", "-fPIC", source, "-o"]
        subprocess.run([*shim, options.folder / "processor_clock.so"], check=True)
    synth = load_synth(options.synth)
    for name in options.types.split(","):
        path = model_file(synth, options.folder, name)
        if options.ours:
            measure(options, name, path)


if __name__ == "__main__":
    main()
