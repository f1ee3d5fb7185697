"""Derivatives in two parts, as users call them: vjp and linearize."""

from __future__ import annotations

import functools
from typing import Any

from numba.extending import overload

from ..calling.compiled import Differentiable, made_for
from ..calling.tracebacks import entry
from ..habits import check_keywords, explained
from ..options import Options
from ..transforms.lower.table import lowers
from .inner_maps import lower_linearize, lower_vjp
from .linearizations import Linearize, TangentMap
from .numba_values import split_caller
from .pullbacks import Pullback, Vjp


@entry
@explained
def vjp(function, *primals, outputs=(), mode: str = "numba", boundscheck: bool = True, fastmath: bool = False,
        precise: bool = False, target: str = "cpu", deterministic: bool = False, debug: bool = False,
        copy: bool = True) -> tuple[Any, Pullback]:
    """(result, pullback) of `function` at `primals`.

    The pullback takes a cotangent of the result's structure and returns one cotangent for each primal: arrays and
    numbers of the primal's shape and dtype, None for what has no derivative (integers, static values). It may be
    called any number of times.
    `pullback.batched(cotangents)` takes a leading axis and runs no second forward sweep.

    copy: the pullback keeps copies of the arrays that it reads, among the primals and outside. With False it may read the
        arrays themselves, which must not be changed as long as it is used.

    outputs: names of arguments that the function writes; their final contents are results too, after the returned value
        if there is one.
    target, deterministic: as for `grad`.
    """
    return split_form(Vjp, function, primals, copy, mode, boundscheck, fastmath, precise, False, target, deterministic,
                      outputs, debug)


@entry
@explained
def linearize(function, *primals, outputs=(), mode: str = "numba", boundscheck: bool = True, fastmath: bool = False,
              precise: bool = False, debug: bool = False, copy: bool = True) -> tuple[Any, TangentMap]:
    """(result, tangent map) of `function` at `primals`: forward mode for many tangents at one point.

    The values and partial derivatives are computed once and kept. `tangent_map(*tangents)` takes one tangent for each
    primal, of its structure, shapes and dtypes, None for one (or a part of one) that is zero, and returns the tangent of
    the result, as `jvp` does: None in the place of integers. It may be called any number of times.
    `tangent_map.batched(*tangents)` takes one more, leading axis.

    What is kept grows with the number of operations, as for `vjp`; where few tangents are wanted, `jvp` keeps nothing. The
    tape of a loop marked with `checkpoint` is kept whole.
    outputs, copy: as for `vjp`. Raises ShapeMismatch, NonDifferentiable and other AutodiffErrors as `jvp` and `grad` do.
    """
    return split_form(Linearize, function, primals, copy, mode, boundscheck, fastmath, precise, False, "cpu", False, outputs,
                      debug)


def split_form(cls, function, primals, copy: bool, *options):
    """A call of `vjp` or `linearize`; options: those of `Options`, in order."""
    try:
        made = kept_operator(cls, function, copy, *options)
    except TypeError:                           # what cannot be hashed: the function, a list of outputs
        made = split_operator(cls, function, copy, *options)
    return made(*primals)


def split_operator(cls, function, copy: bool, *options):
    """The object for these options."""
    if isinstance(function, Differentiable):
        function = function.function
    return made_for(cls, function, Options(*options), copy=bool(copy))


kept_operator = functools.lru_cache(maxsize=256)(split_operator)


@lowers(vjp)
def _lower_vjp(lo, function, *primals, **options):
    check_keywords(lo, vjp, options)
    return lower_vjp(lo, function, *primals, **options)


@lowers(linearize)
def _lower_linearize(lo, function, *primals, **options):
    check_keywords(lo, linearize, options)
    return lower_linearize(lo, function, *primals, **options)


@overload(vjp)
def _vjp(function, *primals):
    return split_caller(Vjp, function, primals)


@overload(linearize)
def _linearize(function, *primals):
    return split_caller(Linearize, function, primals)


__all__ = ["Pullback", "TangentMap", "linearize", "vjp"]
