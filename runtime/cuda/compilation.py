"""Kernels compiled from the plain functions of generated modules, and kept: in memory, and as machine code on disk."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import warnings
from pathlib import Path
from types import FunctionType

from numba import cuda

from ..jit import package_stamp
from ..store import is_lasting
from .simulation import SIMULATED, Prepared


def compiled(kernel, fastmath: bool = False):
    """The kernel of a plain Python function, made once. What `cuda.jit` has made already stays as it is.

    Its machine code is kept beside its module, if that is a file of the store.
    """
    if not isinstance(kernel, FunctionType):
        return kernel
    made = kernel.__dict__.setdefault("_autodiff_compiled", {})
    if fastmath not in made:
        made[fastmath] = cuda.jit(Prepared(kernel)) if SIMULATED else _jitted(kernel, fastmath)
    return made[fastmath]


def _jitted(kernel, fastmath: bool):
    made = cuda.jit(fastmath=fastmath)(kernel)
    path = Path(kernel.__code__.co_filename)
    if path.exists() and is_lasting(path):
        with contextlib.suppress(OSError, RuntimeError):        # RuntimeError: Numba found no place to keep it
            made._cache = _kept_code()(kernel, fastmath)
    return made


@functools.cache
def _kept_code():
    """The class of Numba's stores of machine code, with ours in their keys: of the helpers that are compiled into kernels
    Numba knows nothing."""
    from numba.cuda.dispatcher import CUDACache

    class KeptCode(CUDACache):
        def __init__(self, function, fastmath):
            super().__init__(function)
            self._ours = stamp(), fastmath

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
