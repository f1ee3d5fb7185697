"""How often loops run at most, and how large arrays are at most, by what is known before the loops: the sizes of tapes."""

from __future__ import annotations

from contextlib import contextmanager

from ..language import core
from ..language.build import Builder, integer
from ..language.core import Atom, Const, Function, Var
from ..language.dependence import Order
from ..language.facts import Facts
from ..language.queries import is_range


def counts_by_index(facts: Facts, loop) -> bool:
    """Whether the loop's own index numbers its iterations, or can: small, non-negative, dense."""
    if not is_range(loop):
        return True
    low = facts.range[loop.index][0]
    return core.known_value(loop.step) in (1, -1) and isinstance(low, Const) and 0 <= low.value <= 4


class Extents:
    """fixed: numbers that are known before everything. prelude: the statements that compute the bounds, by the statement of
    the outermost block before which they stand."""

    def __init__(self, function: Function, facts: Facts, order: Order, fixed=frozenset()):
        self.function, self.facts, self.order, self.fixed = function, facts, order, fixed
        self.place = {stmt: k for k, stmt in enumerate(function.body)}
        self.defined_at = {v: k for k, stmt in enumerate(function.body) for v in core.defined(stmt)}
        self.prelude: dict = {}
        self.found: dict = {}

    def of_loop(self, loop, top) -> Atom | None:
        """An upper bound of the loop's counter plus one, from what is known before `top`; None if there is none."""
        if (loop, top) not in self.found:
            with self.before_checks():
                self.found[loop, top] = self.find(loop, top)
        return self.found[loop, top]

    def of_size(self, size: Atom, top) -> Atom | None:
        """An upper bound of a size."""
        with self.before_checks():
            return self.outside(size, True, top)

    @contextmanager
    def before_checks(self):
        """Tapes are allocated before later checks make sizes equal: one may not stand for the other there yet."""
        equal = dict(self.facts.alias)
        self.facts.forget_since({})
        try:
            yield
        finally:
            self.facts.forget_since(equal)

    def find(self, loop, top) -> Atom | None:
        if not is_range(loop):
            return None
        builder = self.prelude_of(top)
        low, high = self.facts.range[loop.index]
        if counts_by_index(self.facts, loop):
            bound = self.outside(high, True, top)
        else:
            step = abs(core.known_value(loop.step))
            a, b = self.outside(high, True, top), self.outside(low, False, top)
            if a is None or b is None:
                return None
            gap = builder.isub(a, b)
            bound = gap if step == 1 else builder.let("floordiv", gap, integer(step), dtype="int64")
        return None if bound is None else builder.imax(builder.iadd(bound, 1), 0)

    def prelude_of(self, top) -> Builder:
        if top not in self.prelude:
            self.prelude[top] = Builder(self.facts)
        return self.prelude[top]

    def outside(self, atom: Atom | None, upper: bool, top) -> Atom | None:
        """A bound of an integer atom in terms of what is known before a statement of the outermost block."""
        if atom is None:
            return None
        builder = self.prelude_of(top)
        for known in ((self.fixed, None) if self.fixed else (None,)):
            found = self.facts.bound(
                atom, upper, lambda v, known=known: (known is None or v in known) and self.is_before(v, top), builder)
            if found is not None:
                return found
        return None

    def is_before(self, v: Var, top) -> bool:
        home = self.order.block_of.get(v)
        if home is None:
            return v in self.function.params
        return home is self.function.body and self.defined_at[v] < self.place[top]


__all__ = ["Extents", "counts_by_index"]
