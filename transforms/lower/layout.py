"""How arrays would lie in NumPy's memory: it decides which functions give a view, and which a copy.

Arrays here are index maps over buffers in C order. NumPy's also have strides: `B.T.ravel()` copies, `B.ravel()` does not.
Strides are polynomials in sizes, as dictionaries from tuples of variables to coefficients, in units of one element.
Where it cannot be known which of both NumPy gives, there is a copy, and the compiler refuses writes that would tell.
"""

from __future__ import annotations

from ..language.build import ONE, ZERO
from ..language.core import Arr
from ..language.errors import UnsupportedSyntax
from .memory import expression
from .plan import Widen
from .values import Array, Buffer, Delayed, FancyRead, Part, Transposed, View, leaves

UNIT = {(): 1}


def times(p: dict, q: dict) -> dict:
    total: dict = {}
    for a, c in p.items():
        for b, d in q.items():
            key = tuple(sorted((*a, *b), key=id))
            total[key] = total.get(key, 0) + c * d
    return {k: c for k, c in total.items() if c}


def plus(p: dict, q: dict, factor: int = 1) -> dict:
    total = dict(p)
    for k, c in q.items():
        total[k] = total.get(k, 0) + factor * c
    return {k: c for k, c in total.items() if c}


def axes_kept(value: View):
    """For each axis: (the source's axes it runs along, step), where that is known."""
    return range_of_axes(value.rank)[::-1] if isinstance(value, Transposed) else value.axes


def range_of_axes(rank: int) -> list:
    return [((k,), 1) for k in range(rank)]


class Layouts:
    """What the lowering knows of strides."""

    layouts: set                # array arguments that are taken to lie in C order, which decides what is a view

    def polynomial(self, atom) -> dict:
        constant, terms = self.b.facts.affine(atom)
        total = {(): constant} if constant else {}
        for var, c in terms.items():
            op, args = self.b.facts.definition.get(var, ("", ()))
            total = plus(total, times(self.polynomial(args[0]), self.polynomial(args[1])) if op == "mul" else {(var,): 1}, c)
        return total

    def equal(self, p: dict, q: dict) -> bool | None:
        """Whether two polynomials in sizes are equal; None if that depends on the sizes."""
        rest = plus(p, q, -1)
        if not rest:
            return True
        common = [v for v in next(iter(rest)) if all(v in k for k in rest)]
        if common:
            return self.equal(divided(rest, common[0]), {}) if self.b.facts.at_least(common[0], 1) else None
        constant = rest.get((), 0)
        if all((c > 0) != (constant > 0) for k, c in rest.items() if k) and sum(
                abs(c) * self.least(k) for k, c in rest.items() if k) > abs(constant):
            return False
        if all(len(k) < 2 for k in rest):
            terms = {k[0]: c for k, c in rest.items() if k}
            if any(self.b.facts.proven((sign * rest.get((), 0) - 1, {v: sign * c for v, c in terms.items()}))
                   for sign in (1, -1)):
                return False
        return None

    def least(self, variables) -> int:
        """A number that a product of sizes reaches."""
        product = 1
        for v in variables:
            product *= 2 if self.b.facts.at_least(v, 2) else 1 if self.b.facts.at_least(v, 1) else 0
        return product

    def order(self, value: Array) -> str | None:
        """How NumPy keeps the axes of this array when it copies: "C", "F", or None if that is not known."""
        if value.rank < 2:
            return "C"
        if isinstance(value, FancyRead):
            return value.order
        if isinstance(value, View) and not isinstance(value, Part):
            return self.order_of_view(value)
        if value.order is None:
            found = {self.order(s) for s in value.made_of if s.rank > 1 and sum(n != ONE for n in s.shape) > 1}
            if value.elementwise:
                value.order = "C" if "C" in found or not found else "?" if None in found else "F"
            else:
                value.order = "C" if found <= {"C"} else "?"
        return None if value.order == "?" else value.order

    def order_of_view(self, view: View) -> str | None:
        axes = axes_kept(view)
        source = self.order(view.source)
        if axes is None or source is None:
            return "C" if view.laid is not None and self.contiguous(view) else None
        kept = [a for (a, _), s in zip(axes, view.shape, strict=True) if s != ONE]
        if any(len(a) != 1 for a in kept):
            return None
        kept = [a[0] for a in kept]
        if kept == sorted(kept):
            return source
        return {"C": "F", "F": "C"}[source] if kept == sorted(kept, reverse=True) else None

    def strides(self, value: Array) -> list | None:
        """The strides of an array in NumPy, None where they are not known."""
        if isinstance(value, (FancyRead, Part)):
            return None
        if isinstance(value, View):
            if value.laid is not None:
                return value.laid
            source, axes = self.strides(value.source), axes_kept(value)
            if source is None or axes is None:
                return None
            laid = []
            for along, step in axes:
                total: dict = {}
                for a in along:
                    total = plus(total, source[a])
                laid.append(times(total, {(): step}))
            return laid
        if value.view_of is not None:
            return self.strides(value.view_of)
        if isinstance(value, Buffer):
            self.layouts |= {value.arr} & self.parameters
        order = self.order(value)
        if order is None:
            return None
        laid, step = [], UNIT
        for size in reversed(value.shape) if order == "C" else value.shape:
            laid.append(step)
            step = times(step, self.polynomial(size))
        return laid[::-1] if order == "C" else laid

    def contiguous(self, value: Array, order: str = "C") -> bool | None:
        """Whether the elements lie one after the other in this order."""
        laid = self.strides(value)
        return None if laid is None else self.in_line(value.shape, laid, order)

    def in_line(self, shape, laid, order: str = "C") -> bool | None:
        step, found = UNIT, True
        pairs = list(zip(shape, laid, strict=True))
        for size, stride in reversed(pairs) if order == "C" else pairs:
            if size == ONE:
                continue
            same = self.equal(stride, step)
            if same is not True:
                if same is False and self.b.facts.at_least(size, 2):
                    return False
                found = None
            step = times(step, self.polynomial(size))
        return True if ZERO in shape else found

    def reshaped_strides(self, value: Array, shape) -> tuple[bool | None, list | None]:
        """(whether NumPy reshapes this array without a copy, the strides it has then)."""
        laid = self.strides(value)
        if laid is None:
            return None, None
        old = [(s, t) for s, t in zip(value.shape, laid, strict=True) if s != ONE]
        new = [k for k, s in enumerate(shape) if s != ONE]
        found: list = [dict(UNIT) for _ in shape]
        for end in (0, -1):
            while new and old and self.same_size(shape[new[end]], old[end][0]):
                found[new.pop(end)] = old.pop(end)[1]
        if not new and not old or ZERO in shape:
            return True, found
        step, whole = dict(old[-1][1]) if old else UNIT, True
        for (_, far), (size, near) in zip(old, old[1:], strict=False):
            same = self.equal(far, times(near, self.polynomial(size)))
            if same is not True:
                certain = same is False and len(new) == 1 and all(self.b.facts.at_least(s, 2) for s, _ in old)
                whole = False if certain or whole is False else None
        for k in reversed(new):
            found[k] = step
            step = times(step, self.polynomial(shape[k]))
        return whole, found if whole else None

    # -- views, copies and what may be either -----------------------------------------------------------------
    def owns_memory(self, value: Array) -> bool:
        """Whether another name could see this memory: expressions that no name stands for have none."""
        value = expression(value)
        if isinstance(value, Delayed) and value.forced is None and self.is_named(value):
            self.force(value)
        return isinstance(value, Buffer) or isinstance(value, Delayed) and value.forced is not None

    def is_named(self, value: Delayed) -> bool:
        """Whether a name stands for this expression, or for a view of it."""
        return any(isinstance(leaf, Array) and expression(leaf) is value
                   for frame in self.frames for seen in frame.env.values() for leaf in leaves(seen))

    def copied(self, value: Array, order: str | None = "C") -> Array:
        """A copy, made when it must be; `order`: how it lies, None if as the original."""
        made = self.fresh(value)
        if isinstance(made, Array) and made.rank:
            made.order = order
        return made

    def copied_when_written(self, value: Buffer) -> Buffer:
        """A copy, which is left out while nothing writes the original: else everything is lowered again, with the copy."""
        place = ("copied", *self.place_of(self.node))
        if place in self.widened or value.arr in self.user_writes:
            return self.force(value, copy=True)
        self.left_out[value.arr] = place
        return value

    def needs_copies(self, arr: Arr) -> None:
        """The program writes an array of which a copy was left out."""
        if arr in self.left_out:
            raise Widen(self.left_out[arr], True)

    def uncertain_copy(self, value: Array, order: str | None = "C") -> Array:
        """A copy of what NumPy may give as a view: writes that would tell them apart are refused."""
        roots = set(value.roots())
        made = self.force(value, copy=True)
        made.order = order
        for root in roots:
            self.note_twins((made.arr, root))
            self.either_way[frozenset((made.arr, root))] = "what NumPy makes of it, a view or a copy,"
        return made

    def same_or_copy(self, value: Array, order: str) -> Array:
        """`value` where it lies in this order, else a copy that does."""
        lies = self.contiguous(value, order)
        if lies or not self.owns_memory(value):
            return value
        return self.copied(value, order) if lies is False else self.uncertain_copy(value, order)

    def refuse_either_way(self, arr: Arr, twin: Arr):
        what = self.either_way.get(frozenset((arr, twin)))
        if what is not None:
            raise self.error(UnsupportedSyntax, f"`{arr.hint}` is written to while a name sees another array that may be "
                             f"the same memory: {what} is read as well", "say that a copy is meant: x.copy()")


def divided(p: dict, var) -> dict:
    found = {}
    for key, c in p.items():
        rest = list(key)
        rest.remove(var)
        found[tuple(rest)] = c
    return found


__all__ = ["Layouts"]
