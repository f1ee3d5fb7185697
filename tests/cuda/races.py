"""A race checker: kernels run under the simulator on arrays that note who reads and writes what.

Two accesses to one element by different threads, not both reads and not both atomic, race unless a barrier stands between
them: the threads belong to one block, and one of the two had passed more barriers. Looked for, too: elements that are read
before anything has written them, results that nothing has written, and indices out of range or negative. A simulated run has
one order; what is found does not depend on it, but for what the order itself decides (branches on raced values).
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import sys
import threading
from dataclasses import dataclass, field

import numpy as np
from numba.cuda.simulator import kernel as launching
from numba.cuda.simulator import kernelapi
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

from autodiff.runtime.cuda.device import Device

ATOMICS = ("add", "sub", "max", "min", "nanmax", "nanmin", "and_", "or_", "xor", "exch", "cas", "compare_and_swap", "inc",
           "dec")
BENIGN = {"failed"}                     # cells that any thread may set, all to what says the same


@dataclass(frozen=True)
class Finding:
    """What is wrong with an element of an array of a kernel; `threads`: ((block, thread), ...)."""

    kernel: str
    array: str
    index: tuple
    what: str
    threads: tuple = ()

    def __str__(self):
        by = " and ".join(f"thread {t} of block {b}" for b, t in self.threads)
        return f"{self.kernel}: {self.array}{list(self.index)} {self.what}{f' by {by}' if by else ''}"


@dataclass
class Watch:
    """What has been found, and the memory that is known: start addresses, and which elements have been written."""

    found: list = field(default_factory=list)
    starts: list = field(default_factory=list)
    known: list = field(default_factory=list)       # (buffer, which of its elements were written), in the order of `starts`

    def fresh(self, buffer: np.ndarray) -> None:
        """Memory that nothing has been written to."""
        place = bisect.bisect(self.starts, buffer.ctypes.data)
        self.starts.insert(place, buffer.ctypes.data)
        self.known.insert(place, (buffer, np.zeros(buffer.size, bool)))

    def flags(self, address: int):
        """(which elements of the allocation at an address were written, which of them it is); None for memory of others."""
        place = bisect.bisect(self.starts, address) - 1
        if place < 0:
            return None
        buffer, written = self.known[place]
        k = (address - self.starts[place]) // buffer.itemsize
        return (written, k) if k < written.size else None

    def wrote(self, array: np.ndarray) -> None:
        """The host or a library has filled an array."""
        for address in addresses(array):
            if (place := self.flags(address)) is not None:
                place[0][place[1]] = True

    def unwritten(self, array: np.ndarray, what: str) -> None:
        """Report elements of a result that nothing has written."""
        for index, address in zip(np.ndindex(*array.shape), addresses(array), strict=True):
            place = self.flags(address)
            if place is not None and not place[0][place[1]]:
                self.found.append(Finding("the call", what, index, "is returned but never written"))

    def report(self) -> str:
        return "\n".join(map(str, self.found[:20])) + (f"\n... {len(self.found)} in all" if len(self.found) > 20 else "")


def addresses(array: np.ndarray):
    start = array.ctypes.data
    return [start + sum(i * s for i, s in zip(index, array.strides)) for index in np.ndindex(*array.shape)]


class Launch:
    """The accesses of one launch, by address."""

    def __init__(self, watch: Watch, name: str):
        self.watch, self.name = watch, name
        self.accesses: dict = {}
        self.names: dict = {}
        self.atomic = threading.local()

    def who(self) -> tuple:
        thread = threading.current_thread()
        place, grid = thread.blockIdx, launching._get_kernel_context().gridDim
        return place.x + grid.x * (place.y + grid.y * place.z), thread.thread_id, getattr(thread, "epoch", 0)

    def note(self, traced: Traced, index: tuple, kind: str) -> None:
        block, thread, epoch = self.who()
        kind = "atomic" if getattr(self.atomic, "on", False) else kind
        address = traced.address(index)
        key = (address, block if traced.shared else None)
        self.accesses.setdefault(key, set()).add((block, thread, epoch, kind))
        self.names.setdefault(key, (traced.name, index))
        place = None if traced.shared else self.watch.flags(address)
        if place is not None:
            written, k = place
            if kind != "write" and not written[k]:
                self.watch.found.append(Finding(self.name, traced.name, index, "is read before it is written",
                                                ((block, thread),)))
            written[k] |= kind != "read"

    def finish(self) -> None:
        """Report the races."""
        for key, events in self.accesses.items():
            pair = next(races(events), None)
            name, index = self.names[key]
            if pair is not None and name not in BENIGN:
                kinds = sorted({pair[0][3], pair[1][3]})
                what = f"is accessed without order ({'/'.join(kinds if len(kinds) > 1 else kinds * 2)})"
                self.watch.found.append(Finding(self.name, name, index, what, (pair[0][:2], pair[1][:2])))


def races(events):
    """The pairs of accesses to one element that nothing orders."""
    changes = sorted(e for e in events if e[3] != "read")
    for a, b in itertools.product(changes, sorted(events)):
        if a[:2] != b[:2] and not a[3] == b[3] == "atomic" and (a[0] != b[0] or a[2] == b[2]):
            yield a, b


class Traced:
    """An array inside a kernel that tells a launch of every access."""

    def __init__(self, array: np.ndarray, name: str, launch: Launch, shared: bool = False):
        self.array, self.name, self.launch, self.shared = array, name, launch, shared
        self.shape, self.size, self.ndim, self.dtype = array.shape, array.size, array.ndim, array.dtype
        self.strides = array.strides

    def __len__(self):
        return self.shape[0]

    def address(self, index) -> int:
        return self.array.ctypes.data + sum(int(i) * s for i, s in zip(index, self.array.strides))

    def checked(self, index) -> tuple | None:
        """The index as a tuple if it names an element; None for a part of the array; IndexError outside of it."""
        index = index if isinstance(index, tuple) else (index,)
        if len(index) < self.ndim or any(isinstance(i, slice) for i in index):
            return None
        index = tuple(map(int, index))
        if not all(0 <= i < n for i, n in zip(index, self.shape)):
            block, thread, _ = self.launch.who()
            what = f"lies outside of the shape {self.shape}"
            finding = Finding(self.launch.name, self.name, index, what, ((block, thread),))
            self.launch.watch.found.append(finding)
            raise IndexError(str(finding))
        return index

    def __getitem__(self, index):
        element = self.checked(index)
        if element is None:
            return Traced(self.array[index], self.name, self.launch, self.shared)
        self.launch.note(self, element, "read")
        return self.array[element]

    def __setitem__(self, index, value):
        element = self.checked(index)
        if element is None:
            raise NotImplementedError("a kernel assigns to a part of an array")
        self.launch.note(self, element, "write")
        self.array[element] = value


@contextlib.contextmanager
def watching():
    """Watch all launches: yields the `Watch`, whose `found` lists what is wrong."""
    watch, now = Watch(), []
    run, shared = launching.FakeCUDAKernel.__call__, kernelapi.FakeCUDAShared.array
    atomics = {name: getattr(kernelapi.FakeCUDAAtomic, name) for name in ATOMICS}
    local = kernelapi.FakeCUDALocal.array
    methods = {name: getattr(Device, name) for name in ("empty", "zeros", "own", "call")}

    def launch(kernel, *args):
        if kernel._device or launching._get_kernel_context():
            return run(kernel, *args)
        function = getattr(kernel.fn, "function", kernel.fn)
        names = function.__code__.co_varnames
        now.append(Launch(watch, function.__name__))
        traced = [Traced(getattr(x, "_ary", x), name, now[-1]) if isinstance(x, (FakeCUDAArray, np.ndarray)) and x.ndim
                  else x for x, name in zip(args, names)]
        try:
            run(kernel, *traced)
        finally:
            now.pop().finish()

    def shared_array(self, shape, dtype, alignment=None):
        caller = sys._getframe(1)
        made = shared(self, shape, dtype, alignment, caller)
        return Traced(made, f"shared memory of line {caller.f_lineno}", now[-1], shared=True)

    def local_array(self, shape, dtype, alignment=None):
        made = local(self, shape, dtype, alignment)
        made[...] = np.nan if made.dtype.kind == "f" else -(1 << 30)
        return made

    def atomic(method):
        def one(*args):
            now[-1].atomic.on = True
            try:
                return method(*args)
            finally:
                now[-1].atomic.on = False
        return one

    def empty(device, shape, dtype):
        made = methods["empty"](device, shape, dtype)
        watch.fresh(made._ary)
        return made

    def filled(name):
        def method(device, *args, **kwargs):
            made = methods[name](device, *args, **kwargs)
            for x in args[1] if name == "call" else (made,):
                watch.wrote(x._ary)
            return made
        return method

    with contextlib.ExitStack() as stack:
        for owner, name, changed in (
                (launching.FakeCUDAKernel, "__call__", launch), (kernelapi.FakeCUDAShared, "array", shared_array),
                (kernelapi.FakeCUDALocal, "array", local_array), (Device, "empty", empty),
                *((Device, name, filled(name)) for name in ("zeros", "own", "call")),
                *((kernelapi.FakeCUDAAtomic, name, atomic(method)) for name, method in atomics.items())):
            stack.callback(setattr, owner, name, owner.__dict__[name])
            setattr(owner, name, changed)
        yield watch


def check_races(function, *args, **kwargs):
    """Call a function of device arrays; AssertionError with what its launches do wrong. Returns its result."""
    with watching() as watch:
        result = function(*args, **kwargs)
        for k, x in enumerate(flat(result)):
            watch.unwritten(x._ary, f"result {k}")
    assert not watch.found, watch.report()
    return result


def flat(value):
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in flat(v)]
    return [value] if isinstance(value, FakeCUDAArray) else []
