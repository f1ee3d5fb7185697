"""How arrays would lie in NumPy's memory: it decides which functions give a view, and which a copy.

Arrays here are index maps over buffers in C order. NumPy's also have strides: `B.T.ravel()` copies, `B.ravel()` does not.
Strides are polynomials in sizes, as dictionaries from tuples of variables to coefficients, in units of one element.
Where it cannot be known which of both NumPy gives, there is a copy, and the compiler refuses writes that would tell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...language.build import ONE, ZERO
from ...language.core import Arr
from ..functions.frames import site_of
from ..journal import surrounding
from ..loops.plan import Again
from ..state import Lowering
from ..values import Array, Buffer, Delayed, FancyRead, Part, Transposed, View, expression, leaves
from .aliases import memory_of, note_twins, stood_for, with_twins
from .broadcasting import same_size
from .memory import force
from .points import fresh

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


def polynomial(lo: Lowering, atom) -> dict:
    constant, terms = lo.b.facts.affine(atom)
    total = {(): constant} if constant else {}
    for var, c in terms.items():
        op, args = lo.b.facts.definition.get(var, ("", ()))
        total = plus(total, times(polynomial(lo, args[0]), polynomial(lo, args[1])) if op == "mul" else {(var,): 1}, c)
    return total


def equal(lo: Lowering, p: dict, q: dict) -> bool | None:
    """Whether two polynomials in sizes are equal; None if that depends on the sizes."""
    rest = plus(p, q, -1)
    if not rest:
        return True
    common = [v for v in next(iter(rest)) if all(v in k for k in rest)]
    if common:
        return equal(lo, divided(rest, common[0]), {}) if lo.b.facts.at_least(common[0], 1) else None
    constant = rest.get((), 0)
    if all((c > 0) != (constant > 0) for k, c in rest.items() if k) and sum(
            abs(c) * least(lo, k) for k, c in rest.items() if k) > abs(constant):
        return False
    if all(len(k) < 2 for k in rest):
        terms = {k[0]: c for k, c in rest.items() if k}
        if any(lo.b.facts.proven((sign * rest.get((), 0) - 1, {v: sign * c for v, c in terms.items()}))
               for sign in (1, -1)):
            return False
    return None


def least(lo: Lowering, variables) -> int:
    """A number that a product of sizes reaches."""
    product = 1
    for v in variables:
        product *= 2 if lo.b.facts.at_least(v, 2) else 1 if lo.b.facts.at_least(v, 1) else 0
    return product


def order_of(lo: Lowering, value: Array, known: dict | None = None) -> str | None:
    """How NumPy keeps the axes of this array when it copies: "C", "F", or None if that is not known. known: the orders of
    arrays that it may be made of in several ways."""
    if value.rank < 2:
        return "C" if value.order != "?" else None
    if isinstance(value, FancyRead):
        return value.order
    if isinstance(value, View) and not isinstance(value, Part):
        return order_of_view(lo, value, {} if known is None else known)
    if value.order is not None:
        return None if value.order == "?" else value.order
    known = {} if known is None else known
    if id(value) not in known:
        found = {order_of(lo, s, known) for s in sources_of(value)}
        if value.elementwise:
            known[id(value)] = "C" if "C" in found or not found else None if None in found else "F"
        else:
            known[id(value)] = "C" if found <= {"C"} else None
    return known[id(value)]


def sources_of(value: Array) -> list[Array]:
    """The arrays whose orders decide how this one lies."""
    return [s for s in value.made_of if s.rank > 1 and sum(n != ONE for n in s.shape) > 1]


def parameters_behind(lo: Lowering, value: Array) -> set[Arr]:
    """The parameters that are taken to lie in C order in what is known of the strides of an array."""
    found, seen, todo = set[Arr](), set[int](), [value]
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, View):
            todo.append(value.source)
        elif value.view_of is not None:
            todo.append(value.view_of)
        elif isinstance(value, Buffer) and value.arr in lo.parameters:
            found.add(value.arr)
        else:
            todo += [*value.ends, *(sources_of(value) if value.order is None and value.rank > 1 else ())]
    return found


@dataclass(frozen=True)
class Assumed:
    """`made` is `value`, a view or a copy of it, if the parameters behind it lie in C order. at: how many writes came
    before."""

    value: Array
    made: Array
    at: int

    @property
    def key(self) -> tuple:
        return id(expression(self.value)), id(expression(self.made)), self.at

    def concerns(self, values) -> bool:
        """Whether one of these arrays is either of the two."""
        return any(v is expression(self.value) or v is expression(self.made) for v in map(expression, values))


def note_assumed(lo: Lowering, value: Array, made: Array) -> Array:
    """Remember what decides whether `made` is a view of `value`: where one of both is written later, or `is` asks, it
    matters. In a loop the writes before it come again."""
    assumed = Assumed(value, made, -1 if any(b.is_loop for b in surrounding(lo)) else lo.writes)
    lo.layouts.setdefault(assumed.key, assumed)
    return made


def note_order(lo: Lowering, plan, key, head: Buffer, end) -> None:
    """How an array lies at the end of an iteration: in another order than at its head, that one is not known."""
    if isinstance(end, Array) and end.rank:
        head.ends = (*head.ends, end)
        if head.order != "?" and (not in_a_row(lo, end) or order_of(lo, end) != order_of(lo, head)):
            plan.unordered.add(key)
            raise Again


def note_held(lo: Lowering, made: Buffer, *values: Array) -> None:
    """`made` has memory of its own for what is one of these arrays in NumPy, and lies as they do."""
    made.made_of = made.ends = values
    found = [replace(a, made=made) for a in lo.layouts.values() if a.concerns(values)]
    lo.layouts = {a.key: a for a in found} | lo.layouts
    if not all(in_a_row(lo, v) for v in values):
        made.order = "?"


def in_a_row(lo: Lowering, value: Array) -> bool:
    """Whether the elements are known to lie one after the other, in whichever order."""
    order = order_of(lo, value)
    return isinstance(value, FancyRead) and value.rank < 2 or order is not None and contiguous(lo, value, order) is True


def lying_in_order(lo: Lowering) -> set[Arr]:
    """The parameters that must lie in C order, once the whole program is known."""
    views: dict[int, set[Arr]] = {}         # an expression -> the buffers that views of it got
    for made in lo.forced_log if lo.layouts else ():
        source = made.view_of if isinstance(made, Delayed) else None
        while source is not None:
            source = expression(source)
            views.setdefault(id(source), set()).add(made.forced.arr)
            source = source.view_of

    def memory(value: Array) -> set[Arr]:
        return memory_of(lo, value) | with_twins(lo, views.get(id(expression(value)), ()))
    return set[Arr]().union(*(parameters_behind(lo, a.value) for a in lo.layouts.values() if lo.asked_identity or any(
        lo.touched.get(arr, -1) > a.at for v in (a.value, a.made) for arr in memory(v))))


def order_of_view(lo: Lowering, view: View, known: dict) -> str | None:
    axes = axes_kept(view)
    source = order_of(lo, view.source, known)
    if axes is None or source is None:
        return "C" if view.laid is not None and contiguous(lo, view) else None
    kept = [a for (a, _), s in zip(axes, view.shape, strict=True) if s != ONE]
    if any(len(a) != 1 for a in kept):
        return None
    kept = [a[0] for a in kept]
    if kept == sorted(kept):
        return source
    return {"C": "F", "F": "C"}[source] if kept == sorted(kept, reverse=True) else None


def strides(lo: Lowering, value: Array) -> list | None:
    """The strides of an array in NumPy, None where they are not known."""
    if isinstance(value, (FancyRead, Part)):
        return None
    if isinstance(value, View):
        if value.laid is not None:
            return value.laid
        source, axes = strides(lo, value.source), axes_kept(value)
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
        return strides(lo, value.view_of)
    order = order_of(lo, value)
    if order is None:
        return None
    laid, step = [], UNIT
    for size in reversed(value.shape) if order == "C" else value.shape:
        laid.append(step)
        step = times(step, polynomial(lo, size))
    return laid[::-1] if order == "C" else laid


def contiguous(lo: Lowering, value: Array, order: str = "C") -> bool | None:
    """Whether the elements lie one after the other in this order."""
    laid = strides(lo, value)
    return None if laid is None else in_line(lo, value.shape, laid, order)


def in_line(lo: Lowering, shape, laid, order: str = "C") -> bool | None:
    step = UNIT
    found: bool | None = True
    pairs = list(zip(shape, laid, strict=True))
    for size, stride in reversed(pairs) if order == "C" else pairs:
        if size == ONE:
            continue
        same = equal(lo, stride, step)
        if same is not True:
            if same is False and lo.b.facts.at_least(size, 2):
                return False
            found = None
        step = times(step, polynomial(lo, size))
    return True if ZERO in shape else found


def reshaped_strides(lo: Lowering, value: Array, shape) -> tuple[bool | None, list | None]:
    """(whether NumPy reshapes this array without a copy, the strides it has then)."""
    laid = strides(lo, value)
    if laid is None:
        return None, None
    old = [(s, t) for s, t in zip(value.shape, laid, strict=True) if s != ONE]
    new = [k for k, s in enumerate(shape) if s != ONE]
    found: list = [dict(UNIT) for _ in shape]
    for end in (0, -1):
        while new and old and same_size(lo, shape[new[end]], old[end][0]):
            found[new.pop(end)] = old.pop(end)[1]
    if not new and not old or ZERO in shape:
        return True, found
    step = dict(old[-1][1]) if old else UNIT
    whole: bool | None = True
    for (_, far), (size, near) in zip(old, old[1:], strict=False):
        same = equal(lo, far, times(near, polynomial(lo, size)))
        if same is not True:
            certain = same is False and len(new) == 1 and all(lo.b.facts.at_least(s, 2) for s, _ in old)
            whole = False if certain or whole is False else None
    for k in reversed(new):
        found[k] = step
        step = times(step, polynomial(lo, shape[k]))
    return whole, found if whole else None


# -- views, copies and what may be either -----------------------------------------------------------------
def owns_memory(lo: Lowering, value: Array) -> bool:
    """Whether another name could see this memory: expressions that no name stands for have none."""
    value = expression(value)
    if isinstance(value, Delayed) and value.forced is None and is_named(lo, value):
        force(lo, value)
    return isinstance(value, Buffer) or isinstance(value, Delayed) and value.forced is not None


def is_named(lo: Lowering, value: Delayed) -> bool:
    """Whether a name stands for this expression, or for a view of it."""
    return any(isinstance(leaf, Array) and expression(leaf) is value
               for frame in lo.frames for seen in frame.env.values() for leaf in leaves(seen))


def copied(lo: Lowering, value: Array, order: str | None = "C") -> Array:
    """A copy, made when it must be; `order`: how it lies, None if as the original."""
    made = fresh(lo, value)
    if isinstance(made, Array) and made.rank:
        made.order = order
    return made


def copied_when_written(lo: Lowering, value: Array) -> Array:
    """A copy, which is left out while nothing writes the original: else everything is lowered again, with the copy."""
    place = ("copied", *site_of(lo, lo.node))
    if not value.has_memory:
        return fresh(lo, value)
    if place in lo.widened or value.roots() & set(lo.around.writes):
        return force(lo, value, copy=True)
    lo.left_out.update(dict.fromkeys(value.roots(), place))
    return value


def uncertain_copy(lo: Lowering, value: Array, order: str | None = "C") -> Array:
    """A copy of what NumPy may give as a view: writes that would tell them apart are refused."""
    roots = set(value.roots())
    made = force(lo, value, copy=True)
    made.order = order
    others = {arr for pair in lo.either_way if pair & roots for arr in pair}      # it may be one memory with these, too
    for root in stood_for(lo, roots | others) - {made.arr}:
        note_twins(lo, (made.arr, root))
        lo.either_way[frozenset((made.arr, root))] = "what NumPy makes of it, a view or a copy,"
    return made


def same_or_copy(lo: Lowering, value: Array, order: str) -> Array:
    """`value` where it lies in this order, else a copy that does."""
    lies = contiguous(lo, value, order)
    if lies is None and owns_memory(lo, value):
        return uncertain_copy(lo, value, order)
    return note_assumed(lo, value, value if lies else copied(lo, value, order))


def divided(p: dict, var) -> dict:
    found = {}
    for key, c in p.items():
        rest = list(key)
        rest.remove(var)
        found[tuple(rest)] = c
    return found
