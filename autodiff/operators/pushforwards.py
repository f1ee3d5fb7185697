"""Forward mode as users call it: jvp."""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np
from numba.core.errors import TypingError
from numba.extending import overload

from .. import pipeline
from ..arguments.foreign import taken
from ..arguments.kinds import as_passed, describe, flatten, is_floating, passes, rebuild
from ..arguments.packing import ITEMS, holds_packed
from ..arguments.positions import matching_parts, own_leaves
from ..calling.building import narrowed
from ..calling.building import run as run_compiled
from ..calling.compiled import made_for
from ..calling.fastcalls import MISS, remember
from ..calling.inside_numba import caller, function_behind, specialisation, tangent_leaves
from ..calling.running import guarded
from ..calling.tracebacks import entry
from ..habits import check_keywords, explained
from ..options import DEFAULT, Options
from ..rules import REGISTRY
from ..rules.lifting import FUNCTIONS, lift_one
from ..targets import target_of
from ..transforms.differentiate.forward import forward, live_in
from ..transforms.language.core import Arr, is_float
from ..transforms.language.errors import NonDifferentiable, ShapeMismatch, TypeConflict
from ..transforms.language.motion import learn
from ..transforms.language.ops import is_inexact
from ..transforms.lower.interpreter import Lowered
from ..transforms.lower.numbers.conversions import dtype_of
from ..transforms.lower.structures import rebuild as rebuild_value
from ..transforms.lower.table import lowers
from ..transforms.lower.values import Sequence, Static
from ..transforms.optimise.simplify import simplify
from ..transforms.stages import Stages
from .derived import Derived, value_of, with_leaves, with_program
from .fastmaps import PushForm
from .gradients import definition_place
from .nesting import fitting, inline, iter_values, paired
from .zeros import warn_of_comparisons


class Pushforward(Derived):
    """The directional derivative of a function: from primals and tangents to (result and) its tangent.

    needs: which of the float leaves that a call passes have a tangent. packs: whether a long list has one leaf for
    each part of its items; ItemsNeeded is raised where the program needs them one by one.
    """

    kind = "pushforward"

    def __init__(self, function, needs=(), with_value=True, packs=False, options: Options = DEFAULT):
        self.needs, self.with_value, self.packs = tuple(needs), with_value, packs
        super().__init__(function, options)

    def _parameters(self) -> dict:
        return {"needs": self.needs, "with_value": self.with_value, "packs": self.packs}

    def _specialise(self, kinds, names, values):
        if self.packs and ITEMS in self._specialisations.static.get(kinds, ()):
            raise ItemsNeeded
        return super()._specialise(kinds, names, values)

    def _items_needed(self, kinds, static) -> frozenset:
        self._specialisations.static[kinds] = super()._items_needed(kinds, static)
        raise ItemsNeeded from None

    def _typing(self) -> None:
        """Compiled code has no calls with tuples of primals and tangents."""

    def derive(self, lowered):
        return pushed(self, lowered, self.primals(lowered), self.with_value)

    def primals(self, lowered) -> list:
        """The parameters that have tangents."""
        floats = [p for p in own_leaves(lowered, self._given[1]) if is_float(p)]
        return [floats[k] for k in self.needs]

    def _alike(self, made, leaves):
        by_param = dict(zip(made.params, leaves, strict=False))
        return list(zip([by_param[p] for p in self.primals(made.generated.lowered)], leaves[len(made.params):], strict=True))

    def push(self, args, kwargs, tangents):
        """Call with the tangents of the wanted leaves, in their order."""
        return self._push(args, kwargs, tangents)[1]

    def _push(self, args, kwargs, tangents) -> tuple:
        """(the specialisation, the result)."""
        names, values = self._taken(args, kwargs)

        def run(made):
            passed = self._leaves(made, names, values)
            count = len(made.params)
            return run_compiled(made.call, (*passed[:count], *self.fitting(tangents, passed, made), *passed[count:]))
        made, raw = guarded(self, run, names, values)
        if made.narrow:
            raw = narrowed(raw, made.narrow)
        return made, rebuild(made.result, iter(raw if isinstance(raw, tuple) else (raw,)))

    def remember(self, made, args, tangents, known: list) -> None:
        """Have a call of this form made by a function of its own, which goes to `known`."""
        remember(self, made, args, {}, lambda compiled, made, args, kwargs: PushForm(compiled, made, args, tangents))
        if self._fast and (self._fast[0], self) not in known:
            known[:] = [(self._fast[0], self), *known][:4]

    def fitting(self, tangents, passed, made) -> list:
        """Tangents in the dtype and shape of their primals."""
        out = []
        shapes = dict(zip(made.params, map(np.shape, passed), strict=False))
        for param, tangent in zip(self.primals(made.generated.lowered), tangents, strict=True):
            shape = shapes[param][:-1] if isinstance(param, Arr) and param.pairs else shapes[param]
            if np.shape(tangent) != shape:
                raise ShapeMismatch(f"the tangent of `{param.hint}` has shape {np.shape(tangent)}, the primal {shape}")
            out.append(as_passed(tangent, param))
        return out


class ItemsNeeded(Exception):
    """The program cannot be made for long lists of any length."""


def pushed(operator, lowered: Lowered, wanted, with_value: bool) -> Lowered:
    """The program of (the value and) the tangent of a lowered function, for tangents of the parameters `wanted`."""
    program = pipeline.prepare(lowered, Stages(), operator.options.debug)
    if not any(is_float(r) for r in program.returns):
        raise NonDifferentiable(f"`{operator.__name__}` returns nothing that has a derivative",
                                definition_place(operator.target), "return floats")
    if operator.kind == "pushforward":
        warn_of_comparisons(program, wanted, live_in(program, wanted, REGISTRY), "tangent along")
    made = simplify(forward(program, lowered.facts, wanted, REGISTRY, True, f"{program.name}_jvp"), keep_sizes=True)
    learn(lowered.facts, made.body)
    tangents = made.params[len(program.params):]
    for p, dot in zip(wanted, tangents, strict=True):
        if isinstance(dot, Arr):
            dot.pairs = p.pairs
    count = len(program.returns)
    primal = rebuild_value(lowered.result, iter_values(lowered.result, made.returns[:count]))
    dots = iter(made.returns[count:])
    tree = with_leaves(lowered.result, lambda leaf: value_of(next(dots), leaf) if is_inexact(leaf.dtype) else Static(None))
    return with_program(lowered, made, Sequence((primal, tree)) if with_value else tree, tangents)


def pushforward_of(function, needs, with_value=True, packs=False, options: Options = DEFAULT) -> Pushforward:
    """The one object for this function and these options."""
    return made_for(Pushforward, function, options, needs=needs, with_value=with_value, packs=packs)


def matched(function, primals, tangents, name: str, packs: bool = False) -> tuple[tuple[int, ...], list]:
    """(numbers of the float leaves that have tangents, those tangents) of tuples of arguments; packs: as Pushforward's."""
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(f"{name} takes a tuple of primals and a tuple of tangents")
    if len(primals) != len(tangents):
        raise TypeError(f"{name} got {len(primals)} primals and {len(tangents)} tangents")
    primals, tangents = taken(primals), taken(tangents)
    needs: list[int] = []
    chosen: list = []
    cursor = 0
    for k, (primal, tangent) in enumerate(zip(primals, tangents, strict=True)):
        own = [leaf for leaf in flatten(primal, packs) if passes(leaf)]
        if tangent is None:
            given = [None] * len(own)
        elif len(own) == 1 and own[0] is primal:
            given = [tangent]
        else:
            given = matching_parts(describe(primal, False, packs), tangent, f"the tangent of primal {k}")
        for leaf, part in zip(own, given, strict=True):
            if part is not None:
                if not is_floating(leaf):
                    raise NonDifferentiable(f"primal {k} of `{getattr(function, '__name__', function)}` holds "
                                            f"{np.asarray(leaf).dtype}, which has no tangent", None,
                                            "give None for it, or pass it as float")
                needs.append(cursor)
                chosen.append(part)
            cursor += is_floating(leaf)
    return tuple(needs), chosen


@entry
@explained
def jvp(function, primals, tangents, *, mode: str = "numba", boundscheck: bool = True, fastmath: bool = False,
        precise: bool = False, parallel: bool = False, target: str = "cpu", deterministic: bool = False,
        debug: bool = False) -> tuple[Any, Any]:
    """(result, tangent of the result) of `function` at `primals`, along `tangents`: forward mode.

    primals: a tuple of arguments. tangents: a tuple of as many, each of the structure, shapes and dtypes of its primal, or
        None for an argument (or a part of one) that stays fixed; integers and static values have None.
    The tangent of the result has its structure, with None in the place of integers.
    Raises NonDifferentiable for tangents of integers, ShapeMismatch where shapes differ, TypeError for tuples of different
    lengths, and AutodiffErrors as `grad` does. The other options are those of `grad`.

    Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3.
    """
    known: list = []
    if type(primals) is tuple and type(tangents) is tuple:
        try:
            known = latest(function, mode, boundscheck, fastmath, precise, parallel, target, deterministic, debug)
        except TypeError:                       # a function that cannot be hashed
            pass
        for fast, operator in known:
            if (found := fast(operator, primals, tangents)) is not MISS:
                return found
    options = Options(mode, boundscheck, fastmath, precise, parallel, target, deterministic, debug=debug)
    if target != "cpu":
        return target_of(options).push(function, primals, tangents, options)
    packs = isinstance(primals, (tuple, list)) and holds_packed(primals)
    try:
        needs, chosen = matched(function, primals, tangents, "jvp", packs)
        operator = pushforward_of(function, needs, packs=packs, options=options)
        made, found = operator._push(tuple(primals), {}, chosen)
    except ItemsNeeded:
        needs, chosen = matched(function, primals, tangents, "jvp")
        return pushforward_of(function, needs, options=options).push(tuple(primals), {}, chosen)
    if not packs:
        operator.remember(made, tuple(primals), tuple(tangents), known)
    return found


@functools.lru_cache(maxsize=256)
def latest(function, *options) -> list:
    """The functions for the latest forms of calls of `jvp`, with the objects that made them."""
    return []


@lowers(jvp)
def lower_jvp(lo, function, primals, tangents, **options):
    """A call of `jvp` inside a program that is being lowered."""
    check_keywords(lo, jvp, options)
    if not isinstance(function, (Static, *FUNCTIONS)) or not isinstance(primals, Sequence) or not isinstance(
            tangents, Sequence) or len(primals.items) != len(tangents.items):
        raise lo.error(TypeConflict, "jvp() takes a function and tuples of primals and tangents",
                       "jvp(f, (x, y), (x_dot, None))")
    if isinstance(function, FUNCTIONS):
        target, lifted, captured = lift_one(lo, function)
        return push_inside(lo, target, (lifted, *primals.items, *captured),
                           (Static(None), *tangents.items, *[Static(None)] * len(captured)), True)
    return push_inside(lo, function.value, primals.items, tangents.items, True)


def push_inside(lo, function, primals, tangents, with_value: bool):
    """The statements of a pushforward, in the program that is being lowered."""
    needs, chosen, cursor = [], [], 0
    for primal, tangent in zip(primals, tangents, strict=True):
        for leaf, part in paired(lo, primal, tangent):
            floating = is_inexact(dtype_of(lo, leaf))
            if not (isinstance(part, Static) and part.value is None):
                if not floating:
                    raise lo.error(NonDifferentiable, "an integer has no tangent", "give None for it")
                needs.append(cursor)
                chosen.append(fitting(lo, part, leaf, "a tangent"))
            cursor += floating
    return inline(pushforward_of(function, tuple(needs), with_value), lo, list(primals), {}, chosen)


@overload(jvp)
def _jvp(function, primals, tangents):
    """A call of `jvp` in the user's compiled code: the function must be jitted or @differentiable, to have a type there."""
    target = function_behind(function)
    if target is None or not all(isinstance(t, numba.types.BaseTuple) for t in (primals, tangents)) \
            or len(primals) != len(tangents):
        raise TypingError("jvp takes a function that is compiled (@njit or @differentiable), a tuple of primals and a tuple "
                          "of as many tangents")
    given = [(leaf, dot) for k, (p, t) in enumerate(zip(primals, tangents, strict=True))
             for leaf, dot in tangent_leaves(f"primals[{k}]", p, f"tangents[{k}]", t)]
    floats = [(leaf, dot) for leaf, dot in given if isinstance(leaf[1], FLOAT_TYPES) or isinstance(
        getattr(leaf[1], "dtype", None), FLOAT_TYPES)]
    needs = tuple(k for k, (_, dot) in enumerate(floats) if dot is not None)
    if len(needs) != sum(dot is not None for _, dot in given):
        raise TypingError("an integer has no tangent: give None for it")
    made = pushforward_of(target, needs)
    found = specialisation(made, tuple(primals))
    arguments = [*(f"primals[{k}]" for k in range(len(primals))), *(dot[0] for _, dot in floats if dot is not None)]
    kinds = [*primals, *(dot[1] for _, dot in floats if dot is not None)]
    return caller(made, found, "function, primals, tangents", arguments, kinds, further=len(needs))


FLOAT_TYPES = (numba.types.Float,)


__all__ = ["Pushforward", "jvp", "pushed", "pushforward_of"]
