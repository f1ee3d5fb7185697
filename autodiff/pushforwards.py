"""Forward mode as users call it: jvp, and products of Hessians with vectors."""

from __future__ import annotations

import numpy as np

from . import pipeline
from .arguments import as_passed, flatten, passes, rebuild
from .compiled import decorated, made_for, narrowed, operator
from .derived import Derived, value_of, with_leaves, with_program
from .gradients import Gradient, definition_place
from .nesting import fitting, inline, iter_values
from .rules import REGISTRY
from .transforms.core import Arr, is_float
from .transforms.errors import NonDifferentiable, ShapeMismatch, TypeConflict
from .transforms.forward import forward
from .transforms.lower.table import lowers
from .transforms.lower.values import Array, Sequence, Static, is_number, leaves
from .transforms.lower.values import rebuild as rebuild_value
from .transforms.motion import learn
from .transforms.ops import is_inexact
from .transforms.simplify import simplify


class Pushforward(Derived):
    """The directional derivative of a function: from primals and tangents to (result and) its tangent.

    needs: which of the float leaves of the arguments have a tangent, by number.
    """

    kind = "pushforward"

    def __init__(self, function, needs=(), with_value=True, **options):
        self.needs, self.with_value = tuple(needs), with_value
        super().__init__(function, **options)

    def _options(self) -> dict:
        return {**super()._options(), "needs": self.needs, "with_value": self.with_value}

    def _register(self) -> None:
        """Compiled code has no calls with tuples of primals and tangents."""

    def derive(self, lowered):
        program = pipeline.prepare(lowered, {}, self.debug)
        floats = [p for p in lowered.leaves if is_float(p)]
        wanted = [floats[k] for k in self.needs]
        if not any(is_float(r) for r in program.returns):
            raise NonDifferentiable(f"`{self.__name__}` returns nothing that has a derivative",
                                    definition_place(self.target), "return floats")
        made = simplify(forward(program, lowered.facts, wanted, REGISTRY, True, f"{program.name}_jvp"), keep_sizes=True)
        learn(lowered.facts, made.body)
        tangents = made.params[len(program.params):]
        count = len(program.returns)
        primal = rebuild_value(lowered.result, iter_values(lowered.result, made.returns[:count]))
        dots = iter(made.returns[count:])
        tree = with_leaves(lowered.result, lambda leaf: value_of(next(dots), leaf) if is_inexact(leaf.dtype) else Static(
            None))
        return with_program(lowered, made, Sequence((primal, tree)) if self.with_value else tree, tangents)

    def push(self, args, kwargs, tangents):
        """Call with the tangents of the wanted leaves, in their order."""
        names, values = self._bind(args, kwargs)

        def run(made):
            passed = self._leaves(made, names, values)
            count = len(made.params)
            return made.call(*passed[:count], *self.fitting(tangents, passed, made), *passed[count:])
        made, raw = self._guarded(run, names, values)
        if made.narrow:
            raw = narrowed(raw, made.narrow)
        return rebuild(made.result, iter(raw if isinstance(raw, tuple) else (raw,)))

    def fitting(self, tangents, passed, made) -> list:
        """Tangents in the dtype and shape of their primals."""
        out = []
        floats = [(p, np.shape(x)) for p, x in zip(made.params, passed, strict=False) if is_float(p)]
        for k, tangent in zip(self.needs, tangents, strict=True):
            param, shape = floats[k]
            shape = shape[:-1] if isinstance(param, Arr) and param.pairs else shape
            if np.shape(tangent) != shape:
                raise ShapeMismatch(f"the tangent of `{param.hint}` has shape {np.shape(tangent)}, the primal {shape}")
            out.append(as_passed(np.asarray(tangent) if isinstance(param, Arr) else tangent, param))
        return out


def pushforward_of(function, needs, with_value, options) -> Pushforward:
    """The one object for this function and these options."""
    return made_for(Pushforward, function, needs=needs, with_value=with_value, **options)


def matched(function, primals, tangents, name: str) -> tuple[tuple[int, ...], list]:
    """(numbers of the float leaves that have tangents, those tangents) of two tuples of arguments."""
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(f"{name} takes a tuple of primals and a tuple of tangents")
    if len(primals) != len(tangents):
        raise TypeError(f"{name} got {len(primals)} primals and {len(tangents)} tangents")
    needs: list[int] = []
    chosen: list = []
    cursor = 0
    for k, (primal, tangent) in enumerate(zip(primals, tangents, strict=True)):
        own = [leaf for leaf in flatten(primal) if passes(leaf)]
        given = [None] * len(own) if tangent is None else [t for t in flatten(tangent) if t is None or passes(t)]
        if len(given) != len(own):
            raise ShapeMismatch(f"primal {k} holds {len(own)} numbers and arrays, its tangent {len(given)}")
        for leaf, part in zip(own, given, strict=True):
            if part is not None:
                if not has_tangent(leaf):
                    raise NonDifferentiable(f"primal {k} of `{getattr(function, '__name__', function)}` holds "
                                            f"{np.asarray(leaf).dtype}, which has no tangent", None,
                                            "give None for it, or pass it as float")
                needs.append(cursor)
                chosen.append(part)
            cursor += has_tangent(leaf)
    return tuple(needs), chosen


def has_tangent(leaf) -> bool:
    """Whether a number or array is floating point."""
    return np.asarray(leaf).dtype.kind in "fc"


def jvp(function, primals, tangents, *, mode: str = "numba", boundscheck: bool = True, fastmath: bool = False,
        precise: bool = False, parallel: bool = False, debug: bool = False):
    """(result, tangent of the result) of `function` at `primals`, along `tangents`: forward mode.

    primals: a tuple of arguments. tangents: a tuple of as many, each of the structure, shapes and dtypes of its primal, or
        None for an argument (or a part of one) that stays fixed; integers and static values have None.
    The tangent of the result has its structure, with None in the place of integers.
    Raises NonDifferentiable for tangents of integers, ShapeMismatch where shapes differ, TypeError for tuples of different
    lengths, and AutodiffErrors as `grad` does. The other options are those of `grad`.

    Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3.
    """
    needs, chosen = matched(function, primals, tangents, "jvp")
    made = pushforward_of(function, needs, True, {"mode": mode, "boundscheck": boundscheck, "fastmath": fastmath,
                                                  "precise": precise, "parallel": parallel, "debug": debug})
    return made.push(tuple(primals), {}, chosen)


@lowers(jvp)
def lower_jvp(lo, function, primals, tangents, **options):
    """A call of `jvp` inside a program that is being lowered."""
    if not isinstance(function, Static) or not isinstance(primals, Sequence) or not isinstance(tangents, Sequence) \
            or len(primals.items) != len(tangents.items):
        raise lo.error(TypeConflict, "jvp() takes a function defined outside and tuples of primals and tangents",
                       "jvp(f, (x, y), (x_dot, None)), with f at module level")
    return push_inside(lo, function.value, primals.items, tangents.items, True)


def push_inside(lo, function, primals, tangents, with_value: bool):
    """The statements of a pushforward, in the program that is being lowered."""
    needs, chosen, cursor = [], [], 0
    for primal, tangent in zip(primals, tangents, strict=True):
        own = leaves(primal)
        absent = isinstance(tangent, Static) and tangent.value is None
        given = [tangent] * len(own) if absent else leaves(tangent)
        if len(given) != len(own):
            raise lo.error(TypeConflict, f"a primal holds {len(own)} values, its tangent {len(given)}")
        for leaf, part in zip(own, given, strict=True):
            if not (isinstance(leaf, Array) or is_number(leaf)):
                continue
            floating = is_inexact(lo.dtype_of(leaf))
            if not (isinstance(part, Static) and part.value is None):
                if not floating:
                    raise lo.error(NonDifferentiable, "an integer has no tangent", "give None for it")
                needs.append(cursor)
                chosen.append(fitting(lo, part, leaf, "a tangent"))
            cursor += floating
    return inline(pushforward_of(function, tuple(needs), with_value, {}), lo, list(primals), {}, chosen)


class HessianProduct:
    """The product of a Hessian with a vector, by forward over reverse: `product(*args, v)`."""

    def __init__(self, function, wrt=0, **options):
        self.gradient = Gradient(function, wrt=wrt, **options)
        self.wrt, self.options = wrt, options
        self.__name__ = self.gradient.__name__
        self._latest: Pushforward | None = None

    def __call__(self, *args):
        *primals, vector = args
        made, tangents = self.prepared(primals, vector)
        return made.push(tuple(primals), {}, tangents)

    def placed(self, count: int, vector, nothing=None) -> list:
        """A tangent for each of `count` arguments: the parts of the vector, `nothing` elsewhere."""
        several = isinstance(self.wrt, (tuple, list))
        places = self.wrt if several else (self.wrt,)
        given = vector if several else (vector,)
        if len(given) != len(places):
            raise TypeError(f"the vector holds {len(given)} parts for {len(places)} arguments")
        tangents = [nothing] * count
        names = list(self.gradient._signature.parameters) if self.gradient._signature is not None else []
        for place, part in zip(places, given, strict=True):
            tangents[names.index(place) if isinstance(place, str) else place] = part
        return tangents

    def __autodiff_lower__(self, lo, args, kwargs):
        *primals, vector = args
        if isinstance(vector, Sequence) and isinstance(self.wrt, (tuple, list)):
            vector = vector.items
        return push_inside(lo, self.gradient, primals, self.placed(len(primals), vector, Static(None)), False)

    def prepared(self, primals, vector):
        tangents = self.placed(len(primals), vector)
        needs, chosen = matched(self.gradient, primals, tangents, "hvp")
        self._latest = pushforward_of(self.gradient, needs, False, self.options)
        return self._latest, chosen

    @property
    def source(self) -> str:
        """The generated Python source for the latest call."""
        if self._latest is None:
            raise RuntimeError(f"the Hessian product of `{self.__name__}` has not been called yet")
        return self._latest.source

    def __repr__(self):
        return f"<Hessian product of {self.__name__}>"


@operator
def hvp(function=None, *, wrt=0, mode: str = "numba", boundscheck: bool = True, fastmath: bool = False,
        precise: bool = False, parallel: bool = False, debug: bool = False):
    """The function that multiplies the Hessian of a scalar `function` with a vector: `hvp(f)(*args, v)`.

    wrt: position or name of the argument, or a tuple of them; `v` has its structure, shapes and dtypes, and so has the
        product.
    The Hessian itself is never formed: the gradient is pushed forward, at a small multiple of its cost (forward over
    reverse; Griewank and Walther 2008, section 5.4). Errors and other options are those of `grad` and `jvp`.
    """
    return decorated(HessianProduct, function, {"wrt": wrt, "mode": mode, "boundscheck": boundscheck, "fastmath": fastmath,
                                                "precise": precise, "parallel": parallel, "debug": debug})


__all__ = ["HessianProduct", "Pushforward", "hvp", "jvp"]
