"""Callable values in the user's `@njit` functions: pullbacks, tangent maps, and operators that are applied there."""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, imputils
from numba.core.errors import TypingError
from numba.core.typing import signature
from numba.extending import box, intrinsic, models, register_model

from ..arguments.kinds import rebuild
from ..calling.compiled import made_for
from ..calling.inside_numba import (
    Raw,
    called,
    caller,
    expression,
    function_behind,
    parts_of,
    passing,
    specialisation,
    spread,
    spread_all,
    tangent_leaves,
)
from ..transforms.language.core import Arr
from ..transforms.language.ops import PARTS, is_complex, is_inexact
from ..transforms.lower.values import Buffer, leaves
from .pullbacks import Split, Vjp, in_order, of_primals


class Called(numba.types.Callable):
    """The type of a value that can be called: a tuple of the type `fields`, and for types of arguments the Python function
    `implement(types)` of the value and the arguments, to be compiled."""

    def __init__(self, name: str, fields, implement):
        self.fields, self.implement = fields, implement
        self.compiled: dict[tuple, Any] = {}
        super().__init__(name)

    @property
    def key(self):
        return id(self)

    def get_call_type(self, context, args, kws):
        """Numba's signature of a call, with the value as receiver."""
        if kws:
            raise TypingError(f"the arguments of a {self.name} have no names: leave out `{next(iter(kws))}=`")
        args = tuple(map(numba.types.unliteral, args))
        if args not in self.compiled:
            self.compiled[args] = numba.njit(self.implement(args))
        found: Any = numba.types.Dispatcher(self.compiled[args]).get_call_type(context, (self, *args), {})
        return signature(found.return_type, *found.args[1:], recvr=self)

    def get_call_signatures(self):
        return [], True

    def get_impl_key(self, sig):
        return self.compiled[sig.args[1:]].get_overload(sig.args)


@register_model(Called)
class CalledModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("fields", kind.fields)])


def maker(kind: Called):
    """A function of compiled code that makes a value of this type from its fields."""
    @intrinsic
    def make(context, fields):
        def lowered(context, builder, sig, args):
            made = cgutils.create_struct_proxy(kind)(context, builder)
            made.fields = args[0]
            return imputils.impl_ret_borrowed(context, builder, kind, made._getvalue())
        return kind(kind.fields), lowered
    return make


@intrinsic
def fields_of(context, value):
    """The tuple that a callable value holds."""
    def lowered(context, builder, sig, args):
        held = cgutils.create_struct_proxy(value)(context, builder, value=args[0])
        return imputils.impl_ret_borrowed(context, builder, value.fields, held.fields)
    return value.fields(value), lowered


@box(Called)
def _box(kind, value, context):
    raise TypingError(f"a {kind.name} lives in compiled code: return what it gives, not the map itself")


# ---- grad and the like ----------------------------------------------------------------------------------
@functools.cache
def applied(make, function, options: tuple) -> Called:
    """The type of `make(function, **options)` in compiled code, for the Numba type of a function."""
    target = function_behind(function)
    if target is None:
        raise TypingError(f"{make.__name__} takes a function that is compiled (@njit or @differentiable)")
    compiled = make(target, **dict(options))

    def implement(kinds):
        names = [f"x{k}" for k in range(len(kinds))]
        return called(compiled, specialisation(compiled, kinds), ", ".join(["value", *names]), names, kinds)
    return Called(f"{compiled.kind} of {compiled.__name__}", numba.types.Tuple(()), implement)


def operator_caller(make, function, **options):
    """What a call of an operator is in compiled code; options: Numba types of literals, or the values themselves."""
    known = tuple((name, literal(name, kind)) for name, kind in options.items())
    empty = maker(applied(make, function, known))
    names = ", ".join(f"{name}=None" for name in options)         # all of them are in `empty`
    space: dict[str, Any] = {"empty": empty}
    exec(f"def call(function, {names}):\n    return empty(())", space)
    return space["call"]


def literal(name: str, kind):
    """The value of an option that a call in compiled code writes out."""
    if isinstance(kind, numba.types.Omitted):
        return kind.value
    if isinstance(kind, numba.types.Literal):
        return kind.literal_value
    if isinstance(kind, numba.types.BaseTuple):
        return tuple(literal(name, k) for k in parts_of(kind))
    if isinstance(kind, numba.types.Type):
        raise TypingError(f"`{name}=` must be written out as a literal in compiled code")
    return kind


# ---- vjp and linearize ----------------------------------------------------------------------------------
def split_caller(cls, function, primals):
    """What `vjp` or `linearize` is in compiled code: a function of `(function, *primals)`, for these Numba types."""
    target = function_behind(function)
    if target is None:
        raise TypingError(f"{cls.kind} takes a function that is compiled (@njit or @differentiable)")
    operator: Split = made_for(cls, target)
    primals = tuple(map(numba.types.unliteral, primals))
    made = specialisation(operator, primals, whole=True)         # the two halves go together
    arguments = [f"primals[{k}]" for k in range(len(primals))]
    first = made.generated.programs[0]
    count = len(made.generated.lowered.function.returns)

    def finish(raw, namespace) -> str:
        kept = set(first.returns[count:])                       # what the map reads is not the caller's to change
        results = [Raw(f"{r.place}.copy()") if isinstance(x, Arr) and x in kept else r
                   for r, x in zip(raw[:count], first.returns, strict=False)]
        value = rebuild(made.result, iter(results))
        seen = leaves_of_value(made, raw) if cls is Vjp else [
            place for place, kind in spread_all(arguments, primals) if floating(kind)]
        shapes = [f"{place}.shape" for place, (_, rank) in zip(seen, slots(made, cls), strict=True) if rank]
        namespace["make"] = maker(map_type(operator, made, primals))
        held = [r.place for r in raw[count:]]
        for k, _ in made.extra["borrowed"]:                     # nor what it reads of the caller's memory
            held[k] = f"{held[k]}.copy()"
        fields = "".join(f"{text}, " for text in (*held, *shapes))
        return f"({expression(value, namespace, operator)}, make(({fields})))"
    return caller(operator, made, "function, *primals", arguments, primals, finish)


def slots(made, cls) -> list[tuple[str, int]]:
    """(dtype, rank) of each cotangent that a pullback takes, or of each tangent that a tangent map takes."""
    if cls is Vjp:
        found: list[Any] = [leaf for leaf in leaves(made.result) if is_inexact(getattr(leaf, "dtype", ""))]
        return [(leaf.dtype, getattr(leaf, "rank", 0)) for leaf in found]
    return [(Buffer(p).dtype, Buffer(p).rank) if isinstance(p, Arr) else (p.dtype, 0) for p in made.extra["wanted"]]


def leaves_of_value(made, raw) -> list[str]:
    """The places of the float results, as arrays with the shapes that callers see."""
    found = zip((leaf for leaf in leaves(made.result) if hasattr(leaf, "dtype")), raw, strict=False)
    return [f"{r.place}[..., 0]" if is_complex(leaf.dtype) else r.place for leaf, r in found if is_inexact(leaf.dtype)]


def floating(kind) -> bool:
    """Whether a Numba type is that of a floating-point number or array, real or complex."""
    return isinstance(getattr(kind, "dtype", kind), (numba.types.Float, numba.types.Complex))


def map_type(operator: Split, made, primals) -> Called:
    """The type of the pullbacks or tangent maps of a specialisation: they hold the residuals, then shapes."""
    if "numba" not in made.extra:
        (found,) = made.call.overloads.values()
        returned = found.signature.return_type
        parts = parts_of(returned) if isinstance(returned, numba.types.BaseTuple) else (returned,)
        residuals = parts[len(made.generated.lowered.function.returns):]
        shapes = [numba.types.UniTuple(numba.intp, rank) for _, rank in slots(made, type(operator)) if rank]
        made.extra["numba"] = Called(f"{operator.half} of {operator.__name__}", numba.types.Tuple([*residuals, *shapes]),
                                     lambda kinds: map_caller(operator, made, primals, len(residuals), kinds))
    return made.extra["numba"]


def map_caller(operator: Split, made, primals, residuals: int, kinds):
    """A call of a pullback or tangent map: a function of `(value, given_0, ...)`, of these Numba types."""
    after = made.generated.programs[1]
    namespace: dict[str, Any] = {"np": np, "fields_of": fields_of, "linear": made.functions[after.name]}
    vjp = isinstance(operator, Vjp)
    names = "".join(f", given_{k}" for k in range(len(kinds)))
    lines = [f"def call(value{names}):", "    held = fields_of(value)"]
    passed = [f"held[{k}]" for k in range(residuals)]
    held = residuals
    seeds = cotangents(made, kinds) if vjp else tangents(made, primals, kinds)
    what = "cotangent" if vjp else "tangent"
    for (dtype, rank), seed in zip(slots(made, type(operator)), seeds, strict=True):
        shape, held = f"held[{held}]", held + bool(rank)
        if seed is not None and (seed[1].ndim if isinstance(seed[1], numba.types.Array) else 0) != rank:
            raise TypingError(f"a {what} of type {seed[1]} has not the rank of the value it belongs to")
        if seed is not None and rank:
            lines += [f"    if {seed[0]}.shape != {shape}:",
                      f"        raise ValueError('a {what} has another shape than the value it belongs to')"]
        passed.append(fitted(seed, dtype, shape if rank else ""))
    lines.append(f"    raw = linear({', '.join(passed)})")
    count = len(after.returns)
    raw = tuple(Raw(f"raw[{k}]" if count > 1 else "raw") for k in range(count))
    result = of_primals(made, in_order(made, raw)) if vjp else rebuild(made.extra["tangents"], iter(raw))
    lines.append(f"    return {expression(result, namespace, operator)}")
    exec("\n".join(lines) + "\n", namespace)
    return namespace["call"]


def cotangents(made, kinds) -> list:
    """(expression, Numba type) of the cotangent of each float result."""
    if len(kinds) != 1:
        raise TypingError("a pullback takes one cotangent, of the structure of the result")
    found = spread("given_0", kinds[0])
    results = [leaf.dtype for leaf in leaves(made.result) if hasattr(leaf, "dtype")]
    wanted = sum(map(is_inexact, results))
    if len(found) == len(results) != wanted:
        found = [f for f, dtype in zip(found, results, strict=True) if is_inexact(dtype)]
    if len(found) != wanted:
        raise TypingError(f"the pullback takes {wanted} cotangents, one for each float result, not {len(found)}")
    return found


def tangents(made, primals, kinds) -> list:
    """(expression, Numba type) of the tangent of each float primal, None where it is zero."""
    if len(kinds) != len(primals):
        raise TypingError(f"the tangent map takes {len(primals)} tangents, one for each primal, not {len(kinds)}")
    found = []
    for k, (primal, dot) in enumerate(zip(primals, kinds, strict=True)):
        for (_, kind), part in tangent_leaves("", primal, f"given_{k}", dot):
            if floating(kind):
                found.append(part)
            elif part is not None:
                raise TypingError("an integer has no tangent: give None for it")
    return found


def fitted(seed, dtype: str, shape: str) -> str:
    """A cotangent or tangent (expression, Numba type) as the linear map takes it; None: zeros. shape: of an array."""
    part = PARTS.get(dtype, dtype)
    if seed is None:
        if dtype == part:
            return f"np.zeros({shape}, np.{part})" if shape else f"np.{part}(0.0)"
        return f"np.zeros({shape} + (2,), np.{part})" if shape else f"np.zeros(2, np.{part})"
    place, kind = seed
    scalar = getattr(kind, "dtype", kind)
    if isinstance(scalar, numba.types.Complex) and dtype == part:
        raise TypingError("a complex number or array stands where a real one is needed: take its part, z.real")
    if not shape:
        return f"np.{part}({place})" if dtype == part else f"np.array([({place}).real, ({place}).imag], np.{part})"
    if str(scalar) != dtype:
        return passing(f"{place}.astype(np.{dtype})", numba.types.Array(getattr(numba, dtype), kind.ndim, "C"))
    return passing(place, kind)


__all__ = ["Called", "operator_caller", "split_caller"]
