"""Kernels as PTX and as machine code, for reading and checking them: no GPU is needed.

PTX comes from Numba with NVVM, machine code and its figures from NVIDIA's assembler `ptxas`, of the package nvidia-cuda-nvcc
or of an installed toolkit.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from numba import cuda
from numba.core import sigutils

from .availability import CudaUnavailable
from .counters import with_counters
from .simulation import SIMULATED


@dataclass(frozen=True)
class Resources:
    """What a kernel takes of a processor, for each thread: registers, bytes that did not fit into them (`spills`), bytes of
    its own memory (`local`); and bytes of shared memory for each block."""

    registers: int
    spills: int
    local: int
    shared: int


@dataclass(frozen=True)
class _Chosen:
    compute_capability: tuple[int, int]


@contextlib.contextmanager
def compiling_for(cc: tuple[int, int]) -> Iterator[None]:
    """Let device functions be typed for a compute capability: Numba would ask the current device for it."""
    from numba.cuda import dispatcher  # the simulator has none
    asked = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: _Chosen(cc)
    try:
        yield
    finally:
        dispatcher.get_current_device = asked


def ptx(kernel, signature: str, cc: tuple[int, int], fastmath: bool = False) -> str:
    """The PTX of a kernel, a plain Python function, for a signature ("void(int64, float32[::1])") and a compute capability.

    CudaUnavailable under the simulator, which compiles nothing.
    """
    if SIMULATED:
        raise CudaUnavailable("the simulator compiles no kernels", "run without NUMBA_ENABLE_CUDASIM")
    arguments, _ = sigutils.normalize_signature(signature)
    with compiling_for(cc):
        text, _ = cuda.compile_ptx(with_counters(kernel), arguments, cc=cc, fastmath=fastmath)
    return text


def assembler() -> str:
    """The path of `ptxas`. CudaUnavailable if there is none."""
    name = "ptxas.exe" if os.name == "nt" else "ptxas"
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec is not None else []:
        for found in sorted(Path(root).glob(f"*/bin/{name}"), reverse=True):
            return str(found)
    on_path = shutil.which(name)
    if on_path is None:
        raise CudaUnavailable("the assembler ptxas was not found", "pip install nvidia-cuda-nvcc")
    return on_path


def resources(text: str, cc: tuple[int, int]) -> Resources:
    """What the assembler reports of a kernel in PTX. CudaUnavailable without an assembler, RuntimeError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(text)
        command = [assembler(), f"-arch=sm_{cc[0]}{cc[1]}", "-v", str(source), "-o", str(Path(folder, "kernel.cubin"))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ptxas failed:\n{done.stderr.strip()}")
    number = lambda pattern: sum(map(int, re.findall(pattern, done.stderr)))  # noqa: E731
    spills = number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads")
    local, shared = number(r"(\d+) bytes stack frame"), number(r"(\d+) bytes smem")
    return Resources(number(r"Used (\d+) registers"), spills, local, shared)


__all__ = ["Resources", "assembler", "compiling_for", "ptx", "resources"]
