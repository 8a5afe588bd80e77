# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""An architecture is one file of lib/models and one line of its registry: nothing else of the
library, and nothing of the public header, knows one by name."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "lib/models"
DECLARED = {"lib/models/architectures.h", "lib/models/registry.cc"}


def sources():
    """{path: text without comments}"""
    found = {}
    for folder in ("include", "capi", "lib"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cc", ".h", ".hpp", ".cu", ".cuh"):
                text = path.read_text(encoding="utf-8")
                found[str(path.relative_to(ROOT))] = re.sub(r"//[^\n]*|/\*.*?\*/", "", text,
                                                            flags=re.S)
    return found


def makers(files):
    listed = re.search(r"kArchitectures\[\] = \{(.*?)\};", files["lib/models/registry.cc"], re.S)
    return re.findall(r"(\w+Architecture)\b", listed[1])


def mistakes(files):
    problems = []
    for maker in makers(files):
        homes = [name for name, text in files.items()
                 if maker in text and name not in DECLARED
                 and re.search(rf"\b{maker}\b", text)]
        if len(homes) != 1 or not homes[0].startswith("lib/models/"):
            problems.append(f"{maker} is in {homes}")
            continue
        name = re.search(r'name\(\) const override \{ return "([^"]+)"', files[homes[0]])
        if name is None:
            problems.append(f"{homes[0]} has no name")
            continue
        # Kinds and rules of tokenizers have such names, too.
        problems += [f'"{name[1]}" stands in {other}' for other, text in files.items()
                     if f'"{name[1]}"' in text and other != homes[0]
                     and not other.startswith("lib/tokenizer/")]
    return problems


class Architectures(unittest.TestCase):
    def test_one_file_and_one_line_each(self):
        files = sources()
        self.assertGreaterEqual(len(makers(files)), 13)
        self.assertEqual(mistakes(files), [])

    def test_planted_violations_are_found(self):
        files = sources()
        for where, text in (("lib/engine/model.cc", 'if (name == "qwen3") return;'),
                            ("lib/models/blocks.cc", "Qwen3Architecture();"),
                            ("include/minfer/model.h", '#define X "gpt-oss"')):
            self.assertEqual(len(mistakes({**files, where: files[where] + text})), 1, where)

    def test_the_folder_says_how_to_add_one(self):
        text = (MODELS / "README.md").read_text(encoding="utf-8")
        for word in ("To add an architecture", "registry.cc", "tests/model/tiny_logits_test.cc"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
