"""What a derivative is asked for: leaves of arguments by position, and the structures of what comes back."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..transforms.language.core import FLOATS, Const, is_generator
from ..transforms.language.errors import NonDifferentiable, ShapeMismatch
from ..transforms.lower.kinds import Leaf
from ..transforms.lower.structures import rebuild as rebuild_value
from ..transforms.lower.values import Array, Mapping, Packed, Record, Scalar, Sequence, Static, Value
from ..transforms.lower.values import leaves as leaves_of
from .kinds import Known, numeric
from .packing import instance, none_of, unpacked
from .sparse import is_compressed, with_data


def select_leaves(trees: dict, leaves: list, wrt, place=None, sparse: bool = False,
                  integers: bool = False) -> tuple[list, list]:
    """Core leaves of the arguments in `wrt` (names), and for each argument its tree of positions.

    sparse: whether the entries of sparse arguments may be among them. integers: whether what has no derivative may be; None
    stands in its place in the tree.
    """
    positions, cursor = {}, 0
    for name, tree in trees.items():
        found, cursor = number_leaves(tree, cursor)
        positions[name] = found
    wanted: list = []
    shapes = []
    for name in wrt:
        tree = positions[name]
        if integers:
            tree = rebuild_value(tree, iter([p if isinstance(p, Position) and leaves[p.number].dtype in FLOATS else
                                             Static(None) for p in leaves_of(tree)]))
        indices = list(flat_numbers(tree))
        empty = isinstance(tree, (Sequence, Mapping)) and not leaves_of(tree)       # a gradient may be as empty
        alone = not (wanted or sparse) and name == wrt[-1]
        if not indices and not integers and (not empty or alone):
            raise NonDifferentiable(f"argument `{name}` holds no numbers to differentiate", place,
                                    "choose float arguments with wrt=")
        if compressed(tree) and not sparse:
            raise NonDifferentiable(f"only gradients and pullbacks follow the entries of the sparse array `{name}`", place,
                                    "pass the vector of its entries as an argument of its own")
        chosen = []
        for i in indices:
            if is_generator(leaves[i]):
                raise NonDifferentiable(f"cannot differentiate with respect to `{name}`: it holds a random generator", place,
                                        "pass the generator as an argument of its own, which wrt= does not name")
            if leaves[i].dtype not in FLOATS:
                raise NonDifferentiable(
                    f"cannot differentiate with respect to `{name}`: it has dtype {leaves[i].dtype}; only floating "
                    "point arguments have derivatives", place, f"pass it as float, or choose others with wrt= (`{name}` "
                    "stays constant)")
            chosen.append(leaves[i])
        wanted.extend(chosen)
        shapes.append(tree)
    return wanted, shapes


def own_leaves(lowered, keywords) -> list:
    """The parameters of a lowered program that a call passes, without those that are bound beforehand: leading ones, and
    those of these keywords."""
    found, cursor = [], 0
    for k, (name, tree) in enumerate(lowered.trees.items()):
        first, (_, cursor) = cursor, number_leaves(tree, cursor)
        if k >= lowered.offset and name not in keywords:
            found += lowered.leaves[first:cursor]
    return found


def number_leaves(tree: Value, cursor: int):
    """`tree` with each Leaf replaced by its running number."""
    match tree:
        case Leaf():
            return Position(cursor), cursor + 1
        case Sequence(items=items, kind=kind):
            out = []
            for i in items:
                made, cursor = number_leaves(i, cursor)
                out.append(made)
            return Sequence(tuple(out), kind), cursor
        case Packed(item=item, kind=kind, mark=mark):
            made, cursor = number_leaves(item, cursor)
            return Packed(made, kind, mark), cursor
        case Mapping(items=items) | Record(fields=items):
            fields = {}
            for k, v in items.items():
                fields[k], cursor = number_leaves(v, cursor)
            return (Mapping(fields) if isinstance(tree, Mapping) else Record(tree.cls, fields)), cursor
        case Static():                          # which has no derivative
            return Static(None), cursor
    return tree, cursor


class Position(Scalar):
    """A leaf of an argument, numbered among all leaves; stands for a result when gradients are rebuilt."""

    def __init__(self, number):
        super().__init__(Const(0.0, "float64"))
        self.number = number


def matching_parts(tree, given, what: str, lead: int = 0) -> list:
    """The part of `given` for each number or array of a tree of kinds, None where there is none.

    given: a structure like that of the tree; None, or a None in it, stands for nothing. lead: how many axes its arrays have
    before those of the arguments. ShapeMismatch, naming `what`, for another structure.
    """
    parts: Iterable
    match tree:
        case Packed(item=item) if isinstance(given, np.ndarray) and len(leaves_of(item)) == 1:
            return [given]
        case Packed(item=item) if given is None or isinstance(given, (tuple, list)):
            rows = [matching_parts(item, g, what, lead) for g in given] if given else [matching_parts(item, None, what)]
            return [stacked(column, what, lead) for column in zip(*rows, strict=True)]
        case Sequence(items=items) if isinstance(given, (tuple, list)) and len(given) == len(items):
            parts = zip(items, given, strict=True)
        case Mapping(items=items) if isinstance(given, dict) and given.keys() == items.keys():
            parts = ((v, given[k]) for k, v in items.items())
        case Record(fields=items) if all(hasattr(given, k) for k in items):
            parts = ((v, getattr(given, k)) for k, v in items.items())
        case Sequence(items=items) if given is None:
            parts = ((v, None) for v in items)
        case Mapping(items=items) | Record(fields=items) if given is None:
            parts = ((v, None) for v in items.values())
        case Known():
            return []
        case Scalar() | Array() | Leaf():
            if given is not None and not numeric(given):
                raise ShapeMismatch(f"{what} holds a {type(given).__name__} in the place of a number or array")
            return [given]
        case Static():
            return []
        case _:
            raise ShapeMismatch(f"{what} has another structure than the primal")
    return [leaf for v, g in parts for leaf in matching_parts(v, g, what, lead)]


def in_order_of(tree, given, what: str):
    """A structure given by a user, with its dicts in the order of those in a tree of kinds; keys may be missing.

    ShapeMismatch, naming `what`, for other keys.
    """
    match tree:
        case Mapping(items=items) if isinstance(given, dict):
            if more := [k for k in given if k not in items]:
                raise ShapeMismatch(f"{what} has a part {more[0]!r}; there are {', '.join(map(repr, items))}")
            return {k: in_order_of(v, given[k], what) for k, v in items.items() if k in given}
        case Sequence(items=items) if type(given) in (tuple, list) and len(given) == len(items):
            return type(given)(in_order_of(v, g, what) for v, g in zip(items, given, strict=True))
        case Packed(item=item) if type(given) in (tuple, list):
            return type(given)(in_order_of(item, g, what) for g in given)
        case Record(cls=cls, fields=fields) if isinstance(given, cls):
            parts = {k: getattr(given, k) for k in fields if hasattr(given, k)}
            return instance(cls, {k: in_order_of(fields[k], g, what) for k, g in parts.items()})
    return given


def stacked(parts, what: str, lead: int):
    """The parts of a list's items as one array, with zeros for those that are None; None if all are."""
    like = next((np.asarray(p) for p in parts if p is not None), None)
    try:
        return like if like is None else np.stack([np.zeros_like(like) if p is None else p for p in parts], lead)
    except ValueError:
        raise ShapeMismatch(f"{what} has arrays of different shapes in a list") from None


def flat_numbers(tree) -> list[int]:
    match tree:
        case Position(number=n):
            return [n]
        case Sequence(items=items):
            return [n for i in items for n in flat_numbers(i)]
        case Packed(item=item):
            return flat_numbers(item)
        case Record(cls=cls, fields=fields) if is_compressed(cls):
            return flat_numbers(fields["data"])         # the rest is structure
        case Mapping(items=items) | Record(fields=items):
            return [n for i in items.values() for n in flat_numbers(i)]
    return []


def compressed(tree) -> list:
    """The sparse arrays in a tree of positions."""
    match tree:
        case Record(cls=cls) if is_compressed(cls):
            return [tree]
        case Sequence(items=items):
            return [found for i in items for found in compressed(i)]
        case Mapping(items=items) | Record(fields=items):
            return [found for i in items.values() for found in compressed(i)]
    return []


def structured(trees, leaves, values) -> list:
    """Gradients (`values`, of the leaves `trees` choose, in order) with those of sparse arrays as sparse arrays.

    leaves: the arguments' leaves as they were passed, which hold the structures.
    """
    made, cursor = list(values), 0
    for tree in trees:
        places = {n: cursor + k for k, n in enumerate(flat_numbers(tree))}
        cursor += len(places)
        for found in compressed(tree):
            f = found.fields
            at = places[f["data"].number]
            numbers = (f["indices"], f["indptr"], *f["shape"].items)
            if made[at] is not None:
                made[at] = with_data(found.cls, made[at], *(leaves[p.number] for p in numbers))
    return made


def rebuild_positions(tree, results, given=(), lead: int = 0):
    """A structure with results in the places of positions.

    given: the arguments' leaves, for the lengths of lists that have no results. lead: how many axes the results have before
    those of the arguments.
    """
    match tree:
        case Position():
            return next(results)
        case Record(cls=cls) if is_compressed(cls):
            return next(results)                        # a sparse array already: `structured`
        case Packed():
            parts = [(p, next(results)) for p in leaves_of(tree) if isinstance(p, Position)]
            return unpacked(tree, [none_of(tree, p, given[p.number]) if r is None else r for p, r in parts], lead)
        case Sequence(items=items, kind=kind):
            return kind(rebuild_positions(i, results, given, lead) for i in items)
        case Mapping(items=items):
            return {k: rebuild_positions(v, results, given, lead) for k, v in items.items()}
        case Record(cls=cls, fields=fields):
            return instance(cls, {k: rebuild_positions(v, results, given, lead) for k, v in fields.items()})
    return None
