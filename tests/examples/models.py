# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Models for the tests of the examples: a tiny one that is made here, and the real one if present."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "data"))
import gguf_bad  # noqa: E402

SHARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, os.pardir,
                      "shared")
REAL_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
TEMPLATE = ("{% for m in messages %}<|user|>{{ m['role'] }}: {{ m['content'] }}<|end|>{% endfor %}"
            "{% if add_generation_prompt %}<|user|>assistant: {% endif %}")


def write_tiny(path, template=TEMPLATE):
    """A llama of one layer with a vocabulary of bytes and a chat template; it says nonsense."""
    model = gguf_bad.base("bpe")
    model.set("llama.context_length", gguf_bad.U32, 4096)
    if template is not None:
        model.set("tokenizer.chat_template", gguf_bad.STR, template)
    with open(path, "wb") as file:
        file.write(model.build())
    return path


def real():
    """The path of SmolLM2, or None with a printed reason."""
    folders = [os.environ.get("MINFER_TEST_MODEL_DIR")]
    if os.environ.get("XDG_CACHE_HOME"):
        folders.append(os.path.join(os.environ["XDG_CACHE_HOME"], "minfer"))
    folders.append(os.path.expanduser("~/.cache/minfer"))
    for folder in filter(None, folders):
        path = os.path.join(folder, REAL_NAME)
        if os.path.exists(path):
            return path
    print(f"SKIPPED: model not found: {REAL_NAME} (examples/quickstart.sh fetches it)")
    return None
