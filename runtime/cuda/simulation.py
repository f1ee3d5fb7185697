"""Numba's CUDA simulator (`NUMBA_ENABLE_CUDASIM=1`) made to compute as a device does.

The simulator runs kernels as plain Python. There `math.log(0.0)` and `1.0 / 0.0` raise, and `math.exp` of a float32 is a
Python float. `math` below is NumPy's functions under the names of the `math` module: they keep float32 and give nan or
infinity, as the device does; `Prepared` is a kernel that computes with them.
"""

from __future__ import annotations

import math as pythons
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
        known = {**kernel.__globals__, **{name: math for name, what in kernel.__globals__.items() if what is pythons}}
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


def meets(function) -> bool:
    """Whether the threads of a block may wait for each other in a function: a barrier in it, or in what it calls."""
    found, waiting = {id(function)}, [function]
    while waiting:
        function = waiting.pop()
        function = getattr(function, "fn", function)                    # of the simulator's device functions
        function = getattr(function, "function", function)              # of ours
        code = getattr(function, "__code__", None)
        if code is None:
            continue
        codes = [code]
        for inner in codes:
            codes += [c for c in inner.co_consts if isinstance(c, types.CodeType)]
        names = {name for inner in codes for name in inner.co_names}
        if any(name.startswith("sync") or name in ("shared", "cg") for name in names):
            return True
        called = [function.__globals__[name] for name in names if name in function.__globals__]
        called += [cell.cell_contents for cell in function.__closure__ or ()]
        ours = [m for m in called if isinstance(m, types.ModuleType) and m.__name__.startswith(__package__)]
        called += [getattr(module, name) for module in ours for name in names if hasattr(module, name)]
        new = [c for c in called if callable(c) and id(c) not in found]
        found |= set(map(id, new))
        waiting += new
    return False


if SIMULATED:
    from numba.cuda.simulator import kernel as _kernel
    from numba.cuda.simulator import kernelapi

    _lock = threading.Lock()

    class _InTurn(_kernel.BlockThread):
        """A thread that stands for one of a block, and for another one of the next block. It runs until it comes to a
        barrier or to the end, each time that it is its turn."""

        def __init__(self):
            threading.Thread.__init__(self, daemon=True)
            self.go, self.stopped = threading.Lock(), threading.Lock()
            self.go.acquire()
            self.stopped.acquire()
            self.start()

        def begin(self, manager, call, grid_point, point, number):
            self._manager, self.call, self.thread_id = manager, call, number
            self.blockIdx, self.threadIdx = kernelapi.Dim3(*grid_point), kernelapi.Dim3(*point)
            self.abort, self.ended, self.exception, self.epoch = False, False, None, 0

        def run(self):
            while True:
                self.go.acquire()
                try:
                    self.call()
                except Exception as error:
                    self.exception = _told(error, self.blockIdx, self.threadIdx)
                self.ended = True
                self.stopped.release()

        def syncthreads(self):
            self.stopped.release()
            self.go.acquire()
            self.epoch += 1                             # how many barriers it has passed
            if self.abort:
                raise RuntimeError("another thread has failed")

        def turn(self):
            self.go.release()
            self.stopped.acquire()

    _threads: list[_InTurn] = []

    def _told(error: Exception, block, thread) -> Exception:
        told = type(error)(f"tid={list(thread)} ctaid={list(block)}: {error}")
        return told.with_traceback(error.__traceback__)

    def _run(self, grid_point, *args):
        """Run a block. Its threads take turns from barrier to barrier, where the simulator's own look for each other all the
        time; without barriers they are no threads but calls, one after the other. Both are many times as fast."""
        points = [tuple(reversed(point)) for point in np.ndindex(*reversed(self._block_dim))]
        if not meets(self._f):
            thread: Any = threading.current_thread()
            thread.blockIdx = kernelapi.Dim3(*grid_point)
            for number, point in enumerate(points):
                thread.threadIdx, thread.thread_id = kernelapi.Dim3(*point), number
                try:
                    self._f(*args)
                except Exception as error:
                    raise _told(error, grid_point, point) from None
            return
        _threads[:] = [thread for thread in _threads if thread.is_alive()]          # in a forked process none is
        _threads.extend(_InTurn() for _ in range(len(points) - len(_threads)))
        running, failed = _threads[:len(points)], None
        for number, (thread, point) in enumerate(zip(running, points, strict=True)):
            thread.begin(self, lambda: self._f(*args), grid_point, point, number)
        while running:
            for thread in running:
                thread.turn()
                failed = failed or thread.exception
                if failed:
                    for other in running:
                        other.abort = True
            running = [thread for thread in running if not thread.ended]
        if failed:
            raise failed

    _kernel.BlockManager.run = _run

    def _shared_array(self, shape, dtype, alignment=None, caller=None):
        """`cuda.shared.array` as the simulator means it: one array for each line of a block. Its own look-up takes no lock,
        so that two threads may get two arrays; and two dtypes on one line are two arrays here."""
        caller = caller or sys._getframe(1)
        dtype = np.dtype(dtype if not hasattr(dtype, "bitwidth") else str(dtype))
        if shape == 0:
            return np.frombuffer(self._dynshared.data, dtype, self._dynshared_size // dtype.itemsize)
        with _lock:
            place = caller.f_code.co_filename, caller.f_lineno, dtype
            if place not in self._allocations:
                self._allocations[place] = np.empty(shape, dtype)
            return self._allocations[place]

    kernelapi.FakeCUDAShared.array = _shared_array
