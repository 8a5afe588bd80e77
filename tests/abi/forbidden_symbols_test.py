# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""No object of ours may end the process, write to its streams, read its environment, touch its
signals or keep per-thread state. What third-party code that is compiled into our objects brings
stands in allowed_symbols.txt with the reason; an entry that nothing needs any more is a fault too.

usage: forbidden_symbols_test.py ALLOWED OBJECT...
"""
import pathlib
import re
import subprocess
import sys

FORBIDDEN = re.compile(
    r"(abort|exit|_exit|_Exit|quick_exit|at_quick_exit|atexit|on_exit|__assert|__assert_fail"
    r"|__assert_perror_fail|raise|kill|tgkill|fork|vfork|execv.*|execl.*|system|popen|posix_spawnp?"
    r"|pthread_atfork|__register_atfork|pthread_kill|pthread_exit"
    r"|getenv|secure_getenv|setenv|putenv|unsetenv|clearenv|environ|__environ"
    r"|stdin|stdout|stderr|v?f?printf|__v?f?printf_chk|puts|fputs|fputc|putc|putchar|fwrite|fopen(64)?"
    r"|freopen(64)?|fclose|fflush|perror|dprintf|vdprintf|syslog|openlog"
    r"|signal|sigaction|bsd_signal|sigset|sigaltstack|setlocale|uselocale|newlocale"
    r"|_ZSt4cout|_ZSt4cerr|_ZSt4clog|_ZSt3cin|_ZNSt8ios_base4InitC1Ev"
    r"|_ZSt13set_terminatePFvvE|_ZSt15set_new_handlerPFvvE|_ZSt9terminatev"
    r"|_ZN10__cxxabiv1\w*|__tls_get_addr|__cxa_thread_atexit)"
)
STREAMS = "_ZNSt8ios_base4InitC1Ev"
# Not calls of ours: the compiler's own tables for catch blocks and type information.
COMPILER = re.compile(r"_ZTVN10__cxxabiv1\w+|_ZN10__cxxabiv1\w*_type_infoE")


def object_symbols(path):
    """Undefined names, and whether the object has static constructors or per-thread data."""
    lines = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    undefined = {line.split()[-1] for line in lines.splitlines() if line.split()[-2:-1] == ["U"]}
    sections = subprocess.run(["objdump", "-h", path], check=True, capture_output=True, text=True)
    names = set(re.findall(r"^\s*\d+ (\S+)", sections.stdout, re.M))
    if any(name.startswith((".init_array", ".ctors")) for name in names):
        code = subprocess.run(["objdump", "-dr", path], check=True, capture_output=True, text=True)
        undefined.discard(STREAMS)
        undefined.add(constructor_kind(code.stdout))
    if any(name.startswith((".tdata", ".tbss")) for name in names):
        undefined.add("(thread-local)")
    return undefined


def constructor_kind(disassembly):
    """Whether the object's constructors do nothing but count a user of the standard streams, which
    is what every inclusion of <iostream> compiles to."""
    blocks = re.findall(r"<_GLOBAL__sub_I_[^>]*>:\n(.*?)(?:\n\n|\Z)", disassembly, re.S)
    calls = set(re.findall(r"R_X86_64_(?:PLT32|REX_GOTPCRELX|GOTPCRELX?)\s+([\w]+)", "".join(blocks)))
    if blocks and calls <= {STREAMS, "_ZNSt8ios_base4InitD1Ev", "__cxa_atexit", "__dso_handle"}:
        return "(iostream-constructor)"
    return "(static-constructor)"


def is_forbidden(name):
    if name.startswith("("):
        return True
    return bool(FORBIDDEN.fullmatch(name)) and not COMPILER.fullmatch(name)


def read_allowed(text):
    """{(object suffix, symbol): reason}."""
    allowed = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            suffix, symbol, reason = line.split(None, 2)
            allowed[(suffix, symbol)] = reason
    return allowed


def check(objects, allowed):
    """Faults of {object: undefined names}."""
    faults, used = [], set()
    for path, names in sorted(objects.items()):
        for name in sorted(filter(is_forbidden, names)):
            keys = [key for key in allowed if path.endswith(key[0]) and key[1] == name]
            used.update(keys)
            if not keys:
                faults.append(f"{path}: {name}")
    faults += [f"not needed any more: {key}" for key in sorted(set(allowed) - used)]
    return faults


def main():
    allowed = read_allowed(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    paths = sys.argv[2:]
    objects = {path: object_symbols(path) for path in paths}
    failures = []
    planted = ["abort", "exit", "getenv", "__assert_fail", "stderr", "printf", "__printf_chk",
               "signal", "sigaction", "_ZSt4cout", "__tls_get_addr", "(static-constructor)", "(iostream-constructor)",
               "(thread-local)", "pthread_atfork", "_ZSt9terminatev", "fork", "setlocale"]
    for name in planted:
        if not check({"planted.cc.o": {name}}, {}):
            failures.append(f"planted violation not caught: {name}")
    effect = "<_GLOBAL__sub_I_a.cc>:\n  R_X86_64_PLT32\t_ZN6minfer8RegisterEv-0x4\n\n"
    if constructor_kind(effect) != "(static-constructor)":
        failures.append("planted violation not caught: a constructor with an effect")
    if not check({"a.cc.o": {"memcpy"}}, {("b.cc.o", "abort"): "stale"}):
        failures.append("planted violation not caught: stale entry")
    failures += check({"a.cc.o": {"memcpy", "_ZTVN10__cxxabiv120__si_class_type_infoE"}}, {})
    failures += check(objects, allowed)
    for failure in failures:
        print(failure)
    print(f"{len(paths)} objects, {len(allowed)} allowed, {len(planted) + 2} planted violations")
    return 1 if failures or len(paths) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
