#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Plants violations of each kind in a copy of the tree and requires that the lint finds each one,
and that what only looks like one passes: python3 tests/lint/lint_test.py."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import cpp_text
import lint

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
C_HEAD = "".join(f"// {line}\n" for line in lint.SPDX)
HASH_HEAD = "".join(f"# {line}\n" for line in lint.SPDX)


def body(lines):
    """A function of this many lines."""
    return "void Planted() {\n" + "  Step();\n" * (lines - 2) + "}\n"


def including(path):
    return C_HEAD + f'#include "{path}"\n'


# (path, text, check that must find it)
INCLUDES = [
    ("lib/base/planted_a.cc", "tensor/shape.h"),
    ("lib/base/planted_b.cc", "kernels/quant/half.h"),
    ("lib/tensor/planted_a.cc", "gguf/planted.h"),
    ("lib/tensor/planted_b.cc", "graph/graph.h"),
    ("lib/tensor/planted_c.cc", "kernels/cpu/cpu_kernels.h"),
    ("lib/gguf/planted_a.cc", "tensor/shape.h"),
    ("lib/gguf/planted_b.cc", "kernels/reference/matmul_reference.h"),
    ("lib/graph/planted_a.cc", "backend/backend.h"),
    ("lib/graph/planted_b.cc", "plan/scheduler.h"),
    ("lib/graph/passes/planted.cc", "models/weights.h"),
    ("lib/backend/planted_a.h", "plan/scheduler.h"),
    ("lib/backend/planted_b.h", "kernels/cpu/cpu_kernels.h"),
    ("lib/backend/planted_c.h", "backend/cpu/planted.h"),
    ("lib/backend/cpu/planted_a.cc", "kv/kv_cache.h"),
    ("lib/backend/cpu/planted_b.cc", "backend/cuda/planted.h"),
    ("lib/backend/cpu/planted_c.cc", "kernels/cuda/arch/planted.h"),
    ("lib/backend/none/planted.cc", "engine/planted.h"),
    ("lib/plan/planted_a.cc", "kv/kv_cache.h"),
    ("lib/plan/planted_b.cc", "backend/cpu/planted.h"),
    ("lib/kv/planted_a.cc", "models/weights.h"),
    ("lib/kv/planted_b.cc", "kernels/quant/half.h"),
    ("lib/tokenizer/planted_a.cc", "chat/planted.h"),
    ("lib/tokenizer/planted_b.cc", "grammar/planted.h"),
    ("lib/chat/planted.cc", "models/planted.h"),
    ("lib/grammar/planted.cc", "sampling/sampler.h"),
    ("lib/sampling/planted.cc", "tokenizer/vocabulary.h"),
    ("lib/models/planted_a.cc", "plan/scheduler.h"),
    ("lib/models/planted_b.cc", "kernels/quant/dequantize.h"),
    ("lib/engine/planted_a.cc", "backend/cpu/planted.h"),
    ("lib/engine/planted_b.cc", "backend/cuda/planted.h"),
    ("lib/engine/planted_c.cc", "backend/none/planted.h"),
    ("lib/engine/planted_d.cc", "capi/guard.h"),
    ("lib/engine/planted_e.cc", "minfer/minfer.h"),
    ("lib/engine/planted_f.cc", "tests/support/test_data.h"),
    ("lib/newlayer/planted.cc", "graph/graph.h"),
    ("capi/planted_a.cc", "backend/cpu/planted.h"),
    ("capi/planted_b.cc", "kernels/quant/half.h"),
    ("kernels/cpu/planted_a.cc", "base/status.h"),
    ("kernels/quant/planted.h", "tensor/shape.h"),
    ("include/minfer/planted.h", "base/status.h"),
    ("examples/planted.c", "engine/planted.h"),
]

FORBIDDEN = [
    ("abort", "std::abort();"),
    ("exit", "exit(1);"),
    ("exit", "::_exit(1);"),
    ("exit", "atexit(&Clean);"),
    ("terminate", "std::terminate();"),
    ("assert", "assert(x > 0);"),
    ("assert", "#include <cassert>"),
    ("getenv", 'const char* x = std::getenv("X");'),
    ("printf", 'fprintf(stderr, "x");'),
    ("printf", 'std::printf("x");'),
    ("printf", 'snprintf(text, 4, "x");'),
    ("puts", 'puts("x");'),
    ("iostream", 'std::cout << "x";'),
    ("iostream", 'std::cerr << "x";'),
    ("throw", "throw 1;"),
    ("setlocale", 'setlocale(0, "C");'),
    ("locale-number", "double x = std::stod(text);"),
    ("signal", "signal(2, &Handler);"),
    ("thread_local", "thread_local int x;"),
    ("fork", "fork();"),
    ("rand", "int x = rand();"),
    ("device-wide", "cudaDeviceSynchronize();"),
    ("device-wide", "cudaDeviceReset();"),
    ("device-wide", "cudaMemcpy(to, from, 8, cudaMemcpyHostToDevice);"),
    ("device-wide", "cudaMemset(to, 0, 8);"),
    ("device-wide", "Launch(kernel, shape, cudaStreamLegacy);"),
    ("shared-opt-in", "cudaFuncSetAttribute(kernel, attribute, 65536);"),
]

# Joined here, so that this file is clean.
MARKERS = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK", "work in " + "progress"]
PLACES = ["/ho" + "me/someone/x", "/wo" + "rk/x", "/ro" + "ot/x"]


def planted():
    """[(path, text, check)] with one violation a file."""
    plants = [(path, including(include), "include-layer") for path, include in INCLUDES]
    for number, (word, line) in enumerate(FORBIDDEN):
        folder = ("lib/base", "capi", "kernels/quant")[number % 3]
        text = C_HEAD + (line if line.startswith("#") else "void F() {\n  " + line + "\n}") + "\n"
        plants.append((f"{folder}/planted_word_{number}.cc", text, "forbidden-word"))
    for number, marker in enumerate(MARKERS):
        plants.append((f"lib/base/planted_mark_{number}.cc", C_HEAD + f"// {marker}: more\n",
                       "unfinished-marker"))
    for number, place in enumerate(PLACES):
        plants.append((f"examples/planted_place_{number}.md", f"See {place}.\n", "machine-path"))
    plants += [
        ("lib/base/planted_cuda.cc", C_HEAD + "#include <cuda_runtime.h>\n", "cuda-header"),
        ("kernels/cpu/planted_cuda.h", C_HEAD + "#include <cuda_fp16.h>\n", "cuda-header"),
        ("lib/base/planted_path.cc", including("status.h"), "include-path"),
        ("lib/base/planted_up.cc", including("../base/status.h"), "include-path"),
        ("lib/base/planted_long.cc", C_HEAD + "int x;\n" * 599, "file-length"),
        ("tests/planted_long.py", HASH_HEAD + "x = 1\n" * 599, "file-length"),
        ("lib/base/planted_function.cc", C_HEAD + body(81), "function-length"),
        ("lib/base/planted_method.h", C_HEAD + "class A {\n public:\n" + body(81) + "};\n",
         "function-length"),
        ("tests/unit/planted_case.cc", C_HEAD + body(81).replace("void Planted()", 'CASE("a", "[b]")'),
         "function-length"),
        ("tests/planted_function.py", HASH_HEAD + "def f():\n" + "    g()\n" * 80, "function-length"),
        ("kernels/cpu/planted_function.cc", C_HEAD + body(201), "function-length"),
        ("lib/base/planted_spdx.cc", "int x;\n", "spdx-head"),
        ("lib/base/planted_spdx.h", C_HEAD.replace("Apache-2.0", "MIT") + "int x;\n", "spdx-head"),
        ("lib/planted/CMakeLists.txt", "set(x 1)\n", "spdx-head"),
        ("tests/planted_spdx.sh", "#!/bin/bash\ntrue\n", "spdx-head"),
        ("planted.py", HASH_HEAD, "top-level"),
    ]
    return plants


# What looks like a violation and is none.
CLEAN = [
    ("lib/engine/backends.cc", including("backend/cpu/planted.h")
     + '#include "backend/cuda/planted.h"\n#include "backend/none/planted.h"\n'),
    ("lib/engine/clean.cc", including("models/planted.h") + '#include "sampling/sampler.h"\n'
     '#include "base/status.h"\n#include "absl/types/span.h"\n#include <vector>\n'),
    ("lib/sampling/clean.cc", including("grammar/planted.h")),
    ("lib/grammar/clean.cc", including("tokenizer/vocabulary.h")),
    ("lib/models/clean.cc", including("kv/kv_cache.h")),
    ("lib/kv/clean.cc", including("plan/scheduler.h")),
    ("lib/backend/clean.cc", including("graph/graph.h")),
    ("lib/backend/cpu/clean.cc", including("plan/scheduler.h")
     + '#include "kernels/cpu/cpu_kernels.h"\n#include "backend/cpu/other.h"\n'),
    ("lib/backend/cuda/clean.cc", C_HEAD + "#include <cuda_runtime.h>\n"),
    ("kernels/cuda/clean.cu", C_HEAD + "#include <mma.h>\n"),
    ("lib/gguf/clean.cc", including("kernels/quant/element_type.h")),
    ("capi/clean.cc", including("minfer/minfer.h") + '#include "engine/planted.h"\n'
     '#include "capi/guard.h"\n'),
    ("tests/unit/clean.cc", including("backend/cpu/planted.h") + "#include <cassert>\n"),
    ("include/minfer/clean.h", "/* " + lint.SPDX[0] + " */\n/* " + lint.SPDX[1] + " */\n"),
    ("tests/clean.sh", "#!/bin/bash\n" + HASH_HEAD),
    ("tests/data/copied.py", "print('no head')\n"),
    ("lib/base/clean_words.cc", C_HEAD + """\
// abort(), throw and printf("x") in a comment; assert(x) too.
/* exit(1);
   getenv("x"); */
const char* kText = "abort(); std::cout << throw";
const char* kRaw = R"(signal(2); " thread_local)";
constexpr int kMany = 1'000'000;  // throw
static_assert(kMany > 0);
void Signal(int value) { WillExit(value); HeadThrown(value); }
"""),
    ("lib/base/clean_length.cc", C_HEAD + "int x;\n" * 598),
    ("lib/base/clean_function.cc", C_HEAD + "namespace a {\nclass B {\n" + body(80) + "};\n}\n"),
    ("lib/base/clean_table.cc", C_HEAD + "const int kTable[] = {\n" + "  F(1),\n" * 100 + "};\n"),
    ("kernels/cpu/clean_function.cc", C_HEAD + body(200)),
    ("lib/base/clean_path.cc", C_HEAD + "// https://example.org/ho" + "me/x\n"),
]


def copy_tree(target):
    for name in lint.FOLDERS:
        if os.path.isdir(os.path.join(ROOT, name)):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(target, name),
                            ignore=shutil.ignore_patterns("data", "__pycache__", "build*"))


def write(root, path, text):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
        file.write(text)


class LintTest(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="minfer_lint_")
        self.addCleanup(shutil.rmtree, self.root)
        copy_tree(self.root)

    def test_each_planted_violation_is_found_and_nothing_else(self):
        plants = planted()
        self.assertEqual(len(plants), len({path for path, _, _ in plants}))
        for path, text, _ in plants:
            write(self.root, path, text)
        violations, _, _ = lint.run(self.root)
        found = {(v.path, v.check) for v in violations if "planted" in v.path}
        self.assertEqual(found, {(path, check) for path, _, check in plants})

    def test_the_word_found_is_the_word_planted(self):
        for word, line in FORBIDDEN:
            text = C_HEAD + line + "\n"
            words = {v.detail for v in lint.check_forbidden("lib/base/x.cc", text)}
            self.assertEqual(words, {word}, line)

    def test_every_word_and_every_check_has_a_plant(self):
        self.assertEqual({word for word, _ in FORBIDDEN}, set(lint.FORBIDDEN))
        with open(os.path.join(HERE, "lint.py"), encoding="utf-8") as file:
            checks = set(re.findall(r'Violation\([^"]*"([a-z]+-[a-z]+)"', file.read()))
        checks |= {"exception-unused"}
        planted_checks = {check for _, _, check in planted()}
        self.assertEqual(checks, planted_checks | {"exception-form", "exception-unused"})

    def test_what_only_looks_like_a_violation_passes(self):
        for path, text in CLEAN:
            write(self.root, path, text)
        violations, _, _ = lint.run(self.root)
        self.assertEqual([v for v in violations if v.path in {path for path, _ in CLEAN}], [])

    def test_exceptions_need_a_reason_and_a_use(self):
        write(self.root, "lib/base/planted.cc", C_HEAD + "void F() { abort(); }\n")
        listed = "forbidden-word | lib/base/planted.cc | abort |"
        write(self.root, "tests/lint/exceptions.txt", listed + " proves the list\n")
        violations, _, _ = lint.run(self.root)
        self.assertEqual([v for v in violations if v.path == "lib/base/planted.cc"], [])
        write(self.root, "tests/lint/exceptions.txt", listed + "\n")
        checks = {v.check for v in lint.run(self.root)[0]}
        self.assertIn("exception-form", checks)
        self.assertIn("forbidden-word", checks)
        write(self.root, "tests/lint/exceptions.txt", "file-length | lib/x.cc | | long ago\n")
        self.assertIn("exception-unused", {v.check for v in lint.run(self.root)[0]})

    def test_the_program_ends_with_status_1_and_prints_the_longest(self):
        write(self.root, "lib/base/planted.cc", C_HEAD + body(81))
        result = subprocess.run([sys.executable, os.path.join(HERE, "lint.py"), self.root],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("lib/base/planted.cc:3: function-length: Planted: 81 lines", result.stdout)
        self.assertIn("Longest files:", result.stdout)
        functions = result.stdout.split("Longest functions:")[1].split("lint:")[0]
        self.assertIn("lib/base/planted.cc:3 Planted", functions)
        with tempfile.TemporaryDirectory() as empty:
            self.assertEqual(lint.main([empty]), 1)

    def test_functions_are_found_where_they_are(self):
        text = """namespace a {
enum class E { kX, kY };
struct S {
  int x = F({1, 2});
  int Get() const { return x; }
};
template <class T>
S::S(int a)
    : x(a) {
  auto lambda = [&](int) { return 1; };
}
const auto kTable = Make(1);
bool operator==(const S& a, const S& b) {
  return true;
}
}  // namespace a
extern "C" {
int mf_call(void) {
  if (1) { return 2; }
  return 3;
}
}
"""
        self.assertEqual(cpp_text.functions(text), [
            ("Get", 5, 1), ("S::S", 7, 5), ("operator==", 13, 3), ("mf_call", 18, 4)])


if __name__ == "__main__":
    unittest.main()
