"""`vjp` and `linearize` inside a program that is being lowered: the forward part where they stand, the linear map at each of
its calls."""

from __future__ import annotations

from dataclasses import replace

from .. import pipeline
from ..arguments.positions import flat_numbers, number_leaves, own_leaves
from ..calling.compiled import made_for
from ..rules.lifting import FUNCTIONS, lift_one
from ..transforms.language.core import Arr, is_float
from ..transforms.language.errors import NonDifferentiable, ShapeMismatch, TypeConflict, UnsupportedSyntax
from ..transforms.language.motion import learn
from ..transforms.language.ops import is_inexact
from ..transforms.language.substitution import substitute
from ..transforms.lower.arrays.broadcasting import map_arrays
from ..transforms.lower.arrays.memory import force
from ..transforms.lower.journal import surrounding
from ..transforms.lower.numbers.conversions import dtype_of
from ..transforms.lower.structures import rebuild as rebuild_value
from ..transforms.lower.values import Array, Buffer, Scalar, Sequence, Static, is_number, leaves
from ..transforms.stages import Stages
from .derived import value_of, with_leaves
from .linearizations import Linearize
from .nesting import fitting, iter_values, lowered_inside, paired, place, splice, with_program
from .pullbacks import Split, Vjp


class InnerMap:
    """A pullback or tangent map inside a program: calls of it put the statements of its linear part there.

    likes: values with the shapes and dtypes of what it takes; placed: from what the linear part returns to the result.
    """

    def __init__(self, name: str, lo, program, mapping: dict, likes: list, placed):
        self.__name__, self.program, self.mapping, self.likes, self.placed = name, program, mapping, likes, placed
        self.home = lo.b

    def __autodiff_lower__(self, lo, args, kwargs):
        if self.home not in surrounding(lo):
            raise lo.error(UnsupportedSyntax, f"the map that `{self.__name__}` returned is used outside of the loop or "
                                              "branch that it was made in", f"call {self.__name__}() where its map is used")
        given = self.seeds(lo, args)
        if kwargs or given is None:
            raise lo.error(TypeConflict, f"the map that `{self.__name__}` returned takes other arguments",
                           "a pullback takes one cotangent of the result's structure, a tangent map a tangent for each "
                           "primal")
        if len(given) != len(self.likes):
            raise lo.error(ShapeMismatch, f"the map that `{self.__name__}` returned takes {len(self.likes)} numbers and "
                                          f"arrays, not {len(given)}")
        mapping = dict(self.mapping)
        for param, like, part in zip(self.program.params[len(self.program.params) - len(given):], self.likes, given,
                                     strict=True):
            if isinstance(part, Static) and part.value is None:
                dtype = dtype_of(lo, like)
                part = Static(0.0) if not isinstance(like, Array) else map_arrays(lo,
                    lambda lo, a, dtype=dtype: lo.atom(Static(0.0), dtype), (like,), dtype)
            value = fitting(lo, part, like, "a tangent or cotangent")
            if isinstance(param, Arr):
                buffer = force(lo, lo.array(value), copy=param in self.program.copied)
                mapping[param] = buffer.arr
            else:
                mapping[param] = value.atom
        body = substitute(self.program.body, mapping)
        lo.b.stmts.extend(body)
        learn(lo.b.facts, body)
        return self.placed([mapping.get(r, r) for r in self.program.returns])

    def seeds(self, lo, args):
        raise NotImplementedError


class InnerPullback(InnerMap):
    def seeds(self, lo, args):
        if len(args) != 1:
            return None
        parts = [p for p in leaves(args[0]) if isinstance(p, Array) or is_number(p)]
        return [p for p in parts if is_inexact(dtype_of(lo, p))] if len(parts) > len(self.likes) else parts


class InnerTangents(InnerMap):
    primals: list
    more = 0                # how many of them are no primals of the caller: a function made inside, what it captures

    def seeds(self, lo, args):
        if self.more:
            args = [Static(None), *args, *[Static(None)] * (self.more - 1)]
        if len(args) != len(self.primals):
            return None
        found: list = []
        for primal, tangent in zip(self.primals, args, strict=True):
            for leaf, part in paired(lo, primal, tangent):
                if is_inexact(dtype_of(lo, leaf)):
                    found.append(part)
                elif not (isinstance(part, Static) and part.value is None):
                    raise lo.error(NonDifferentiable, "an integer has no tangent", "give None for it")
        return found


def both_parts(lo, operator: Split, primals):
    """The value and the inner map of a split operator at values of the program that is being lowered."""
    lowered, given = lowered_inside(operator, lo, list(primals), {})
    program = pipeline.prepare(lowered, Stages(), operator.options.debug)
    wanted = [p for p in own_leaves(lowered, operator._given[1]) if is_float(p)]
    first, after, _, _ = pipeline.halves(program, lowered, wanted, f"{program.name}_{operator.kind}", operator.half)
    learn(lowered.facts, first.body)
    count = len(program.returns)
    residuals = first.returns[count:]
    own = {r for r in residuals if isinstance(r, Arr) and r in lowered.leaves}          # they may be written to later
    primal = rebuild_value(lowered.result, iter_values(lowered.result, first.returns[:count]))
    whole = with_program(lowered, replace(first, copied=first.copied | own), Sequence(
        (primal, Sequence(tuple(Buffer(r, True) if isinstance(r, Arr) else Scalar(r) for r in residuals)))))
    value, kept = splice(lo, whole, given).items
    mapping = {r: k.arr if isinstance(k, Buffer) else k.atom for r, k in zip(residuals, kept.items, strict=True)}
    read = {k.arr for k in kept.items if isinstance(k, Buffer)}
    value = rebuild_value(value, iter([force(lo, leaf, copy=True) if isinstance(leaf, Buffer) and leaf.arr in read else leaf
                                       for leaf in leaves(value)]))
    return lowered, wanted, after, mapping, value, given


def numbered(lowered, count: int) -> list:
    trees, cursor = [], 0
    for tree in lowered.trees.values():
        made, cursor = number_leaves(tree, cursor)
        trees.append(made)
    return trees[lowered.offset:lowered.offset + count]


def lower_vjp(lo, function, *primals, **options):
    """A call of `vjp` inside a program that is being lowered."""
    operator, given = operator_of(lo, Vjp, function, primals, options)
    lowered, wanted, after, mapping, value, _ = both_parts(lo, operator, given)
    first = int(len(given) > len(primals))
    trees = numbered(lowered, len(given))[first:first + len(primals)]

    def placed(bars):
        by_leaf = dict(zip(wanted, map(value_of, bars, wanted), strict=True))
        return Sequence(tuple(place(t, iter([by_leaf.get(lowered.leaves[n], Static(None)) for n in flat_numbers(t)]))
                              for t in trees))
    likes = [leaf for leaf in leaves(value) if not isinstance(leaf, Static) and is_inexact(dtype_of(lo, leaf))]
    return Sequence((value, Static(InnerPullback("vjp", lo, after, mapping, likes, placed))))


def lower_linearize(lo, function, *primals, **options):
    """A call of `linearize` inside a program that is being lowered."""
    operator, passed = operator_of(lo, Linearize, function, primals, options)
    lowered, wanted, after, mapping, value, given = both_parts(lo, operator, passed)

    def placed(dots):
        found = iter(dots)
        return with_leaves(lowered.result, lambda leaf: value_of(next(found), leaf) if is_inexact(
            leaf.dtype) else Static(None))
    likes = [v for p, v in zip(lowered.leaves, given, strict=True) if p in wanted]
    made = InnerTangents("linearize", lo, after, mapping, likes, placed)
    made.primals, made.more = list(passed), len(passed) - len(primals)
    return Sequence((value, Static(made)))


def operator_of(lo, cls, function, primals, options) -> tuple[Split, list]:
    """(the operator, the arguments of its function): of one made inside the program, itself and what it captures too."""
    if not isinstance(function, (Static, *FUNCTIONS)):
        raise lo.error(TypeConflict, "vjp() and linearize() take a function", "vjp(f, x)")
    if options.get("outputs") is not None:
        raise lo.error(UnsupportedSyntax, "outputs= is not supported inside a differentiated function",
                       "return the written arrays instead")
    if isinstance(function, Static):
        return made_for(cls, function.value), list(primals)
    target, lifted, captured = lift_one(lo, function)
    return cls(target), [lifted, *primals, *captured]


__all__ = ["lower_linearize", "lower_vjp"]
