"""How a forward sweep holds tangents.

                    Scalars, one direction    Scalars, of several               Lanes
    v = f(x)        v_dot = p * x_dot         v_dot_0 = p * x_dot_0; ...        for l: v_dot[l] = p * x_dot[l]
    v = a[i]        v_dot = a_dot[i]          v_dot_0 = a_dot[0, i]; ...        for l: v_dot[l] = a_dot[i, l]
    loop, branch    carries and merges        as many for each direction        buffers, stored to at the end of the block
    library call    its pushforward           for each, on a_dot[0], a_dot[1]   for l: on copies of the lane

The partial derivatives p are computed once for all directions. Scalars are for few directions, whose number is known: loops
of the program stay the innermost ones, so that they vectorise. Lanes are for many: their loops run along memory; the passes
that follow join those of neighbouring statements, and what only one such loop uses becomes a scalar of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..language.build import Builder, integer, loops
from ..language.core import TANGENT, Arr, Carry, Const, Merge, Ref, Var, known_value
from ..language.substitution import placed, substitute
from .reverse_calls import as_ref

SHORT = 8               # products over at most as many terms are loops over lanes, from there on BLAS, lane by lane


class Tangents:
    """The tangents of a sweep. `dots`: variable or buffer -> its tangents; what is missing has none.

    `each(variables, body)` emits what `body()` does for every direction. Meanwhile one is at work: `get` is the tangent of a
    number in it, `at` the place of an element.
    """

    sweep: Any                              # the one that uses them
    shape: Callable[[tuple], tuple]         # of the tangents of an array of a shape
    each: Callable
    get: Callable
    at: Callable[[Any], tuple]
    operand: Callable[[Ref], Ref]           # the tangents of what a library call reads
    target: Callable[[Ref], Ref]            # where those of what it fills are computed
    fill: Callable[[Ref, Ref], None]        # and stored, if that is not the place itself
    new: Callable[[Var], Any]
    move: Callable
    load: Callable
    carries: Callable
    merges: Callable
    filled: Callable[[Any], Any]
    given: Callable
    result: Callable

    def __init__(self):
        self.dots: dict = {}

    def array(self, a: Arr) -> Arr:
        if a not in self.dots:
            self.dots[a] = Arr(f"{a.hint}_dot", a.dtype, self.shape(self.sweep.where(a.shape)), TANGENT)
        return self.dots[a]

    def zeros(self, a: Arr) -> Arr:
        """The tangents of a buffer, made here."""
        return self.sweep.b.make(self.array(a), Const(0.0, a.dtype), self.sweep.b.loc)

    def store(self, a: Arr, index, value, accumulate: bool | str = False) -> None:
        """The tangents of a number into those of an element; zeros where it has none, or is None."""
        target = self.array(a)
        self.each((), lambda: self.sweep.b.store(target, self.at(index), self.get(value, a.dtype), accumulate))

    def call(self, stmt, rule) -> None:
        """A library call's pushforward in each direction."""
        sweep, mapping = self.sweep, self.sweep.primals(stmt, rule)
        args, outs = ([(param, sweep.bound(mapping, param, x)) for param, x in zip(params, operands, strict=True)]
                      for params, operands in ((rule.arg_dots, stmt.args), (rule.out_dots, stmt.outs)))

        def one():
            m = dict(mapping)
            for param, x in args:
                if param is not None:
                    m[param] = self.operand(x) if isinstance(param, Arr) else self.get(x, x.dtype)
            for param, x in outs:
                if isinstance(param, Arr):
                    m[param] = self.target(x)
            sweep.b.stmts.extend(placed(substitute(rule.body, m), stmt.loc))
            for param, x in outs:
                if isinstance(param, Arr):
                    self.fill(x, m[param])
            return [m.get(param, param) for param, x in outs if isinstance(x, Var) and x in sweep.live]
        self.each([x for x in stmt.outs if isinstance(x, Var) and x in sweep.live], one)


class Scalars(Tangents):
    """The tangents of a number are as many scalars as there are directions.

    count: how many; those of a buffer then have one more, first axis. None: one direction, without that axis.
    """

    def __init__(self, count: int | None = None):
        super().__init__()
        self.several = count is not None
        self.places: list[tuple] = [()] if count is None else [(integer(k),) for k in range(count)]
        self.k = 0                          # the direction at work, in `each`

    def shape(self, shape) -> tuple:
        return (integer(len(self.places)), *shape) if self.several else shape

    def new(self, v: Var) -> tuple:
        self.dots[v] = tuple(self.sweep.variable(v) for _ in self.places)
        return self.dots[v]

    def of(self, x) -> tuple:
        return self.dots.get(x) or (Const(0.0, x.dtype),) * len(self.places)

    def given(self, p):
        """The parameter that brings the tangents of `p`."""
        if isinstance(p, Arr):
            return self.array(p)
        if not self.several:
            return self.new(p)[0]
        source = Arr(f"{p.hint}_dot", p.dtype, self.shape(()))
        self.dots[p] = tuple(self.sweep.b.load(source, place) for place in self.places)
        return source

    def result(self, r):
        """What returns the tangents of `r`."""
        if isinstance(r, Arr):
            return self.dots.get(r) or self.zeros(r)
        if not self.several:
            return self.of(r)[0]
        b = self.sweep.b
        target = b.alloc("dot", r.dtype, self.shape(()), Const(0.0, r.dtype))
        for place, part in zip(self.places, self.dots.get(r, ()), strict=False):
            b.store(target, place, part)
        return target

    def filled(self, stmt):
        """What the tangents of a new buffer hold; every store has one of tangents beside it."""
        return None if self.several and stmt.fill is None else Const(0.0, stmt.array.dtype)

    # -- one direction ----------------------------------------------------------------------------------------
    def each(self, variables, body) -> None:
        """`body()`, which returns the tangents of the variables, for each direction."""
        found = []
        for k in range(len(self.places)):
            self.k = k
            found.append(body() or ())
        self.dots.update(zip(variables, zip(*found, strict=True), strict=True))

    def get(self, x, dtype: str):
        return self.dots[x][self.k] if x in self.dots else Const(0.0, dtype)

    def at(self, index) -> tuple:
        return (*self.places[self.k], *index)

    def load(self, v: Var, source: Arr, index) -> Var:
        """The tangent of `v` in one direction, from the tangents of a buffer."""
        return self.sweep.b.read(self.sweep.variable(v), source, self.at(index), self.sweep.b.loc)

    def operand(self, ref: Ref) -> Ref:
        return Ref(self.array(ref.array), self.at(ref.prefix), ref.transposed)

    def target(self, ref: Ref) -> Ref:
        if ref.array not in self.sweep.live and self.k == 0:        # another result of the call is
            self.zeros(ref.array)
        return self.operand(ref)

    def fill(self, ref: Ref, made: Ref) -> None:
        """Nothing is left to do."""

    # -- control flow -----------------------------------------------------------------------------------------
    def move(self, targets, sources) -> None:
        """Carries and merges do it."""

    def carries(self, moving) -> list:
        return [Carry(*parts) for c in moving for parts in zip(
            self.of(c.var), self.of(c.init), self.of(c.next), self.new(c.result), strict=True)]

    def merges(self, merging) -> list:
        return [Merge(*parts) for m in merging for parts in zip(
            self.of(m.var), self.of(m.then), self.of(m.orelse), strict=True)]


class Lanes(Tangents):
    """The tangents of a number are a buffer with one element a lane; those of a buffer have one more, last axis.

    count: how many lanes, an integer atom. Short products read the primal's buffers, which must be as they were: not for the
    linear part.
    """

    def __init__(self, count):
        super().__init__()
        self.count = count
        self.lane: Any = None               # the one at work, in `each`

    def shape(self, shape) -> tuple:
        return (*shape, self.count)

    def new(self, v: Var) -> Arr:
        self.sweep.b.make(self.given(v))
        return self.dots[v]

    def given(self, p) -> Arr:
        """The parameter that brings the tangents of `p`."""
        if isinstance(p, Var):
            self.dots[p] = Arr(f"{p.hint}_dot", p.dtype, (self.count,), TANGENT)
        return self.dots[p] if isinstance(p, Var) else self.array(p)

    def result(self, r) -> Arr:
        """What returns the tangents of `r`."""
        if r in self.dots or isinstance(r, Arr):
            return self.dots.get(r) or self.zeros(r)
        return self.sweep.b.alloc("dot", r.dtype, (self.count,), Const(0.0, r.dtype))

    def filled(self, stmt):
        return Const(0.0, stmt.array.dtype)

    # -- one lane ---------------------------------------------------------------------------------------------
    def each(self, variables, body) -> None:
        """A loop over the lanes around `body()`, which returns the tangents of the variables."""
        targets = [self.new(v) for v in variables]
        b = self.sweep.b
        self.lane = lane = b.index("lane", integer(0), self.count)
        inner = b.child(loop=True)
        with self.sweep.within(inner):
            for target, value in zip(targets, body() or (), strict=True):
                inner.store(target, (lane,), value)
        b.repeat(lane, 0, self.count, inner.block(), loc=b.loc, origin="array")

    def get(self, x, dtype: str):
        return self.sweep.b.load(self.dots[x], (self.lane,)) if x in self.dots else Const(0.0, dtype)

    def at(self, index) -> tuple:
        return (*index, self.lane)

    def load(self, v: Var, source: Arr, index):
        return self.sweep.b.load(source, self.at(index))

    def operand(self, ref: Ref) -> Ref:
        """A copy of the lane of an operand."""
        source, made = self.array(ref.array), self.target(ref)
        loops(self.sweep.b, made.array.shape, lambda b, i: b.store(
            made.array, i, b.load(source, self.at((*ref.prefix, *i)))))
        return made

    def target(self, ref: Ref) -> Ref:
        own = Arr("dot", ref.dtype, self.sweep.where(ref.array.shape[len(ref.prefix):]))
        self.sweep.b.make(own)
        return Ref(own, (), ref.transposed)

    def fill(self, ref: Ref, made: Ref) -> None:
        """What a call has made of one lane into the buffer of all."""
        if ref.array in self.sweep.live:
            target = self.array(ref.array)
            loops(self.sweep.b, made.array.shape, lambda b, i: b.store(
                target, self.at((*ref.prefix, *i)), b.load(made.array, i)))

    # -- control flow -----------------------------------------------------------------------------------------
    def move(self, targets, sources) -> None:
        """Copy the tangents of all sources, read before any target is written."""
        pairs = [(target, x) for target, x in zip(targets, sources, strict=True) if self.dots.get(x) is not target]

        def one():
            values = [self.get(x, target.dtype) for target, x in pairs]
            for (target, _), value in zip(pairs, values, strict=True):
                self.sweep.b.store(target, (self.lane,), value)
        if pairs:
            self.each((), one)

    def carries(self, moving) -> tuple:
        self.dots.update({c.result: self.dots[c.var] for c in moving})
        return ()

    def merges(self, merging) -> tuple:
        return ()

    # -- short products ---------------------------------------------------------------------------------------
    def call(self, stmt, rule) -> None:
        if stmt.op == "matmul":
            a, b = (as_ref(self.sweep, x) for x in stmt.args)
            if isinstance(a.shape[-1], Const) and a.shape[-1].value <= SHORT:
                return self.product(stmt.outs[0], a, b)
        return super().call(stmt, rule)

    def product(self, out, a: Ref, b: Ref) -> None:
        """out_dot[i, j, l] = sum over k of a_dot[i, k, l] * b[k, j] + a[i, k] * b_dot[k, j, l]."""
        sweep, rows = self.sweep, len(a.shape) - 1
        number = out if isinstance(out, Var) else None
        out = Ref(Arr(out.hint, out.dtype, ())) if number else as_ref(sweep, out)
        if number:
            self.dots[out.array] = self.new(number)

        def element(bb: Builder, index) -> None:
            with sweep.within(bb):
                place = element_of(out, index)
                self.store(out.array, place, None)
                for k in map(integer, range(known_value(a.shape[-1]))):
                    sides = [(a, (*index[:rows], k)), (b, (k, *index[rows:]))]
                    for (x, i), (y, j) in (sides, sides[::-1]):
                        if x.array in sweep.live:
                            self.add_scaled(out.array, place, bb.load(y.array, element_of(y, j)), x.array, element_of(x, i))
        loops(sweep.b, sweep.where(out.shape), element)

    def add_scaled(self, out: Arr, place, factor, x: Arr, index) -> None:
        """out_dot[place] += factor * x_dot[index], in each lane."""
        target, source = self.array(out), self.array(x)

        def one():
            b = self.sweep.b
            term = b.let("mul", factor, b.load(source, self.at(index)), dtype=target.dtype)
            b.store(target, self.at(place), term, True)
        self.each((), one)


def element_of(ref: Ref, index) -> tuple:
    """The place in its buffer of an element of an operand."""
    return (*ref.prefix, *(index[::-1] if ref.transposed else index))


__all__ = ["Lanes", "Scalars", "Tangents"]
