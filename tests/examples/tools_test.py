#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs that look at models and change them:
tools_test.py INSPECT QUANTIZE PERPLEXITY TOKENIZE."""

import json
import math
import os
import pty
import re
import subprocess
import sys
import tempfile
import unittest

import models

INSPECT, QUANTIZE, PERPLEXITY, TOKENIZE = (sys.argv.pop(1) for _ in range(4))
CHAPTER = os.path.join(models.SHARED, "seeds", "002_9d42467355050593.txt")


def run(*args, text_in=b""):
    done = subprocess.run(args, input=text_in, capture_output=True, timeout=600, check=False)
    return (done.returncode, done.stdout.decode("utf-8", "replace"),
            done.stderr.decode("utf-8", "replace"))


def run_on_terminal(*args):
    """What a program writes to a terminal, which is its error stream; its output is dropped."""
    main, other = pty.openpty()
    with subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=other) as program:
        os.close(other)
        text = b""
        try:
            while piece := os.read(main, 4096):
                text += piece
        except OSError:
            pass
        os.close(main)
    return program.returncode, text.decode("utf-8", "replace")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory()
        cls.folder = cls.held.name
        cls.tiny = models.write_tiny(os.path.join(cls.folder, "tiny.gguf"))
        cls.damaged = write(cls.path("damaged.gguf"), read(cls.tiny)[:-64])

    @classmethod
    def tearDownClass(cls):
        cls.held.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def run_ok(self, *args, text_in=b""):
        status, out, error = run(*args, text_in=text_in)
        self.assertEqual(status, 0, error)
        return out

    def run_json(self, *args, text_in=b""):
        return json.loads(self.run_ok(*args, "--json", text_in=text_in))

    def refused(self, *args, says):
        status, out, error = run(*args)
        self.assertNotEqual(status, 0, out)
        for text in says:
            self.assertIn(text, error + out)

    def test_wrong_arguments_are_named(self):
        out = self.path("never.gguf")
        self.refused(INSPECT, says=["model"])
        self.refused(INSPECT, self.tiny, "--no-such", says=["--no-such"])
        self.refused(INSPECT, self.tiny, "--kv", "f64", says=["--kv"])
        self.refused(QUANTIZE, self.tiny, out, says=["type"])
        self.refused(QUANTIZE, self.tiny, out, "Q9_9", says=["Q9_9"])
        self.refused(PERPLEXITY, "-f", self.tiny, says=["--model"])
        self.refused(PERPLEXITY, "-m", self.tiny, "-c", "1", says=["--chunk"])
        self.refused(TOKENIZE, "text", says=["--model"])
        self.refused(TOKENIZE, "-m", self.tiny, "text", "-f", self.tiny, says=["--file"])
        self.assertFalse(os.path.exists(out))

    def test_a_damaged_or_absent_file_is_named(self):
        absent = self.path("absent.gguf")
        out = self.path("never.gguf")
        for path, says in ((self.damaged, ["DATA_LOSS", ".weight"]), (absent, ["NOT_FOUND", absent])):
            self.refused(INSPECT, path, says=says)
            self.refused(QUANTIZE, path, out, "Q8_0", says=says)
            self.refused(PERPLEXITY, "-m", path, says=says)
            self.refused(TOKENIZE, "-m", path, "a", says=says)
        self.refused(TOKENIZE, "-m", self.tiny, "-f", absent, says=[absent, "No such file"])
        self.refused(PERPLEXITY, "-m", self.tiny, "-f", absent, says=[absent, "No such file"])
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith("never")], [])

    def test_inspect_says_what_is_there(self):
        facts = self.run_json(INSPECT, self.tiny, "--tensors", "--ctx", "512", "--elements", "3")
        self.assertEqual(facts["file"]["architecture"], "llama")
        self.assertEqual(facts["runs"]["status"], "OK")
        keys = {one["key"]: one for one in facts["metadata"]}
        self.assertEqual(keys["general.name"]["value"], "tiny")
        tokens = keys["tokenizer.ggml.tokens"]
        self.assertEqual((tokens["element_type"], len(tokens["value"])), ("string", 3))
        self.assertEqual(tokens["n_elements"], facts["file"]["n_vocab"])
        self.assertEqual(len(facts["tensors"]), facts["file"]["n_tensors"])
        self.assertEqual(sum(one["bytes"] for one in facts["tensors"]),
                         facts["file"]["tensor_bytes"])
        self.assertEqual(sum(one["bytes"] for one in facts["tensor_types"]),
                         facts["file"]["tensor_bytes"])
        self.assertEqual(facts["plan"]["n_ctx"], 512)
        self.assertGreater(facts["plan"]["context"]["classes"]["kv"], 0)
        self.assertEqual(facts["plan"]["context"]["total"],
                         sum(facts["plan"]["context"]["classes"].values()))
        self.assertEqual(facts["chat_template"], models.TEMPLATE)
        text = self.run_ok(INSPECT, self.tiny, "--tensors", "--ctx", "512")
        for part in ("runs           yes", "general.name", "token_embd.weight", "F32",
                     "Plan: bytes on the CPU for 1 session(s) of 512 tokens", models.TEMPLATE):
            self.assertIn(part, text)

    def test_inspect_looks_at_what_does_not_run(self):
        model = models.gguf_bad.base("bpe")
        model.set("general.architecture", models.gguf_bad.STR, "other")
        model.set("bytes", models.gguf_bad.STR, b"\xff\x00")
        path = write(self.path("other.gguf"), model.build())
        facts = self.run_json(INSPECT, path)
        self.assertEqual(facts["runs"]["status"], "UNIMPLEMENTED")
        self.assertIn("other", facts["runs"]["message"])
        self.assertNotIn("plan", facts)
        self.assertIn("runs           no: UNIMPLEMENTED", self.run_ok(INSPECT, path))

    def test_headers_are_read_without_weights(self):
        # 64 GiB of holes: whoever touched them would need as much memory.
        model = models.gguf_bad.base("bpe")
        model.no_data = True
        path = self.path("huge.gguf")
        model.put("huge.weight", [1 << 20, 1 << 14], data=b"")
        header = model.build()
        write(path, header)
        os.truncate(path, len(header) + (65 << 30))
        for args in ((INSPECT, path), (TOKENIZE, "-m", path, "text")):
            with subprocess.Popen(args, stdout=subprocess.PIPE) as program:
                program.stdout.read()
                _, status, usage = os.wait4(program.pid, 0)
                program.returncode = status
            self.assertEqual(status, 0)
            self.assertLess(usage.ru_maxrss, 300 * 1024)  # in KiB

    def test_quantize_to_every_type(self):
        self.run_ok(QUANTIZE, self.tiny, self.path("b16.gguf"), "BF16")
        types = re.search(r"\{([^}]*)\}", run(QUANTIZE, self.tiny, "x", "none")[2])
        names = re.findall(r"\b([A-Z]+\d\w*)(?=->)", types[1]) if types else []
        self.assertEqual(len(names), 16, types)
        for name in names:
            out = self.path(f"to_{name}.gguf")
            report = self.run_json(QUANTIZE, self.tiny, out, name.lower())
            self.assertEqual(report["file_bytes"], os.path.getsize(out))
            before, after = self.run_json(INSPECT, self.tiny), self.run_json(INSPECT, out)
            self.assertEqual(after["runs"]["status"], "OK")
            self.assertEqual(before["chat_template"], after["chat_template"])
            kept = [[one for one in facts["metadata"]
                     if one["key"] not in ("general.file_type", "general.quantization_version")]
                    for facts in (before, after)]
            self.assertEqual(kept[0], kept[1])
            for one in report["tensors"]:
                if one["from"] != one["to"]:
                    self.assertTrue(one["name"].endswith(".weight"))
                    self.assertNotIn("norm", one["name"])
                    self.assertLess(one["rms_error"], 0.3 * one["rms"])
            self.run_ok(PERPLEXITY, "-m", out, "-c", "16", "-n", "1", text_in=b"some words here")

    def test_quantize_gives_the_same_bytes_for_any_threads(self):
        outs = [self.path(f"threads{n}.gguf") for n in (1, 3)]
        for threads, out in zip(("1", "3"), outs):
            self.run_ok(QUANTIZE, self.tiny, out, "Q4_0", "-t", threads)
        self.assertEqual(read(outs[0]), read(outs[1]))

    def test_quantize_leaves_a_whole_file_or_none(self):
        out = self.path("kept.gguf")
        self.run_ok(QUANTIZE, self.tiny, out, "q8_0")
        whole = read(out)
        self.refused(QUANTIZE, self.tiny, out, "Q4_0", says=["--force"])
        self.assertEqual(read(out), whole)
        self.refused(QUANTIZE, out, self.path("again.gguf"), "Q4_0",
                     says=["FAILED_PRECONDITION", "Q8_0", ".weight"])
        self.run_ok(QUANTIZE, out, self.path("again.gguf"), "Q4_0", "--requantize")
        self.run_ok(QUANTIZE, self.tiny, out, "Q4_0", "--force")
        self.assertNotEqual(read(out), whole)
        self.refused(QUANTIZE, self.tiny, os.path.join(self.folder, "no", "such.gguf"), "Q4_0",
                     says=["No such file"])
        self.assertEqual([n for n in os.listdir(self.folder) if ".part" in n], [])

    def test_quantize_shows_a_table_and_a_bar(self):
        table = self.run_ok(QUANTIZE, self.tiny, self.path("table.gguf"), "Q8_0", "--table")
        self.assertRegex(table, r"(?m)^blk\.0\.attn_q\.weight +F32 +Q8_0 +\d+ +\d+ +[\d.e-]+ +0\.00\d+")
        self.assertRegex(table, r"\d+ of \d+ tensors are Q8_0 now")
        status, error = run_on_terminal(QUANTIZE, self.tiny, self.path("bar.gguf"), "Q8_0")
        self.assertEqual(status, 0)
        self.assertRegex(error, r"quantizing \[#+\.*\] +\d+ %")
        self.assertEqual(run(QUANTIZE, self.tiny, self.path("pipe.gguf"), "Q8_0")[2], "")

    def test_perplexity_has_a_row_a_chunk(self):
        text = b"The quick brown fox jumps over the lazy dog. " * 4
        args = (PERPLEXITY, "-m", self.tiny, "-c", "32")
        n_tokens = int(self.run_ok(TOKENIZE, "-m", self.tiny, "--count", text_in=text))
        chunks = self.run_json(*args, text_in=text)
        self.assertEqual(len(chunks), math.ceil(n_tokens / 32))
        self.assertEqual([one["tokens"] for one in chunks[:-1]], [31] * (len(chunks) - 1))
        total = sum(one["tokens"] * one["nll"] for one in chunks) / sum(
            one["tokens"] for one in chunks)
        last = chunks[-1]
        self.assertAlmostEqual(last["total_nll"], total, 9)
        self.assertAlmostEqual(last["total_perplexity"], math.exp(total), 6)
        self.assertGreater(last["total_nll_95"], 0)
        # The tiny model knows nothing: every token of its vocabulary is about as likely.
        self.assertAlmostEqual(total, math.log(self.run_json(INSPECT, self.tiny)["file"]["n_vocab"]),
                               delta=0.5)
        # Neighbours in a step, threads and the order of chunks change nothing.
        self.assertEqual(self.run_json(*args, "--parallel", "1", "-t", "1", text_in=text), chunks)
        out = self.run_ok(*args, text_in=text)
        self.assertEqual(len(re.findall(r"(?m)^ +\d+ +\d+ +[\d.]+ +[\d.]+ \|", out)), len(chunks))
        self.assertRegex(out, r"nll [\d.]+ \+- [\d.]+, perplexity [\d.]+ \([\d.]+ to [\d.]+\)")
        self.refused(PERPLEXITY, "-m", self.tiny, "-f", "/dev/null", says=["two tokens"])

    def test_perplexity_shows_a_bar(self):
        path = write(self.path("text.txt"), b"some words " * 20)
        status, error = run_on_terminal(PERPLEXITY, "-m", self.tiny, "-f", path, "-c", "64")
        self.assertEqual(status, 0)
        self.assertRegex(error, r"scoring \[#+\.*\] +\d+ %")

    def test_perplexity_agrees_with_the_reference(self):
        real = models.real()
        if real is None or not os.path.exists(CHAPTER):
            print("SKIPPED: the model or the chapter is absent")
            return
        last = self.run_json(PERPLEXITY, "-m", real, "-f", CHAPTER, "-c", "1024", "-n", "1")[-1]
        self.assertEqual(last["total_tokens"], 1023)
        self.assertAlmostEqual(last["total_nll"], 4.0519, delta=0.01)

    def test_tokenize(self):
        text = "<|user|>h\u00e9 \U0001f600\n"
        ids = self.run_json(TOKENIZE, "-m", self.tiny, text, "--ids")
        self.assertEqual(self.run_ok(TOKENIZE, "-m", self.tiny, text, "--ids").split(),
                         [str(one) for one in ids])
        self.assertEqual(int(self.run_ok(TOKENIZE, "-m", self.tiny, text, "--count")), len(ids))
        full = self.run_json(TOKENIZE, "-m", self.tiny, text)
        self.assertEqual([one["id"] for one in full], ids)
        pieces = b"".join(bytes(one["bytes"]) if one["piece"] is None else one["piece"].encode()
                          for one in full)
        self.assertEqual(pieces.decode(), text)
        path = write(self.path("some.txt"), text.encode())
        for args, text_in in (((), text.encode()), (("-f", "-"), text.encode()), (("-f", path), b"")):
            self.assertEqual(self.run_json(TOKENIZE, "-m", self.tiny, "--ids", *args,
                                           text_in=text_in), ids)
        lines = self.run_ok(TOKENIZE, "-m", self.tiny, text).splitlines()
        self.assertEqual([int(line.split()[0]) for line in lines], ids)
        self.assertIn('"\\n"', lines[-1])


if __name__ == "__main__":
    unittest.main()
