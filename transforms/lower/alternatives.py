"""Values that differ by the way the program went, and do not fit together: a number or None, one of two texts or functions.

Such a value is an `Either`: a number says which of its options it is. Comparisons, `is`, `in`, truth, calls and operators
split on it, a branch for each option; conditions on it narrow it in the branches they decide, as does an operation that
Python refuses for all options but one (`None + 1.0`).
"""

from __future__ import annotations

from dataclasses import replace

from ..language.build import integer
from ..language.core import Const
from ..language.errors import TypeConflict
from .arrays import describe
from .structures import option_key
from .values import Array, Either, GrowList, Scalar, Sequence, Static, Undefined, Value, is_number


class Alternatives:
    def split(self, value: Either, action, raises: str = "", pure: bool = False) -> Value:
        """`action(option)` of the option that it is. raises: Python's error for None; pure: the action changes nothing."""
        possible = value.possible
        if raises:
            good = tuple(k for k in possible if not is_none(value.options[k]))
            if good and len(good) < len(possible):
                self.guard(self.among(value, good), raises, f"this is not possible with {describe(Static(None))}")
                possible = good
        if len(possible) == 1:
            return action(value.options[possible[0]])
        if pure:
            known = self.known_for_all(value, possible, action)
            if known is not None:
                return known

        def rest(left):
            if len(left) == 1:
                return action(value.options[left[0]])
            return self.choose(self.among(value, left[:1]), lambda: action(value.options[left[0]]), lambda: rest(left[1:]))
        return rest(possible)

    def known_for_all(self, value: Either, possible, action) -> Value | None:
        """The truth of an action where it is known for each option; None if one has to be computed."""
        here, guarded, found = self.b, set(self.guarded), []
        before = self.environments()
        self.b = here.child()
        try:
            for k in possible:
                found.append(action(value.options[k]))
        finally:
            self.b, self.guarded = here, guarded
            self.restore(before)
        if not all(isinstance(v, Static) and isinstance(v.value, bool) for v in found):
            return None
        holds = tuple(k for k, v in zip(possible, found, strict=True) if v.value)
        if not holds or len(holds) == len(possible):
            return Static(bool(holds))
        return Scalar(self.among(value, holds), True)

    def among(self, value: Either, positions):
        """Whether it is one of these options, as a bool atom."""
        others = tuple(k for k in value.possible if k not in positions)
        if not others:
            return Const(True, "bool")
        few, inside = (positions, True) if len(positions) <= len(others) else (others, False)
        cond = Const(False, "bool")
        for k in few:
            cond = self.b.let("or", cond, self.b.compare("eq", value.tag.atom, integer(k)), dtype="bool")
        if not inside:
            cond = self.b.let("not", cond, dtype="bool")
        if not isinstance(cond, Const):
            self.implied[cond] = value, tuple(positions), others
        return cond

    def truth_of_either(self, value: Either):
        """The truth of one of several values, and what it tells: None is false, a function true."""
        known = {}

        def truth(option):
            known[id(option)] = made = self.truth_value(self.condition(option))
            return made
        found = self.split(value, truth, pure=True)
        cond = Const(found.value, "bool") if isinstance(found, Static) else found.atom
        if not isinstance(cond, Const):
            self.implied.setdefault(cond, (value, *(tuple(k for k in value.possible if not (isinstance(
                v := known.get(id(value.options[k])), Static) and v.value != holds)) for holds in (True, False))))
        return cond

    # -- what a condition tells -------------------------------------------------------------------------------
    def narrow(self, cond, holds: bool) -> None:
        """From here on `cond` is true, or false: what names see is narrowed."""
        for value, positions in self.implications(cond, holds):
            now = tuple(k for k in value.possible if k in positions)
            if now and len(now) < len(value.possible):
                self.rebind([(value, narrowed(value, now))])

    def implications(self, cond, holds: bool) -> list:
        """(value, options that it can be) for each value that a condition is about."""
        if cond in self.implied:
            value, *sides = self.implied[cond]
            return [(value, sides[not holds])]
        op, args = self.b.facts.definition.get(cond, ("", ()))
        if op == "not":
            return self.implications(args[0], not holds)
        is_and, parts = self.connected.get(cond, (op == "and", args if op in ("and", "or") else ()))
        if is_and == holds:
            return [found for part in parts for found in self.implications(part, holds)]
        return []

    # -- making them ------------------------------------------------------------------------------------------
    def as_either(self, value: Value, keys, blank) -> Either | None:
        """`value` as one of the options known by `keys`; `blank(k)` gives the others. None if it is none of them."""
        own = value.options if isinstance(value, Either) else (value,)
        places = [keys.index(key) if (key := option_key(o)) in keys else None for o in own]
        if any(place is None for place in places):
            return None
        options = [next((o for o, place in zip(own, places, strict=True) if place == k), None) for k in range(len(keys))]
        options = [blank(k) if o is None else o for k, o in enumerate(options)]
        tag = self.renumbered(value.tag.atom, places) if isinstance(value, Either) else integer(places[0])
        return Either(Scalar(tag, True), tuple(options), tuple(range(len(keys))))

    def renumbered(self, tag, places):
        """A tag by other numbers of its options."""
        if places == list(range(len(places))):
            return tag
        found = integer(places[0])
        for k, place in enumerate(places[1:], 1):
            here = found
            found = self.branch(self.b.compare("eq", tag, integer(k)), lambda p=place: integer(p), lambda h=here: h, "which")
        return found

    def settled(self, value: Value, what: str = "a number or an array") -> Value:
        """The one option that is a number, an array, a list or a tuple: Python refuses the others."""
        if not isinstance(value, Either):
            return value
        good = [k for k in value.possible if is_number(value.options[k]) or isinstance(
            value.options[k], (Array, GrowList, Sequence))]
        if len(good) != 1:
            raise self.error(TypeConflict, f"{what} is needed here, not {describe(value)}", "use it inside the branches")
        self.guard(self.among(value, good), "TypeError", f"{what} is needed here, not {describe(value)}")
        return value.options[good[0]]

    def by_items(self, value: Value) -> Value:
        """One of several tuples of the same length as one tuple of what differs."""
        options = [value.options[k] for k in value.possible] if isinstance(value, Either) else []
        if not options or not all(isinstance(o, Sequence) and o.kind is tuple and len(o.items) == len(options[0].items)
                                  for o in options):
            return value
        return Sequence(tuple(self.split(value, lambda v, k=k: v.items[k]) for k in range(len(options[0].items))), tuple)

    def settled_result(self, value: Value) -> Value:
        """What a function returns to its caller outside: options that are not None must be one."""
        value = self.by_items(value)
        if isinstance(value, Sequence):
            items = tuple(map(self.settled_result, value.items))
            return value if all(a is b for a, b in zip(items, value.items, strict=True)) else Sequence(items, value.kind)
        if not isinstance(value, Either):
            return value
        good = tuple(k for k in value.possible if not is_none(value.options[k]))
        if len(good) != 1:
            raise self.error(TypeConflict, f"the function returns {describe(value)}", "return the same kind on every path")
        self.guard(self.among(value, good), "TypeError", "the function returned None")
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


__all__ = ["Alternatives", "Undefined", "as_one_choice", "is_none", "whole"]
