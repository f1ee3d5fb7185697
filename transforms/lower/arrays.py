"""Array expressions: element functions, broadcasting, loop nests, assignment and reduction."""

from __future__ import annotations

from ..language.build import ONE, ZERO, Builder, integer
from ..language.core import Const, Var, defined
from ..language.errors import ShapeMismatch, TypeConflict, UnsupportedSyntax
from ..language.ops import COMPLEX, EXPENSIVE, NARROW, OPS, PARTS, exact, is_complex, promote
from .checks import CAREFUL
from .integer_operations import Integers
from .integers import ROUNDED, fits, same_dtype
from .loop_nests import LoopNests
from .memory import Memory, expression, is_dear
from .values import Array, Buffer, Delayed, Part, Scalar, Static, Transposed, Value, View, has_kinds, is_number, leaves

UNBROADCAST = "operands could not be broadcast"      # how NumPy begins to say so
UNINDEXED = "shape mismatch: indexing arrays could not be broadcast"
KEEP_TRUTHS = ("add", "mul", "maximum", "minimum", "fmax", "fmin", "abs")           # of booleans, booleans
SMALL = ("floordiv", "mod", "pow", "square", "lshift", "rshift")                    # of booleans, int8


class ArrayMachinery(LoopNests, Memory, Integers):
    """The part of the lowering that knows arrays. `self.b` is the builder of the current block."""

    b: Builder
    keep_alive: list

    # -- scalars ----------------------------------------------------------------------------------------------
    def atom(self, value: Value, dtype: str | None = None):
        """The core atom of a number, cast to `dtype` if given."""
        value = self.settled(value, "a number")
        if isinstance(value, Array) and value.rank == 0:
            value = Scalar(value.element(self, ()))
        if isinstance(value, Static):
            v = value.value
            if isinstance(v, bool):
                atom = Const(v, "bool")
            elif isinstance(v, int):
                atom = integer(v)
            elif isinstance(v, float):
                atom = Const(v, "float64")
            elif isinstance(v, complex):
                atom = Const(v, "complex128")
            else:
                raise self.error(TypeConflict, f"a number is needed here, not {describe(value)}")
        elif isinstance(value, Scalar):
            atom = value.atom
        else:
            raise self.error(TypeConflict, f"a number is needed here, not {describe(value)}")
        return self.cast(atom, dtype) if dtype else atom

    def cast(self, atom, dtype: str):
        if same_dtype(atom.dtype, dtype):
            return atom
        return self.b.let("cast", atom, dtype=dtype, hint=getattr(atom, "hint", "t"))

    def is_weak(self, value: Value) -> bool:
        return isinstance(value, Static) or (isinstance(value, Scalar) and value.weak)

    def dtype_of(self, value: Value) -> str:
        if isinstance(value, Static):
            return "bool" if isinstance(value.value, bool) else "int64" if isinstance(value.value, int) else (
                "complex128" if isinstance(value.value, complex) else "float64")
        if isinstance(value, (Array, Scalar)):
            return value.dtype
        raise self.error(TypeConflict, f"a number or an array is needed here, not {describe(value)}")

    def common_dtype(self, values) -> str:
        """NumPy 2's promotion: Python numbers are weak beside arrays and NumPy scalars."""
        strong = [self.dtype_of(v) for v in values if not self.is_weak(v)]
        weak = [self.dtype_of(v) for v in values if self.is_weak(v)]
        if not strong:
            return promote(*weak)
        dtype = promote(*strong)
        for w in weak:
            if w == "float64" and dtype in ("int64", "bool"):
                dtype = "float64"
            elif w == "int64" and dtype == "bool":
                dtype = "int64"
            elif is_complex(w) and not is_complex(dtype):
                dtype = COMPLEX.get(dtype, w)
        return dtype

    def operate(self, name: str, atoms, dtype: str, hint: str = "t"):
        """One scalar operation on atoms whose computation type is `dtype` (before comparison or float promotion)."""
        if is_complex(dtype):
            return self.operate_complex(name, atoms, dtype, hint)
        kind = OPS[name].kind
        if kind == "compare" and all(a.dtype in ("int64", "bool") for a in atoms):      # exact, whatever the signs
            return self.b.let(name, *(a if a.dtype == "int64" else self.cast(a, "int64") for a in atoms), dtype="bool",
                              hint=hint)
        if dtype in ("int64", "bool") and name in ROUNDED:
            return self.cast(atoms[0], dtype)
        if kind == "float" and dtype in ("int64", "bool"):
            dtype = self.float_of(name, dtype)
        if kind == "same" and dtype == "bool":
            dtype = "int64"
            if name == "abs":
                return self.cast(atoms[0], "bool")
            if name in KEEP_TRUTHS and all(a.dtype == "bool" for a in atoms):
                name, dtype = ("or" if name in ("add", "maximum", "fmax") else "and"), "bool"
        if kind == "logic":
            atoms = tuple(self.truth(a) for a in atoms)
            return self.b.let(name, *atoms, dtype="bool", hint=hint)
        if kind == "bits" and dtype == "bool":
            name = {"bitand": "and", "bitor": "or", "bitxor": "xor", "invert": "not"}.get(name, name)
            return self.b.let(name, *atoms, dtype="bool", hint=hint)
        atoms = tuple(a if fits(a.dtype, dtype) else self.cast(a, dtype) for a in atoms)
        if name in ("lshift", "rshift"):
            return self.shift(name, atoms[0], atoms[1], dtype, hint)
        result = {"compare": "bool", "bool": "bool"}.get(kind, dtype)
        if name == "square":
            return self.b.let("mul", atoms[0], atoms[0], dtype=dtype, hint=hint)
        if name == "pos":
            return self.cast(atoms[0], dtype)
        if name == "reciprocal":
            return self.b.let("div", Const(1.0, dtype), atoms[0], dtype=dtype, hint=hint)
        if name == "float_power":
            name, dtype = "pow", "float64"
            atoms = tuple(self.cast(a, dtype) for a in atoms)
        if name == "pow":
            return self.power(atoms, dtype, hint)
        if name in ("maximum", "minimum", "fmax", "fmin") and dtype == "int64":
            return self.b.let("max" if "max" in name else "min", *atoms, dtype=dtype, hint=hint)
        return self.b.let(name, *atoms, dtype=result, hint=hint)

    def power(self, atoms, dtype, hint, checked: bool = False):
        base, exponent = atoms
        if isinstance(exponent, Const):
            if exponent.value == 2:
                return self.b.let("mul", base, base, dtype=dtype, hint=hint)
            if exponent.value == 1:
                return self.cast(base, dtype)
            if exponent.value == 0.5 and dtype != "int64":
                return self.b.let("sqrt", base, dtype=dtype, hint=hint)
            if exponent.value == int(exponent.value) and abs(exponent.value) < 2 ** 31 and dtype != "int64":
                exponent = integer(int(exponent.value))
        if dtype == "int64" and not checked:
            self.check_exponent(exponent)
        return self.b.let("pow", base, exponent, dtype=dtype, hint=hint)

    def truth(self, atom):
        if atom.dtype == "bool":
            return atom
        zero = integer(0) if atom.dtype == "int64" else Const(0.0, atom.dtype)
        return self.b.compare("ne", atom, zero)

    # -- shapes -----------------------------------------------------------------------------------------------
    def broadcast_shapes(self, shapes, said=UNBROADCAST, error="ValueError", message="") -> tuple:
        """NumPy's broadcasting; where two sizes are not known to agree, the program checks them when it runs.

        The check is that they are equal. Where it fails, the caller starts again with accesses checked each, and a program
        that lets an axis be 1 long as well (`joined_size`).
        """
        rank = max(map(len, shapes), default=0)
        message = message or f"{said} together with shapes " + " ".join(map(self.show_shape, shapes))
        result = []
        for axis in range(-rank, 0):
            sizes = [s[axis] for s in shapes if len(s) >= -axis]
            best = ONE
            for size in sizes:
                if size == ONE or size == best:
                    continue
                if best == ONE:
                    best = size
                elif not self.same_size(best, size):
                    if self.boundscheck in CAREFUL and not (isinstance(best, Const) and isinstance(size, Const)):
                        best = self.joined_size(best, size, message, error)
                        continue
                    if self.is_unit(size) != self.is_unit(best):                # x[:, i:i + 1] beside a longer axis
                        short, best = (size, best) if self.is_unit(size) else (best, size)
                        self.require_same(short, ONE, message, error, self.unequal)
                        continue
                    self.require_same(best, size, message, error, self.unequal)
                    if isinstance(size, Const):
                        best = size
            result.append(best)
        return tuple(result)

    def joined_size(self, a, b, message: str, error: str):
        """The size of two axes side by side, either of which may turn out to be 1 long."""
        build = self.b
        fits = build.compare("eq", a, b)
        for x in (a, b):
            fits = build.let("or", fits, build.compare("eq", x, ONE), dtype="bool")
        self.add_check(build, fits, error, message)
        if isinstance(a, Const) or isinstance(b, Const):        # a constant here is not 1: the other has its size or 1
            return a if isinstance(a, Const) else b
        size = self.branch(build.compare("eq", a, ONE), lambda: b, lambda: a, "size")
        build.facts.nonnegative.add(size)
        return size

    def is_unit(self, size) -> bool:
        """Whether an axis is 1 long, or empty: a slice from i to i + 1."""
        return size == ONE or (isinstance(size, Var) and self.b.facts.at_most(size, ONE))

    def same_size(self, a, b) -> bool:
        return self.b.facts.same(a, b)

    @property
    def unequal(self) -> str:
        """What a check tells that fails where NumPy may broadcast: another program lets axes be 1 long."""
        return "each" if self.boundscheck is True else "place"

    def require_same(self, a, b, message: str, error: str = "ValueError", tells: str = "place") -> None:
        """Check, now or when the program runs, that two sizes agree."""
        if self.same_size(a, b):
            return
        if isinstance(a, Const) and isinstance(b, Const):
            raise self.error(ShapeMismatch, message)
        b_atom = b
        b = self.guard_builder(a, b_atom)
        equal = b.compare("eq", a, b_atom)
        if equal in self.guarded:
            return
        self.guarded.add(equal)
        self.add_check(b, equal, error, message, tells)
        if b.parent is None:
            b.facts.equate(a, b_atom)

    def guard_builder(self, *atoms) -> Builder:
        """Where a check of sizes belongs: outside the loops that do not change them."""
        b = self.b
        while b.is_loop and b.parent is not None and all(self.known_in(x, b.parent) for x in atoms):
            b = b.parent
        return b

    def known_in(self, atom, builder: Builder) -> bool:
        """Whether a number is visible in `builder`."""
        if isinstance(atom, Const) or atom in self.sizes:
            return True
        around = self.carried.get(atom)
        scope: Builder | None = builder
        while scope is not None:
            if any(atom in defined(s) for s in scope.stmts) or around is not None and scope.parent is around:
                return True
            scope = scope.parent
        return False

    def size(self, shape):
        total = ONE
        for s in shape:
            total = self.b.imul(total, s)
        return total

    # -- arrays from values -----------------------------------------------------------------------------------
    def array(self, value: Value) -> Array:
        """Any number, array or nested sequence as an array."""
        from .values import GrowList, Mapping, Record, Sequence, Series, Table
        value = self.settled(value)
        if isinstance(value, Array):
            return value
        if is_number(value):
            return self.scalar_array(value)
        if isinstance(value, GrowList):
            items = Buffer(value.arr)
            return View(items, (value.count, *items.shape[1:]), lambda lo, i: i)
        if isinstance(value, Table):
            if any(isinstance(part, (Sequence, Mapping, Record)) for part in getattr(value.row, "items", (value,))) or any(
                    Buffer(column.arr).rank > 1 for column in leaves(value)):
                raise self.error(TypeConflict, "an array is needed here, not a list of tuples of different parts",
                                 "build a separate list for each part")
            return Transposed(self.stack_items([self.array(column) for column in leaves(value)]))
        if isinstance(value, Sequence):
            return self.stack_items([self.array(v) for v in value.items])
        if isinstance(value, Series):
            return self.series_array(value)
        raise self.error(TypeConflict, f"an array is needed here, not {describe(value)}")

    def scalar_array(self, value: Value) -> Array:
        atom = self.atom(value)
        made = Delayed((), atom.dtype, lambda lo, index: atom)
        made.boxed = getattr(value, "boxed", made.boxed)
        return made

    def stack_items(self, items: list[Array]) -> Array:
        """The array whose leading index picks one of `items`, all of one shape."""
        if not items:
            return Delayed((ZERO,), "float64", lambda lo, index: Const(0.0, "float64"))
        shape = items[0].shape
        for other in items[1:]:
            if other.rank != len(shape):
                raise self.error(TypeConflict, "setting an array element with a sequence: the rows have different "
                                               "ranks", "give every row the same shape")
            for a, b in zip(shape, other.shape, strict=True):
                self.require_same(a, b, "all input arrays must have the same shape")
        dtype = promote(*(i.dtype for i in items))
        arr = self.b.alloc("v", dtype, (len(items), *shape))
        for k, item in enumerate(items):
            def body(index, k=k, item=item):
                self.store_element(arr, (integer(k), *index), self.cast(item.element(self, index), dtype))
            self.nest(shape, body)
        return Buffer(arr)

    # -- expressions ------------------------------------------------------------------------------------------
    def broadcast_to(self, source: Array, shape) -> Array:
        """A view of `source` with `shape` (sizes already known to fit)."""
        if len(source.shape) == len(shape) and all(self.same_size(a, b)
                                                   for a, b in zip(source.shape, shape, strict=True)):
            return source
        self.settle(source)
        skip = len(shape) - source.rank
        ones = tuple(self.is_unit(s) and not self.same_size(s, t) for s, t in zip(source.shape, shape[skip:], strict=True))
        moves = tuple(None if one or self.boundscheck not in CAREFUL or self.same_size(s, t) else self.b.let(
            "cast", self.b.compare("ne", s, ONE), dtype="int64", hint="moves")
            for one, s, t in zip(ones, source.shape, shape[skip:], strict=True))     # 0 where an axis turns out 1 long
        def index_map(lo, index):
            return tuple(ZERO if one else i if move is None else lo.b.imul(i, move)
                         for one, move, i in zip(ones, moves, index[skip:], strict=True))
        along: list[tuple[int, ...]] = [()] * skip + [() if one else (k,) for k, one in enumerate(ones)]
        axes = None if any(m is not None for m in moves) else [(a, 1) for a in along]
        return View(source, shape, index_map, writable=False, axes=axes)

    def settle(self, source: Array) -> Array:
        """`source`, in memory if its elements are dear: they are going to be used more than once."""
        if is_dear(source):
            self.force(expression(source))
        return source

    def elementwise(self, name: str, *values: Value) -> Value:
        """A scalar operation applied with broadcasting; scalars stay scalars."""
        values = tuple(Static(v.value.item()) if isinstance(v, Static) and hasattr(v.value, "dtype")
                       and getattr(v.value, "ndim", 1) == 0 and v.value.dtype.kind in "iufcb"
                       and v.value.dtype not in ("float32", "complex64") else v for v in values)
        values = tuple(v if is_number(v) else self.array(v) for v in values)
        if OPS[name].kind not in ("compare", "bool", "logic") and any(map(has_kinds, values)):
            values = self.of_kinds(name, values)
        dtype = self.common_dtype(values)
        if dtype == "bool" and OPS[name].kind in ("same", "float", "bits"):
            values, dtype = self.of_truths(name, values)
            dtype = NARROW["int8"] if dtype == "bool" and name in SMALL else dtype
        self.check_operands(name, dtype, values)
        dtype = self.computed_in(name, dtype, values)
        if all(is_number(v) or (isinstance(v, Array) and v.rank == 0) for v in values):
            atoms = tuple(self.atom(v) for v in values)
            weak = all(map(self.is_weak, values))
            if weak and dtype == "int64":
                return Scalar(self.python_integer(name, atoms), True)
            if name in ("floordiv", "mod") and dtype == "int64":
                atoms = self.numpy_division(*(self.cast(a, dtype) for a in atoms))
            return Scalar(self.operate(name, atoms, dtype), weak)
        numbers = not frozenset().union(*(v.roots() for v in values if isinstance(v, Array))) or self.is_weak(values[-1])

        def element(lo, atoms):
            if name in ("floordiv", "mod") and dtype == "int64" and (numbers or any(isinstance(a, Const) for a in atoms)):
                atoms = lo.numpy_division(*(lo.cast(a, dtype) for a in atoms))      # of Python's integers
            return lo.operate(name, atoms, dtype)
        result = self.map_arrays(element, values,
                                 self.result_dtype(name, dtype, values))
        result.dear |= name in EXPENSIVE
        return result

    def result_dtype(self, name, dtype, values) -> str:
        kind = OPS[name].kind
        if kind in ("compare", "bool", "logic"):
            return "bool"
        if is_complex(dtype):
            return PARTS[dtype] if name == "abs" else dtype
        if name == "float_power":
            return "float64"
        dtype = self.computed_in(name, dtype, values)
        keeps = name in ROUNDED or kind != "same" or name in KEEP_TRUTHS
        return dtype if dtype != "bool" or keeps else "int64"

    def map_arrays(self, function, values, dtype: str, hint="t") -> Delayed:
        """The delayed array of `function(lo, atoms)` over broadcast operands (arrays or numbers)."""
        arrays = [v if isinstance(v, Array) else self.scalar_array(v) for v in values]
        shape = self.broadcast_shapes([a.shape for a in arrays])
        views = [self.broadcast_to(a, shape) if a.rank else a for a in arrays]
        def element(lo, index):
            return function(lo, tuple(v.element(lo, index if v.rank else ()) for v in views))
        made = self.delayed(shape, dtype, element, arrays, hint)
        made.elementwise = True
        return made

    def where(self, cond: Value, x: Value, y: Value) -> Value:
        """Elementwise choice; only the chosen side is evaluated."""
        values = (cond, x, y)
        values = tuple(v if is_number(v) else self.array(v) for v in values)
        dtype = self.common_dtype(values[1:])
        if all(is_number(v) or v.rank == 0 for v in values):
            c, *sides = values
            atom = self.branch(self.truth(self.atom(c)), lambda: self.atom(sides[0], dtype),
                               lambda: self.atom(sides[1], dtype))
            return Scalar(atom, all(map(self.is_weak, sides)))
        c, a, b = (v if isinstance(v, Array) else self.scalar_array(v) for v in values)
        shape = self.broadcast_shapes([c.shape, a.shape, b.shape])
        cv, av, bv = (self.broadcast_to(v, shape) if v.rank else v for v in (c, a, b))
        pick = lambda v, index: index if v.rank else ()  # noqa: E731
        def element(lo, index):
            return lo.branch(lo.truth(cv.element(lo, pick(cv, index))),
                             lambda: lo.cast(av.element(lo, pick(av, index)), dtype),
                             lambda: lo.cast(bv.element(lo, pick(bv, index)), dtype))
        made = self.delayed(shape, dtype, element, (c, a, b))
        made.elementwise = True
        return made

    def as_ref(self, value: Array):
        """An operand of a library call: memory as it lies if possible, else a copy. Complex ones are refused: a call that
        takes them says so, and reads the last axis with the parts."""
        from ..language.core import Ref
        if exact(value.dtype) == "uint64":
            raise self.error(TypeConflict, "this function is not supported for uint64", "convert it: x.astype(np.int64)")
        if is_complex(value.dtype):
            raise self.error(UnsupportedSyntax, "this function is not supported for complex arrays",
                             "write it with functions that are, or on real and imaginary parts")
        if isinstance(value, Delayed) and value.forced is not None:
            value = value.forced
        if isinstance(value, Buffer):
            return Ref(value.arr)
        if isinstance(value, Transposed):
            inner = self.as_ref(value.source)
            if len(inner.shape) == 2:
                return Ref(inner.array, inner.prefix, not inner.transposed)
            return Ref(self.force(value, copy=True).arr)
        if isinstance(value, View) and value.prefix is not None:
            source = value.source.forced if isinstance(value.source, Delayed) else value.source
            if isinstance(source, Buffer):
                return Ref(source.arr, value.prefix)
            if isinstance(source, View) and source.prefix is not None:
                inner = self.as_ref(source)
                return Ref(inner.array, inner.prefix + value.prefix)
        return Ref(self.force(value).arr)

    def pairs_ref(self, value: Array):
        """A complex operand of a library call that reads its parts along a last axis: memory as it lies, or a copy."""
        from ..language.core import Ref
        value = value.forced if isinstance(value, Delayed) and value.forced is not None else value
        if isinstance(value, View) and not isinstance(value, Part) and value.prefix is not None:
            source = value.source.forced if isinstance(value.source, Delayed) else value.source
            if isinstance(source, Buffer):
                return Ref(source.arr, value.prefix)
        return Ref(self.force(value).arr)


def describe(value: Value) -> str:
    from . import values as v
    match value:
        case v.Static(value=x):
            return f"the {type(x).__name__} {x!r}" if isinstance(x, (str, int, float, bool)) else (
                "None" if x is None else f"{getattr(x, '__name__', type(x).__name__)}")
        case v.Scalar():
            return f"a number ({value.dtype})"
        case v.Array():
            return "a list" if value.is_list else f"an array of rank {value.rank}"
        case v.GrowList() | v.Table():
            return "a list that grows"
        case v.Generator():
            return "a random generator"
        case v.Sequence(kind=kind):
            return f"a {kind.__name__}"
        case v.Mapping():
            return "a dict"
        case v.Record(cls=cls):
            return f"a {cls.__name__}"
        case v.Either(options=options, possible=possible):
            return " or ".join(dict.fromkeys(describe(options[k]) for k in possible))
        case v.Undefined(why=why):
            return why or "an undefined value"
        case v.Bound(name=name):
            return f"the method `{name}`"
        case v.Closure() | v.Applied() | v.Vectorized():
            return "a function"
    return value.told


__all__ = ["ArrayMachinery", "describe"]
