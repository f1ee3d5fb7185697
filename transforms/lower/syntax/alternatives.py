"""Values that differ by the way the program went, and do not fit together: a number or None, one of two texts or functions.

Such a value is an `Either`: a number says which of its options it is. Comparisons, `is`, `in`, truth, calls and operators
split on it, a branch for each option; conditions on it narrow it in the branches they decide, as does an operation that
Python refuses for all options but one (`None + 1.0`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...language.build import integer
from ...language.core import Const
from ...language.errors import TypeConflict
from ..arrays.loop_nests import branch
from ..checks import guard
from ..containers.sharing import rebind
from ..journal import dropped, environments, restore
from ..numbers.conversions import truth_value
from ..state import Lowering
from ..structures import describe, option_key
from ..values import (
    ON_ALL_PATHS,
    Array,
    Either,
    GrowList,
    Scalar,
    Sequence,
    Slice,
    Static,
    Undefined,
    Value,
    is_number,
    known_as,
)


def split(lo: Lowering, value: Either, action, raises: str = "", pure: bool = False) -> Value:
    """`action(option)` of the option that it is. raises: Python's error for None; pure: the action changes nothing."""
    possible = still_possible(lo, value)
    if raises:
        good = tuple(k for k in possible if not is_none(value.options[k]))
        if good and len(good) < len(possible):
            guard(lo, among(lo, value, good), raises, f"this is not possible with {describe(Static(None))}")
            possible = good
    if len(possible) == 1:
        return action(value.options[possible[0]])
    if pure:
        known = known_for_all(lo, value, possible, action)
        if known is not None:
            return known

    def rest(left):
        if len(left) == 1:
            return action(value.options[left[0]])
        return fitting(lo, lo.choose(among(lo, value, left[:1]), lambda: action(value.options[left[0]]),
                                     lambda: rest(left[1:])))
    return rest(possible)


def fitting(lo: Lowering, chosen: Value) -> Value:
    """What an expression chose. Refused here if it is of two kinds that do not fit together: comparisons, `is` and `in`
    would take it for a third."""
    if isinstance(chosen, Undefined) and chosen.lost:
        raise lo.error(TypeConflict, chosen.why, ON_ALL_PATHS)
    return chosen


def undecided(index: Value) -> Either | None:
    """What of an index differs by path: the index itself, an end of a slice, an item of a tuple."""
    if isinstance(index, Either):
        return index
    return next(filter(None, map(undecided, parts_of_index(index))), None)


def decided(index: Value, found: Either, option: Value) -> Value:
    """An index with an option in the place of what differs by path."""
    if index is found:
        return option
    parts = [decided(part, found, option) for part in parts_of_index(index)]
    if isinstance(index, Slice):
        return index.with_inside(parts)
    return Sequence(tuple(parts)) if parts else index


def parts_of_index(index: Value) -> tuple:
    if isinstance(index, Slice):
        return index.inside()
    return index.items if isinstance(index, Sequence) and index.kind is tuple else ()


def still_possible(lo: Lowering, value: Either) -> tuple[int, ...]:
    """The options that the branches around leave: an operand was read before another one, of the same value, was split."""
    possible = value.possible
    for cond, holds in lo.around.conditions:
        for told, positions in implications(lo, cond, holds):
            if told.tag.atom == value.tag.atom:
                possible = tuple(k for k in possible if k in positions) or possible
    return possible


def known_for_all(lo: Lowering, value: Either, possible, action) -> Value | None:
    """The truth of an action where it is known for each option; None if one has to be computed."""
    before, found = environments(lo), []
    try:
        with dropped(lo):
            for k in possible:
                found.append(action(value.options[k]))
    finally:
        restore(lo, before)
    if not all(isinstance(v, Static) and isinstance(v.value, bool) for v in found):
        return None
    holds = tuple(k for k, v in zip(possible, found, strict=True) if v.value)
    if not holds or len(holds) == len(possible):
        return Static(bool(holds))
    return Scalar(among(lo, value, holds), True)


def among(lo: Lowering, value: Either, positions):
    """Whether it is one of these options, as a bool atom."""
    others = tuple(k for k in value.possible if k not in positions)
    if not others:
        return Const(True, "bool")
    few, inside = (positions, True) if len(positions) <= len(others) else (others, False)
    cond = Const(False, "bool")
    for k in few:
        cond = lo.b.let("or", cond, lo.b.compare("eq", value.tag.atom, integer(k)), dtype="bool")
    if not inside:
        cond = lo.b.let("not", cond, dtype="bool")
    if not isinstance(cond, Const):
        lo.implied[cond] = value, tuple(positions), others
    return cond


def truth_of_either(lo: Lowering, value: Either):
    """The truth of one of several values, and what it tells: None is false, a function true."""
    known = {}

    def truth(option):
        known[id(option)] = made = truth_value(lo, lo.condition(option))
        return made
    found = split(lo, value, truth, pure=True)
    cond = Const(found.value, "bool") if isinstance(found, Static) else known_as(Scalar, found).atom
    if not isinstance(cond, Const):
        lo.implied.setdefault(cond, (value, *(tuple(k for k in value.possible if not (isinstance(
            v := known.get(id(value.options[k])), Static) and v.value != holds)) for holds in (True, False))))
    return cond


# -- what a condition tells -------------------------------------------------------------------------------
def narrow(lo: Lowering, cond, holds: bool) -> None:
    """From here on `cond` is true, or false: what names see is narrowed."""
    for value, positions in implications(lo, cond, holds):
        now = tuple(k for k in value.possible if k in positions)
        if now and len(now) < len(value.possible):
            rebind(lo, [(value, narrowed(value, now))])


def implications(lo: Lowering, cond, holds: bool) -> list:
    """(value, options that it can be) for each value that a condition is about."""
    if cond in lo.implied:
        value, *sides = lo.implied[cond]
        return [(value, sides[not holds])]
    op, args = lo.b.facts.definition.get(cond, ("", ()))
    if op == "not":
        return implications(lo, args[0], not holds)
    is_and, parts = lo.connected.get(cond, (op == "and", args if op in ("and", "or") else ()))
    if is_and == holds:
        return [found for part in parts for found in implications(lo, part, holds)]
    return []


# -- making them ------------------------------------------------------------------------------------------
def as_either(lo: Lowering, value: Value, keys, blank) -> Either | None:
    """`value` as one of the options known by `keys`; `blank(k)` gives the others. None if it is none of them."""
    own = value.options if isinstance(value, Either) else (value,)
    if not all(option_key(o) in keys for o in own):
        return None
    places = [keys.index(option_key(o)) for o in own]
    options = [next((o for o, place in zip(own, places, strict=True) if place == k), None) for k in range(len(keys))]
    options = [blank(k) if o is None else o for k, o in enumerate(options)]
    tag = renumbered(lo, value.tag.atom, places) if isinstance(value, Either) else integer(places[0])
    return Either(Scalar(tag, True), tuple(options), tuple(range(len(keys))))


def renumbered(lo: Lowering, tag, places):
    """A tag by other numbers of its options."""
    if places == list(range(len(places))):
        return tag
    found = integer(places[0])
    for k, place in enumerate(places[1:], 1):
        here = found
        found = branch(lo, lo.b.compare("eq", tag, integer(k)), lambda p=place: integer(p), lambda h=here: h, "which")
    return found


def settled(lo: Lowering, value: Value, what: str = "a number or an array") -> Value:
    """The one option that is a number, an array, a list or a tuple: Python refuses the others."""
    if not isinstance(value, Either):
        return value
    good = [k for k in value.possible if is_number(value.options[k]) or isinstance(
        value.options[k], (Array, GrowList, Sequence))]
    if len(good) != 1:
        raise lo.error(TypeConflict, f"{what} is needed here, not {describe(value)}", "use it inside the branches")
    guard(lo, among(lo, value, good), "TypeError", f"{what} is needed here, not {describe(value)}")
    return value.options[good[0]]


def by_items(lo: Lowering, value: Value) -> Value:
    """One of several tuples of the same length as one tuple of what differs."""
    options = [value.options[k] for k in value.possible] if isinstance(value, Either) else []
    if not isinstance(value, Either) or not all(
            isinstance(o, Sequence) and o.kind is tuple and len(o.items) == len(options[0].items) for o in options):
        return value
    return Sequence(tuple(split(lo, value, lambda v, k=k: v.items[k]) for k in range(len(options[0].items))), tuple)


def settled_result(lo: Lowering, value: Value) -> Value:
    """What a function returns to its caller outside: options that are not None must be one."""
    value = by_items(lo, value)
    if isinstance(value, Sequence):
        items = tuple(map(partial(settled_result, lo), value.items))
        return value if all(a is b for a, b in zip(items, value.items, strict=True)) else Sequence(items, value.kind)
    if not isinstance(value, Either):
        return value
    good = tuple(k for k in value.possible if not is_none(value.options[k]))
    if len(good) != 1:
        raise lo.error(TypeConflict, f"the function returns {describe(value)}", "return the same kind on every path")
    guard(lo, among(lo, value, good), "TypeError", "the function returned None")
    return value.options[good[0]]


def as_one_choice(value: Value) -> Value:
    """A tuple with an item that differs by path as one of several tuples."""
    items = value.items if isinstance(value, Sequence) and value.kind is tuple else ()
    places = [k for k, item in enumerate(items) if isinstance(item, Either)]
    if len(places) != 1:
        return value
    k, = places
    options = tuple(Sequence((*items[:k], option, *items[k + 1:]), tuple) for option in items[k].options)
    return Either(items[k].tag, options, items[k].possible)


def is_none(value: Value) -> bool:
    return isinstance(value, Static) and value.value is None


def narrowed(value: Either, positions) -> Value:
    """`value` where it can only be these of its options."""
    if len(positions) > 1:
        made: Value = Either(value.tag, value.options, positions)
    else:
        option = value.options[positions[0]]
        made = replace(option) if isinstance(option, (Static, Scalar, Sequence)) else option
    made.whole = whole(value)
    return made


def whole(value: Value) -> Value:
    """A value before a condition told more of it."""
    return getattr(value, "whole", value)


__all__ = ["Undefined", "as_one_choice", "is_none", "whole"]
