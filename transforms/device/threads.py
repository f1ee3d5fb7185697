"""Kernels written for `numba.cuda` as thread programs: what one thread does, as a core program.

The parameters of a thread program are the thread's coordinates, the kernel's arguments, and the buffers that the threads
of a block share. The shape of the block is known, so that a thread's number is affine in its coordinates:

    cuda.grid(1)              bx * 128 + tx, with 0 <= tx <= 127 and 0 <= bx < grid_x
    cuda.shared.array(...)    a buffer of constant shape, seen by the block
    cuda.local.array(...)     a buffer of constant shape, the thread's own
    cuda.syncthreads()        a call that touches every buffer which threads exchange values through
    cuda.atomic.add(a, i, v)  a[i] += v

The names of `numba.cuda` are known by where they are found: the module itself is never imported here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import gast
import numpy as np

from ..language.build import Builder, integer
from ..language.core import Arr, Const, Function, Var, is_float
from ..language.errors import TypeConflict, UnsupportedSyntax
from ..language.python_text import whole
from ..language.queries import operation
from ..language.rewrite import top_down
from ..language.substitution import renamed
from ..lower.arrays.indexing import index_parts
from ..lower.arrays.memory import before_write
from ..lower.arrays.writing import assign
from ..lower.functions.parameters import scalar_parameter
from ..lower.interpreter import Interpreter, Lowered
from ..lower.journal import surrounding
from ..lower.kinds import ScalarArg
from ..lower.numbers.conversions import as_value, static_int
from ..lower.structures import describe
from ..lower.values import Buffer, Scalar, Sequence, Static, Undefined, Value

AXES = "xyz"
BARRIER = "syncthreads"
MODULE = "numba.cuda"
OLD_VALUE = "what an atomic operation returns depends on the order of the threads"
NUMBERS = {"float64", "float32", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"}
HOPELESS = {
    "syncwarp": "exchange values through cuda.shared.array and cuda.syncthreads",
    "shfl_sync": "exchange values through cuda.shared.array and cuda.syncthreads",
    "shfl_up_sync": "exchange values through cuda.shared.array and cuda.syncthreads",
    "shfl_down_sync": "exchange values through cuda.shared.array and cuda.syncthreads",
    "shfl_xor_sync": "exchange values through cuda.shared.array and cuda.syncthreads",
    "atomic.max": "which thread's value stays depends on all of them: reduce in cuda.shared.array",
    "atomic.min": "which thread's value stays depends on all of them: reduce in cuda.shared.array",
    "atomic.cas": "what it leaves depends on the order of the threads",
    "atomic.exch": "what it leaves depends on the order of the threads",
}


def triple(sizes) -> tuple[int, int, int]:
    """The sizes of a grid or block along x, y, z, from an integer or a tuple of up to three."""
    found = (sizes,) if isinstance(sizes, (int, np.integer)) else tuple(sizes)
    x, y, z = (*map(int, found), 1, 1)[:3]
    return x, y, z


@dataclass(frozen=True)
class Launch:
    """What a specialisation knows of a launch. block: the threads of a block along x, y, z.

    grid: for each axis 1, or None: two blocks or more.
    """

    block: tuple[int, int, int]
    grid: tuple[int | None, int | None, int | None]

    @staticmethod
    def of(grid, block) -> Launch:
        """From the numbers of blocks and of threads, integers or tuples of up to three."""
        x, y, z = (1 if g == 1 else None for g in triple(grid))
        return Launch(triple(block), (x, y, z))

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]


@dataclass(eq=False)
class Coordinates:
    """The coordinates of a thread as atoms, by axis; `names` says for each variable how a kernel writes it."""

    thread: list
    block: list
    blocks: list
    names: dict[Var, str]

    @property
    def own(self) -> list[Var]:
        """The variables that tell threads apart: those of the block, then those in it."""
        return [v for v in (*self.block, *self.thread) if isinstance(v, Var)]


@dataclass(eq=False)
class Thread:
    """A thread program with what is known of it.

    function: its parameters are the coordinates, the arguments, captured arrays, the shared buffers; it returns the
        arrays of floating point that it writes.
    """

    function: Function
    lowered: Lowered
    launch: Launch
    at: Coordinates
    shared: tuple[Arr, ...]
    mutated: frozenset = field(default_factory=frozenset)

    @property
    def facts(self):
        return self.lowered.facts

    @property
    def arguments(self) -> list:
        """The parameters that a launch is given, captured arrays last."""
        return [*self.lowered.leaves, *(h[0] for h in self.lowered.hidden)]


class Name:
    """A name of `numba.cuda`, such as `atomic.add`, standing for what it means in a kernel."""

    def __init__(self, name: str):
        self.name = self.__name__ = name

    def __autodiff_lower__(self, lo, args, kwargs):
        meaning = MEANINGS.get(self.name)
        if meaning is None:
            raise lo.error(UnsupportedSyntax, f"`cuda.{self.name}` is not supported in a differentiated kernel",
                           HOPELESS.get(self.name, "write it with supported operations, or keep this kernel out of the "
                                                   "derivative"))
        try:
            return meaning(lo, *args, **kwargs)
        except TypeError as e:
            if isinstance(e, TypeConflict):
                raise
            raise lo.error(TypeConflict, f"cuda.{self.name}: {e}") from None


class ThreadLowering(Interpreter):
    """The abstract interpreter for kernels: it knows the names of `numba.cuda` and where a thread stands."""

    integers_wrap = True

    def __init__(self, registry, launch: Launch, widened: dict | None = None):
        super().__init__(registry, False, widened)
        self.launch = launch
        self.shared: dict = {}                  # the call that makes a shared buffer -> the buffer
        self.at = self.coordinates(launch)

    def coordinates(self, launch: Launch) -> Coordinates:
        at = Coordinates([], [], [], {})
        facts = self.b.facts
        for axis, threads, known in zip(AXES, launch.block, launch.grid, strict=True):
            if threads > 1:
                here = self.coordinate(f"t{axis}", f"cuda.threadIdx.{axis}", at)
                facts.range[here] = (integer(0), integer(threads - 1))
            if known is None:
                blocks = self.coordinate(f"grid_{axis}", f"cuda.gridDim.{axis}", at)
                facts.range[blocks] = (integer(2), None)
                block = self.coordinate(f"b{axis}", f"cuda.blockIdx.{axis}", at)
                facts.range[block] = (integer(0), self.b.isub(blocks, 1))
            at.thread.append(here if threads > 1 else integer(0))
            at.block.append(block if known is None else integer(0))
            at.blocks.append(blocks if known is None else integer(1))
        return at

    def coordinate(self, hint: str, name: str, at: Coordinates) -> Var:
        var: Any = scalar_parameter(self, hint, ScalarArg("int64")).atom
        self.b.facts.nonnegative.add(var)
        at.names[var] = name
        return var

    def extent(self, name: str, axis: int):
        """`cuda.threadIdx.x` and the like as an atom."""
        at = self.at
        return {"threadIdx": at.thread, "blockIdx": at.block, "gridDim": at.blocks,
                "blockDim": [integer(n) for n in self.launch.block]}[name][axis]

    # -- names ------------------------------------------------------------------------------------------------
    def wrap(self, value, origin=None) -> Value:
        """Names that a module has taken from `numba.cuda` itself (`from numba.cuda import grid`)."""
        return Static(named(value)) if named(value) is not None else super().wrap(value, origin)

    def attribute(self, owner: Value, name: str) -> Value:
        if isinstance(owner, Static) and isinstance(owner.value, type):
            owner = Static(named(owner.value) or owner.value)
        if isinstance(owner, Static) and isinstance(owner.value, ModuleType) and owner.value.__name__ == MODULE:
            return self.cuda_name(name)
        if isinstance(owner, Static) and isinstance(owner.value, Name):
            base = owner.value.name
            if base in ("threadIdx", "blockIdx", "blockDim", "gridDim") and name in AXES:
                return as_value(self, self.extent(base, AXES.index(name)))
            return self.cuda_name(f"{base}.{name}")
        return super().attribute(owner, name)

    def cuda_name(self, name: str) -> Value:
        if name == "warpsize":
            return Static(32)
        if name == "laneid":
            raise self.error(UnsupportedSyntax, "`cuda.laneid` is not supported in a differentiated kernel",
                             "use cuda.threadIdx.x % 32")
        return Static(Name(name))

    def call_static(self, target, args, kwargs) -> Value:
        if is_number_type(target) and len(args) == 1 and not kwargs:
            return super().call_static(np.dtype(str(target)).type, args, {})
        found = super().call_static(target, args, kwargs)
        if isinstance(found, Scalar) and found.dtype == "float32":      # `math` keeps it, and literals follow
            found = Scalar(found.atom, False)
        return found

    def dtype_argument(self, value, default=None):
        if isinstance(value, Static) and is_number_type(value.value):
            value = Static(np.dtype(str(value.value)))
        return super().dtype_argument(value, default)

    def atom(self, value, *args):
        if isinstance(value, Undefined) and value.why == OLD_VALUE:
            raise self.error(UnsupportedSyntax, OLD_VALUE, "find the place or number in another way, from the thread's own "
                                                           "indices")
        return super().atom(value, *args)

    def range_length(self, start, stop, step):
        """Strides of kernels are known to be positive, without being constants."""
        b = self.b
        if isinstance(step, Var) and b.facts.at_least(step, 1):
            return b.imax(b.let("floordiv", b.iadd(b.isub(stop, start), b.isub(step, 1)), step, dtype="int64"), 0)
        return super().range_length(start, stop, step)

    def bind(self, target, value: Value, stmt=None) -> None:
        """Shared and local buffers are called what the kernel calls them."""
        if isinstance(target, gast.Name) and isinstance(value, Buffer) and value.arr.hint in ("shared", "own"):
            value.arr.hint = target.id
        super().bind(target, value, stmt)

    # -- memory -----------------------------------------------------------------------------------------------
    def constant_shape(self, shape, what: str) -> tuple:
        sizes = [shape] if not isinstance(shape, Sequence) else list(shape.items)
        found = tuple(static_int(self, s, f"the shape of {what}") for s in sizes)
        if not found or any(s is None or s < 1 for s in found):
            raise self.error(UnsupportedSyntax, f"{what} of a shape that is given at the launch is not supported",
                             "give it a constant shape")
        return tuple(map(integer, found))

    def element_type(self, dtype, what: str) -> str:
        found = self.dtype_argument(dtype)
        if found not in ("float64", "float32", "int64", "bool"):
            raise self.error(TypeConflict, f"{what} of dtype {found} is not supported", "use float64, float32 or integers")
        return found

    def shared_buffer(self, shape, dtype) -> Buffer:
        key = self.node                         # one call is one buffer, however often it is lowered
        if key not in self.shared:
            arr = Arr("shared", self.element_type(dtype, "a shared array"), self.constant_shape(shape, "a shared array"))
            self.parameters.add(arr)
            self.shared[key] = Buffer(arr)
        return self.shared[key]

    def barrier(self) -> Value:
        """Everything that was read before may have been written by other threads after."""
        for scope in surrounding(self):
            scope.loads.clear()
        for arr in (*self.parameters,):
            before_write(self, arr)
        self.b.call((), BARRIER, ())
        return Static(None)


# -- what the names of numba.cuda mean ----------------------------------------------------------------------------
def per_axis(lo, ndim, of):
    count = static_int(lo, ndim, "the number of axes")
    if count not in (1, 2, 3):
        raise lo.error(TypeConflict, "the number of axes must be 1, 2 or 3")
    found = tuple(as_value(lo, of(axis)) for axis in range(count))
    return found[0] if count == 1 else Sequence(found)


def grid(lo, ndim):
    at = lo.at
    return per_axis(lo, ndim, lambda k: lo.b.iadd(lo.b.imul(at.block[k], lo.launch.block[k]), at.thread[k]))


def gridsize(lo, ndim):
    return per_axis(lo, ndim, lambda k: lo.b.imul(lo.at.blocks[k], lo.launch.block[k]))


def local_array(lo, shape, dtype):
    return Buffer(lo.b.alloc("own", lo.element_type(dtype, "a local array"), lo.constant_shape(shape, "a local array")))


def added(lo, array, index, value, sign: str = ""):
    if not isinstance(array, Buffer) and not getattr(array, "has_memory", False):
        raise lo.error(TypeConflict, f"cuda.atomic.add takes an array, not {describe(array)}")
    target = lo.select(array, index_parts(lo, index))
    if target.rank:
        raise lo.error(TypeConflict, "cuda.atomic.add takes the place of one element")
    assign(lo, target, lo.elementwise(sign, value) if sign else value, accumulate=True)
    return Undefined(OLD_VALUE)


def fused(lo, a, b, c):
    return lo.elementwise("add", lo.elementwise("mul", a, b), c)


def selected(lo, cond, then, orelse):
    return lo.choose(lo.condition(cond), lambda: then, lambda: orelse)


MEANINGS: dict[str, Callable] = {
    "grid": grid, "gridsize": gridsize, "fma": fused, "selp": selected,
    "syncthreads": lambda lo: lo.barrier(), "threadfence_block": lambda lo: Static(None),
    "shared.array": lambda lo, shape, dtype, alignment=None: lo.shared_buffer(shape, dtype),
    "local.array": lambda lo, shape, dtype, alignment=None: local_array(lo, shape, dtype),
    "const.array_like": lambda lo, array: array,
    "atomic.add": added,
    "atomic.sub": lambda lo, array, index, value: added(lo, array, index, value, "neg"),
}


def without_powers(function: Function, facts) -> Function:
    """Integer powers of floating point as products, which keep float32 and cost less than a power."""
    mapping: dict = {}

    def change(s):
        if not (operation(s) == "pow" and is_float(s.var) and s.args[0].dtype == s.var.dtype and whole(s.args[1])):
            return None
        b, n = Builder(facts), int(s.args[1].value)
        b.loc = s.loc
        base, total = s.args[0], None
        for bit in bin(abs(n))[:1:-1]:
            if bit == "1":
                total = base if total is None else b.let("mul", total, base, dtype=s.var.dtype)
            base = b.let("mul", base, base, dtype=s.var.dtype)
        one = Const(1.0, s.var.dtype)
        total = one if total is None else total if n > 0 else b.let("div", one, total, dtype=s.var.dtype)
        mapping[s.var] = total
        return b.stmts
    return renamed(function, top_down(function.body, change), mapping)


def named(value) -> Name | None:
    """The name that a value has in `numba.cuda`, if somebody has imported it; None if it is nothing of it."""
    found = sys.modules.get(MODULE)
    name = getattr(value, "__name__", None)
    if found is None or isinstance(value, (Name, ModuleType)) or not isinstance(name, str):
        return None
    return Name(name) if getattr(found, name, None) is value else None


def is_number_type(x) -> bool:
    """Whether `x` is a number type of Numba, such as `numba.float32`."""
    return not isinstance(x, type) and type(x).__module__.startswith("numba") and str(x) in NUMBERS


def lower_thread(function, args, launch: Launch, registry, widened: dict | None = None) -> Thread:
    """The thread program of a kernel called with trees of arguments (see `autodiff.arguments.kinds.describe`)."""
    lo = ThreadLowering(registry, launch, widened)
    lowered = lo.lower(function, args, {})
    if lowered.function.returns:
        raise UnsupportedSyntax("a kernel returns nothing", None, "write the result to an array")
    for p in lowered.leaves:
        if isinstance(p, Arr) and p.pairs or p.dtype not in ("float64", "float32", "int64", "bool"):
            raise TypeConflict(f"`{p.hint}`: kernels of complex numbers are not supported", None, "pass the two parts")
    shared = tuple(b.arr for b in lo.shared.values())
    mutated = frozenset(lowered.mutated) - set(shared)
    results = tuple(p for p in lowered.function.params if p in mutated and is_float(p))
    program = replace(lowered.function, params=(*lo.at.names, *lowered.function.params, *shared), returns=results,
                      copied=frozenset())
    return Thread(program, lowered, launch, lo.at, shared, mutated)


__all__ = ["AXES", "BARRIER", "Coordinates", "Launch", "Thread", "lower_thread", "triple", "without_powers"]
