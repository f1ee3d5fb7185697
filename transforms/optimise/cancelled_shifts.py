"""Extrema that cancel: in a softmax or a log-sum-exp nothing depends on the maximum that is subtracted.

    share = 0.0                                   top = m
    for i in range(n):                            s = 0.0
        share += hit[i] * x[i]       becomes      for i in range(n):
    top = np.link(m, 1.0, share)                      s += np.exp(x[i] - top)
    s = 0.0                                       return top + np.log(s)
    for i in range(n):
        s += np.exp(x[i] - top)
    return top + np.log(s)

A value that has its derivative from a `link`, here that of `share` (the elements that are the maximum `m`), loses it
where everything that is computed from it is the same for any value in its place: then the derivative is zero, what the
link would share it by (which elements are the maximum, and how many) is computed for nobody, and goes.

Whether it is so, is found by following a shift of the value, by a small d or by d times itself, through the program.
What comes of it has a weight: "add", by: it changes by `by * d`; "mul", by: by `by * d` times itself. So `exp` makes
the second of the first, `log` the first of the second, a sum of terms of one "mul" keeps it, and weights are added and
subtracted in sums, products and quotients. Anything else that would change is felt, and the value keeps its derivative.

Each iteration of the loops around the link has a d of its own, and a weight says of which iteration, `at`: for a scalar
by the indices of these loops, for an array by which of its axes they are, or, of a loop in which it is allocated, by
the index itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..language.core import (
    Alloc,
    Arr,
    Call,
    Carry,
    Comment,
    Const,
    For,
    Function,
    Guard,
    If,
    Let,
    Load,
    Print,
    Store,
    Var,
    While,
    walk,
    with_blocks,
    written,
)
from ..language.queries import allocations
from ..language.rewrite import kept


@dataclass(frozen=True)
class Weight:
    """How a value changes with the shift; see above."""

    kind: str
    by: float
    at: tuple


INVARIANT, ZERO, UNSET = "invariant", "zero", "unset"       # UNSET: memory that nothing has been written to yet
ZEROTH, ONCE = Const(0, "int64"), Const(1, "int64")
FLAT = ("stop", "floor", "ceil", "trunc", "rint", "sign", "heaviside")       # operations without a derivative
SAME = ("add", "sub", "sum", "maximum", "minimum", "larger", "smaller", "max", "min")
POWERS = {"square": 2.0, "sqrt": 0.5, "reciprocal": -1.0, "cbrt": 1.0 / 3.0, "neg": 1.0, "abs": 1.0}


class Felt(Exception):
    """Something depends on the value, or may."""


def without_cancelled_shifts(function: Function) -> Function:
    """The program in which values that cancel have no derivative."""
    links = [s for s in walk(function.body) if isinstance(s, Let) and s.op == "link"
             and s.args[1:2] == (Const(1.0, s.var.dtype),)]
    cancelled = {s.var for s in links if cancels(function, s, "add") or cancels(function, s, "mul")}
    return replace(function, body=stopped(function.body, cancelled)) if cancelled else function


def stopped(block, cancelled: set[Var]) -> tuple:
    return kept(block, [replace(s, op="stop", args=s.args[:1]) if isinstance(s, Let) and s.var in cancelled
                        else with_blocks(s, lambda inner: stopped(inner, cancelled)) for s in block])


def cancels(function: Function, link: Let, kind: str) -> bool:
    """Whether nothing that a function returns, or leaves in its arguments, depends on the value of a link, which is found by
    what a shift of it changes, or one of its logarithm."""
    shift = Shift(link, kind)
    try:
        for k, s in enumerate(function.body):
            if s is link or link in walk((s,)):
                shift.block(function.body[k:])
                break
            shift.before(s)
        return all(shift.of(r) in (INVARIANT, ZERO) if not isinstance(r, Arr) else not isinstance(
            shift.arrays.get(r), Weight) for r in function.returns)
    except Felt:
        return False


def joined(a, b):
    """What a value is that is one of two, by the path or the iteration."""
    if a == b or b == UNSET:
        return a
    if a == UNSET:
        return b
    for one, other in ((a, b), (b, a)):
        if one == ZERO and (other == INVARIANT or other.kind == "mul"):
            return other
    raise Felt


class Shift:
    """The weights of scalars and arrays, as far as the program has been followed; what is not named is invariant."""

    def __init__(self, link: Let, kind: str):
        self.link, self.kind = link, kind
        self.scalars: dict[Var, object] = {}
        self.arrays: dict[Arr, object] = {}
        self.loops: tuple = ()                          # the indices of those around the current statement
        self.home: dict[Arr, tuple] = {}                # the loops in which an array is allocated
        self.covered: dict[Arr, tuple] = {}             # arrays that the nest writes whole -> their index there
        self.around: dict[Var, tuple] = {}              # the loops in which a scalar is bound

    def before(self, stmt) -> None:
        """A statement before the value is there."""
        for arr in written((stmt,)):
            self.arrays.pop(arr, None)
        if isinstance(stmt, Alloc):
            self.allocated(stmt)

    def of(self, atom):
        if isinstance(atom, Const):
            return ZERO if atom.value == 0 else INVARIANT
        return self.scalars.get(atom, INVARIANT)

    def bind(self, var: Var, weight) -> None:
        self.scalars[var], self.around[var] = weight, self.loops

    def invariant(self, *atoms) -> None:
        if any(self.of(a) not in (INVARIANT, ZERO) for a in atoms):
            raise Felt

    def block(self, block) -> None:
        for s in block:
            self.statement(s)

    def statement(self, s) -> None:
        match s:
            case Let():
                self.bind(s.var, Weight(self.kind, 1.0, self.loops) if s is self.link else self.operation(s))
            case Load():
                weight = self.arrays.get(s.array, INVARIANT)
                if isinstance(weight, Weight):
                    weight = replace(weight, at=tuple(s.index[e] if isinstance(e, int) else e for e in weight.at))
                self.bind(s.var, weight)
            case Store():
                self.store(s)
            case Alloc():
                self.allocated(s)
            case For() | While():
                self.loop(s)
            case If():
                self.branch(s)
            case Call():
                for a in s.args:
                    arr = a if isinstance(a, Arr) else getattr(a, "array", None)
                    if arr is None:
                        self.invariant(a)
                    elif isinstance(self.arrays.get(arr), Weight):
                        raise Felt
                for out in s.outs:
                    if isinstance(out, Arr):
                        self.arrays[out] = joined(self.arrays.get(out, INVARIANT), INVARIANT)
                    else:
                        self.bind(out, INVARIANT)
            case Guard() | Print() | Comment():
                pass                                    # a condition, or a line, has no derivative
            case _:
                if any(isinstance(self.arrays.get(a), Weight) for a in written((s,))):
                    raise Felt
                for a in written((s,)):
                    self.arrays.pop(a, None)

    def allocated(self, s: Alloc) -> None:
        self.home[s.array] = self.loops
        if isinstance(s.fill, Arr):
            raise Felt
        if s.fill is not None:
            self.invariant(s.fill)
        self.arrays[s.array] = UNSET if s.fill is None else self.of(s.fill)

    # -- scalars ------------------------------------------------------------------------------------------------
    def operation(self, s: Let):
        """The weight of what an operation gives. Source of each: its derivative."""
        if s.var.dtype in ("bool", "int64") or s.op in FLAT:
            return INVARIANT
        op, args = s.op, tuple(map(self.of, s.args))
        if op == "link":
            if any(isinstance(w, Weight) for w in args[1:]):
                raise Felt
            return UNSET if UNSET in args[1:] else INVARIANT
        if UNSET in args:
            return UNSET
        if not any(isinstance(w, Weight) for w in args):
            return ZERO if op in ("copy", "cast", "neg", "pos") and args[0] == ZERO else INVARIANT
        first, second = (*args, None)[:2]
        if op in ("copy", "cast", "pos"):
            return first
        if op in SAME:
            return self.same(op, first, second)
        if op in ("mul", "div"):
            return self.product(s, first, second)
        if op == "neg" and first.kind == "add":
            return replace(first, by=-first.by)
        if op in POWERS and first.kind == "mul":
            return scaled(first, POWERS[op])
        if op == "pow" and isinstance(s.args[1], Const) and first.kind == "mul":
            return scaled(first, float(s.args[1].value))
        if op == "exp" and first.kind == "add":
            return replace(first, kind="mul")
        if op == "log" and first.kind == "mul":
            return replace(first, kind="add")
        raise Felt

    def same(self, op, first, second):
        """Of a sum, a difference, or the larger or smaller of two."""
        if first == second and (first.kind == "mul" or op not in ("add", "sub", "sum")):
            return first
        if op in ("add", "sub", "sum"):
            if ZERO in (first, second):
                return first if second == ZERO else second if op != "sub" else self.negative(second)
            kinds = {w.kind for w in (first, second) if isinstance(w, Weight)}
            if kinds == {"add"}:
                return plus(first, second, -1.0 if op == "sub" else 1.0)
        raise Felt

    @staticmethod
    def negative(weight):
        return replace(weight, by=-weight.by) if weight.kind == "add" else weight

    def product(self, s: Let, first, second):
        sign = -1.0 if s.op == "div" else 1.0
        kinds = {w.kind for w in (first, second) if isinstance(w, Weight)}
        if first == ZERO or second == ZERO and s.op == "mul":
            return ZERO
        if kinds == {"mul"}:
            return plus(first, second, sign)
        left, right = s.args
        if isinstance(right, Const) and first.kind == "add" and right.value:
            return scaled(first, float(right.value) ** sign)
        if isinstance(left, Const) and s.op == "mul" and second.kind == "add":
            return scaled(second, float(left.value))
        raise Felt

    # -- memory -------------------------------------------------------------------------------------------------
    def store(self, s: Store) -> None:
        arr, weight = s.array, self.of(s.value)
        if isinstance(weight, Weight):
            weight = replace(weight, at=tuple(self.place(arr, s.index, atom) for atom in weight.at))
        held = self.arrays.get(arr, INVARIANT)
        if not s.accumulate:
            self.arrays[arr] = weight if self.covered.get(arr) == s.index else joined(held, weight)
        elif not isinstance(weight, Weight):
            if isinstance(held, Weight) and held.kind == "mul" and weight != ZERO:
                raise Felt
            self.arrays[arr] = held if isinstance(held, Weight) or weight == ZERO else joined(held, weight)
        elif weight.kind == "mul":
            self.arrays[arr] = weight if held == ZERO else joined(held, weight)
        elif self.covered.get(arr) == s.index:
            self.arrays[arr] = plus(weight, held, 1.0)
        else:
            raise Felt                                  # an element may get it several times

    def place(self, arr: Arr, index, atom):
        """The axis of an array along which a loop runs, or the loop's index, where the array is allocated in it."""
        if atom in self.home.get(arr, ()) or isinstance(atom, Const) and atom not in index:
            return atom
        if atom in index:
            return index.index(atom)
        raise Felt

    # -- loops and branches -------------------------------------------------------------------------------------
    def loop(self, s: For | While) -> None:
        index = s.index if isinstance(s, For) else s.counter
        here = {a: i for a, i in covered(s).items() if a not in self.covered} if isinstance(s, For) else {}
        self.covered.update(here)
        for c in s.carries:
            self.bind(c.var, self.of(c.init))
        around, self.loops = self.loops, (*self.loops, index)
        self.around[index] = self.loops
        while True:
            head = dict(self.arrays)
            self.block(s.body)
            changed = False
            for c in s.carries:
                changed |= self.again(c, index)
            ends = self.arrays
            for arr, before in head.items():
                if arr not in self.covered:
                    after = joined(before, ends.get(arr, INVARIANT))
                    changed |= after != before
                    head[arr] = after
            for arr in ends.keys() - head.keys():
                if index not in self.home.get(arr, ()) and arr not in self.covered:
                    head[arr] = joined(INVARIANT, ends[arr])
            if not changed:
                break
            self.arrays = head
        self.arrays = head | {a: ends[a] for a in self.covered if a in ends}
        self.loops = around
        for arr in here:
            del self.covered[arr]
        for c in s.carries:
            self.bind(c.result, self.of(c.var))

    def again(self, carry: Carry, index) -> bool:
        """Take over what an iteration leaves; whether that is something else."""
        before, after = self.of(carry.var), self.of(carry.next)
        made = joined(before, after)
        if isinstance(made, Weight) and any(index in self.around.get(a, ()) for a in made.at):
            raise Felt
        self.bind(carry.var, made)
        return made != before

    def branch(self, s: If) -> None:
        before = dict(self.arrays)
        self.block(s.then)
        then, self.arrays = self.arrays, before
        values = [self.of(m.then) for m in s.merges]
        self.block(s.orelse)
        self.arrays = {arr: joined(then.get(arr, INVARIANT), self.arrays.get(arr, INVARIANT))
                       for arr in (then.keys() | self.arrays.keys()) - allocations(walk((s,))).keys()}
        for m, value in zip(s.merges, values, strict=True):
            self.bind(m.var, joined(value, self.of(m.orelse)))


def scaled(weight: Weight, by: float):
    return replace(weight, by=weight.by * by) if by else INVARIANT


def plus(first, second, sign: float):
    """The sum of two weights of one kind, the second times `sign`; of one of them, if the other is invariant."""
    if not isinstance(second, Weight):
        return first
    if not isinstance(first, Weight):
        return replace(second, by=sign * second.by)
    if (first.kind, first.at) != (second.kind, second.at):
        raise Felt
    by = first.by + sign * second.by
    return replace(first, by=by) if by else INVARIANT


def whole(s: Store, ranges: dict) -> bool:
    """Whether a store in loops from 0 to these ends writes each element of its array once."""
    return set(ranges) <= set(s.index) and len(set(s.index)) == len(s.index) == len(s.array.shape) and all(
        ranges[i] == n if i in ranges else i == ZEROTH and n == ONCE for i, n in zip(s.index, s.array.shape, strict=True))


def covered(loop: For) -> dict[Arr, tuple]:
    """Arrays that a nest of loops writes from end to end, each element once and before or after it reads that one."""
    found: dict[Arr, tuple] = {}
    used: dict[Arr, list] = {}

    def visit(stmt, ranges: dict, sure: bool) -> None:
        if isinstance(stmt, For):
            plain = stmt.exit is None and stmt.start == ZEROTH and stmt.step == ONCE
            inside = {**ranges, stmt.index: stmt.stop}
            for inner in stmt.body:
                visit(inner, inside, sure and plain)
            return
        if isinstance(stmt, (Load, Store)):
            used.setdefault(stmt.array, []).append(stmt)
        if isinstance(stmt, Store) and sure and whole(stmt, ranges):
            found[stmt.array] = stmt.index
        elif not isinstance(stmt, (Load, Store)):
            for inner in walk((stmt,)):
                for arr in written((inner,)) | {getattr(a, "array", a) for a in getattr(inner, "args", ())}:
                    used.setdefault(arr, []).append(inner)
                if isinstance(inner, Load):
                    used.setdefault(inner.array, []).append(inner)
    visit(loop, {}, True)
    return {a: i for a, i in found.items() if all(getattr(u, "index", None) == i for u in used[a])
            and sum(isinstance(u, Store) for u in used[a]) == 1}


__all__ = ["without_cancelled_shifts"]
