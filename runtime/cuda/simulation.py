"""Numba's CUDA simulator (`NUMBA_ENABLE_CUDASIM=1`) made to compute as a device does.

The simulator runs kernels as plain Python. There `math.log(0.0)` and `1.0 / 0.0` raise, and `math.exp` of a float32 is a
Python float. `math` below is NumPy's functions under the names of the `math` module: they keep float32 and give nan or
infinity, as the device does; `prepared` gives a kernel that computes with them.
"""

from __future__ import annotations

import sys
import threading
import types
from typing import Any

import numpy as np
from numba import cuda
from scipy import special

SIMULATED = "simulator" in cuda.jit.__module__

math: Any = types.SimpleNamespace(
    **{name: getattr(np, name) for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt",
        "floor", "ceil", "trunc", "isnan", "isinf", "isfinite", "fabs", "fmod", "hypot", "copysign", "radians", "degrees",
        "nextafter", "ldexp", "pi", "e", "inf", "nan")},
    asin=np.arcsin, acos=np.arccos, atan=np.arctan, asinh=np.arcsinh, acosh=np.arccosh, atanh=np.arctanh, atan2=np.arctan2,
    pow=np.power, erf=special.erf, erfc=special.erfc, gamma=special.gamma, lgamma=special.gammaln, tau=2.0 * np.pi)


class Prepared:
    """A kernel as the simulator shall run it: its float literals are float64 numbers, as on the device, not Python's floats,
    which take the type of what they meet; `math` is the one above; and no arithmetic warns."""

    def __init__(self, kernel):
        import math as python
        known = {**kernel.__globals__, **{name: math for name, what in kernel.__globals__.items() if what is python}}
        self.function = types.FunctionType(_typed(kernel.__code__), known, kernel.__name__, kernel.__defaults__,
                                           kernel.__closure__)
        self.__globals__ = known                    # where the simulator puts its own `cuda`
        self.__name__ = kernel.__name__

    def __call__(self, *args):
        with np.errstate(all="ignore"):
            return self.function(*args)


def _typed(code: types.CodeType) -> types.CodeType:
    """The code with NumPy's float64 numbers in the places of Python's floats."""
    return code.replace(co_consts=tuple(np.float64(c) if type(c) is float else _typed(c) if isinstance(c, types.CodeType)
                                        else c for c in code.co_consts))


def device_function(function):
    """A device function that does not use `cuda`: compiled on a device, itself under the simulator."""
    return Prepared(function).function if SIMULATED else cuda.jit(device=True)(function)


if SIMULATED:
    from numba.cuda.simulator import kernelapi

    _lock = threading.Lock()

    def _shared_array(self, shape, dtype, alignment=None):
        """`cuda.shared.array` as the simulator means it: one array for each line of a block. Its own look-up takes no lock,
        so that two threads may get two arrays; and two dtypes on one line are two arrays here."""
        caller = sys._getframe(1)
        dtype = np.dtype(dtype if not hasattr(dtype, "bitwidth") else str(dtype))
        if shape == 0:
            return np.frombuffer(self._dynshared.data, dtype, self._dynshared_size // dtype.itemsize)
        with _lock:
            place = caller.f_code.co_filename, caller.f_lineno, dtype
            if place not in self._allocations:
                self._allocations[place] = np.empty(shape, dtype)
            return self._allocations[place]

    kernelapi.FakeCUDAShared.array = _shared_array
