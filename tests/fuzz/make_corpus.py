#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the first inputs of the fuzz targets: make_corpus.py OUT, with a folder a target, and the
model tiny.gguf."""

import json
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "examples"))
import models  # noqa: E402

DATA = os.path.join(HERE, os.pardir, "data")
TEXTS = [
    "", " ", "the the  the", "aaaaaaaa", "1234567890 12", "I'm we'LL don't", "a\n\n  b\r\n\tc",
    "naïve Ünïcode", "中文 日本語 한국어", "👩‍👩‍👧 🇩🇪", "<|end|>", "a<|end|>b", "\u0301\u0301x",
    "word" * 50, "  " * 40 + "x", "ſ K Å", "\u00a0\u2003\u3000z", "١٢٣٤ ⅷ",
]
TEMPLATES = [
    "{% for m in messages %}<|{{ m.role }}|>{{ m['content'] | trim }}\n{% endfor %}",
    "{%- set ns = namespace(n=0) -%}{% for i in range(5) if i % 2 %}{% set ns.n = ns.n + i %}"
    "{{ loop.index }}{% else %}none{% endfor %}{{ ns.n }}",
    "{% macro f(a, b='x') %}{{ a ~ b }}{% endmacro %}{{ f(1) }}{{ f(b=2, a='q') }}",
    "{{ messages | length }} {{ 'a,b'.split(',') | join('-') | upper }} {{ [1,2,3][::-1] }}",
    "{{ {'a': [1, none, true]} | tojson }} {{ 7 // 2 }} {{ -7 % 3 }} {{ 1.5 * 2 }}",
    "{% if messages[0].role == 'user' and not tools is defined %}y{% else %}n{% endif %}",
    "{{ raise_exception('no') }}", "{# a comment #}{% raw %}{{ x }}{% endraw %}",
    "{{ 'x' * 3 if 1 < 2 else '' }}{% break %}", "{% for a in b recursive %}{{ loop(a) }}{% endfor %}",
]


def write(folder, name, data):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def templates():
    path = os.path.join(DATA, "template_cases.json")
    if not os.path.exists(path):
        return TEMPLATES
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)
    cases = cases.get("cases", cases) if isinstance(cases, dict) else cases
    return TEMPLATES + [case["template"] for case in cases if "template" in case]


def main(out):
    # The large ones only repeat what the small ones show, and slow a fuzzer down.
    bad = os.path.join(out, "gguf-all")
    os.makedirs(bad, exist_ok=True)
    subprocess.run([sys.executable, os.path.join(DATA, "gguf_bad.py"), "--all", bad], check=True,
                   stdout=subprocess.DEVNULL)
    for name in sorted(os.listdir(bad)):
        path = os.path.join(bad, name)
        with open(path, "rb") as file:
            data = file.read()
        os.remove(path)
        if len(data) <= 200_000:
            write(os.path.join(out, "gguf"), name, data)
    os.rmdir(bad)
    for index, text in enumerate(TEXTS):
        for rule in (0, 1, 2, 3, 12, 13, 14):
            data = bytes([rule | (0x80 if index % 2 else 0)]) + text.encode()
            write(os.path.join(out, "tokenizer"), f"text{index:02}-{rule}", data)
    for index, text in enumerate(templates()):
        write(os.path.join(out, "template"), f"template{index:03}", text.encode())
    # What the target of the C interface loads.
    models.write_tiny(os.path.join(out, "tiny.gguf"))
    generator = random.Random(1)
    for folder, size in (("sampling", 400), ("capi", 300)):
        for index in range(32):
            write(os.path.join(out, folder), f"random{index:02}", generator.randbytes(size))


if __name__ == "__main__":
    main(sys.argv[1])
