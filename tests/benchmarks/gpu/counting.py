"""What a device program does, counted without a device: the bytes it moves and the arithmetic of its kernels.

The generated host function runs with a `CountingDevice` in the place of a device: its arrays have shapes and no memory, and
it keeps every launch with its extents and numbers. What one launch does then follows from the kernel's core program. An
array moves as far as the subscripts reach, and once for each loop of the kernel, however often threads ask for an element:
what neighbours ask for is in the caches. Arrays that fit into the second-level cache move once. Arithmetic is counted for
every thread and turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from autodiff.transforms.language import core
from autodiff.transforms.language.core import Alloc, Arr, Call, Const, For, If, Let, Load, Store, Var

ARITHMETIC = {"add", "sub", "mul", "div", "sum", "neg", "abs", "square", "reciprocal", "sqrt", "maximum", "minimum", "max",
              "min", "fmax", "fmin"}
NO_WORK = {"cast", "copy", "stop", "dim", "wrap_index"}
CACHE = 50e6            # bytes, of an H200
INTEGERS = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "neg": lambda a: -a,
            "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "min": min, "max": max, "copy": lambda a: a,
            "minimum": min, "maximum": max}


@dataclass
class Work:
    """read, written: bytes. flops: additions, multiplications, divisions, square roots, extrema of floats. functions: calls
    of exp, tanh and the like. launches: of the kernel. threads: of one launch. turns: of the longest loop of a thread."""

    read: float = 0.0
    written: float = 0.0
    flops: float = 0.0
    functions: float = 0.0
    launches: int = 0
    threads: int = 0
    turns: int = 0

    def __iadd__(self, other: Work) -> Work:
        for name, value in vars(other).items():
            mine = getattr(self, name)
            setattr(self, name, max(mine, value) if name in ("threads", "turns") else mine + value)
        return self

    @property
    def bytes(self) -> float:
        return self.read + self.written


def shapes_only(shape, dtype) -> np.ndarray:
    """An array of this shape without memory."""
    return np.broadcast_to(np.zeros((), dtype), tuple(map(int, shape)))


class NoNumbers:
    """A random generator whose arrays have shapes and no memory."""

    def standard_normal(self, shape, dtype):
        return shapes_only(shape, dtype)

    def random(self, shape, dtype):
        return shapes_only(shape if isinstance(shape, tuple) else (shape,), dtype)


class CountingDevice:
    """Stands for a `runtime.cuda.device.Device`. `work`: for each kernel and library call what all its launches do."""

    def __init__(self, kernels):
        self.kernels = {k.function.name: k for k in kernels}
        self.work: dict[str, Work] = {}

    def did(self, name: str, work: Work) -> None:
        self.work.setdefault(name, Work()).__iadd__(work)

    # ---- memory ----
    def empty(self, shape, dtype):
        return shapes_only(shape, dtype)

    def zeros(self, shape, dtype):
        return self.full(shape, 0, dtype)

    def full(self, shape, value, dtype):
        found = shapes_only(shape, dtype)
        self.did("filling", Work(written=found.nbytes, launches=1))
        return found

    def cell(self, value, dtype):
        return self.full((1,), value, dtype)

    def own(self, array, dtype=None):
        self.did("copying", Work(read=array.nbytes, written=array.nbytes, launches=1))
        return array

    def part(self, array, *index, transposed=False):
        return array[index].T if transposed else array[index]

    def resize(self, array, length):
        return array if array.shape[0] >= length else shapes_only((length, *array.shape[1:]), array.dtype)

    # ---- launches ----
    def partials(self, extents, dtype):
        return shapes_only((-(-math.prod(extents) // 256),), dtype)

    def total(self, parts, op, init):
        self.did("totals of blocks", Work(read=parts.nbytes, written=parts.itemsize, launches=1))
        return shapes_only((1,), parts.dtype)

    def launch(self, kernel, extents, *args):
        if min(extents) > 0:
            self.did(kernel.__name__, work_of(self.kernels[kernel.__name__], extents, args))

    def chunks(self, owners, turns):
        from autodiff.runtime.cuda.device import Device
        return Device.chunks(self, owners, turns)

    def scan(self, out, op, *given):
        read = sum(x.nbytes for x in given if isinstance(x, np.ndarray))
        self.did("scans", Work(read=read, written=out.nbytes, launches=1))

    def fold(self, parts, out):
        self.did("folds", Work(read=parts.nbytes, written=out.nbytes, launches=1))

    def check(self, failed, messages):
        pass

    def call(self, op, outs, args, *static):
        arrays = [x for x in (*outs, *args) if isinstance(x, np.ndarray)]
        work = Work(sum(x.nbytes for x in args if isinstance(x, np.ndarray)), sum(x.nbytes for x in outs), launches=1)
        if op in ("matmul", "add_matmul"):
            work.flops = 2.0 * args[0].size * args[1].shape[-1]
            work.read += outs[0].nbytes * (op == "add_matmul")
        self.did(f"library {op} {' '.join('x'.join(map(str, x.shape)) for x in arrays)}", work)


def work_of(kernel, extents, args) -> Work:
    """What one launch does. Where the length of a loop depends on the thread, three threads are asked (Simpson's rule)."""
    first, middle, last = (Launch(kernel, extents, args, at).work() for at in (0.0, 0.5, 1.0))
    for name in ("read", "written", "flops", "functions"):
        a, b, c = (getattr(w, name) for w in (first, middle, last))
        setattr(middle, name, a if a == b == c else (a + 4.0 * b + c) / 6.0)
    middle.turns = max(w.turns for w in (first, middle, last))
    return middle


@dataclass
class Launch:
    """One launch of a kernel, walked through statement by statement.

    at: which thread decides on lengths of loops, 0.0 the first to 1.0 the last. known: the integers that are known. along:
    for each number on which axes (threads along a row, rows, loops) it depends; sizes: how long these are. reached: the most
    elements that one access among those in the same loops reaches. inside: the loops around a statement.
    """

    kernel: object
    extents: tuple
    args: tuple
    at: float
    known: dict = field(default_factory=dict)
    along: dict = field(default_factory=dict)
    sizes: dict = field(default_factory=dict)
    reached: dict = field(default_factory=dict)         # (array, written): {loops: elements}
    inside: tuple = ()
    found: Work = field(default_factory=Work)

    def work(self) -> Work:
        function = self.kernel.function
        self.arrays = {p: a for p, a in zip(function.params, self.args, strict=True) if isinstance(p, Arr)}
        self.known.update({p: int(a) for p, a in zip(function.params, self.args, strict=True)
                           if isinstance(p, Var) and p.dtype == "int64"})
        self.sizes = {"column": self.extents[-1], "row": math.prod(self.extents[:-1])}
        self.found.threads = math.prod(self.extents)
        self.block(function.body, float(self.found.threads))
        for (array, written), elements in self.reached.items():
            size = max(elements.values()) * self.arrays[array].itemsize
            if size > CACHE:
                size = sum(elements.values()) * self.arrays[array].itemsize
            if written:
                self.found.written += size
            else:
                self.found.read += size
        self.found.launches = 1
        return self.found

    def number(self, atom):
        return atom.value if isinstance(atom, Const) else self.known.get(atom)

    def axes(self, atoms) -> frozenset:
        return frozenset().union(*(self.along.get(a, frozenset()) for a in atoms))

    def block(self, block, times: float) -> None:
        for s in block:
            match s:
                case Let():
                    self.let(s, times)
                case Load():
                    self.along[s.var] = self.axes(s.index)
                    self.access(s.array, s.index, False)
                case Store():
                    self.access(s.array, s.index, True)
                    if s.accumulate:
                        self.access(s.array, s.index, False)
                        self.found.flops += times
                case Call():                                # atomic addition
                    self.access(s.outs[0].array, s.outs[0].prefix, True)
                    self.access(s.outs[0].array, s.outs[0].prefix, False)
                case If():
                    self.block(s.then, times)
                    self.block(s.orelse, times)
                    for m in s.merges:
                        self.along[m.var] = self.axes((s.cond, m.then, m.orelse))
                case For():
                    self.loop(s, times)
                case Alloc() | core.Comment():
                    pass
                case _:
                    raise NotImplementedError(f"{type(s).__name__} in a kernel is not counted")

    def let(self, s: Let, times: float) -> None:
        if s.op.startswith("device."):
            place = s.op.removeprefix("device.")
            self.along[s.var] = frozenset({place} & {"column", "row"})
            if place in self.sizes:
                self.known[s.var] = round(self.at * (self.sizes[place] - 1))
            return
        self.along[s.var] = self.axes(a for a in s.args if isinstance(a, Var))
        if s.var.dtype in core.FLOATS:
            if s.op in ARITHMETIC:
                self.found.flops += times
            elif s.op not in NO_WORK:
                self.found.functions += times
        elif s.op in INTEGERS:
            numbers = [self.number(a) for a in s.args]
            if None not in numbers and not (s.op in ("floordiv", "mod") and numbers[1] == 0):
                self.known[s.var] = INTEGERS[s.op](*numbers)
            else:
                self.known.pop(s.var, None)

    def loop(self, s: For, times: float) -> None:
        bounds = [self.number(a) for a in (s.start, s.stop, s.step)]
        if None in bounds:
            raise NotImplementedError("a loop whose length depends on data is not counted")
        turns = len(range(*bounds))
        self.along[s.index] = frozenset({s.index})
        self.sizes[s.index] = turns
        for c in s.carries:
            self.along[c.var] = self.axes((c.init,)) | {s.index}
        if turns:
            self.found.turns = max(self.found.turns, round(times * turns / self.found.threads))
            self.inside += (s,)
            self.block(s.body, times * turns)
            self.inside = self.inside[:-1]
        for c in s.carries:
            self.along[c.result] = self.axes((c.init, c.next))

    def access(self, array: Arr, index, written: bool) -> None:
        if array not in self.arrays:                        # the thread's own
            return
        along = self.axes(i for i in index if isinstance(i, Var))
        elements = min(self.arrays[array].size, math.prod(self.sizes[a] for a in along))
        found = self.reached.setdefault((array, written), {})
        found[self.inside] = max(elements, found.get(self.inside, 0))


def counted(gradient, args) -> dict[str, Work]:
    """For each kernel and library call of a compiled object what a call with these arguments does: arrays may be without
    memory (`shapes_only`). The object has been specialised on arguments of these kinds, and has one device program."""
    made = gradient._inspect()
    program, = made.generated.device
    device = CountingDevice(program.kernels)
    names, values = gradient._bind(args, {})
    getattr(made.call.load(), program.host.name)(device, *made.numbers(names, values))
    return device.work


def total_of(work: dict[str, Work]) -> Work:
    found = Work()
    for w in work.values():
        found += w
    return found


__all__ = ["CountingDevice", "NoNumbers", "Work", "counted", "shapes_only", "total_of"]
