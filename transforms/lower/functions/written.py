"""What a program changes of its arguments. It is right as long as nothing else that it is given, or reads outside, is the
same object or memory: programs are made for arguments that are apart, which every call checks (`calling/overlaps.py`)."""

from __future__ import annotations

from ..arrays.aliases import memory_of, note_write, stood_for
from ..containers.sharing import identity, is_object, objects
from ..state import Lowering
from ..values import Array, Buffer, Mapping, Record, Scalar, Sequence, Value


def note_given(lo: Lowering, arguments: dict) -> None:
    """The arguments, by name, are the caller's objects."""
    for value in arguments.values():
        for o in objects(value):
            o.given = True


def written_places(lo: Lowering, arguments: dict) -> tuple:
    """(name of an argument, steps to a part of it) of each list, dict, record or array that the program changes.

    A step is ("item", key) or ("attribute", name).
    """
    lo.apart |= stood_for(lo, lo.touched) & lo.parameters
    return tuple((name, steps) for name, value in arguments.items() for steps, part in parts(value) if is_written(lo, part))


def changed_places(lo: Lowering, arguments: dict) -> dict:
    """(name of an argument, steps to a part of it) -> the core array, None for one of rank 0, of each array that the program
    writes: one that cannot be written is an error at the call. And of each list, dict or record that it changes: None."""
    found: dict = {}
    for name, value in arguments.items():
        for steps, part in parts(value):
            if isinstance(part, Buffer) and part.arr in lo.mutated:
                found[name, steps] = part.arr
            elif lo.given_points.get(id(part)) in lo.changed_points | set(lo.widened) or (
                    is_object(part) and getattr(identity(part), "changed", False)):
                found[name, steps] = None
    return found


def parts(value: Value, steps: tuple = ()) -> list:
    """(steps, part) of all that is in a value, itself first."""
    match value:
        case Sequence(items=items):
            inner = [(("item", k), v) for k, v in enumerate(items)]
        case Mapping(items=named):
            inner = [(("item", k), v) for k, v in named.items()]
        case Record(fields=fields):
            inner = [(("attribute", k), v) for k, v in fields.items()]
        case _:
            inner = []
    return [(steps, value), *(found for step, v in inner for found in parts(v, (*steps, step)))]


def is_written(lo: Lowering, given: Value) -> bool:
    """Whether the program changes this part of an argument, or depends on its being no other object."""
    if is_object(given):
        return getattr(identity(given), "changed", False) or getattr(identity(given), "told_apart", False)
    if isinstance(given, Buffer) and given.arr in lo.mutated | lo.apart:
        return True
    site = lo.given_points.get(id(given))
    return site is not None and (site in lo.changed_points or site in lo.widened)


def overlapping(lo: Lowering, written: tuple, changed: dict, arguments: dict, hidden=()) -> tuple[str, bool]:
    """(the name of an argument with a part that is written and may be another part, or one of the arrays `hidden`, or "";
    whether it is written, and not just told from others by `is`).

    arguments: values by name, of a call inside a program; those it was given itself must then be apart too.
    """
    found = [(name, steps, part) for name, value in arguments.items() for steps, part in parts(value)]
    for name, steps, part in found:
        if (name, steps) not in written:
            continue
        if any(may_be_one(lo, part, other) for n, s, other in found if (n, s) != (name, steps)):
            return name, not is_object(part) or (name, steps) in changed
        if is_object(part):
            setattr(identity(part), "changed" if (name, steps) in changed else "told_apart", True)
        elif isinstance(part, (Scalar, Array)):
            roots = memory_of(lo, part) if isinstance(part, Array) else set()
            if roots & set(hidden):
                return name, True
            for root in roots:
                note_write(lo, root)
            lo.apart |= roots & lo.parameters
            lo.changed_points |= part.boxed
    return "", False


def may_be_one(lo: Lowering, value: Value, other: Value) -> bool:
    """Whether two values of the program may be one object, or have memory in common."""
    if is_object(value) or is_object(other):
        return is_object(value) and is_object(other) and identity(value) is identity(other)
    if not (isinstance(value, (Scalar, Array)) and isinstance(other, (Scalar, Array))):
        return False
    both = isinstance(value, Array) and isinstance(other, Array) and bool(memory_of(lo, value) & memory_of(lo, other))
    return both or value is other and bool(value.boxed) or bool(value.boxed & other.boxed)
