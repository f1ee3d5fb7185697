"""The parameters of the lowered program: of its arguments, and of arrays and numbers outside."""

from __future__ import annotations

import numpy as np

from ...language.build import integer
from ...language.core import GENERATOR, Arr, Atom, Var
from ...language.ops import PARTS, normal_dtype
from ..arrays.points import make_point
from ..containers.packing import LEAST
from ..containers.series import column_of, lists_around, opened
from ..journal import placed_in, surrounding
from ..kinds import MANY, ArrayArg, ColumnArg, GeneratorArg, Leaf, ScalarArg
from ..state import Lowering
from ..structures import rebuild
from ..values import Buffer, Generator, Scalar, Static, Value, leaves
from .places import Place, place_key


def array_parameter(lo: Lowering, name: str, spec: ArrayArg, counts=()) -> Buffer:
    """The buffer of an array argument; `counts`: what is known of the sizes of its first axes, else None."""
    sizes: list[Atom] = []
    own: list[tuple[Var, int]] = []
    pairs = spec.dtype in PARTS
    for axis, known in enumerate(spec.sizes):
        if axis < len(counts) and counts[axis] is not None:
            sizes.append(counts[axis])
            continue
        if isinstance(known, int):
            sizes.append(integer(known))
            continue
        var = Var(f"{name}_{axis}" if len(spec.sizes) > 1 else f"{name}_size", "int64")
        if known == MANY:
            lo.b.facts.range[var] = (integer(2 if axis >= len(counts) else LEAST), None)
        lo.b.facts.number(var)
        lo.b.facts.nonnegative.add(var)
        lo.sizes.add(var)
        own.append((var, axis))
        sizes.append(var)
    arr = Arr(name, PARTS.get(spec.dtype, spec.dtype), (*sizes, integer(2)) if pairs else tuple(sizes), pairs=pairs)
    for var, axis in own:
        lo.b.size(var, arr, axis)
        lo.b.facts.home[var] = None
    lo.parameters.add(arr)
    return Buffer(arr)


def complex_parameter(lo: Lowering, name: str, spec: ScalarArg) -> tuple[Arr, Scalar]:
    """A complex number comes as an array of its two parts."""
    arr = array_parameter(lo, name, ArrayArg(spec.dtype, ())).arr
    return arr, Scalar(lo.b.load(arr, ()), spec.weak)


def scalar_parameter(lo: Lowering, name: str, spec: ScalarArg) -> Scalar:
    var = Var(name, spec.dtype)
    lo.b.facts.number(var)
    lo.sizes.add(var)
    lo.b.facts.home[var] = None
    return Scalar(var, spec.weak)


def hidden_array(lo: Lowering, value: np.ndarray, origin: Place | None, spec=None, counts=()) -> Buffer:
    """An array outside: an extra argument, read anew at every call. spec, counts: as of a parameter, if known."""
    dtype = normal_dtype(value.dtype)
    for reads in lo.watching:
        reads[place_key(origin, value)] = origin, value
    known = outside(lo, origin, value)
    if known is not None:
        return Buffer(known)
    name = origin.hint if origin is not None else "constant"
    with placed_in(lo, surrounding(lo)[-1]):
        position = len(lo.b.stmts)
        sizes = tuple(s if s < 2 else MANY for s in value.shape)        # it may have another shape at a later call
        buffer = array_parameter(lo, name, spec or ArrayArg(dtype, sizes), counts)
        lo.hidden_sizes += lo.b.stmts[position:]     # a loop lowered again drops what it added
        del lo.b.stmts[position:]
    lo.hidden.append((buffer.arr, origin, value))
    if origin is None and not value.flags.c_contiguous:
        buffer.order = "?"                      # of one that stays, nobody asks at calls
    return buffer


def generator_parameter(lo: Lowering, name: str) -> Generator:
    arr = Arr(name, GENERATOR, ())
    lo.parameters.add(arr)
    return Generator(arr)


def hidden_generator(lo: Lowering, value: np.random.Generator, origin) -> Generator:
    """A generator outside: an extra argument."""
    known = outside(lo, origin, value)
    if known is not None:
        return Generator(known)
    made = generator_parameter(lo, origin.hint if origin is not None and origin.hint != "constant" else "rng")
    lo.hidden.append((made.arr, origin, value))
    return made


def hidden_number(lo: Lowering, value: float, origin: Place) -> Scalar:
    """A number outside that keeps changing: an extra argument."""
    known = outside(lo, origin, value)
    if known is not None:
        return Scalar(known, True)
    made = scalar_parameter(lo, origin.hint, ScalarArg("float64"))
    lo.hidden.append((made.atom, origin, value))
    return made


def outside(lo: Lowering, origin, value):
    """The parameter that stands for an array or number outside already; None if there is none."""
    key = place_key(origin, value)
    return next((param for param, o, v in lo.hidden if place_key(o, v) == key), None)


def parameter(lo: Lowering, name: str, tree, variadic: bool = False, keywords: bool = False) -> Value:
    """The value of an argument whose leaves are ArrayArg, ScalarArg or Static; of `*args` or `**kwargs`, if so said."""
    made = []
    found, around = leaves(tree), lists_around(tree)
    origins = {id(leaf): f"*{k}" for k, item in enumerate(tree.items) for leaf in leaves(item)} if variadic else {
        id(leaf): k for k, item in tree.items.items() for leaf in leaves(item)} if keywords else {}
    for k, leaf in enumerate(found):
        hint = name if len(found) == 1 else f"{name}_{k}"
        spec = leaf.spec if isinstance(leaf, Leaf) else None
        value: Value = leaf
        if isinstance(spec, ColumnArg):
            buffer = array_parameter(lo, hint, spec, [lo.counts.get(mark) for mark in around[id(leaf)]])
            value = column_of(lo, buffer, spec, around[id(leaf)])
            lo.parameter_leaves.append(buffer.arr)
        elif isinstance(spec, ArrayArg):
            value = buffer = array_parameter(lo, hint, spec)
            lo.parameter_leaves.append(buffer.arr)
        elif isinstance(spec, GeneratorArg):
            value = generator = generator_parameter(lo, hint)
            lo.parameter_leaves.append(generator.arr)
            if spec.same is not None:                   # all draws are from the first parameter
                value = lo.one_generator.setdefault(spec.same, value)
        elif isinstance(spec, ScalarArg) and spec.dtype in PARTS:
            arr, value = complex_parameter(lo, hint, spec)
            lo.parameter_leaves.append(arr)
        elif isinstance(spec, ScalarArg):
            value = number = scalar_parameter(lo, hint, spec)
            lo.parameter_leaves.append(number.atom)
            lo.origin[number.atom] = origins.get(id(leaf), name)
            if spec.dtype == "int64" and not spec.weak and isinstance(number.atom, Var):
                lo.words.add(number.atom)
        elif isinstance(leaf, Static) and isinstance(leaf.value, slice):
            value = lo.wrap(leaf.value)
        if isinstance(spec, ScalarArg) and spec.point:
            value = make_point(lo, value, site := ("point", hint))
            lo.given_points[id(value)] = site
        made.append(value)
    return opened(lo, rebuild(tree, iter(made))) if around else rebuild(tree, iter(made))
