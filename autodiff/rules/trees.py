"""Structured arguments of rules: the kinds of their leaves, and adjoints and tangents that belong to them."""

from __future__ import annotations

from collections.abc import Iterator

from ..transforms.language.core import Const
from ..transforms.language.errors import TypeConflict
from ..transforms.lower.kinds import MANY, SHORT, ArrayArg, GeneratorArg, Leaf, ScalarArg
from ..transforms.lower.structures import rebuild
from ..transforms.lower.values import Array, Generator, Mapping, Record, Scalar, Sequence, Series, Static, Value, leaves


def kinds(value, generators: bool = True):
    """A value's tree with the kinds of its numbers and arrays in their places, as the lowering of a function takes it.

    generators: whether random generators are arguments of that function too; otherwise they stand as they are.
    """
    made: list[Value] = []
    for leaf in leaves(value):
        if isinstance(leaf, Series):
            raise TypeConflict("a long list is given to a derivative or to a function with a rule", None,
                               "pass np.array(...)")
        if isinstance(leaf, Array):
            made.append(Leaf(ArrayArg(leaf.dtype, tuple(
                (s.value if s.value <= SHORT else MANY) if isinstance(s, Const) else None for s in leaf.shape))))
        elif isinstance(leaf, Scalar):
            made.append(Leaf(ScalarArg(leaf.dtype, leaf.weak, bool(leaf.boxed))))
        elif isinstance(leaf, Generator) and generators:
            made.append(Leaf(GeneratorArg(leaf.arr)))
        else:
            made.append(leaf)
    return rebuild(value, iter(made))


def with_tangents(tree, wanted):
    """The tree of an argument's tangent: new leaves for the `wanted` ones, None for the others.

    The tangent of an argument that is a number or an array is there in any case.
    """
    if isinstance(tree, Leaf):
        return Tangent(tree)
    return rebuild(tree, iter([Tangent(leaf) if isinstance(leaf, Leaf) and leaf in wanted else Static(None)
                               for leaf in leaves(tree)]))


class Tangent(Leaf):
    """The leaf of a tangent, which knows that of the primal."""

    def __init__(self, primal: Leaf):
        super().__init__(primal.spec)
        self.primal = primal


def paired(lo, tree, adjoint, wanted, name: str) -> Iterator[tuple]:
    """(leaf, its adjoint) for the wanted leaves of an argument's tree; the adjoint has the structure of the argument."""
    if wanted.isdisjoint(leaves(tree)):
        return
    parts: tuple = ()
    match tree, adjoint:
        case Leaf(), _ if not isinstance(adjoint, (Sequence, Mapping, Record, Static)) or (
                isinstance(adjoint, Static) and isinstance(adjoint.value, (int, float))):
            yield tree, adjoint
            return
        case Sequence(items=own), Sequence(items=found) if len(own) == len(found):
            parts = tuple(zip(own, found, strict=True))
        case Mapping(items=own), Mapping(items=found) if own.keys() == found.keys():
            parts = tuple((own[k], found[k]) for k in own)
        case Record(fields=own), Record(fields=found) if own.keys() == found.keys():
            parts = tuple((own[k], found[k]) for k in own)
        case _:
            what = "None" if isinstance(adjoint, Static) and adjoint.value is None else "another structure"
            raise lo.error(TypeConflict, f"the pullback of `{name}` returns {what} for an argument that is active",
                           "return adjoints with the structure of the arguments, and None for those without a derivative")
    for own_part, found_part in parts:
        yield from paired(lo, own_part, found_part, wanted, name)


__all__ = ["Tangent", "kinds", "paired", "with_tangents"]
