# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""What the shared library asks of the machine: its SONAME, the libraries it needs and the highest
versions of the C and C++ runtimes. Prints them.

usage: dynamic_test.py LIBRARY default|portable
"""
import re
import subprocess
import sys

SONAME = "libminfer.so.0"
SYSTEM = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libgcc_s.so.1", "libstdc++.so.6"}
# The default build links the system's packages besides.
PACKAGES = re.compile(r"libabsl_\w+\.so\.\d+|libpcre2-8\.so\.0")
# Debian 12's. A build that needs more would not start on the machines that the file is for.
HIGHEST = {"GLIBC": (2, 36), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def highest_versions(text):
    """{"GLIBC": (2, 34), ...} from the version references."""
    highest = {}
    for name, number in re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI)_([\d.]+)", text):
        version = tuple(int(part) for part in number.split("."))
        highest[name] = max(highest.get(name, (0,)), version)
    return highest


def check(dynamic, versions, kind):
    faults = []
    sonames = re.findall(r"\(SONAME\).*\[(.*)\]", dynamic)
    if sonames != [SONAME]:
        faults.append(f"SONAME {sonames}, want {SONAME}")
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    for name in needed:
        if name in SYSTEM or (kind == "default" and PACKAGES.fullmatch(name)):
            continue
        faults.append(f"needs {name}")
    if re.search(r"\((TEXTREL|RPATH|RUNPATH)\)", dynamic):
        faults.append("has text relocations or a run path")
    highest = highest_versions(versions)
    for name, limit in HIGHEST.items():
        if highest.get(name, (0,)) > limit:
            faults.append(f"needs {name} {highest[name]}, the limit is {limit}")
    if "GLIBC" not in highest:
        faults.append("no version of the C library was found")
    return faults


def main():
    library, kind = sys.argv[1:]
    dynamic = run("readelf", "-dW", library)
    versions = run("readelf", "-VW", library)
    cuda = dynamic + " 0x1 (NEEDED) Shared library: [libcuda.so.1]\n"
    planted = {
        "CUDA driver": (cuda, versions, kind),
        "CUDA runtime": (cuda.replace("libcuda.so.1", "libcudart.so.12"), versions, kind),
        "Abseil in a portable build": (cuda.replace("libcuda.so.1", "libabsl_base.so.1"), versions, "portable"),
        "other SONAME": (dynamic.replace(SONAME, "libminfer.so"), versions, kind),
        "run path": (dynamic + " 0x1 (RUNPATH) Library runpath: [/x]\n", versions, kind),
        "new C library": (dynamic, versions + " Name: GLIBC_2.99 ", kind),
        "new C++ library": (dynamic, versions + " Name: GLIBCXX_3.4.99 ", kind),
    }
    failures = [f"planted violation not caught: {k}" for k, v in planted.items() if not check(*v)]
    failures += check(dynamic, versions, kind)
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        print("NEEDED", name)
    for name, version in sorted(highest_versions(versions).items()):
        print("highest", name, ".".join(map(str, version)))
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
