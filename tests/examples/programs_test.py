#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Runs minfer-chat and minfer-bench: programs_test.py CHAT BENCH."""

import csv
import io
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import models

CHAT = sys.argv.pop(1)
BENCH = sys.argv.pop(1)
ESCAPE = "\033["


class OnATerminal:
    """A program whose input, output and errors are a terminal."""

    def __init__(self, *args):
        pid, self.terminal = pty.fork()
        if pid == 0:
            try:
                os.execv(args[0], args)
            finally:
                os._exit(127)
        self.pid, self.text = pid, ""

    def wait_for(self, what, times=1, seconds=120):
        end = time.monotonic() + seconds
        while len(re.findall(what, self.text)) < times:
            if time.monotonic() > end:
                raise AssertionError(f"no {what!r} in {self.text!r}")
            if select.select([self.terminal], [], [], 1)[0]:
                try:
                    self.text += os.read(self.terminal, 4096).decode("utf-8", "replace")
                except OSError:
                    raise AssertionError(f"ended before {what!r}: {self.text!r}") from None

    def type(self, text):
        os.write(self.terminal, text.encode())

    def end(self):
        """Closes, and gives the exit status."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.terminal, 4096).decode("utf-8", "replace")
                except OSError:
                    pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.terminal)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        raise AssertionError("does not end")


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tiny = models.write_tiny(os.path.join(cls.folder.name, "tiny.gguf"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_ok(self, *args, text_in=""):
        done = subprocess.run(args, input=text_in.encode(), capture_output=True, timeout=600,
                              check=False)
        error = done.stderr.decode("utf-8", "replace")
        self.assertEqual(done.returncode, 0, error)
        return done.stdout.decode("utf-8", "replace"), error

    def test_chat_answers_once_and_plain_when_piped(self):
        args = (CHAT, "-m", self.tiny, "-p", "hello", "--temp", "0", "-n", "8")
        out, error = self.run_ok(*args)
        self.assertTrue(out)
        self.assertNotIn(ESCAPE, out + error)
        self.assertRegex(error, r"answer \d+ tokens, [\d.]+ tokens/s")
        self.assertEqual(out, self.run_ok(*args)[0])

    def test_chat_answers_every_line_of_a_pipe(self):
        out, error = self.run_ok(CHAT, "-m", self.tiny, "-n", "1", "--temp", "0",
                                 text_in="one\ntwo\n/reset\nthree")
        self.assertEqual(error.count("[cut at 1 tokens]"), 3)
        self.assertNotIn("> ", out)
        self.assertNotIn(ESCAPE, out + error)

    def test_chat_names_what_is_wrong(self):
        done = subprocess.run([CHAT, "-m", self.tiny + ".absent", "-p", "x"], capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"NOT_FOUND", done.stderr)
        self.assertNotEqual(subprocess.run([CHAT], capture_output=True, check=False).returncode, 0)

    def test_chat_prompts_the_models_of_each_family(self):
        """Every published template through the program, on a recorded conversation."""
        folder = pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "data" / "chat"
        if not folder.is_dir():
            self.skipTest(f"{folder} is absent")
        turns = json.loads((folder / "cases.json").read_text())["system_user"]["messages"]
        same, shown = 0, 0
        for path in sorted(folder.glob("*.jinja")):
            want = json.loads((folder / f"{path.stem}.expected.json").read_text())["system_user"]
            done = subprocess.run([CHAT, "-m", self.tiny, "--chat-template", path, "--show-prompt",
                                   "-s", turns[0]["content"], "-p", turns[1]["content"]],
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode == 0, "text" in want, path.stem)
            if "text" in want:
                text = want["text"].replace("<|bos|>", "").replace("<|eos|>", "<|end|>")
                same += done.stdout.decode() == text
                shown += 1
        # The others print the date.
        self.assertGreaterEqual(same, shown - 8)
        self.assertGreaterEqual(same, 30)

    def test_chat_begins_the_answer(self):
        template = self.tiny + ".jinja"
        with open(template, "w", encoding="utf-8") as file:
            file.write("{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>"
                       "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}")
        args = (CHAT, "-m", self.tiny, "--chat-template", template, "-p", "hi", "--answer-start",
                "It is ")
        self.assertEqual(self.run_ok(*args, "--show-prompt")[0],
                         "<user>hi</user><assistant>It is ")
        self.assertTrue(self.run_ok(*args, "-n", "4")[0].startswith("It is "))

    def test_chat_goes_on_with_the_text_where_there_is_no_template(self):
        bare = models.write_tiny(self.tiny + ".bare.gguf", template=None)
        out, error = self.run_ok(CHAT, "-m", bare, "-p", "a b", "--show-prompt")
        self.assertEqual(out, "a b")
        self.assertIn("no chat template", error)
        self.assertIn("no chat template", self.run_ok(CHAT, "-m", bare, "-p", "a b", "-n", "4")[1])
        self.assertNotIn("no chat template",
                         self.run_ok(CHAT, "-m", self.tiny, "-p", "a b", "-n", "4")[1])

    def test_interrupt_stops_the_answer_and_not_the_program(self):
        # Each key waits for the prompt before it: an interrupt drops what nobody has read yet.
        prompt = re.escape(ESCAPE + "1;32m> ")
        chat = OnATerminal(CHAT, "-m", self.tiny, "-c", "4096", "--ignore-end")
        prompts = 1
        chat.wait_for(prompt, prompts)
        chat.type("\003")
        chat.wait_for("ends the program")
        # An answer of thousands of tokens. On a fast machine it may be over before the key comes.
        for turn in range(1, 10):
            prompts += 1
            chat.wait_for(prompt, prompts)
            chat.type("tell me all\n")
            chat.wait_for(r"tell me all\r\n(?s:.)", turn)
            chat.type("\003")
            chat.wait_for(r"tokens/s\]", turn)
            if "[stopped]" in chat.text:
                break
            prompts += 1
            chat.wait_for(prompt, prompts)
            chat.type("/reset\n")
        self.assertIn("[stopped]", chat.text)
        chat.wait_for(prompt, prompts + 1)
        chat.type("/quit\n")
        self.assertEqual(chat.end(), 0)

    def test_bench_writes_what_it_measured(self):
        args = (BENCH, "-m", self.tiny, "-p", "16", "-n", "8", "-d", "0,32", "-t", "1,2", "-r", "3")
        rows = json.loads(self.run_ok(*args, "-o", "json")[0])
        self.assertEqual({row["test"] for row in rows},
                         {"pp16", "tg8", "pp16 @ d32", "tg8 @ d32"})
        self.assertEqual(len(rows), 8)
        for row in rows:
            self.assertEqual(len(row["samples"]), 3)
            self.assertGreater(row["tokens_per_second"], 0)
            self.assertLessEqual(row["quartile_1"], row["quartile_3"])
            self.assertEqual(row["weight_bytes_per_second"] > 0, "tg" in row["test"])
        table = list(csv.DictReader(io.StringIO(self.run_ok(*args, "-o", "csv")[0])))
        self.assertEqual([row["test"] for row in table], [row["test"] for row in rows])
        out, error = self.run_ok(*args)
        self.assertEqual(len(re.findall(r"^\| llama", out, re.MULTILINE)), 8)
        self.assertEqual(error, "")

    def test_bench_runs_sessions_and_models_together(self):
        rows = json.loads(self.run_ok(BENCH, "-m", f"{self.tiny},{self.tiny}", "-p", "16", "-n", "8",
                                      "--sessions", "1,3", "-r", "1", "-o", "json")[0])
        self.assertEqual([row["n_sessions"] for row in rows], [1, 1, 3, 3] * 2)

    def test_bench_compares_tunings(self):
        rows = json.loads(self.run_ok(BENCH, "-m", self.tiny, "-p", "16", "-n", "0", "-r", "2",
                                      "--tuning", "", "--tuning", "", "-o", "json")[0])
        self.assertEqual(len(rows), 2)
        text, _ = self.run_ok(BENCH, "-m", self.tiny, "-p", "0", "-n", "24", "-r", "1",
                              "--tuning", "", "--tuning", "reference=1")
        self.assertRegex(text, r"the same 24 tokens|where \d+ and \d+ were drawn")
        text, _ = self.run_ok(BENCH, "-m", self.tiny, "-p", "0", "-n", "24", "-r", "1", "--greedy",
                              "--tuning", "", "--tuning", "reference=1")
        self.assertRegex(text, r"the same 24 tokens|where \d+ leads \d+ by \d")

    def test_bench_measures_cancels(self):
        out, _ = self.run_ok(BENCH, "-m", self.tiny, "-p", "512", "-n", "64", "--cancel", "-r", "2")
        self.assertEqual(len(re.findall(r"^\| tiny.gguf", out, re.MULTILINE)), 3)

    def test_bench_measures_the_tokenizer(self):
        rows = json.loads(self.run_ok(BENCH, "-m", self.tiny, "--encode", "20000", "-o", "json")[0])
        self.assertEqual([row["text"] for row in rows],
                         ["letter", "space", "digit", "emoji", "words"])
        self.assertTrue(all(20000 <= row["bytes"] < 20010 and row["tokens"] > 0 for row in rows))
        out, _ = self.run_ok(BENCH, "-m", self.tiny, "--encode", "1000")
        self.assertEqual(len(re.findall(r"^\| tiny.gguf", out, re.MULTILINE)), 5)

    def test_the_device_asked_for_is_used_or_missed(self):
        for program, args in ((BENCH, ("-p", "16", "-n", "8", "-r", "1")),
                              (CHAT, ("-p", "hello", "-n", "4", "--temp", "0"))):
            # What a tiny model says is not always text.
            done = subprocess.run([program, "-m", self.tiny, *args, "--device", "cuda"],
                                  capture_output=True, text=True, errors="replace", check=False)
            if done.returncode == 0:
                self.assertTrue("[on " in done.stderr if program == CHAT else "llama" in done.stdout)
                continue
            self.assertEqual(done.returncode, 1)
            self.assertIn("device", done.stderr)
            print("SKIPPED: no CUDA device, or a build without CUDA")
        # By index and by a part of the name.
        cpu, _ = self.run_ok(BENCH, "-m", self.tiny, "-p", "16", "-n", "0", "-r", "1",
                             "--device", "0")
        self.assertIn("llama", cpu)
        for wish in ("999", "no such device"):
            done = subprocess.run([BENCH, "-m", self.tiny, "--device", wish], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("device", done.stderr)
        second = subprocess.run([CHAT, "-m", self.tiny, "-p", "hello", "-n", "4", "--temp", "0",
                                 "--device", "1"], capture_output=True, text=True,
                                errors="replace", check=False)
        if second.returncode == 0:
            name = re.search(r"\[on (.*?)\]", second.stderr).group(1)
            named = subprocess.run([CHAT, "-m", self.tiny, "-p", "hello", "-n", "4", "--temp", "0",
                                    "--device", name[2:].lower()], capture_output=True, text=True,
                                   errors="replace", check=False)
            self.assertEqual(named.returncode, 0)
            self.assertIn(f"[on {name}]", named.stderr)
            self.assertEqual(named.stdout, second.stdout)
        # Chosen by itself: the CPU where there is nothing else, without a word.
        out, error = self.run_ok(CHAT, "-m", self.tiny, "-p", "hello", "-n", "4", "--temp", "0",
                                 "--device", "cpu")
        self.assertNotIn("[on ", error)
        halves, _ = self.run_ok(CHAT, "-m", self.tiny, "-p", "hello", "-n", "4", "--temp", "0",
                                "--device", "cpu", "--gpu-layers", "1")
        self.assertEqual(halves, out)

    def test_bench_shows_progress_on_a_terminal(self):
        bench = OnATerminal(BENCH, "-m", self.tiny, "-p", "16", "-n", "8", "-r", "1")
        bench.wait_for(r"\[1/2\] llama .*pp16")
        self.assertEqual(bench.end(), 0)


if __name__ == "__main__":
    unittest.main()
