"""What a call of a function under `vmap` means in a program: a loop over examples, which fills an array for each result.

    y = vmap(f, in_axes=(0, None))(x, w)     becomes     for b in range(x.shape[0]):
                                                             y[b] = f(x[b], w)

The body is lowered once and dropped, to learn what the results are; so their arrays are there before the loop, also where
there are no examples.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ..transforms.differentiate.activity import closure
from ..transforms.differentiate.explain import influences
from ..transforms.language.build import ONE, ZERO
from ..transforms.language.core import GENERATOR, Atom, Function, Var, written
from ..transforms.language.errors import MissingAxis, NonDifferentiable, TypeConflict, UnsupportedSyntax
from ..transforms.language.queries import allocated_in, allocations
from ..transforms.lower.arrays.broadcasting import require_same
from ..transforms.lower.arrays.loop_nests import for_loop
from ..transforms.lower.arrays.memory import force, rematerialise, store_element
from ..transforms.lower.arrays.writing import assign
from ..transforms.lower.checks import require, show_size
from ..transforms.lower.journal import Attempt, bindings_changed, dropped, environments, surrounding
from ..transforms.lower.needs import Raised
from ..transforms.lower.numbers.conversions import dtype_of
from ..transforms.lower.structures import describe, rebuild, structure
from ..transforms.lower.values import (
    Array,
    Buffer,
    Mapping,
    Record,
    Scalar,
    Sequence,
    Slice,
    Static,
    Value,
    is_number,
    known_as,
    leaves,
)

HELD = "%example"               # the name under which the arguments of an example are seen to change
WHOLE = Slice(None, None, None)


def over_examples(lo, function: Value, args: list[Value], kwargs: dict[str, Value], axes: list, named: dict, out_axes,
                  names: list[str]) -> Value:
    """The results of `function` for each example, stacked.

    axes, named: for each argument and keyword, the axis along which its arrays hold examples, None, or a structure of these.
    names: what messages call the first arguments.
    Raises TypeConflict for structures that do not fit and for results that are no numbers or arrays, MissingAxis for an axis
    that an array does not have; ValueError, when the program runs, where arrays hold different numbers of examples.
    """
    args, kwargs = [in_memory(lo, a) for a in args], {k: in_memory(lo, v) for k, v in kwargs.items()}
    called = [f"`{n}`" for n in names[:len(args)]] + [f"argument {k}" for k in range(len(names), len(args))]
    places = [p for a, x, c in zip(args, axes, called, strict=True) for p in placed(lo, a, x, c, "in_axes")]
    places += [p for k, a in kwargs.items() for p in placed(lo, a, named[k], f"`{k}`", "in_axes")]
    along = [axis_in(lo, leaf, axis, path) for leaf, axis, path in places]
    count = number_of(lo, places, along)

    def example(b) -> Value:
        found = iter([leaf if axis is None else one_of(lo, known_as(Array, leaf), axis, b)
                      for (leaf, _, _), axis in zip(places, along, strict=True)])
        own, named = [rebuild(a, found) for a in args], {k: rebuild(v, found) for k, v in kwargs.items()}
        name = f"{HELD} {sum(n.startswith(HELD) for n in lo.env)}"
        lo.env[name] = held = Sequence((*own, *named.values()))
        result = lo.call(function, own, named)
        if lo.env.pop(name) is not held:
            raise lo.error(UnsupportedSyntax, "a function under vmap changes a list, dict or object among its arguments",
                           "work on a copy, and return it")
        return result

    sample, kinds = learnt(lo, example, count, out_axes)
    results = placed(lo, sample, out_axes, "the result", "out_axes")
    if any(axis is None and kind is not None for kind, (_, axis, _) in zip(kinds, results, strict=True)):
        require(lo, count, "gt", ZERO, "ValueError", "vmap has no examples, and out_axes=None asks for the result of any")
    made = [None if kind is None else memory_for(lo, kind, count, axis, path)
            for kind, (_, axis, path) in zip(kinds, results, strict=True)]

    def body(b, _):
        value = example(b)
        assert structure(value) == structure(sample)
        for leaf, kind, target in zip(leaves(value), kinds, made, strict=True):
            if target is not None:
                store(lo, target, b, leaf, kind)
        return ()
    for_loop(lo, ZERO, count, (), body, "b")
    return rebuild(sample, iter([leaf if target is None else result_in(lo, target, kind)
                                 for leaf, kind, target in zip(leaves(sample), kinds, made, strict=True)]))


def in_memory(lo, value: Value) -> Value:
    """An argument, whose arrays are not computed again for every example."""
    return rebuild(value, iter([force(lo, leaf) if isinstance(leaf, Array) and leaf.rank else leaf
                                for leaf in leaves(value)]))


# ---- which axes -----------------------------------------------------------------------------------------
def placed(lo, value: Value, axes, path: str, option: str) -> list[tuple[Value, Any, str]]:
    """(leaf, axis or None, what messages call it) of a value; an axis stands for all that a structure holds.

    axes: a number, None, or a tuple, list, dict or dataclass of such, as the value.
    """
    if axes is None or isinstance(axes, int) and not isinstance(axes, bool):
        return named_leaves(value, axes, path)
    parts, own = parts_of(value, path), parts_of_axes(axes)
    if parts is None or own is None or parts.keys() != own.keys():
        raise lo.error(TypeConflict, f"{option} has another structure than {path}, {describe(value)}",
                       "give an axis (or None) for each part, or one for all of it")
    return [found for key, (part, inner) in parts.items() for found in placed(lo, part, own[key], inner, option)]


def named_leaves(value: Value, axis, path: str) -> list[tuple[Value, Any, str]]:
    parts = parts_of(value, path)
    if parts is None:
        return [(leaf, axis, path) for leaf in leaves(value)]
    return [found for part, inner in parts.values() for found in named_leaves(part, axis, inner)]


def parts_of(value: Value, path: str) -> dict[Any, tuple[Value, str]] | None:
    """The parts of a container, by the key of each, with what messages call them."""
    match value:
        case Sequence(items=items):
            return {k: (v, f"{path}[{k}]") for k, v in enumerate(items)}
        case Mapping(items=items):
            return {k: (v, f"{path}[{k!r}]") for k, v in items.items()}
        case Record(fields=fields):
            return {k: (v, f"{path}.{k}") for k, v in fields.items()}
    return None


def parts_of_axes(axes) -> dict | None:
    if isinstance(axes, tuple) and hasattr(axes, "_fields"):
        return dict(zip(axes._fields, axes, strict=True))
    if isinstance(axes, (tuple, list)):
        return dict(enumerate(axes))
    if dataclasses.is_dataclass(axes) and not isinstance(axes, type):
        return {f.name: getattr(axes, f.name) for f in dataclasses.fields(axes)}
    return axes if isinstance(axes, dict) else None


def axis_in(lo, leaf: Value, axis, path: str) -> int | None:
    """An axis counted from the front, after checks that the array has it; None for what is the same for all examples."""
    if axis is None or isinstance(leaf, Static) and leaf.value is None:
        return None
    if not isinstance(leaf, Array) or leaf.is_list or not leaf.rank:
        raise lo.error(TypeConflict, f"vmap runs over axis {axis} of {path}, which is {describe(leaf)}",
                       "give it the axis None in in_axes, if all examples share it, or pass an array of examples")
    return from_the_front(lo, axis, leaf.rank, path)


def from_the_front(lo, axis: int, rank: int, path: str) -> int:
    if not -rank <= axis < rank:
        raise lo.error(MissingAxis, f"vmap runs over axis {axis} of {path}, which has {rank} axes")
    return axis % rank


def number_of(lo, places, along) -> Atom:
    """The number of examples, after checks that all arrays agree."""
    sizes = [(leaf.shape[axis], f"axis {axis} of {path}") for (leaf, _, path), axis in zip(places, along, strict=True)
             if axis is not None]
    if not sizes:
        raise lo.error(TypeConflict, "vmap has no array to run over", "give an axis in in_axes to one of the arguments")
    (count, first), *others = sizes
    for size, where in others:
        require_same(lo, count, size, "vmap runs over axes of different lengths: "
                     f"{first} has {show_size(lo, count)} examples, {where} has {show_size(lo, size)}")
    return count


# ---- examples and results -------------------------------------------------------------------------------
def one_of(lo, leaf: Array, axis: int, b) -> Value:
    return lo.index_array(leaf, (*[WHOLE] * axis, Scalar(b)))


def learnt(lo, example, count, out_axes) -> tuple[Value, list]:
    """(a result, the dtype and shape of each of its numbers and arrays, None for what is neither).

    NonDifferentiable where a result that has no axis of examples may differ from one example to the next.
    """
    probe = Var("probe", "int64")
    facts = lo.b.facts
    facts.number(probe)
    facts.range[probe] = (ZERO, lo.b.isub(count, ONE))
    before, names, arrays = Attempt(lo), environments(lo), allocated(lo)
    try:
        with dropped(lo, loop=True):
            sample = example(probe)
            shared = [(in_memory_of_all(lo, leaf, path), path)
                      for leaf, axis, path in placed(lo, sample, out_axes, "the result", "out_axes") if axis is None]
            tried = lo.b.block()
            changed = bindings_changed(lo, names)
    except Raised:                              # whatever the example: it does here
        before.undo(lo)
        example(ZERO)
        raise
    own = allocated_in(tried) | allocated(lo) - arrays      # lists have theirs outside
    for array in sorted(written(tried) - own, key=lambda a: a.hint):
        if array.dtype == GENERATOR:            # draws of one example follow those of another
            continue
        raise lo.error(UnsupportedSyntax, f"a function under vmap writes to `{array.hint}`, an argument or what examples "
                       "share", "write to a copy, and return it")
    if changed:
        raise lo.error(UnsupportedSyntax, "a function under vmap changes names or objects outside of it",
                       "return what it computes")
    differing = differing_in(tried, probe) if shared else set()
    for array, path in shared:
        if array in differing:
            raise lo.error(NonDifferentiable, f"out_axes gives {path} no axis of examples, and it may differ between them",
                           "give it an axis: None is for what all examples share")
    return sample, [kind_of(lo, leaf, path) for leaf, _, path in named_leaves(sample, None, "the result")]


def in_memory_of_all(lo, leaf: Value, path: str):
    """The array that takes a result which all examples share; None for what is no number or array."""
    kind = kind_of(lo, leaf, path)
    if kind is None:
        return None
    buffer, _ = target = memory_for(lo, kind, ONE, None, path)
    store(lo, target, ZERO, leaf, kind)
    return buffer.arr


def differing_in(block, probe: Var) -> set:
    """What may differ between examples: it depends on which one it is, or on draws; by its value, or in being computed."""
    moving = [probe, *(a for a in written(block) if a.dtype == GENERATOR)]
    return closure(moving, [(sources, targets) for _, sources, targets, _ in influences(Function("", (), block, ()))])


def allocated(lo) -> set:
    return {a for block in surrounding(lo) for a in allocations(block.stmts)}


def kind_of(lo, leaf: Value, path: str):
    if isinstance(leaf, Static) and leaf.value is None:
        return None
    if isinstance(leaf, Array) and leaf.rank and not leaf.is_list:
        shape = tuple(rematerialise(lo, s) for s in leaf.shape)
        if any(s is None for s in shape):
            raise lo.error(TypeConflict, f"{path} of a function under vmap has a size that each example finds for itself",
                           "give results of all examples one shape")
        return leaf.dtype, shape
    if is_number(leaf) or isinstance(leaf, Array) and not leaf.rank:
        return dtype_of(lo, leaf), ()
    raise lo.error(TypeConflict, f"{path} of a function under vmap is {describe(leaf)}",
                   "return numbers, arrays, or tuples, lists and dicts of them")


def memory_for(lo, kind, count, axis, path: str) -> tuple[Buffer, int | None]:
    """(the array for one result of all examples, the axis of the examples; None if all write the same)."""
    dtype, shape = kind
    if axis is None:
        return Buffer(lo.b.alloc("result", dtype, shape or (ONE,))), None
    axis = from_the_front(lo, axis, len(shape) + 1, path)
    return Buffer(lo.b.alloc("result", dtype, (*shape[:axis], count, *shape[axis:]))), axis


def result_in(lo, target: tuple[Buffer, int | None], kind) -> Value:
    """A result of all examples, from its memory."""
    buffer, axis = target
    return lo.index_array(buffer, (Static(0),)) if axis is None and not kind[1] else buffer


def store(lo, target: tuple[Buffer, int | None], b, value: Value, kind) -> None:
    buffer, axis = target
    dtype, shape = kind
    if axis is None:
        if shape:
            assign(lo, buffer, value)
        else:
            store_element(lo, buffer.arr, (ZERO,), lo.atom(value, dtype))
    elif shape:
        assign(lo, known_as(Array, lo.index_array(buffer, (*[WHOLE] * axis, Scalar(b)))), value)
    else:
        store_element(lo, buffer.arr, (b,), lo.atom(value, dtype))


__all__ = ["over_examples"]
