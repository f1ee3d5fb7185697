"""Slices: their bounds, brought into range as Python does."""

from __future__ import annotations

from collections.abc import Iterator

from ...language.build import ONE, ZERO, integer
from ...language.core import NOWHERE, Const, Var
from ...language.errors import MissingItem, ShapeMismatch, TypeConflict, UnsupportedSyntax
from ...language.facts import NEAR, combine
from ..checks import CAREFUL, add_check, can_be_shown, guarded, known_in, outermost, require_that, show_number, show_size
from ..functions.places import in_library
from ..numbers.conversions import static_int
from ..numbers.kinds_on_paths import kinds_of, may_be_integers
from ..state import Lowering
from ..structures import describe
from ..syntax.catching import catches
from ..syntax.known_conditions import bounds, running
from ..values import Array, Scalar, Slice, Static, Value, is_number
from .broadcasting import require_same, same_size, unequal
from .loop_nests import branch

UNPROVEN = "an index may leave its array"
LARGEST, LARGEST_FACTOR = 1 << 40, 1 << 30          # of numbers in a sum, or a product, that 64 bits are sure to hold


def static_slice(lo: Lowering, index: Slice) -> slice:
    parts = []
    for p in (index.start, index.stop, index.step):
        parts.append(None if p is None else static_int(lo, p, "a slice bound of a tuple or list"))
    return slice(*parts)


def slice_bounds(lo: Lowering, part: Slice, size):
    """(start, step, length) of a slice over an axis, clipped as Python clips."""
    b = lo.b
    step = 1 if part.step is None or (isinstance(part.step, Static) and part.step.value is None) else part.step
    if isinstance(step, Value):
        step = static_int(lo, step, "a slice step")
    if step == 0:
        raise lo.error(ShapeMismatch, "slice step cannot be zero")
    none = lambda p: p is None or (isinstance(p, Static) and p.value is None)  # noqa: E731
    if step > 0:
        start = ZERO if none(part.start) else lower_bound(lo, part.start, size)
        stop = size if none(part.stop) else upper_bound(lo, part.stop, size)
        span = b.isub(stop, start)
        if step == 1:
            length = span if b.facts.at_least(span) else b.imax(span, 0)
            apart = distance(lo, part) if isinstance(length, Var) else None
            if apart is not None and apart >= 0:
                length = b.imin(length, apart)      # says what the clipped bounds do not
        else:
            length = b.imax(b.let("floordiv", b.iadd(span, step - 1), integer(step), dtype="int64"), 0)
    else:
        start = b.isub(size, 1) if none(part.start) else clip_bound(lo, part.start, size, -1)
        stop = integer(-1) if none(part.stop) else clip_bound(lo, part.stop, size, -1)
        span = b.isub(start, stop)
        if step == -1:
            length = span if b.facts.at_least(span) else b.imax(span, 0)
        else:
            length = b.imax(b.let("floordiv", b.iadd(span, -step - 1), integer(-step), dtype="int64"), 0)
    return start, integer(step), length


def indices_of_slice(start, stop, step, n):
    """What the method `indices` of a slice gives for n items."""
    if n < 0:
        raise ValueError("length should not be negative")
    step = 1 if step is None else step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (-1, n - 1) if step < 0 else (0, n)
    if start is None:
        first = high if step < 0 else low
    else:
        first = max(start + n, low) if start < 0 else min(start, high)
    if stop is None:
        last = low if step < 0 else high
    else:
        last = max(stop + n, low) if stop < 0 else min(stop, high)
    return first, last, step


def range_part(start, step, n, low, high, by):
    """The items of a range of n that a slice takes."""
    first, last, by = indices_of_slice(low, high, by, n)
    return range(start + first * step, start + last * step, step * by)


def distance(lo: Lowering, part: Slice) -> int | None:
    """The known difference of the bounds as they are written: 2 of i:i + 2, 1 of 2:3."""
    if isinstance(part.start, Static) and isinstance(part.stop, Static):
        a, b = part.start.value, part.stop.value
        return max(b - a, 0) if isinstance(a, int) and isinstance(b, int) and (a >= 0) == (b >= 0) else None
    if not (isinstance(part.start, Scalar) and isinstance(part.stop, Scalar)):
        return None
    apart = lo.b.isub(part.stop.atom, part.start.atom)
    return apart.value if isinstance(apart, Const) else None


def lower_bound(lo: Lowering, part: Value, size):
    """Where a slice of positive step starts: not clipped at the end, since the length then is 0."""
    atom = integer_bound(lo, part)
    if isinstance(atom, Const):
        return atom if atom.value >= 0 else lo.b.imax(lo.b.iadd(size, atom), 0)
    return lo.b.imax(counted_from_end(lo, atom, size), 0)


def upper_bound(lo: Lowering, part: Value, size):
    """Where a slice of positive step ends; may be negative, the length is clipped."""
    atom = integer_bound(lo, part)
    if isinstance(atom, Const):
        return lo.b.imin(atom, size) if atom.value >= 0 else lo.b.iadd(size, atom)
    return lo.b.imin(counted_from_end(lo, atom, size), size)


def integer_bound(lo: Lowering, part: Value):
    atom = lo.atom(part)
    if atom.dtype != "int64":
        raise lo.error(TypeConflict, "slice indices must be integers", "convert it: int(i)")
    return atom


def counted_from_end(lo: Lowering, atom, size):
    facts = lo.b.facts
    if facts.at_least(atom):
        return atom
    if facts.at_most(atom, integer(-1)):
        return lo.b.iadd(atom, size)
    return branch(lo, lo.b.compare("lt", atom, ZERO), lambda: lo.b.iadd(atom, size), lambda: atom, "bound")


def clip_bound(lo: Lowering, part: Value, size, low: int = 0):
    """A slice bound wrapped and clipped to low .. size + low."""
    b = lo.b
    atom = integer_bound(lo, part)
    high = size if low == 0 else b.isub(size, 1)
    if isinstance(atom, Const):
        if atom.value < 0:
            return b.imax(b.iadd(size, atom), low)
        return b.imin(atom, high)
    atom = counted_from_end(lo, atom, size)
    return b.imin(b.imax(atom, low), high)


def place_along(lo: Lowering, part: Value, size, axis: int = 0):
    """An integer index proven or made to lie in 0 .. size - 1."""
    if isinstance(part, Array) and part.rank == 0:
        part = Scalar(lo.atom(part))
    if not is_number(part):
        raise lo.error(MissingItem, f"only integers, slices, ellipsis, newaxis and integer or boolean arrays are "
                                     f"valid indices, not {describe(part)}")
    atom = lo.atom(part)
    if any(kind == "bool" for kind, _ in kinds_of(lo, part)):
        raise lo.error(UnsupportedSyntax, "a boolean number as an index is not supported", "convert it: int(i)")
    if may_be_integers(lo, part):
        raise lo.error(TypeConflict, "this index is an integer on one path and a float on another", "convert it: int(i)")
    if atom.dtype != "int64":
        raise lo.error(MissingItem, "only integers, slices, ellipsis, newaxis and integer or boolean arrays are "
                                     "valid indices, not a float", "convert it: int(i)")
    return wrapped(lo, atom, size, axis)


def in_range(lo: Lowering, atom, size):
    """Whether an index lies in its axis, as an atom."""
    low = lo.b.compare("ge", atom, lo.b.isub(ZERO, size))
    return lo.b.let("and", low, lo.b.compare("lt", atom, size), dtype="bool")


def wrapped(lo: Lowering, atom, size, axis: int = 0, checked: bool = False):
    """An index that lies in its axis, counted from the start. checked: it is known to lie there, if not which way."""
    facts = lo.b.facts
    if isinstance(atom, Var) and size != ONE and facts.at_least(atom) and facts.at_most(atom, size, 1):
        return atom
    known = bounds(lo)
    with facts.assuming([*known, *running(lo)]):
        least, most = facts.at_least(atom), facts.at_most(atom, size, 1)
    with facts.assuming(known):
        return wrapped_here(lo, atom, size, axis, checked, least, most)


def wrapped_here(lo: Lowering, atom, size, axis: int, checked: bool, least: bool, most: bool):
    """The same, with what is known in the current block. least, most: whether the index is sure to be at least 0, and less
    than `size`."""
    facts, b = lo.b.facts, lo.b
    of_axis = f"is out of bounds for axis {axis} with size"
    if size == ONE and isinstance(atom, Var) and lo.boundscheck and not (least and most):
        inside = b.let("or", b.compare("eq", atom, ZERO), b.compare("eq", atom, integer(-1)), dtype="bool")
        require_that(lo, inside, "IndexError", f"index {show_number(lo, atom)} {of_axis} 1")
        return ZERO
    if isinstance(atom, Const) and atom.value < 0:
        shifted = b.iadd(size, atom)
        if isinstance(size, Const):
            if shifted.value < 0:
                raise lo.error(MissingItem, f"index {atom.value} {of_axis} {size.value}")
            return shifted
        if not facts.at_least(shifted):
            check_size(lo, size, -atom.value, f"index {atom.value} {of_axis} {show_number(lo, size)}")
        return shifted
    if isinstance(atom, Const) and isinstance(size, Const) and atom.value >= size.value:
        raise lo.error(MissingItem, f"index {atom.value} {of_axis} {size.value}")
    if isinstance(atom, Const):
        if not most:
            check_size(lo, size, atom.value + 1, f"index {atom.value} {of_axis} {show_number(lo, size)}")
        return atom
    if least and most or not lo.boundscheck and (least or lo.integers_wrap):        # kernels have indices of their own
        return atom
    if not lo.boundscheck:
        return atom if checked_outside(lo, atom, size, least, True) else branch(
            lo, b.compare("lt", atom, ZERO), lambda: lo.b.iadd(atom, size), lambda: atom, "place")
    if not checked and catches(lo, IndexError):
        require_that(lo, in_range(lo, atom, size), "IndexError",
                     f"index {show_number(lo, atom)} {of_axis} {show_number(lo, size)}")
        b = lo.b
    elif lo.boundscheck is True and checked_outside(lo, atom, size, least, most):
        return atom
    elif most and (facts.proven(combine(facts.affine(atom), facts.affine(size), 1)) or
            lo.boundscheck is True and facts.at_least(atom, -NEAR) and checked_outside(lo, atom, size, least, most, True)):
        return b.let("mod", atom, size, dtype="int64", hint=getattr(atom, "hint", "i"))
    fixed = b.let("wrap_index", atom, size, integer(axis), dtype="int64", hint=getattr(atom, "hint", "i"))
    facts.range.setdefault(fixed, (ZERO, b.isub(size, 1)))
    if not in_library(lo) and isinstance(fixed, Var):
        facts.asked.add(fixed)
    return fixed


def checked_outside(lo: Lowering, atom, size, least: bool, most: bool, from_end: bool = False) -> bool:
    """Check once, before all loops, that an affine index stays in range, or, if it takes numbers of a loop to tell, before
    those inside it; where that fails, the caller starts again with a check at every access. least, most: as above;
    from_end: it may be below 0, and count from the end."""
    return any(checked_at(lo, b, seen, atom, size, least, most, from_end) for b, seen in places_outside(lo, atom))


def places_outside(lo: Lowering, atom) -> Iterator[tuple]:
    """(block, whether a number is known there): before all loops, and before each of those that change an index."""
    root = outermost(lo).last()
    yield root, lambda v: known_in(lo, v, root)
    if not lo.checks_in_loops:
        return
    changing = lo.b.facts.needed(atom)
    blocks = [lo.b]
    while blocks[-1].parent is not None:
        blocks.append(blocks[-1].parent)
    indices = {block: v for v, block in lo.loop_bodies.items()}
    for inner, block in reversed(list(zip(blocks, blocks[1:], strict=False))):
        if inner.is_loop and block.last() is not root and indices.get(inner) in changing:
            yield block.last(), lambda v, block=block: can_be_shown(lo, v, block)


def checked_at(lo: Lowering, b, outside, atom, size, least: bool, most: bool, from_end: bool) -> bool:
    """The same in one block, of numbers that are known there."""
    facts = lo.b.facts
    if lo.b is b or not outside(size):
        return False
    conditions = []
    if from_end or not least:
        low = facts.bound(atom, False, outside, b)
        if low is None:
            return False
        conditions.append(("ge", b.iadd(low, size) if from_end else low, ZERO))
    if not most:
        high = facts.bound(atom, True, outside, b)
        if high is None:
            return False
        conditions.append(("lt", high, size))
    numbers = {v for op, x, _ in conditions for v in facts.leaves(x) if not told_by_one(lo, x, op == "lt")}
    largest = integer(LARGEST_FACTOR if any(map(facts.multiplies, (x for _, x, _ in conditions))) else LARGEST)
    for v in sorted((v for v in numbers if not is_size(lo, v)), key=lambda v: facts.order.get(v, -1)):
        conditions += [("le", v, largest)] + ([] if facts.at_least(v, -1) else [("ge", v, b.isub(ZERO, largest))])
    for op, x, y in conditions:
        ok = b.compare(op, x, y)
        if ok == Const(False, "bool"):
            return False
        if not isinstance(ok, Const) and not guarded(lo, ok):
            lo.learnt.guarded.add((ok, b))
            b.start_again_unless(ok, "IndexError", UNPROVEN, lo.b.loc)
    return True


def told_by_one(lo: Lowering, bound, upper: bool) -> bool:
    """Whether a bound is one number, or nearer to the other bound by a constant: 64 bits hold it, or it is beyond."""
    constant, terms = lo.b.facts.affine(bound)
    return not terms or list(terms.values()) == [1] and (constant <= 0 if upper else constant >= 0) and terms.keys() == \
        lo.b.facts.leaves(bound)


def is_size(lo: Lowering, v) -> bool:
    """Whether an integer is no more than the size of an array."""
    facts = lo.b.facts
    op, args = facts.definition.get(v, ("", ()))
    if v in lo.sizes and v in facts.nonnegative or op == "dim":         # not a number that is an argument
        return True
    ends = facts.range.get(v, (None, None))
    return None not in ends and all(is_size(lo, w) for x in ends if x is not None for w in facts.leaves(x))


def check_size(lo: Lowering, size, least, message):
    if not lo.boundscheck:
        return
    if lo.boundscheck is True and size in lo.sizes and not catches(lo, IndexError):
        if least > lo.least_sizes.get(size, 0):
            lo.least_sizes[size], lo.least_places[size] = least, lo.b.loc
        lo.b.facts.range[size] = (integer(max(2, lo.least_sizes[size])), None)
        return
    ok = lo.b.compare("ge", size, integer(least))
    if not guarded(lo, ok):
        add_check(lo, lo.b, ok, "IndexError", message)


def add_least_sizes(lo: Lowering, b, sizes) -> None:
    """Check that sizes are what constant subscripts need, which is then settled; else the caller checks each access."""
    for size in sizes:
        ok = Var("large_enough", "bool")
        b.bind(ok, "ge", size, integer(lo.least_sizes.pop(size)), loc=NOWHERE)
        b.start_again_unless(ok, "IndexError", UNPROVEN, lo.least_places[size])


def require_mask_size(lo: Lowering, size, wanted, axis: int) -> None:
    """A mask has the size of the axis, or none: NumPy takes that to choose nothing."""
    message = (f"boolean index did not match indexed array along axis {axis}; size of axis is {show_size(lo, wanted)} "
               f"but size of corresponding boolean axis is {show_size(lo, size)}")
    if size == ZERO:
        return
    if lo.boundscheck in CAREFUL and not isinstance(size, Const) and not same_size(lo, size, wanted):
        fits = lo.b.let("or", lo.b.compare("eq", size, wanted), lo.b.compare("eq", size, ZERO), dtype="bool")
        return require_that(lo, fits, "IndexError", message)
    return require_same(lo, size, wanted, message, "IndexError", "place" if isinstance(size, Const) else unequal(lo))
