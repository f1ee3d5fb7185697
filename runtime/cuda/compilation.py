"""Kernels compiled from the plain functions of generated modules, and kept: in memory, and as machine code on disk."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import warnings
from pathlib import Path
from types import FunctionType

from numba import cuda

from ..machine_code.jit import package_stamp
from ..machine_code.store import is_lasting
from .counters import with_counters
from .simulation import SIMULATED, Prepared

REGISTERS = 65536               # that the threads of a block share


def compiled(kernel, fastmath: bool = False, threads: int = 256):
    """The kernel of a plain Python function, made once. What `cuda.jit` has made already stays as it is.

    threads: of a block. Large blocks leave each of them fewer registers than the compiler would take.
    Its machine code is kept beside its module, if that is a file of the store.
    """
    if not isinstance(kernel, FunctionType):
        return kernel
    made = kernel.__dict__.setdefault("_autodiff_compiled", {})
    registers = REGISTERS // (-(-threads // 32) * 32) // 8 * 8 if threads > 256 else None
    if (fastmath, registers) not in made:
        made[fastmath, registers] = cuda.jit(Prepared(kernel)) if SIMULATED else _jitted(kernel, fastmath, registers)
    return made[fastmath, registers]


def _jitted(kernel, fastmath: bool, registers: int | None):
    kernel = with_counters(kernel)
    made = cuda.jit(fastmath=fastmath, max_registers=registers)(kernel)
    path = Path(kernel.__code__.co_filename)
    if path.exists() and is_lasting(path):
        with contextlib.suppress(OSError, RuntimeError):        # RuntimeError: Numba found no place to keep it
            made._cache = _kept_code()(kernel, fastmath, registers)
    return made


@functools.cache
def _kept_code():
    """The class of Numba's stores of machine code, with ours in their keys: of the helpers that are compiled into kernels
    Numba knows nothing."""
    from numba.cuda.dispatcher import CUDACache  # the simulator has none

    class KeptCode(CUDACache):
        def __init__(self, function, *options):
            super().__init__(function)
            self._ours = stamp(), *options

        def _index_key(self, sig, codegen):
            return (*super()._index_key(sig, codegen), self._ours)
    return KeptCode


@functools.cache
def stamp() -> str:
    """Versions, and the text of the device functions."""
    return f"{importlib.metadata.version('numba-cuda')} {package_stamp(Path(__file__).parent)}"


def configured(kernel, grid, block, stream):
    """A compiled kernel with its launch, kept. Numba's warning of small grids is not given: sums of sums need one."""
    kept = kernel.__dict__.setdefault("_autodiff_launches", {})
    key = grid, block, stream
    if key not in kept:
        if len(kept) >= 64:
            kept.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept[key] = kernel[grid, block, stream]
    return kept[key]


__all__ = ["compiled", "configured", "stamp"]
