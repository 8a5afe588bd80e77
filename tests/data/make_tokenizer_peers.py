#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Writes tokenizer_peers.json: small unigram and WordPiece vocabularies, and what the Python package
`tokenizers` (0.23.3) makes of texts with them.

    make_tokenizer_peers.py > tokenizer_peers.json
"""
import json
import math
import random
import struct

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

SAMPLE = """The quick brown fox jumps over the lazy dog. Ünïcödé naïve café Straße ПРИВЕТ привет мир
we tokenize words into word pieces and unigrams; unhappy unhappiness happily ever after 2026 1234 12
日本語 の 文 한국어 말 👍 emoji can't don't it's (parentheses) [brackets] a-b_c/d e=mc2 100% hello hello
one two three four five six seven eight nine ten token tokens tokenizer tokenizers tokenization"""

PARTS = SAMPLE.split() + [
    " ", "  ", "\t", "\n", "x" * 30, "zzzz", "ＡＢＣ", "ﬁne", "①", "½", "e\u0301", "\u00ad", "\u3000",
    "İstanbul", "ǅ", "ΣΊΣΥΦΟΣ", "각", "가나", "क्षि", "ක්‍ෂ", "𝐇ello", "\x00", "\x07", "\u200d", "\ufffd",
    "١٢٣", "¿qué?", "…", "—", "「」", "€5", "a" * 101, "豈", "\u0301", "𠀀", "ß", "\u2028", "ｶﾞ", "Ⅷ",
]

# What SentencePiece's NFKC table has among others; the last one deletes.
REPLACEMENTS = {"Ａ": "A", "Ｂ": "B", "Ｃ": "C", "ﬁ": "fi", "①": "1", "½": "1⁄2", "e\u0301": "é",
                "\u3000": " ", "\t": " ", "\n": " ", "Ⅷ": "VIII", "\u00ad": ""}


def texts(count, seed):
    rng = random.Random(seed)
    out = ["", " ", "   ", "hello", " hello", "hello  world ", "ｘ"]
    while len(out) < count:
        out.append("".join(rng.choice(PARTS) + rng.choice(["", " ", " "])
                           for _ in range(rng.randint(1, 9))))
    return out


def single(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def pieces(mark, lengths):
    counts = {}
    for word in SAMPLE.split():
        word = mark + word
        for begin in range(len(word)):
            for end in range(begin + 1, min(len(word), begin + lengths) + 1):
                counts[word[begin:end]] = counts.get(word[begin:end], 0) + 1
    return counts


def double_array(entries):
    """A Darts-clone double array of {bytes: value}, laid out one node after the other."""
    units = {0: 0}
    used = {0}

    def children(prefix):
        return sorted({key[len(prefix)] for key in entries
                       if key.startswith(prefix) and len(key) > len(prefix)})

    def place(prefix, node):
        labels = children(prefix)
        leaf = prefix in entries
        slots = ([0] if leaf else []) + labels
        offset = 1
        while any((node ^ offset ^ c) in used for c in slots) or offset >= 1 << 21:
            offset += 1
        for c in slots:
            used.add(node ^ offset ^ c)
        units[node] = units.get(node, 0) | offset << 10 | (1 << 8 if leaf else 0)
        if leaf:
            units[node ^ offset] = entries[prefix] | 1 << 31
        for c in labels:
            units[node ^ offset ^ c] = c
            place(prefix + bytes([c]), node ^ offset ^ c)

    place(b"", 0)
    return [units.get(i, 0xFF ^ 0x80000000) for i in range(max(used) + 1)]


def characters_map():
    pool, entries = b"", {}
    for source, target in REPLACEMENTS.items():
        entries[source.encode()] = len(pool)
        pool += target.encode() + b"\0"
    units = double_array(entries)
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + pool


def unigram():
    counts = pieces("▁", 7)
    total = sum(counts.values())
    chars = {c for text in counts for c in text} - {"x", "語"}
    kept = sorted(t for t, n in counts.items() if (n >= 2 and len(t) > 1) or t in chars)
    scores = {t: single(math.log(counts[t] * len(t) ** 2 / total)) for t in kept}
    tokens = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + list(scores.items())
    blob = characters_map()
    peer = Tokenizer(models.Unigram(tokens, unk_id=2, byte_fallback=False))
    peer.normalizer = normalizers.Sequence([
        normalizers.Precompiled(blob), normalizers.Replace(Regex(" {2,}"), " "),
        normalizers.Replace(Regex("^ | $"), "")])
    peer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    return {"tokens": tokens, "characters_map": blob.hex(),
            "cases": [[t, peer.encode(t).ids] for t in texts(150, 1)]}


def word_piece():
    lower = normalizers.BertNormalizer(lowercase=True)
    starts, rest = {}, {}
    for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(lower.normalize_str(SAMPLE)):
        for begin in range(len(word)):
            for end in range(begin + 1, min(len(word), begin + 6) + 1):
                counts = rest if begin else starts
                counts[word[begin:end]] = counts.get(word[begin:end], 0) + 1
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens += sorted(t for t, n in starts.items() if n >= 2 or len(t) == 1)
    tokens += sorted("##" + t for t, n in rest.items() if n >= 2 or len(t) == 1)
    peer = Tokenizer(models.WordPiece({t: i for i, t in enumerate(tokens)}, unk_token="[UNK]",
                                      max_input_chars_per_word=100))
    peer.normalizer = lower
    peer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return {"tokens": tokens, "cases": [[t, peer.encode(t).ids] for t in texts(150, 2)]}


if __name__ == "__main__":
    print(json.dumps({"unigram": unigram(), "wordpiece": word_piece()}, ensure_ascii=True,
                     separators=(",", ":")))
