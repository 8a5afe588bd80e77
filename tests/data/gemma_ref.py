#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Tiny Gemma models with known logits: what tiny_ref.py's gemma3 leaves out.

    gemma_ref.py --gguf NAME OUT.gguf    write the model; standard library only
    gemma_ref.py --make OUT.json         gemma_logits.json again, in double precision; needs numpy

Written from the papers (Gemma 2, Gemma 3) and the meaning of the keys; an engine in f32 agrees to
2e-4. The logits stay under their soft caps, and the scores reach well into theirs.
"""

import json
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gguf_bad import ARR, BOOL, F, F32T, I32, STR, U32, spm_tokens, weights  # noqa: E402

VOCABULARY = 264
EPS = 1e-5
PROMPT = [1, 262, 261, 70, 80, 3, 200, 263, 262, 13, 99, 258, 90, 91, 261, 7]
EMBD, LAYERS, HEADS, KV_HEADS, HEAD, FF = 32, 4, 4, 2, 16, 48

# full: the layers that see all. base: of these layers; window_base: of the others.
MODELS = {
    "gemma2": dict(arch="gemma2", window=3, full=[1, 3], cap=5.0, final_cap=4.0, scale=0.25,
                   base=1e4, window_base=1e4, linear=1.0, head_norms=False),
    "gemma2_scale": dict(arch="gemma2", window=5, full=[1, 3], cap=2.0, final_cap=3.0, scale=0.4,
                         keys={"attention.scale": 0.4}, base=500.0, window_base=500.0, linear=1.0,
                         head_norms=False),
    # One period of six is too long here: the file states its own.
    "gemma3_period": dict(arch="gemma3", window=4, full=[2], cap=0.0, final_cap=6.0, scale=0.25,
                          pattern=3, base=1e6, window_base=1e4, linear=8.0, head_norms=True),
    "gemma3_array": dict(arch="gemma3", window=2, full=[0, 3], cap=1.0, final_cap=0.0, scale=0.25,
                         pattern=[False, True, True, False], base=1e5, window_base=200.0,
                         keys={"rope.freq_base_swa": 200.0}, linear=1.0, head_norms=True),
    "gemma3_no_window": dict(arch="gemma3", window=0, full=[0, 1, 2, 3], cap=0.0, final_cap=0.0,
                             scale=0.25, base=1e6, window_base=0.0, linear=1.0, head_norms=True),
}


def shapes(model):
    """Name -> dimensions, outermost first."""
    q, kv = HEADS * HEAD, KV_HEADS * HEAD
    result = {"token_embd.weight": (VOCABULARY, EMBD), "output_norm.weight": (EMBD,)}
    for i in range(LAYERS):
        layer = {"attn_norm": (EMBD,), "attn_q": (q, EMBD), "attn_k": (kv, EMBD),
                 "attn_v": (kv, EMBD), "attn_output": (EMBD, q), "post_attention_norm": (EMBD,),
                 "ffn_norm": (EMBD,), "ffn_gate": (FF, EMBD), "ffn_up": (FF, EMBD),
                 "ffn_down": (EMBD, FF), "post_ffw_norm": (EMBD,)}
        if model["head_norms"]:
            layer.update(attn_q_norm=(HEAD,), attn_k_norm=(HEAD,))
        result.update({f"blk.{i}.{role}.weight": shape for role, shape in layer.items()})
    return result


def values(model, name, shape):
    count = 1
    for n in shape:
        count *= n
    raw = struct.unpack(f"<{count}f", weights(model["arch"] + name, count, 0))
    factor = 1.0 if "norm" in name else 2.0 if "embd" in name else 6.0
    return struct.pack(f"<{count}f", *[x * factor for x in raw])


def write_gguf(name, path):
    model = MODELS[name]
    arch = model["arch"]
    file = F()
    file.tensors = []
    file.set("general.architecture", STR, arch)
    for key, value in (("context_length", 512), ("embedding_length", EMBD), ("block_count", LAYERS),
                       ("feed_forward_length", FF), ("attention.head_count", HEADS),
                       ("attention.head_count_kv", KV_HEADS), ("attention.key_length", HEAD),
                       ("attention.value_length", HEAD)):
        file.set(f"{arch}.{key}", U32, value)
    floats = {"attention.layer_norm_rms_epsilon": EPS, "rope.freq_base": model["base"]}
    floats.update(model.get("keys", {}))
    if model["cap"]:
        floats["attn_logit_softcapping"] = model["cap"]
    if model["final_cap"]:
        floats["final_logit_softcapping"] = model["final_cap"]
    if model["linear"] != 1.0:
        file.set(f"{arch}.rope.scaling.type", STR, "linear")
        floats["rope.scaling.factor"] = model["linear"]
    for key, value in floats.items():
        file.set(f"{arch}.{key}", F32T, value)
    if model["window"]:
        file.set(f"{arch}.attention.sliding_window", U32, model["window"])
    pattern = model.get("pattern")
    if isinstance(pattern, list):
        file.set(f"{arch}.attention.sliding_window_pattern", ARR, (BOOL, pattern))
    elif pattern:
        file.set(f"{arch}.attention.sliding_window_pattern", U32, pattern)
    tokens, types, scores = spm_tokens()
    file.set("tokenizer.ggml.model", STR, "llama")
    file.set("tokenizer.ggml.tokens", ARR, (STR, tokens))
    file.set("tokenizer.ggml.scores", ARR, (F32T, scores))
    file.set("tokenizer.ggml.token_type", ARR, (I32, types))
    for tensor, shape in shapes(model).items():
        file.put(tensor, list(reversed(shape)), 0, values(model, tensor, shape))
    with open(path, "wb") as out:
        out.write(file.build())


def reference(name):
    """Logits of every position of PROMPT."""
    import numpy as np
    model = MODELS[name]
    w = {tensor: np.frombuffer(values(model, tensor, shape), "<f4").astype(np.float64)
         .reshape(shape) for tensor, shape in shapes(model).items()}
    n = len(PROMPT)

    def norm(x, weight):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * weight

    def cap(x, limit):
        return limit * np.tanh(x / limit) if limit else x

    def rotate(x, base, factor):
        pair = np.arange(HEAD // 2)
        angle = np.arange(n)[:, None, None] / factor * base ** (-2.0 * pair / HEAD)
        low, high = x[..., :HEAD // 2], x[..., HEAD // 2:]
        cos, sin = np.cos(angle), np.sin(angle)
        return np.concatenate([low * cos - high * sin, low * sin + high * cos], -1)

    x = w["token_embd.weight"][PROMPT] * np.sqrt(EMBD)
    distance = np.arange(n)[:, None] - np.arange(n)[None, :]
    for i in range(LAYERS):
        def of(role):
            return w[f"blk.{i}.{role}.weight"]
        full = i in model["full"]
        m = norm(x, of("attn_norm"))
        q = (m @ of("attn_q").T).reshape(n, HEADS, HEAD)
        k = (m @ of("attn_k").T).reshape(n, KV_HEADS, HEAD)
        v = (m @ of("attn_v").T).reshape(n, KV_HEADS, HEAD)
        if model["head_norms"]:
            q, k = norm(q, of("attn_q_norm")), norm(k, of("attn_k_norm"))
        base, factor = (model["base"], model["linear"]) if full else (model["window_base"], 1.0)
        # Gemma 2's layers all scale alike; only Gemma 3's windowed ones do not.
        if model["arch"] == "gemma2":
            factor = model["linear"]
        q, k = rotate(q, base, factor), rotate(k, base, factor)
        k, v = (np.repeat(y, HEADS // KV_HEADS, 1) for y in (k, v))
        scores = cap(np.einsum("qhd,khd->hqk", q, k) * model["scale"], model["cap"])
        seen = (distance >= 0) & (full | (distance < model["window"]))
        scores = np.where(seen, scores, -np.inf)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        o = np.einsum("hqk,khd->qhd", p / p.sum(-1, keepdims=True), v).reshape(n, -1)
        x = x + norm(o @ of("attn_output").T, of("post_attention_norm"))
        m = norm(x, of("ffn_norm"))
        gate, up = m @ of("ffn_gate").T, m @ of("ffn_up").T
        gate = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate ** 3)))
        x = x + norm((gate * up) @ of("ffn_down").T, of("post_ffw_norm"))
    return cap(norm(x, w["output_norm.weight"]) @ w["token_embd.weight"].T, model["final_cap"])


def make(path):
    result = {"prompt": PROMPT}
    for name in MODELS:
        rows = reference(name)
        two = [sorted(row)[-2:] for row in rows]
        result[name] = {"greedy_at_every_position": [int(row.argmax()) for row in rows],
                        "gap_to_second": [round(float(b - a), 5) for a, b in two],
                        "last_f32_hex": rows[-1].astype("<f4").tobytes().hex()}
    with open(path, "w", encoding="utf-8") as out:
        out.write(json.dumps(result).replace("}, \"", "},\n\"") + "\n")


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 3 and arguments[0] == "--gguf":
        write_gguf(arguments[1], arguments[2])
    elif len(arguments) == 2 and arguments[0] == "--make":
        make(arguments[1])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
