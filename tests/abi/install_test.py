# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Installs the build and builds a C host from the installed tree in each way: the CMake package
(LANGUAGES C, shared and static), pkg-config (shared and static), and plain cc. The tree is moved
before it is used, so that nothing in it may hold the place where it was made.

usage: install_test.py BUILD_DIR HOST.c CC
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CMAKE_LISTS = """cmake_minimum_required(VERSION 3.25)
project(host LANGUAGES C)
find_package(minfer {version} REQUIRED)
add_executable(host_shared {host})
target_link_libraries(host_shared PRIVATE minfer::minfer)
add_executable(host_static {host})
target_link_libraries(host_static PRIVATE minfer::static)
"""


def run(command, env=None, expect=True):
    result = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if (result.returncode == 0) != expect:
        print("$", " ".join(map(str, command)))
        print(result.stdout, result.stderr, "status", result.returncode)
        sys.exit(1)
    return result.stdout


def run_host(program, library_path=None):
    env = dict(os.environ)
    if library_path:
        env["LD_LIBRARY_PATH"] = str(library_path)
    print(f"{program.name}: {run([program], env).strip()}")


def needs_shared(program):
    return "libminfer.so" in run(["readelf", "-d", program])


def main():
    build, host, cc = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    with tempfile.TemporaryDirectory(prefix="minfer_install_") as name:
        work = pathlib.Path(name)
        run(["cmake", "--install", build, "--prefix", work / "made"])
        prefix = work / "moved"
        shutil.move(work / "made", prefix)
        pc = next(prefix.rglob("minfer.pc"))
        lib = pc.parent.parent
        for want in ("libminfer.so", "libminfer.so.0", "libminfer.a"):
            if not (lib / want).exists():
                sys.exit(f"{want} was not installed")
        for path in list(prefix.rglob("*.cmake")) + [pc]:
            if str(work / "made") in path.read_text(encoding="utf-8"):
                sys.exit(f"{path.name} names the place where it was made")

        project = work / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(CMAKE_LISTS.format(host=host, version="0.1"))
        configure = ["cmake", "-G", "Ninja", "-S", project, "-B", work / "out", f"-DCMAKE_PREFIX_PATH={prefix}",
                     f"-DCMAKE_C_COMPILER={cc}"]
        run(configure)
        run(["cmake", "--build", work / "out"])
        run_host(work / "out" / "host_shared")
        run_host(work / "out" / "host_static")
        # A version that is not there must be refused.
        (project / "CMakeLists.txt").write_text(CMAKE_LISTS.format(host=host, version="9.0"))
        run(["cmake", "--fresh"] + configure[1:], expect=False)

        env = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent))
        flags = run(["pkg-config", "--cflags", "--libs", "minfer"], env).split()
        run([cc, "-std=c99", "-pedantic", host, "-o", work / "pc_shared"] + flags)
        run_host(work / "pc_shared", lib)
        flags = run(["pkg-config", "--static", "--cflags", "--libs", "minfer"], env).split()
        flags = ["-l:libminfer.a" if flag == "-lminfer" else flag for flag in flags]
        run([cc, "-std=c99", "-pedantic", host, "-o", work / "pc_static"] + flags)
        run_host(work / "pc_static")
        run(["pkg-config", "--exists", "minfer >= 9"], env, expect=False)

        run([cc, host, "-o", work / "plain", f"-I{prefix / 'include'}", f"-L{lib}", "-lminfer"])
        run_host(work / "plain", lib)

        shared = [needs_shared(p) for p in (work / "out" / "host_shared", work / "pc_shared", work / "plain")]
        static = [needs_shared(p) for p in (work / "out" / "host_static", work / "pc_static")]
        if not all(shared) or any(static):
            sys.exit(f"linked the wrong way: {shared} {static}")
        # Planted: a tree without its library must not pass for a working one.
        for path in lib.glob("libminfer.*"):
            path.unlink()
        run([cc, host, "-o", work / "no", f"-I{prefix / 'include'}", f"-L{lib}", "-lminfer"],
            expect=False)
    print("5 hosts, 3 planted violations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
