"""Lists that grow while a program runs."""

from __future__ import annotations

from typing import Any

from ...language.build import ONE, integer
from ...language.core import Arr, Const, Resize
from ...language.errors import TypeConflict, UnsupportedSyntax
from ...language.ops import promote
from ..arrays.aliases import memory_of
from ..arrays.broadcasting import may_differ, require_same, unequal
from ..arrays.memory import force, rematerialise, store_element
from ..arrays.points import store_number
from ..arrays.writing import assign, keep_point, note_copies, note_listed
from ..checks import known_in, require
from ..functions.names import name_of_memory
from ..journal import placed_in, surrounding
from ..loops.plan import Again, OuterName, Widen
from ..numbers.conversions import cast, dtype_of, is_weak
from ..state import Lowering
from ..structures import describe, rebuild, structure
from ..syntax.unbound import held
from ..values import (
    UNSET,
    Array,
    Buffer,
    GrowList,
    Mapping,
    Record,
    Scalar,
    Sequence,
    Slice,
    Static,
    Table,
    Value,
    View,
    is_number,
    known_as,
    leaves,
)
from .item_kinds import listed_number, note_made
from .list_operators import check_width, kind_of, list_kinds, mark_list, slice_of_list
from .sharing import as_object, children, kept_in_table, rebind, replace_everywhere, same_object, stands_for_outside


# -- lists that grow --------------------------------------------------------------------------------------
def part_that_grows(before: Value, after: Value, path: tuple = ()) -> tuple | None:
    """The first list in two values that is of another length in the other one: (where it stands, what it is in either)."""
    if kind_of(before) is kind_of(after) is list and (type(before) is not type(after) or isinstance(
            before, Sequence) and len(before.items) != len(known_as(Sequence, after).items)):
        return path, before, after
    ours, theirs = children(before), children(after)
    if type(before) is not type(after) or len(ours) != len(theirs):
        return None
    found = (part_that_grows(a, b, (*path, k)) for k, (a, b) in enumerate(zip(ours, theirs, strict=True)))
    return next((f for f in found if f is not None), None)


def grow_request(lo: Lowering, name, before, after) -> None:
    """A list, or one inside a list, dict or record, changed its length in a loop or branch: ask the loop around to make it
    growable."""
    found = part_that_grows(before, after)
    if found is None:
        return
    path, before, after = found
    if path and lo.around.loops and (isinstance(before, GrowList) or isinstance(after, GrowList)):
        raise Again                             # the loop around has it growable from now on
    if isinstance(before, Sequence) and isinstance(after, Sequence):
        longer = after if len(after.items) > len(before.items) else before
        item = longer.items[-1]
        what: Any
        if is_number(item):
            what = (dtype_of(lo, item), ())
        elif isinstance(item, Array):
            what = (item.dtype, item.shape)
        else:
            what = Row.of(lo, item)
            if what is None:
                return
        if path and not lo.around.loops:
            if ("part", str(name), path) in lo.widened or any(
                    shape for _, shape in (what.kinds if isinstance(what, Row) else [what])):
                return
            raise Widen(("part", str(name), path), what)
        if not path and not from_before(lo, name, before, after):
            make_growable(lo, name, what if isinstance(what, Row) else what[0])
        for plan in reversed(list(lo.plans.values())):
            plan.grow.setdefault((str(name), path), what)
        raise Again


def from_before(lo: Lowering, name, *values: Value) -> bool:
    """Whether a name had one of these lists before a loop around: then it can be made growable there."""
    frame = name.frame if isinstance(name, OuterName) else lo.frame
    depth = lo.frames.index(frame)
    return any(depth < len(envs) and any(same_object(held(envs[depth].get(str(name), UNSET)), v) for v in values)
               for _, envs in lo.around.loops)


def grow_parts(lo: Lowering, plan, names) -> None:
    """At the head of a loop: lists that its iterations change the length of, inside other objects or under names that it
    does not bind, are growable."""
    for (name, path), what in plan.grow.items():
        for frame in lo.frames if path or name not in names else [f for f in lo.frames if f is not lo.frame]:
            grow_part(lo, name, frame.env.get(name, UNSET), path, what)


def grow_part(lo: Lowering, name: str, value: Value, path: tuple, what) -> Value:
    """A value whose list at a place, if it has one there, is growable from now on."""
    part = held(value)
    for k in path:
        part = children(part)[k] if k < len(children(part)) else UNSET
    if not isinstance(part, Sequence) or part.kind is not list:
        return value
    if getattr(part, "outside", False) and name in lo.env and held(lo.env[name]) is not part:
        return value                            # of another function, that has its own of this name
    held_as = f"%growing {name}"
    lo.env[held_as] = value                     # a name, for what takes the place of the list everywhere
    to_grow_list(lo, name, part, what)
    return lo.env.pop(held_as)


def make_growable(lo: Lowering, name: str, dtype):
    """Lower everything again with the lists bound to a name growing ones from the start."""
    frame = name.frame if isinstance(name, OuterName) else lo.frame
    place = ("grow", frame.definition.name, str(name))
    if place in lo.widened or (name.startswith("%") and not name.startswith("%list")):
        shown = "a list" if name.startswith("%") else f"the list `{name}`"
        raise lo.error(UnsupportedSyntax, f"{shown} changes its length in a way that cannot be followed",
                       "append to a list that is created once, or give it its length at the start")
    raise Widen(place, dtype)


def list_dtype(lo: Lowering, value: Value) -> str:
    """The dtype of the items of a list of numbers."""
    if isinstance(value, GrowList):
        return Buffer(value.arr).dtype
    if isinstance(value, Sequence):
        return promote(*(i.dtype if isinstance(i, Array) else dtype_of(lo, i) for i in value.items)) \
            if value.items and all(is_number(i) or isinstance(i, Array) for i in value.items) else "float64"
    return known_as(Array, value).dtype


def growable(lo: Lowering, owner: Array) -> GrowList:
    """A list of a length known only at run time, as one that grows."""
    if getattr(owner, "item_of", None) is not None:
        raise lo.error(UnsupportedSyntax, "a list in a list of run-time length, or at a place known only when the program "
                       "runs, changes its length", "make a new list of lists, or work on a copy: list(row)")
    name = next((n for n, v in lo.env.items() if held(v) is owner), None)
    if name is None:
        raise lo.error(UnsupportedSyntax, "only a list with a name can change its length", "bind it to a name first")
    return make_growable(lo, name, owner.dtype)


def bound_list(lo: Lowering, name: str, value: Value) -> Value:
    """A list as it is bound to a name: growing, if that name's lists have to."""
    for kind, own, path in [p for p in lo.widened if p[0] == "part" and p[1] == name]:
        value = grow_part(lo, name, value, path, lo.widened[kind, own, path])
    place = ("grow", lo.frame.definition.name, name)
    if place not in lo.widened or isinstance(value, (GrowList, Table)):
        return value
    kind = lo.widened[place]
    if isinstance(kind, Row):
        return to_table(lo, name, value, kind) if isinstance(value, Sequence) and value.kind is list else value
    if isinstance(value, Sequence) and value.kind is list and all(map(is_number, value.items)):
        if getattr(value, "outside", False):        # a copy stands for it, as long as neither changes
            grown = known_as(GrowList, to_grow_list(lo, name, Sequence(value.items, list), (kind, ())))
            stands_for_outside(lo, grown.arr)
            return as_object(grown, value)
        return to_grow_list(lo, name, value, (lo.widened[place] if value.items else "float64", ()))
    if isinstance(value, Array) and value.is_list and value.rank == 1:
        arr = list_memory(lo, name, value.dtype, 8, ())
        lo.b.add(Resize(arr, value.shape[0], lo.b.loc))
        stands_for_outside(lo, arr, value.roots())
        grown = GrowList(arr, value.shape[0])
        root = next(iter(value.roots()))
        lo.list_places[arr] = lo.list_places.get(root, ("list", name))
        if root in lo.item_kinds:
            lo.item_kinds[arr] = lo.item_kinds[root]
        assign(lo, lo.array(grown), value)
        rebind(lo, [(value, grown)])            # which other names see too
        return grown
    return value


def to_grow_list(lo: Lowering, name, value: Sequence, what) -> Value:
    if isinstance(what, Row):
        return to_table(lo, name, value, what)
    dtype, shape = what
    if value.items:
        dtype = promote(dtype, *(dtype_of(lo, i) for i in value.items))
    place = ("list", name)
    dtype = promote(dtype, lo.widened.get(place, dtype))
    sizes = [rematerialise(lo, s) for s in shape]
    if any(s is None for s in sizes):
        raise lo.error(TypeConflict, f"the rows appended to `{name}` have a size known only inside the loop",
                       "preallocate an array before the loop")
    arr = list_memory(lo, name, dtype, len(value.items), sizes)
    for k, item in enumerate(value.items):
        if sizes:
            require_row(lo, arr, tuple(sizes), item)
            assign(lo, known_as(Array, lo.index_array(Buffer(arr), (Static(k),))), item)
        else:
            note_copies(lo, arr, item)
            store_element(lo, arr, (integer(k),), lo.atom(item, dtype))
    grown = GrowList(arr, integer(len(value.items)), all(is_number(i) and is_weak(lo, i) for i in value.items))
    lo.list_places[arr] = place
    if not sizes:
        note_made(lo, arr, value.items)
    replace_everywhere(lo, value, grown)
    return grown


def to_table(lo: Lowering, name, value: Sequence, what: Row) -> Table:
    """A list of tuples or records as growing lists, one for each of their numbers."""
    columns = []
    for k, (dtype, shape) in enumerate(what.kinds):
        column = f"{name}_{k}"
        columns.append(to_grow_list(lo, column, Sequence((), list), (dtype, shape)))
    table = Table(rebuild(what.item, iter(columns)))
    replace_everywhere(lo, value, table)
    for item in value.items:
        table = append_row(lo, table, item)
    return table


def as_row(lo: Lowering, item: Value) -> Value:
    """A tuple or list of numbers in memory, of a length that is known, as one of its items."""
    if isinstance(item, Array) and item.is_list and item.rank == 1 and isinstance(item.shape[0], Const):
        return Sequence(tuple(lo.get_item(item, Static(k)) for k in range(item.shape[0].value)), kind_of(item) or list)
    return item


def append_row(lo: Lowering, table: Table, item: Value) -> Table:
    item = as_row(lo, item)
    if structure(item) != structure(table.row):
        raise lo.error(TypeConflict, f"{describe(item)} is appended to a list whose items have another structure",
                       "use separate lists")
    kept_in_table(lo, item)
    longer = [appended(lo, column, part) for column, part in zip(table.columns, leaves(item), strict=True)]
    made = Table(rebuild(table.row, iter(longer)))
    replace_everywhere(lo, table, made)
    return made


def row_of(lo: Lowering, table: Table, index: Value) -> Value:
    """One item of a list of tuples or records."""
    return kept_in_table(lo, rebuild(table.row, iter([lo.get_item(column, index) for column in leaves(table)])))


def store_row(lo: Lowering, table: Table, key: Value, item: Value) -> None:
    item = as_row(lo, item)
    if structure(item) != structure(table.row):
        raise lo.error(TypeConflict, f"{describe(item)} is stored in a list whose items have another structure",
                       "use separate lists")
    kept_in_table(lo, item)
    for column, part in zip(leaves(table), leaves(item), strict=True):
        check_width(lo, column, part)
        target = lo.select(lo.array(column), (key,))
        if target.rank:
            require_row(lo, next(iter(target.roots())), target.shape, part)
            assign(lo, target, part)
        else:
            store_number(lo, target, part, "")


def columns_of(lo: Lowering, table: Table) -> Sequence:
    """`zip(*table)`: each part of the items as a list of its own."""
    if not isinstance(table.row, Sequence) or not all(isinstance(i, GrowList) for i in table.row.items):
        raise lo.error(TypeConflict, "zip(*list) needs a list of tuples of numbers", "write the loop")
    return Sequence(tuple(slice_of_list(lo, column, (Slice(None, None, None),)) for column in table.row.items))


def pop_row(lo: Lowering, table: Table, args) -> Value:
    last, shorter = [], []
    for column in table.columns:
        item, rest = popped(lo, column, args)
        last.append(item)
        shorter.append(rest)
    replace_everywhere(lo, table, Table(rebuild(table.row, iter(shorter))))
    return rebuild(table.row, iter(last))


def list_memory(lo: Lowering, name: str, dtype: str, length: int, sizes) -> Arr:
    """Memory of a list that grows. It is made once, outside all loops, and serves every list made at this place: a list
    from an earlier iteration cannot be seen any more, and what is overwritten is saved like any other value."""
    outermost = surrounding(lo)[-1]
    visible = all(known_in(lo, s, outermost) for s in sizes)
    with placed_in(lo, outermost if visible else lo.b.last()):
        arr = lo.b.alloc(name.lstrip("%"), dtype, (integer(max(8, length)), *sizes))
    if name == "%value":
        lo.result_memory.add(arr)
    return arr


def refill(lo: Lowering, arr: Arr, items: Array) -> None:
    """Put the items of a list into the memory of another one, which the name means no more."""
    stands_for_outside(lo, arr, items.roots())
    lo.b.forget(arr)
    lo.b.add(Resize(arr, items.shape[0], lo.b.loc))
    assign(lo, lo.array(GrowList(arr, items.shape[0])), items)


def extend(lo: Lowering, grown, items) -> None:
    for item in items:
        grown = append_row(lo, grown, item) if isinstance(grown, Table) else append(lo, grown, item)


def append(lo: Lowering, grown: GrowList, item: Value) -> GrowList:
    longer = appended(lo, grown, item)
    replace_everywhere(lo, grown, longer)
    return longer


def appended(lo: Lowering, grown: GrowList, item: Value) -> GrowList:
    b = lo.b
    count = grown.count
    after = b.iadd(count, 1)
    b.forget(grown.arr)
    b.add(Resize(grown.arr, after, b.loc))
    target = Buffer(grown.arr)
    row = View(target, target.shape[1:], lambda lo, index: (count, *index), prefix=(count,))
    if target.rank == 1:
        check_width(lo, grown, item)
        keep_point(lo, item)
        note_listed(lo, item)
        value = lo.atom(item)
        store_element(lo, grown.arr, (count,), cast(lo, value, target.dtype))
    else:
        note_row(lo, grown.arr, list_kinds(lo, item))
        assign_item(lo, grown, row, item)
    return GrowList(grown.arr, after, grown.weak)


def note_row(lo: Lowering, arr: Arr, kinds: tuple) -> None:
    """The rows of a list that grows are arrays (`kinds` is empty) or lists, all of them."""
    if lo.row_kinds.setdefault(arr, kinds) != kinds or tuple in kinds[:1]:
        raise lo.error(UnsupportedSyntax, "lists and arrays are in one list that grows",
                       "append arrays: np.array(...)")


def row_read(lo: Lowering, grown: GrowList, found: Value) -> Value:
    """An item of a list that grows: a list, where lists were appended."""
    if isinstance(found, Scalar):
        return listed_number(lo, grown.arr, found.atom, False)
    if isinstance(found, Array):
        mark_list(lo, found, lo.row_kinds.setdefault(grown.arr, ()))
    return found


def require_row(lo: Lowering, arr: Arr, sizes, item: Value) -> None:
    """Refuse rows of other sizes than a list's memory has: now where the careful program is made, else when one comes."""
    told = name_of_memory(lo, arr, "this list")
    refused = lo.error(UnsupportedSyntax, f"{told} grows, and its items may have different shapes",
                       "give them one shape, or join them in one array: np.concatenate")
    shape = lo.array(item).shape
    if len(shape) != len(sizes):
        raise refused
    for p, q in zip(sizes, shape, strict=True):
        if may_differ(lo, p, q):
            raise refused
        require_same(lo, p, q, f"the arrays in {told} have different sizes", tells=unequal(lo))


def assign_item(lo: Lowering, grown: GrowList, row: View, item: Value) -> None:
    """Put an array in a list that grows, which has a copy of it."""
    lo.items_from.setdefault(grown.arr, set()).update(memory_of(lo, item) if isinstance(item, Array) else ())
    note_listed(lo, item)
    require_row(lo, grown.arr, row.shape, item)
    before, lo.replacing = lo.replacing, True
    try:
        assign(lo, row, item)
    finally:
        lo.replacing = before


class Row:
    """What the items of a list of tuples or records are: their structure, and the dtype and shape of each place."""

    def __init__(self, item: Value, kinds: tuple):
        self.item, self.kinds = item, kinds

    @staticmethod
    def of(lo, item: Value) -> Row | None:
        kinds: list[tuple] = []
        for leaf in leaves(item):
            if is_number(leaf):
                kinds.append((dtype_of(lo, leaf), ()))
            elif isinstance(leaf, Array) and leaf.rank:
                kinds.append((leaf.dtype, leaf.shape))
            else:
                return None
        return Row(item, tuple(kinds)) if kinds and isinstance(item, (Sequence, Mapping, Record)) else None

    def __eq__(self, other):
        return isinstance(other, Row) and structure(self.item) == structure(other.item) and \
            [k[0] for k in self.kinds] == [k[0] for k in other.kinds]

    def __hash__(self):
        return hash(tuple(k[0] for k in self.kinds))


def popped(lo: Lowering, grown: GrowList, args) -> tuple[Value, GrowList]:
    """(the last item, the list without it)."""
    if args and not (isinstance(args[0], Static) and args[0].value == -1):
        raise lo.error(TypeConflict, "only the last item of a list can be popped while a loop runs",
                       "keep an index of the first item instead")
    checked, lo.boundscheck = lo.boundscheck, False
    if checked is not False:
        require(lo, grown.count, "ge", ONE, "IndexError", "pop from empty list")
    last = lo.index_array(lo.array(grown), (Static(-1),))
    lo.boundscheck = checked
    if isinstance(last, Scalar):
        last = listed_number(lo, grown.arr, last.atom, grown.weak)
    elif isinstance(last, Array):
        last = row_read(lo, grown, force(lo, last, copy=True))
    rest = lo.b.isub(grown.count, 1)
    if rest not in lo.b.facts.nonnegative and not isinstance(rest, type(None)):
        lo.b.facts.nonnegative.add(rest)          # as was checked
    return last, GrowList(grown.arr, rest, grown.weak)
