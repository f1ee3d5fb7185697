"""The value a name has after a branch, from what it has at the end of either side."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial

from ...language.build import ZERO
from ...language.core import Const, Merge, Resize
from ...language.ops import promote
from ...language.queries import allocations
from ..arrays.aliases import give_memory_if_seen, memory_of, note_stand_in, note_twins
from ..arrays.broadcasting import require_same, same_size, unequal
from ..arrays.layout import note_held
from ..arrays.memory import choose_size, rematerialise
from ..arrays.points import BY_PATH, sites_of
from ..arrays.writing import assign
from ..containers.growing import grow_request, list_dtype, list_memory, make_growable
from ..containers.list_operators import keep_list, kinds_in
from ..containers.lists import is_list
from ..containers.sharing import as_object, children, identity, is_object, same_object, stands_for_outside, with_children
from ..functions.names import seen_by_another
from ..functions.purity import alike, is_fixed
from ..loops.carried_shapes import fill_sized
from ..loops.plan import OuterName
from ..numbers.integer_operations import by_path, fitted
from ..numbers.integers import same_dtype
from ..numbers.kinds_on_paths import kinds_of, note_integers, unlike
from ..structures import describe, option_key, rebuild, same_form, structure
from ..values import (
    ONLY_HERE,
    UNSET,
    Applied,
    Array,
    Bound,
    Buffer,
    Closure,
    Either,
    GrowList,
    Mapping,
    Maybe,
    Range,
    Record,
    Scalar,
    Sequence,
    Series,
    Sized,
    Slice,
    Static,
    Table,
    Undefined,
    Value,
    Vectorized,
    View,
    as_range,
    expression,
    is_number,
    leaves,
    passes,
)
from .alternatives import as_one_choice, renumbered, whole
from .known_conditions import least_zero, proven
from .unbound import FALSE, TRUE, bound_of, held, maybe

MOST_OPTIONS = 8


def named(name: str) -> str:
    """A name as messages show it; what `%` begins with is the lowering's own."""
    return "the result" if name == "%value" else "this value" if name.startswith("%") else f"`{name}`"


class Joiner:
    """Joins the values a name has after the two sides of a branch."""

    def __init__(self, lo, cond, builders, envs, merges, live):
        self.lo, self.cond, self.envs, self.merges, self.live = lo, cond, envs, merges, live
        self.then_b, self.else_b = builders
        self.frame = lo.frame           # whose names are being joined
        self.joined: dict = {}
        self.kept: dict | None = None
        self.copies: list = []          # (buffer of both sides, memory that it stands for on either)

    def join_name(self, name: str, x: Value, y: Value) -> Value:
        """The value of a name; where a side has not bound it, with the condition under which it is bound."""
        made = self.join(name, held(x), held(y))
        if name == "%exit" and isinstance(made, Scalar) and all(isinstance(v, Static) for v in (x, y)):
            self.lo.exit_codes[made.atom] = self.cond, *(self.lo.atom(v) for v in (x, y))
        if name.startswith("%"):
            return made
        x, y = map(bound_of, (x, y))
        x, y = (self.known(b, holds) for b, holds in ((x, True), (y, False)))
        if (x, y) == (TRUE, FALSE):
            return maybe(made, self.cond)
        if (x, y) == (FALSE, TRUE):
            return maybe(made, self.lo.b.let("not", self.cond, dtype="bool"))
        bound = self.merge("bound", x, y)
        if x != y:
            self.lo.bound_by[bound] = self.cond, x, y
        return maybe(made, bound)

    def known(self, bound, holds: bool):
        """Whether a name is bound at the end of a side, on which the condition holds or does not."""
        self.lo.around.conditions.append((self.cond, holds))
        sure = proven(self.lo, bound)
        self.lo.around.conditions.pop()
        return TRUE if sure else bound

    def join_reached(self, name: str, value: Value) -> Value:
        """The value of a name where the other side raises."""
        made = self.join(name, held(value), UNSET)
        return maybe(made, self.merge("bound", bound_of(value), FALSE)) if isinstance(value, Maybe) else made

    def join(self, name: str, x: Value, y: Value) -> Value:
        x, y = as_range(x), as_range(y)
        if whole(x) is whole(y):
            return whole(x)
        if passes(x) or passes(y):
            return self.join_iterators(name, x, y)
        return self.join_values(name, x, y)

    def join_iterators(self, name: str, x: Value, y: Value) -> Value:
        """An iterator on one path or on both: one pass over what comes of them, if that is of one form."""
        made = Undefined("") if hasattr(x, "viewed") or hasattr(y, "viewed") else self.join_values(name, x, y)
        if isinstance(made, (Undefined, Either)):
            return self.conflict(name, x, y)
        kinds = {v.once.kind if hasattr(v, "once") else None for v in (x, y)}
        made = copy.copy(made)
        made.once = replace(x.once if hasattr(x, "once") else y.once, kind=kinds.pop() if len(kinds) == 1 else None)
        return made

    def join_values(self, name: str, x: Value, y: Value) -> Value:
        for value in (x, y):
            if isinstance(value, Undefined) and value.lost:
                return value
        if isinstance(x, Undefined) and not isinstance(y, Undefined):
            return self.join_missing(name, y, self.else_b, missing_first=True)
        if isinstance(y, Undefined) and not isinstance(x, Undefined):
            return self.join_missing(name, x, self.then_b, missing_first=False)
        if is_list(x) and is_list(y) and type(x) is not type(y):
            make_growable(self.lo, self.owned(name), promote(*map(partial(list_dtype, self.lo), (x, y))))
        if structure(x) != structure(y):
            grow_request(self.lo, self.owned(name), x, y)
        if isinstance(x, Either) or isinstance(y, Either) or structure(x) != structure(y):
            x, y = as_one_choice(x), as_one_choice(y)
        if isinstance(x, Either) or isinstance(y, Either) or structure(x) != structure(y) or \
                self.one_is_static(x, y):
            return self.either(name, x, y)
        made = self.join_parts(name, x, y)
        if isinstance(made, Undefined) and option_key(x) != option_key(y) and None not in (option_key(x), option_key(y)):
            return self.either(name, x, y)
        return made

    def owned(self, name: str) -> str:
        """A name with the function whose it is."""
        return name if self.frame is self.lo.frame else OuterName(name, self.frame)

    def one_is_static(self, x, y) -> bool:
        """Whether one of two values is known now, and neither a number nor equal to the other one."""
        return (isinstance(x, Static) or isinstance(y, Static)) and option_key(x) != option_key(y)

    def either(self, name: str, x: Value, y: Value) -> Value:
        """Values that do not fit together: options of one value, of which those of one kind are joined."""
        sides = [v.options if isinstance(v, Either) else (v,) for v in (x, y)]
        keys = list(dict.fromkeys(option_key(o) for side in sides for o in side))
        if None in keys or len(keys) > MOST_OPTIONS:
            return self.conflict(name, x, y)
        missing = object()
        found = [{option_key(o): o for o in side} for side in sides]
        options = []
        for key in keys:
            a, b = (side.get(key, missing) for side in found)
            if a is missing:
                made = self.join_missing(name, b, self.else_b, missing_first=True)
            elif b is missing:
                made = self.join_missing(name, a, self.then_b, missing_first=False)
            else:
                made = self.join_parts(name, a, b)
            if isinstance(made, Undefined):
                return made
            options.append(made)
        tags = [self.within(builder, lambda v=v, side=side: renumbered(self.lo,
            v.tag.atom, [keys.index(option_key(o)) for o in side]) if isinstance(v, Either) else Const(
            keys.index(option_key(v)), "int64")) for builder, v, side in zip((self.then_b, self.else_b), (x, y), sides,
                                                                             strict=True)]
        return Either(Scalar(self.merge("which", *tags), True), tuple(options), tuple(range(len(keys))))

    def join_parts(self, name: str, x: Value, y: Value) -> Value:
        """Values of one structure; two names that see one object on either side see one object afterwards."""
        if whole(x) is whole(y):
            return whole(x)
        key = (id(x), id(y))
        if key in self.joined:
            return self.joined[key][0]
        if isinstance(x, (Sequence, Mapping, Record)) or x.inside():
            parts = []
            for a, b in zip(children(x), children(y), strict=True):
                part = self.join_parts(name, a, b)
                if isinstance(part, Undefined) and not (is_object(a) or is_object(b)):
                    part = self.either(name, a, b)
                if isinstance(part, Undefined):
                    return part
                parts.append(part)
            made = with_children(x, parts)
        elif isinstance(x, Table):
            joined = [self.join_leaf(name, a, b) for a, b in zip(leaves(x), leaves(y), strict=True)]
            lost = next((leaf for leaf in joined if isinstance(leaf, Undefined)), None)
            if lost is not None:
                return lost
            made = as_object(rebuild(x, iter(joined)), x)
        else:
            made = self.join_leaf(name, x, y)
            if is_object(made) and is_object(x):
                as_object(made, x)
        if is_object(made) and not same_object(x, y):
            del made.origin
            made.in_table = getattr(x, "in_table", False) or getattr(y, "in_table", False)
            made.either = {identity(x), identity(y)} | getattr(x, "either", set()) | getattr(y, "either", set())
        self.joined[key] = (made, x, y)
        return made

    def conflict(self, name, x, y):
        one, other = describe(x), describe(y)
        other = "another one" if one == other else other
        return Undefined(f"{named(name)} is {one} on one path and {other} on another", self.lo.b.loc, True)

    def join_leaf(self, name, a, b) -> Value:
        if a is b:
            return a
        if means_the_same(a, b):
            return a
        if is_number(a) and is_number(b):
            lo = self.lo
            if isinstance(a, Scalar) and isinstance(b, Scalar) and a.atom == b.atom and kinds_of(lo, a) == kinds_of(lo, b):
                return a
            dtype, weak, mixed = by_path(lo, a, b)
            x = self.within(self.then_b, lambda: fitted(lo, a, dtype))
            y = self.within(self.else_b, lambda: fitted(lo, b, dtype))
            return Scalar(self.merge(name, x, y), weak, mixed, sites_of(name, a, b))
        if isinstance(a, GrowList) and isinstance(b, GrowList):
            if a.arr is b.arr:
                return GrowList(a.arr, self.merge("count", a.count, b.count), a.weak)
            return self.join_lists(name, a, b)
        if isinstance(a, GrowList) or isinstance(b, GrowList):
            return self.conflict(name, a, b)
        if isinstance(a, Array) or isinstance(b, Array):
            if kinds_in(a) != kinds_in(b):
                return self.conflict(name, a, b)
            if (isinstance(a, Array) or is_number(a)) and (isinstance(b, Array) or is_number(b)):
                joined = self.join_arrays(name, a, b)
                return keep_list(self.lo, joined, a) if isinstance(joined, Array) and isinstance(a, Array) else joined
        return self.conflict(name, a, b)

    def merge(self, name, x, y):
        if x == y:
            return x
        var = self.lo.b.var(name.lstrip("%"), x.dtype)
        self.lo.b.facts.number(var)
        self.merges.append(Merge(var, x, y))
        if var.dtype == "int64":
            self.lo.b.facts.choices[var] = [(side, least_zero(self.lo, self.cond, holds)) for side, holds in (
                (x, True), (y, False))]
        return var

    def within(self, builder, action):
        outer = self.lo.b
        self.lo.b = builder
        try:
            return action()
        finally:
            self.lo.b = outer

    def join_missing(self, name, value, builder, missing_first):
        """A name bound on one side only: numbers get a dummy on the other, which no valid program reads. What other names
        saw before, and see still, is that; of an object made or changed there, changes are refused while others see it."""
        if not name.startswith("%") and id(value) in self.untouched():
            return value
        key = (id(value), missing_first)            # it may be missing once on either side, as in (None, n) and (n, None)
        if key in self.joined:
            return self.joined[key][0]
        if isinstance(value, (Sequence, Mapping, Record)) or value.inside():
            parts = [self.join_missing(name, part, builder, missing_first) for part in children(value)]
            lost = next((part for part in parts if isinstance(part, Undefined)), None)
            made = lost or with_children(value, parts)
        else:
            made = self.join_missing_leaves(name, value, missing_first)
            as_object(made, value)
        if is_object(made):
            del made.origin
            made.either = {identity(value)} | getattr(value, "either", set())
        self.joined[key] = (made, value, None)
        return made

    def untouched(self) -> dict:
        """The values, by their ids, that some name had before the branch and has at the end of both sides."""
        if self.kept is None:
            self.kept = {}
            for k, frame in enumerate(self.lo.frames):
                ends = [envs[k] for envs in self.envs if envs]
                waiting = [v for n, v in frame.env.items() if not n.startswith("%") and all(e.get(n) is v for e in ends)]
                while waiting:
                    value = waiting.pop()
                    self.kept[id(value)] = value
                    waiting.extend(children(value))
        return self.kept

    def join_missing_leaves(self, name, value, missing_first):
        joined: list[Value] = []
        for leaf in leaves(value):
            if isinstance(leaf, Scalar):
                dummy = Const({"bool": False, "int64": 0}.get(leaf.dtype, 0.0), leaf.dtype)
                pair = (dummy, leaf.atom) if missing_first else (leaf.atom, dummy)
                joined.append(Scalar(self.merge(name, *pair), leaf.weak, leaf.mixed, leaf.boxed))
            elif isinstance(leaf, Array):
                owner = self.else_b if missing_first else self.then_b
                if isinstance(leaf, Sized):
                    pair = (ZERO, leaf.count) if missing_first else (leaf.count, ZERO)
                    joined.append(Sized(leaf.arr, self.merge("count", *pair), leaf.shape[1:]))
                    continue
                arr = self.common_buffer(name, leaf)
                if arr is None:
                    made = self.sized(name, [(owner, leaf)], leaf.dtype, [rematerialise(self.lo, s) for s in leaf.shape[1:]])
                    if made is None:
                        return Undefined(f"{named(name)} is bound on one path only, with a shape known only there",
                                         self.lo.b.loc, True)
                    pair = (ZERO, leaf.shape[0]) if missing_first else (leaf.shape[0], ZERO)
                    self.copies.append((made, memory_of(self.lo, leaf) - {made}, set()))
                    self.lo.result_memory.add(made)
                    joined.append(Sized(made, self.merge("count", *pair), Buffer(made).shape[1:]))
                    continue
                self.within(owner, lambda a=arr, v=leaf: assign(self.lo, a, v))
                note_integers(self.lo, arr.arr, leaf)
                self.copies.append((arr.arr, memory_of(self.lo, leaf), set()))
                arr.boxed = leaf.boxed
                joined.append(seen_like(arr, leaf))
            elif isinstance(leaf, GrowList):
                owner = self.else_b if missing_first else self.then_b
                if leaf.arr in allocations(owner.stmts):
                    return Undefined(f"{named(name)} is a list of rows of a size known on one path only",
                                     self.lo.b.loc, True)
                pair = (ZERO, leaf.count) if missing_first else (leaf.count, ZERO)
                joined.append(GrowList(leaf.arr, self.merge("count", *pair), leaf.weak))
            elif isinstance(leaf, Series):
                return Undefined(f"{named(name)} is a list of items known only when the program runs, on one path only",
                                 self.lo.b.loc, True)
            else:
                joined.append(leaf)
        return rebuild(value, iter(joined))

    def sizes(self, name, a: Array, b: Array) -> list:
        """The sizes of what is one of two arrays; None where one is known on its path only."""
        lo, sizes = self.lo, []
        for p, q in zip(a.shape, b.shape, strict=True):
            there = q
            p, q = rematerialise(lo, p), rematerialise(lo, q)
            if p is not None and any((name, lo.b.loc) in plan.one_size for plan, _ in lo.around.loops):
                self.within(self.else_b, lambda p=p, q=there: require_same(lo,
                    p, q, "an array has different shapes on two paths of a loop that carries it", tells=unequal(lo)))
                sizes.append(p)
                continue
            known = [s for s in (p, q) if s is not None]
            if len(known) < 2 or same_size(lo, p, q):
                sizes.append(known[0] if len(known) == 2 else None)
                continue
            sizes.append(choose_size(lo, self.cond, p, q, (name, lo.b.loc)))
        return sizes

    def common_buffer(self, name, value: Array, dtype=None, sizes=None):
        shape = sizes or [rematerialise(self.lo, s) for s in value.shape]
        if any(s is None for s in shape):
            return None
        return Buffer(self.lo.b.alloc(name.lstrip("%"), dtype or value.dtype, shape))

    def note_twins(self) -> None:
        """All names are joined: note which buffers stand for memory that another name sees."""
        for arr, *sides in self.copies:
            note_stand_in(self.lo, arr, set().union(*sides))
            for root in set().union(*sides):
                if seen_by_another(self.lo, root, "", self.live):
                    note_twins(self.lo, (arr, root))
            for other, *theirs in self.copies:
                if other is not arr and any(a & b for a, b in zip(sides, theirs, strict=True)):
                    note_twins(self.lo, (arr, other))

    def join_lists(self, name, a: GrowList, b: GrowList) -> Value:
        """Two growing lists: a third takes the items of the one that was chosen, if no other name sees either."""
        lo = self.lo
        if any(seen_by_another(lo, x.arr, name, self.live) for x in (a, b)) or Buffer(a.arr).rank > 1 or \
                not same_dtype(Buffer(a.arr).dtype, Buffer(b.arr).dtype):
            return self.conflict(name, a, b)
        arr = list_memory(lo, name, Buffer(a.arr).dtype, 0, ())
        joined = GrowList(arr, self.merge("count", a.count, b.count), a.weak and b.weak)
        for builder, x in ((self.then_b, a), (self.else_b, b)):
            self.within(builder, lambda x=x: lo.b.add(Resize(arr, x.count, lo.b.loc)))
            self.within(builder, lambda x=x: assign(lo, lo.array(GrowList(arr, x.count)), lo.array(x)))
        lo.list_places[arr] = lo.list_places.get(a.arr, ("list", name))
        stands_for_outside(lo, arr, (a.arr, b.arr))
        return joined

    def join_arrays(self, name, a, b):
        lo = self.lo
        boxed = BY_PATH if is_number(a) or is_number(b) else a.boxed | b.boxed
        a = self.within(self.then_b, lambda: lo.array(a)) if not isinstance(a, Array) else a
        b = self.within(self.else_b, lambda: lo.array(b)) if not isinstance(b, Array) else b
        for side in (a, b):
            give_memory_if_seen(lo, side, self.live)
        if a.is_flat != b.is_flat:
            return Undefined(f"{named(name)} is `.flat` of an array on one path and an array on another", lo.b.loc, True)
        if a.rank != b.rank:
            return Undefined(f"{named(name)} has rank {a.rank} on one path and rank {b.rank} on another", lo.b.loc, True)
        if what := unlike(a, b):
            return Undefined(f"{named(name)} is {what}, by the path", lo.b.loc, True)
        sizes = self.sizes(name, a, b)
        if any(isinstance(v, Sized) for v in (a, b)) or sizes and sizes[0] is None:
            return self.join_sized(name, a, b, sizes)
        result = self.common_buffer(name, a, promote(a.dtype, b.dtype), sizes)
        if result is None:
            return Undefined(f"{named(name)} has a shape that is known on one path only", lo.b.loc, True)
        result.boxed = boxed
        note_held(lo, result, a, b)
        for builder, side in ((self.then_b, a), (self.else_b, b)):
            here = result
            if any(p is not q for p, q in zip(result.shape, side.shape, strict=True)):
                here = View(result, side.shape, lambda lo, index: index)      # which is as large as that side's, there
            self.within(builder, lambda here=here, side=side: assign(lo, here, side))
        self.copies.append((result.arr, memory_of(lo, a), memory_of(lo, b)))
        note_integers(lo, result.arr, a, b)
        fixed = [TRUE if side.read_only else lo.read_only_by.get(memory, FALSE)
                 for side in (a, b) for memory in (getattr(expression(side), "arr", None),)]
        if fixed != [FALSE, FALSE] and fixed != [TRUE, TRUE]:
            lo.read_only_by[result.arr] = self.merge("fixed", *fixed)
        return seen_like(result, a, b)

    def join_sized(self, name, a, b, sizes):
        """One of two arrays, of which one has a length known on its path only, in memory that grows."""
        dtype = promote(a.dtype, b.dtype)
        known = next((v.arr for v in (a, b) if isinstance(v, Sized) and v.dtype == dtype and not self.held(v.arr, name)),
                     None)
        arr = self.sized(name, ((self.then_b, a), (self.else_b, b)), dtype, sizes[1:], known)
        if arr is None:
            return Undefined(f"{named(name)} has a shape that is known on one path only", self.lo.b.loc, True)
        self.copies.append((arr, memory_of(self.lo, a) - {arr}, memory_of(self.lo, b) - {arr}))
        count = self.merge("count", a.shape[0], b.shape[0])
        self.lo.result_memory.add(arr)
        self.lo.sizes_by_path[count] = a.shape[0], b.shape[0]
        self.lo.size_joins[count] = name, self.lo.b.loc
        return Sized(arr, count, sizes[1:])

    def held(self, arr, name) -> bool:
        """Whether another name sees the memory of `arr` at the end of either side: it is to be copied from there."""
        return any(isinstance(leaf, Array) and arr in leaf.roots()
                   for envs in self.envs for frame, env in zip(self.lo.frames, envs, strict=False)
                   for other, value in env.items() if (frame is not self.lo.frame or other != name and (
                       other in self.live or other.startswith("%"))) for leaf in leaves(value))

    def sized(self, name, sides, dtype, sizes, arr=None):
        """Growable memory (`arr`, if given) that has the contents of each (builder, array) on its path; None if rows have
        sizes known there only."""
        lo = self.lo
        if any(s is None for s in sizes):
            return None
        arr = arr or list_memory(lo, name, dtype, 0, sizes)
        for builder, side in sides:
            if not (isinstance(side, Sized) and side.arr is arr):
                self.within(builder, lambda side=side: fill_sized(lo, arr, side))
        note_integers(lo, arr, *(side for _, side in sides))
        return arr


def seen_like(made: Array, *sides: Array) -> Array:
    """The copy of what is one of these arrays: `x.flat`, or not to be written, as they are."""
    told = [side.read_only for side in sides]
    fixed, flat = ONLY_HERE if ONLY_HERE in told else all(told), all(side.is_flat for side in sides)
    if not (fixed or flat):
        return made
    view = View(made, made.shape, lambda lo, index: index, writable=not fixed)
    view.read_only, view.is_flat = fixed, flat
    return view


def means_the_same(one: Value, other: Value) -> bool:
    """Whether what is no number or array is the same on two paths, or at the start of an iteration and at its end.

    A function that is defined anew by the same text, in the same call, reads the names of that call as they are then.
    """
    if one is other:
        return True
    match one, other:
        case Static(value=a), Static(value=b):
            try:
                return a is b or type(a) is type(b) and is_fixed(a) and is_fixed(b) and alike(a, b)
            except ValueError:
                return False
        case Closure() | Slice() | Range() | Bound() | Vectorized() | Applied(), _:
            return same_form(one) == same_form(other)           # what they hold is compared on its own
    return False


__all__ = ["Joiner", "means_the_same"]
