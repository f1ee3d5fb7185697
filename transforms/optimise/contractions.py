"""Sums of products over three loops, as they stand in programs that compute them one number at a time.

    for i in range(n):
        for j in range(m):
            t = 0.0
            for k in range(p):
                t += a[i, k] * b[k, j]          a Sum: what it reads is known before the loop over i begins
            s += np.tanh(t)
            ...
            for k in range(p):
                a_bar[i, k] += t_bar * b[k, j]  an Addition by rows: `t_bar` is known in this iteration only,
                b_bar[k, j] += t_bar * a[i, k]  and one by the other loops; nothing reads them before the loop ends

The two inner loops may stand in either order. One of them may be longer, or shorter, in each iteration of the outermost
one, as `range(i + 1)` and `range(i, n)` are; `x[i + j]` for `j` in `range(n - i)` is taken for `x[c]`, `c` in `range(i, n)`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..language import core
from ..language.build import Builder, integer, trips
from ..language.core import Arr, Atom, Carry, Const, For, Let, Load, Store, Var, array_of
from ..language.facts import Facts, combine
from ..language.names import defined_in
from ..language.queries import is_addition, is_simple, is_store, is_whole, scalars
from .congruence import IMPURE
from .simplify import raises

FEW = 8                 # elements along an axis that loops add as fast
MOST_FACTORS = 12       # of a product
STEPS = (integer(1), integer(-1))
Form = tuple[int, dict]


@dataclass(frozen=True, eq=False)
class Axis:
    """The indices of a loop in another one: from `low` to before `high`, whatever the order.

    shift: whether they are more by the index of the other loop than the loop's own. goes_with: which end, if any, does.
    """

    loop: For
    low: Form
    high: Form
    shift: bool = False
    goes_with: str = ""


@dataclass(frozen=True, eq=False)
class Sum:
    """A sum over `summed` of products that are known before the outermost loop begins: `rows` depend on its index and on
    `summed`, `matrix` on `summed` and `free`, `rest` on neither. site: the carry, or the store that adds each product."""

    site: Carry | Store
    free: Axis
    summed: Axis
    rows: tuple[Atom, ...]
    matrix: tuple[Atom, ...]
    rest: tuple[Atom, ...]
    negative: bool


@dataclass(frozen=True, eq=False)
class Addition:
    """A store that adds products of `kept`, which an iteration computes for each index of `over`, and of `known`, which is
    known before and depends on `along`. by_rows: what is added to is of the outermost loop's index; or `known` is. at_once:
    whether `known` is known before; or an iteration computes it, for each index of `along`."""

    site: Store
    over: Axis
    along: Axis
    kept: tuple[Atom, ...]
    known: tuple[Atom, ...]
    negative: bool
    by_rows: bool
    at_once: bool


@dataclass(frozen=True, eq=False)
class Product:
    """A store that adds a product of matrices, all of it known before the three loops: of `left`, by the axes `down` and
    `summed`, and `right`, by `summed` and `across`."""

    site: Store
    down: Axis
    across: Axis
    summed: Axis
    left: tuple[Atom, ...]
    right: tuple[Atom, ...]
    negative: bool


def products_of(nest: Nest) -> list[Product] | None:
    """The products of matrices that are all that three loops do; None if they do more."""
    loops = nest.loop, nest.outer.loop, nest.inner.loop
    axes = Axis(nest.loop, *ends(nest.loop, nest.facts)), nest.outer, nest.inner
    stores = [s for s in nest.inner.loop.body if is_store(s)]
    used = only_added_to(nest.loop)
    if nest.checked or any(x.goes_with or x.shift for x in axes) or any(x.carries for x in loops) or not all(
            is_simple(s) and not is_store(s) or s in loops for x in loops[:2] for s in x.body) or not all(
                is_addition(s) and s.array in used for s in stores):
        return None
    found = [nest.product_of(s, axes) for s in stores]
    return [x for x in found if x is not None] if None not in found else None


def found_in(loop: For, facts: Facts) -> list[tuple[Nest, list[Sum | Addition]]]:
    """The nests of two loops in a loop, with the sums and additions in each."""
    pairs = [(outer, inner) for outer in loop.body if is_candidate(outer, facts) for inner in outer.body
             if is_candidate(inner, facts) and all(map(is_simple, inner.body))]
    if not pairs:
        return []
    within, used, checked = defined_in(loop.body) | {loop.index}, only_added_to(loop), any(map(raises, core.walk(loop.body)))
    found = []
    for outer, inner in pairs:
        one, other = axis(outer, loop, within, facts), axis(inner, loop, within, facts)
        if one is not None and other is not None and not (one.goes_with and other.goes_with):
            nest = Nest(loop, one, other, facts, checked)
            sites = [s for s in nest.sites() if isinstance(s, Sum) or s.site.array in used]
            found += [(nest, sites)] if sites else []
    return found


def is_candidate(loop, facts: Facts) -> bool:
    return is_whole(loop) and loop.step in STEPS and loop.checkpoint is None and not is_few(loop, facts, FEW)


def is_few(loop: For, facts: Facts, most: int = 3) -> bool:
    """Whether a loop is known to run no more often."""
    count = trips(Builder(facts), loop.start, loop.stop, core.known_value(loop.step))
    return isinstance(count, Const) and count.value <= most


def ends(loop: For, facts: Facts) -> tuple[Form, Form]:
    """The least index of a loop, and the one that is no longer in it."""
    low, high = facts.affine(loop.start), facts.affine(loop.stop)
    return (low, high) if loop.step == integer(1) else (combine(high, (1, {}), 1), combine(low, (1, {}), 1))


def axis(loop: For, around: For, within: set, facts: Facts) -> Axis | None:
    """The indices of a loop in another one; None if more than that one's index decides which they are."""
    low, high = ends(loop, facts)
    index = around.index
    shift = high[1].get(index) == -1
    if shift:
        low, high = (combine(form, (0, {index: 1}), 1) for form in (low, high))
    goes = low[1].get(index, 0), high[1].get(index, 0)
    if goes not in ((0, 0), (1, 0), (0, 1)) or any(v in within and v is not index for form in (low, high) for v in form[1]):
        return None
    return Axis(loop, low, high, shift, {(1, 0): "low", (0, 1): "high"}.get(goes, ""))


def only_added_to(loop: For) -> set[Arr]:
    """The arrays from outside of which a loop does nothing but to add to elements."""
    added = {s.array for s in core.walk(loop.body) if is_addition(s)}
    for s in core.walk(loop.body):
        if not is_addition(s):
            added -= {array_of(x) for x in (*core.operands(s), *core.results(s))}
    return added - defined_in(loop.body)


class Nest:
    """Two loops in a third, and what their numbers depend on. Its index and theirs, shifted, stand for the three axes.
    checked: whether there are errors, which must come where they would, and before what they keep from being computed."""

    def __init__(self, loop: For, outer: Axis, inner: Axis, facts: Facts, checked: bool = False):
        self.loop, self.outer, self.inner, self.facts, self.checked = loop, outer, inner, facts, checked
        self.made = scalars(core.walk(loop.body))
        self.indices = {loop.index, outer.loop.index, inner.loop.index}
        self.changed, self.changed_here = core.written(loop.body), core.written(outer.loop.body)
        self.within = {where: defined_in(where.body) | {where.index, *(c.var for c in where.carries)}
                       for where in (loop, outer.loop, inner.loop)}
        self.added = only_added_to(outer.loop)
        self.found: dict = {}           # what values depend on

    # -- what numbers depend on -------------------------------------------------------------------------------------
    def form(self, x: Atom) -> Form:
        """An integer by the indices of the axes."""
        form = self.facts.affine(x)
        for one in (self.outer, self.inner):
            if one.shift and one.loop.index in form[1]:
                form = combine(form, (0, {self.loop.index: 1}), -form[1][one.loop.index])
        return form

    def depends(self, x, changed: set, where: For) -> set | None:
        """On which axes a value depends; None if it is not known outside a loop, where `changed` changes."""
        if not isinstance(x, Var):
            return set()
        if x in self.indices:
            shifted = any(one.shift and one.loop.index is x for one in (self.outer, self.inner))
            return {x, self.loop.index} if shifted else {x}
        if x not in self.within[where]:
            return set()
        if (x, where) not in self.found:
            self.found[x, where] = self.depends_as_made(x, changed, where)
        return self.found[x, where]

    def depends_as_made(self, x: Var, changed: set, where: For) -> set | None:
        s = self.made.get(x)
        if s is None or isinstance(s, Load) and s.array in changed or isinstance(s, Let) and (
                s.op in IMPURE or raises(s) or self.checked and s.op in ("floordiv", "mod")):
            return None
        if x.dtype == "int64" and x not in (terms := self.form(x)[1]):
            parts = [{v} if v in self.indices else self.depends(v, changed, where) for v in terms]
        else:
            parts = [self.depends(y, changed, where) for y in (s.index if isinstance(s, Load) else s.args)]
        return all_of(parts)

    def known(self, x) -> set | None:
        """The axes on which a value depends that is known before the outermost loop begins; None if it is not."""
        return self.depends(x, self.changed, self.loop)

    def place(self, s: Load | Store) -> set | None:
        """The axes on which the place of an access depends."""
        return all_of([self.known(i) for i in s.index])

    def again(self, x) -> bool:
        """Whether a value can be had before the two loops begin."""
        return self.depends(x, self.changed_here, self.outer.loop) is not None

    def without(self, x, over: Axis) -> bool:
        """Whether a value that goes with one loop of the two does not change in the other, and can be had outside that."""
        other = self.inner if over is self.outer else self.outer
        here = self.depends(x, self.changed_here, self.outer.loop)
        if here is not None:
            return other.loop.index not in here
        return over is self.outer and x not in self.within[self.inner.loop]

    # -- sums and additions -----------------------------------------------------------------------------------------
    def sites(self) -> list[Sum | Addition]:
        """The sums and additions of the two loops."""
        inner = self.inner.loop
        carried = [(c, s) for c in inner.carries for s in inner.body if isinstance(s, Let) and s.op in (
            "sum", "add") and s.var is c.next and c.var in s.args and self.uses(c.var) == 1]
        found: list[Sum | Addition | None] = []
        found += [self.sum_of(c, next(x for x in s.args if x is not c.var), self.outer, self.inner) for c, s in carried]
        found += [self.stored(s) for s in inner.body if is_addition(s)]
        return [s for s in found if s is not None]

    def uses(self, x) -> int:
        inner = self.inner.loop
        return sum(y is x for s in inner.body for y in core.operands(s)) + sum(c.next is x for c in inner.carries)

    def factors(self, value, dtype: str) -> tuple[list[Atom], bool] | None:
        """The factors of a product, and whether it is negative; None if they are many, or not all of one type."""
        found: list[Atom] = []
        negative, waiting = False, [value]
        while waiting:
            if len(found) + len(waiting) > MOST_FACTORS:
                return None
            x = waiting.pop()
            s = self.made.get(x) if isinstance(x, Var) and x in self.within[self.inner.loop] else None
            if isinstance(s, Let) and s.op in ("mul", "neg"):
                negative ^= s.op == "neg"
                waiting += reversed(s.args)
            else:
                found.append(x)
        return (found, negative) if all(x.dtype == dtype for x in found) and dtype in core.FLOATS else None

    def sum_of(self, site: Carry | Store, value: Atom, free: Axis, summed: Axis) -> Sum | None:
        """A sum that a carry or a store is."""
        product = self.factors(value, site.var.dtype if isinstance(site, Carry) else site.array.dtype)
        if product is None or summed.goes_with:
            return None
        rows, matrix, rest = [], [], []
        rows_of: set = set()
        for x in product[0]:
            on = self.known(x)
            if self.without(x, free):
                rest.append(x)
            elif on is None or on >= self.indices:
                return None
            elif free.loop.index in on:
                matrix.append(x)
                if self.loop.index in on:
                    return None
            else:
                rows.append(x)
                rows_of |= on
        if self.loop.index not in rows_of or not self.is_matrix(matrix, free, summed):
            return None
        return Sum(site, free, summed, tuple(rows), tuple(matrix), tuple(rest), product[1])

    def is_matrix(self, factors: list, *axes: Axis) -> bool:
        """Whether the program has as many of these numbers in memory, so that a copy of them is none too many."""
        places = [self.place(s) for x in factors if isinstance(s := self.made.get(x), Load)]
        return any(on is not None and {x.loop.index for x in axes} <= on for on in places)

    def stored(self, s: Store) -> Sum | Addition | None:
        """A sum or an addition that a store is."""
        on = self.place(s)
        if on is None:
            return None
        pairs = ((self.outer, self.inner), (self.inner, self.outer))
        for one, other in pairs:
            if one.loop.index in on and other.loop.index not in on:
                found = self.sum_of(s, s.value, one, other) if s.array in self.added else None
                return found or (self.addition(s, other, one, True) if self.loop.index in on else None)
        if on == self.indices - {self.loop.index}:
            return next(filter(None, (self.addition(s, *pair, False) for pair in pairs)), None)
        return None

    def product_of(self, s: Store, axes: tuple[Axis, ...]) -> Product | None:
        """A product of matrices that a store is."""
        on, product = self.place(s), self.factors(s.value, s.array.dtype)
        free = [x for x in axes if on is not None and x.loop.index in on]
        summed = next((x for x in axes if x not in free), None)
        if len(free) != 2 or summed is None or product is None:
            return None
        down, across = free if free[1].loop.index in (self.known(s.index[-1]) or ()) else reversed(free)
        right = [x for x in product[0] if across.loop.index in (self.known(x) or ())]
        left = [x for x in product[0] if x not in right]
        if all_of([self.known(x) for x in left]) != {down.loop.index, summed.loop.index} or all_of(
                [self.known(x) for x in right]) != {across.loop.index, summed.loop.index}:
            return None
        if not self.is_matrix(left, down, summed) or not self.is_matrix(right, across, summed):
            return None
        return Product(s, down, across, summed, tuple(left), tuple(right), product[1])

    def addition(self, s: Store, over: Axis, along: Axis, by_rows: bool) -> Addition | None:
        """An addition that a store is."""
        product = self.factors(s.value, s.array.dtype)
        if product is None or along.goes_with:
            return None
        kept = [x for x in product[0] if self.without(x, over)]
        known = [x for x in product[0] if x not in kept]
        wanted = {along.loop.index, over.loop.index if by_rows else self.loop.index}
        if not kept or not known:
            return None
        at_once = all_of([self.known(x) for x in known]) == wanted
        if by_rows and not (at_once and self.is_matrix(known, over, along)) or not at_once and not all(
                self.without(x, along) for x in known) or over.goes_with and not s.array.any_order:
            return None
        return Addition(s, over, along, tuple(kept), tuple(known), product[1], by_rows, at_once)


def all_of(parts: list[set | None]) -> set | None:
    """What sets hold together; None if one is not known."""
    known = [x for x in parts if x is not None]
    return set().union(*known) if len(known) == len(parts) else None


__all__ = ["STEPS", "Addition", "Axis", "Form", "Nest", "Product", "Sum", "ends", "found_in", "is_few", "products_of"]
