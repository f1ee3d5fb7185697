"""Building core programs: emitting statements with constant folding and value numbering.

A `Builder` collects the statements of one block. Builders nest as blocks do. Pure operations are value-numbered,
so that two spellings of `n - 2` are one variable: shapes compare by identity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .core import NOWHERE, Arr, Atom, Comment, Const, Loc, Var, defined, written
from .emit import Statements, as_int
from .facts import Facts, combine, integer

if TYPE_CHECKING:
    from typing_extensions import Self

FOLD: dict[str, Callable] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "neg": lambda a: -a,
    "max": max, "min": min, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "and": lambda a, b: a and b, "or": lambda a, b: a or b, "not": lambda a: not a,
    "abs": abs, "bitand": lambda a, b: a & b, "bitor": lambda a, b: a | b, "bitxor": lambda a, b: a ^ b,
    "lshift": lambda a, b: a << b, "rshift": lambda a, b: a >> b, "pow": lambda a, b: a ** b,
}
ZERO, ONE = Const(0, "int64"), Const(1, "int64")


class Builder(Statements):
    """The statements of one block under construction."""

    def __init__(self, facts: Facts | None = None, parent: Self | None = None, loop: bool = False):
        super().__init__(parent.loc if parent else NOWHERE)
        self.facts: Facts = facts if facts is not None else (parent.facts if parent else Facts())
        self.parent = parent
        self.is_loop = loop
        self.conditions: int = parent.conditions if parent else 0       # of the branches around, those that hold here
        self.way: Any = None            # out of the block around, which the statements here follow
        self.following: Any = None      # the block that has what follows a way out of this one, while it is open
        self.tentative = False          # whether it may be in no program
        self.leads_out = False          # whether a way out of it goes on where the block around does
        self.known: dict = {}
        self.loads: dict = {}

    # -- emission ---------------------------------------------------------------------------------------------
    def last(self) -> Self:
        """Where statements go that are added now: behind the ways out that are open."""
        return self if self.following is None else self.following.last()

    def add(self, stmt):
        if self.following is not None:
            return self.following.add(stmt)
        self.stmts.append(stmt)
        for v in defined(stmt):
            self.facts.home[v] = self
        return stmt

    def block(self) -> tuple:
        return tuple(self.stmts)

    def let(self, op: str, *args, dtype: str, hint: str = "t") -> Atom:
        """Emit `v = op(args)`; folds constants and returns an earlier variable of the same value."""
        if self.following is not None:
            return self.following.let(op, *args, dtype=dtype, hint=hint)
        folded = self.fold(op, args, dtype)
        return self.let_anew(op, *args, dtype=dtype, hint=hint) if folded is None else folded

    def let_anew(self, op: str, *args, dtype: str, hint: str = "t") -> Atom:
        """The same, with nothing that is proven of the operands: of integers that wrap, it does not hold."""
        if self.following is not None:
            return self.following.let_anew(op, *args, dtype=dtype, hint=hint)
        key = (op, args, dtype)
        scope: Builder | None = self
        while scope is not None:
            if key in scope.known:
                return scope.known[key]
            scope = scope.parent
        var = Var(hint, dtype)
        self.facts.define(var, op, args)
        divides = op in ("floordiv", "mod") and not self.facts.at_least(args[1], 1)      # its check may stand in the loop
        home = self.home_for(args) if dtype in ("int64", "bool") and op != "wrap_index" and not divides else self
        home.known[key] = var
        return home.bind(var, op, *args, loc=self.loc)

    def home_for(self, args) -> Builder:
        """The outermost builder, through loops, where all of `args` are visible: invariant integers leave loops."""
        home = self
        while home.is_loop and home.parent is not None and all(home.parent.sees(a) for a in args):
            home = home.parent
        return home

    def sees(self, atom) -> bool:
        """Whether a value is known to be bound in this block or one around it."""
        if not isinstance(atom, Var):
            return isinstance(atom, Const)
        home = self.facts.home.get(atom)
        if home is None:
            return atom in self.facts.home
        scope: Builder | None = self
        while scope is not None:
            if scope is home:
                return True
            scope = scope.parent
        return False

    def fold(self, op: str, args: tuple, dtype: str) -> Atom | None:
        if op in ("floordiv", "mod") and dtype == "int64" and args[1] == ZERO:
            return ZERO                     # NumPy's; where Python raises, a check stands before
        if op == "mod" and dtype == "int64" and self.facts.at_least(args[0]) and self.facts.at_most(args[0], args[1], 1):
            return args[0]
        if op in FOLD and all(isinstance(a, Const) for a in args) and dtype in ("int64", "bool"):
            value = FOLD[op](*(a.value for a in args))
            return Const(bool(value) if dtype == "bool" else int(value), dtype)
        if op == "cast":
            source = args[0]
            if source.dtype == dtype:
                return source
            if isinstance(source, Const):
                if dtype == "bool":
                    return Const(bool(source.value), dtype)
                if dtype.startswith("float"):
                    return Const(float(np.float32(source.value) if dtype == "float32" else source.value), dtype)
                if dtype == "int64" and math.isfinite(source.value):
                    return Const(int(source.value), dtype)
            return None
        if dtype == "int64" and op in ("add", "sub", "mul", "max", "min", "floordiv") and len(args) == 2:
            return self.fold_integer(op, *args)
        if dtype == "bool" and op in ("and", "or"):
            for a, b in (args, args[::-1]):
                if isinstance(a, Const):
                    return (b if a.value else a) if op == "and" else (a if a.value else b)
        if op == "sum" and isinstance(args[0], Const) and args[0].value == 0 and args[1].dtype == dtype:
            return args[1]
        if op in ("mul", "div") and is_one(args[1]) and args[0].dtype == dtype:
            return args[0]
        if op == "mul" and is_one(args[0]) and args[1].dtype == dtype:
            return args[1]
        return None

    def fold_integer(self, op, a, b) -> Atom | None:
        if op in ("add", "sub"):
            constant, terms = combine(self.facts.affine(a), self.facts.affine(b), 1 if op == "add" else -1)
            if not terms:
                return integer(constant)
            if len(terms) == 1 and constant == 0:
                (var, coefficient), = terms.items()
                if coefficient == 1:
                    return var
            if len(terms) == 1 and isinstance(b, Const) and b.value < 0:
                return self.let("sub" if op == "add" else "add", a, integer(-b.value), dtype="int64")
            if len(terms) == 1 and constant:
                (var, coefficient), = terms.items()
                if coefficient == 1 and (a is not var or not isinstance(b, Const)):
                    return self.let("add" if constant > 0 else "sub", var, integer(abs(constant)), dtype="int64")
            return None
        if op == "mul":
            for x, y in ((a, b), (b, a)):
                if isinstance(x, Const) and x.value in (0, 1):
                    return y if x.value else x
        if op == "floordiv" and is_one(b):
            return a
        if op == "max":
            if self.facts.at_most(a, b):
                return b
            if self.facts.at_most(b, a):
                return a
        if op == "min":
            if self.facts.at_most(a, b):
                return a
            if self.facts.at_most(b, a):
                return b
        return None

    # -- integers ---------------------------------------------------------------------------------------------
    def sum(self, total, term, dtype: str, hint: str = "s"):
        """`total + term` in a sum whose order the program does not fix: compiled code may use several accumulators."""
        return self.let("sum" if dtype.startswith("float") else "add", total, term, dtype=dtype, hint=hint)

    def iadd(self, a, b):
        return self.let("add", as_int(a), as_int(b), dtype="int64")

    def isub(self, a, b):
        return self.let("sub", as_int(a), as_int(b), dtype="int64")

    def imul(self, a, b):
        return self.let("mul", as_int(a), as_int(b), dtype="int64")

    def imax(self, a, b):
        return self.let("max", as_int(a), as_int(b), dtype="int64")

    def imin(self, a, b):
        return self.let("min", as_int(a), as_int(b), dtype="int64")

    def compare(self, op, a, b):
        return self.let(op, a, b, dtype="bool")

    # -- memory -----------------------------------------------------------------------------------------------
    def alloc(self, hint: str, dtype: str, shape, fill=None, why: str = "", pairs: bool = False) -> Arr:
        return self.make(Arr(hint, dtype, tuple(as_int(s) for s in shape), why, pairs), fill, self.loc)

    def load(self, array: Arr, index, hint: str = "") -> Atom:
        if self.following is not None:
            return self.following.load(array, index, hint)
        index = tuple(as_int(i) for i in index)
        key = (array, index)
        scope: Builder | None = self
        while scope is not None:
            if key in scope.loads:
                return scope.loads[key]
            if scope.is_loop:
                break
            scope = scope.parent
        var = Var(hint or array.hint, array.dtype)
        self.facts.number(var)
        self.loads[key] = var
        return self.read(var, array, index, self.loc)

    def store(self, array: Arr, index, value: Atom, accumulate: bool | str = False) -> None:
        if self.following is not None:
            return self.following.store(array, index, value, accumulate)
        self.forget(array)
        self.write(array, tuple(as_int(i) for i in index), value, accumulate, self.loc)

    def forget(self, array: Arr) -> None:
        """No load of `array` may be reused from here on."""
        scope: Builder | None = self
        while scope is not None:
            for key in [k for k in scope.loads if k[0] is array]:
                del scope.loads[key]
            scope = scope.parent

    # -- nesting ----------------------------------------------------------------------------------------------
    def child(self, loop: bool = False) -> Self:
        return type(self)(parent=self.last(), loop=loop)

    def index(self, hint: str, start: Atom, stop: Atom, step: int = 1) -> Var:
        """A loop index with its range recorded: start <= index <= stop - 1 inside the body (or downward)."""
        var = Var(hint, "int64")
        self.facts.number(var)
        if step > 0:
            self.facts.range[var] = (start, self.isub(self.positive(stop), 1))
        else:
            self.facts.range[var] = (self.iadd(stop, 1), start)
        return var

    def positive(self, stop: Atom) -> Atom:
        """Inside a loop up to max(e, 0) the stop is e: the loop would not run otherwise."""
        op, args = self.facts.definition.get(stop, ("", ())) if isinstance(stop, Var) else ("", ())
        if op == "max" and Const(0, "int64") in args:
            return args[0] if args[1] == Const(0, "int64") else args[1]
        return stop


@contextmanager
def located(builder: Builder, loc):
    previous, builder.loc = builder.loc, loc
    try:
        yield
    finally:
        builder.loc = previous


def is_one(atom) -> bool:
    return isinstance(atom, Const) and atom.value == 1 and not isinstance(atom.value, bool)


def trips(b: Builder, start: Atom, stop: Atom, step: int) -> Atom:
    """How often a loop over this range runs."""
    gap = b.isub(stop, start) if step > 0 else b.isub(start, stop)
    return b.imax(b.let("floordiv", b.iadd(gap, abs(step) - 1), integer(abs(step)), dtype="int64"), 0)


def product(builder: Builder, sizes) -> Atom:
    """How many elements an array of these sizes has."""
    total: Atom = ONE
    for n in sizes:
        total = builder.imul(total, n)
    return total


def place_of(builder: Builder, index, shape) -> Atom:
    """The place of an element in the order of memory."""
    place: Atom = ZERO
    for i, n in zip(index, shape, strict=True):
        place = builder.iadd(builder.imul(place, n), i)
    return place


def headed(builder: Builder, loc, last):
    """A comment with the user's line, unless the last one named it; the line that is named now."""
    if not loc.line or not loc.text or last is not None and (loc.file, loc.line) == (last.file, last.line):
        return last
    builder.add(Comment(loc.shown(), loc=loc))
    return loc


def loops(builder: Builder, shape, body, position: int = 0, index=(), loc: Loc = NOWHERE) -> None:
    """A plain loop nest over `shape` in `builder`; `body(builder, index)` fills the innermost loop."""
    if position == len(shape):
        body(builder, index)
        return
    i = builder.index("ijklmp"[position % 6], integer(0), shape[position])
    inner = builder.child(loop=True)
    loops(inner, shape, body, position + 1, (*index, i), loc)
    builder.repeat(i, 0, shape[position], inner.block(), origin="array", loc=loc)
    for a in written(inner.block()):
        builder.forget(a)


def sum_of(builder: Builder, form) -> Atom:
    """An integer of which the constant, and the variables with their coefficients, are known, computed."""
    constant, terms = form
    total: Atom = ZERO
    for v, c in sorted(terms.items(), key=lambda term: term[1] < 0):
        if total == ZERO and c > 0:
            total = builder.imul(v, c)
        else:
            total = builder.iadd(total, builder.imul(v, c)) if c > 0 else builder.isub(total, builder.imul(v, -c))
    return builder.iadd(total, constant) if constant else total


__all__ = ["Builder", "as_int", "headed", "integer", "located", "loops", "sum_of", "trips"]
