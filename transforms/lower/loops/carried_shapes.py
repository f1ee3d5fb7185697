"""What a name holds after a loop that may not run, and sizes of what a loop carries."""

from __future__ import annotations

from functools import partial

from ...language.build import ONE, ZERO
from ...language.core import Const, Resize, Var
from ...language.errors import TypeConflict
from ..arrays.aliases import memory_of, note_stand_in
from ..arrays.broadcasting import same_size
from ..arrays.memory import force, rematerialise
from ..containers.growing import list_memory, to_grow_list
from ..journal import placed_in
from ..numbers.conversions import dtype_of, is_weak
from ..state import Lowering
from ..structures import rebuild
from ..values import Array, Buffer, GrowList, Scalar, Sequence, Sized, Value, is_number, leaves
from .bindings import assign_own


class _Template(Value):
    def __init__(self, what):
        self.what = what


def varies(lo: Lowering, size, before) -> bool:
    """Whether the size of an array at the end of an iteration is another one than `before`, or known only there."""
    if same_size(lo, size, before):
        return False
    if isinstance(size, Const) and isinstance(before, Const) or ONE in (size, before) or ZERO in (size, before):
        return True
    with placed_in(lo, lo.around.loops[-1][0].place[0]):
        if rematerialise(lo, size, probe=True) is None:
            return True
    return bool(made_of(lo, size) & made_of(lo, before))


def made_of(lo: Lowering, size) -> set:
    """The variables that an integer is computed from, itself included."""
    waiting, seen = [size], set()
    while waiting:
        atom = waiting.pop()
        if isinstance(atom, Var) and atom not in seen:
            seen.add(atom)
            waiting.extend(lo.b.facts.definition.get(atom, ("", ()))[1])
    return seen


def chosen_from(lo: Lowering, size) -> set:
    """The sizes that a size is one of, by the branches that were taken."""
    return set().union(*map(partial(chosen_from, lo), lo.sizes_by_path[size])) if size in lo.sizes_by_path else {size}


def unrelated(lo: Lowering, sizes) -> bool:
    """Whether no two of these are computed from one variable: then a program means them to be equal."""
    found = list(map(partial(made_of, lo), sizes))
    return not any(a & b for k, a in enumerate(found) for b in found[:k])


def own_sized(lo: Lowering, name, leaf, dtype) -> tuple:
    """Growable memory that a loop carries an array in, as it changes its length."""
    arr = list_memory(lo, name, dtype or leaf.dtype, 0, leaf.shape[1:])
    note_stand_in(lo, arr, memory_of(lo, leaf))
    fill_sized(lo, arr, leaf)
    return arr, leaf.shape[0], leaf.shape[1:]


# -- names first bound in a loop --------------------------------------------------------------------------
def fill_sized(lo: Lowering, arr, value: Array) -> None:
    """Put an array into growable memory."""
    if arr in value.roots():
        value = force(lo, value, copy=True)
    lo.b.forget(arr)
    lo.b.add(Resize(arr, value.shape[0], lo.b.loc))
    assign_own(lo, Sized(arr, value.shape[0], Buffer(arr).shape[1:]), value)


def template_of(lo: Lowering, value, name=""):
    """Enough of a value to make a blank one before the loop."""
    with placed_in(lo, lo.around.loops[-1][0].place[0]):
        return template(lo, value, name)


def template(lo: Lowering, value, name):
    def leaf_template(leaf):
        if isinstance(leaf, GrowList):
            sizes = tuple(rematerialise(lo, s, probe=True) for s in Buffer(leaf.arr).shape[1:])
            if None in sizes or Buffer(leaf.arr).real:
                raise lo.error(TypeConflict, "a list first made inside the loop is used after it",
                               "create it before the loop")
            return ("grow", Buffer(leaf.arr).dtype, sizes)
        if is_number(leaf):
            return ("scalar", dtype_of(lo, leaf), is_weak(lo, leaf))
        if isinstance(leaf, Array):
            shape = tuple(rematerialise(lo, s, probe=True) for s in leaf.shape)
            if shape and (shape[0] is None or isinstance(leaf, Sized)) and None not in shape[1:]:
                return ("sized", leaf.dtype, leaf.shape[1:])
            if any(s is None for s in shape):
                raise lo.error(TypeConflict, "an array first made inside the loop, of a size known only there, "
                                             "is used after it", "create it before the loop")
            return ("array", leaf.dtype, leaf.shape)
        return ("static", leaf)
    return rebuild(value, iter([_Template(leaf_template(leaf)) for leaf in leaves(value)]))


def blank(lo: Lowering, name, template) -> Value:
    made = []
    for leaf in leaves(template):
        if not isinstance(leaf, _Template):         # a function or slice, before what it holds
            made.append(leaf)
            continue
        match leaf.what:
            case ("scalar", dtype, weak):
                zero = Const({"bool": False, "int64": 0}.get(dtype, 0.0), dtype)
                made.append(Scalar(zero, weak))
            case ("array", dtype, shape):
                sizes = [rematerialise(lo, s) for s in shape]
                if None in sizes:
                    raise lo.error(TypeConflict, "an array first made inside the loop, of a size known only there, is used "
                                   "after it", "create it before the loop")
                zero = Const({"bool": False, "int64": 0}.get(dtype, 0.0), dtype)
                buffer = Buffer(lo.b.alloc(name.lstrip("%"), dtype, sizes, zero))
                buffer.order = "?"              # an iteration may bind an array that lies in any
                made.append(buffer)
            case ("sized", dtype, shape):
                sizes = [rematerialise(lo, s) for s in shape]
                made.append(Sized(list_memory(lo, name, dtype, 0, sizes), ZERO, sizes))
            case ("grow", dtype, sizes):
                made.append(to_grow_list(lo, name, Sequence((), list), (dtype, sizes)))
            case ("static", value):
                made.append(value)
    return rebuild(template, iter(made))
