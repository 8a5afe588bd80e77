# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""The include layers of architecture.md, section 1, as tables."""

# Each set may include every set to its right; sets of the same place see each other only through
# SIDEWAYS.
ORDER = [
    {"capi"},
    {"engine"},
    {"models", "sampling", "grammar", "chat", "tokenizer", "kv", "plan"},
    {"graph", "backend"},
    {"gguf", "tensor"},
    {"base"},
]

SIDEWAYS = {
    ("backend", "graph"),
    ("models", "kv"),
    ("sampling", "grammar"),
    ("grammar", "tokenizer"),
    ("chat", "tokenizer"),
    ("kv", "plan"),
}

# A backend's own folder stands beside the layers: it sees the interface, the planner, what those
# see, and its kernels. Only BACKEND_TABLE sees it.
BACKENDS = {"backend/cpu", "backend/cuda", "backend/none"}
BACKEND_TABLE = "lib/engine/backends.cc"
BACKEND_SEES = {"backend", "plan", "graph", "gguf", "tensor", "base"}

# Who sees which folders under kernels/.
KERNEL_FOLDERS = {
    "tensor": {"quant"},
    "gguf": {"quant"},
    "backend/cpu": {"common", "quant", "cpu", "reference"},
    "backend/cuda": {"common", "quant", "cuda", "reference"},
}

LIB_LAYERS = set().union(*ORDER) - {"capi"}
CUDA_FOLDERS = ("lib/backend/cuda/", "kernels/cuda/", "examples/cuda_primer/")
CUDA_HEADERS = ("cuda", "cublas", "cooperative_groups", "mma.h", "nv/", "nvtx", "nvrtc", "cub/",
                "thrust/", "cute/", "cutlass/", "device_launch_parameters", "curand", "cudnn")


def layer_of_include(path):
    """The layer that an include path names, or None where it is none of ours."""
    parts = path.split("/")
    if len(parts) > 2 and "/".join(parts[:2]) in BACKENDS:
        return "/".join(parts[:2])
    if len(parts) > 1 and parts[0] in LIB_LAYERS | {"capi", "kernels", "tests", "examples"}:
        return parts[0]
    if len(parts) > 1 and parts[0] == "minfer":
        return "include"
    return None


def layer_of_file(path):
    """The layer of a source file, by its path from the root."""
    parts = path.split("/")
    if parts[0] == "lib":
        return layer_of_include("/".join(parts[1:]))
    return parts[0]


def _place(layer):
    for place, layers in enumerate(ORDER):
        if layer in layers:
            return place
    return None


def _refuse_kernels(source, include):
    if source == "kernels":
        return None
    folder = include.split("/")[1]
    if folder in KERNEL_FOLDERS.get(source, set()):
        return None
    return f"{source} may not see kernels/{folder}"


def refuse_include(file_path, include):
    """Why the file may not include this path, or None where it may."""
    source = layer_of_file(file_path)
    target = layer_of_include(include)
    if source == "tests" or target is None or source == target:
        return None
    if target == "kernels":
        return _refuse_kernels(source, include)
    if target in ("tests", "examples"):
        return f"{source} may not see {target}"
    if target == "include":
        return None if source in ("capi", "examples") else f"{source} may not see the C headers"
    if source in ("kernels", "include", "examples"):
        return f"{source} may see nothing in lib/"
    if target in BACKENDS:
        if file_path == BACKEND_TABLE:
            return None
        return f"only {BACKEND_TABLE} may include {target}"
    if source in BACKENDS:
        return None if target in BACKEND_SEES else f"{source} may not see {target}"
    if source not in LIB_LAYERS | {"capi"}:
        return f"{source} is no layer"
    if _place(source) < _place(target) or (source, target) in SIDEWAYS:
        return None
    return f"no arrow leads from {source} to {target}"
