"""The gradient of a scalar function, joint form."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .. import pipeline
from ..arguments.kinds import joined, rebuild
from ..arguments.positions import compressed, rebuild_positions, select_leaves, structured
from ..calling.fastcalls import conjugated
from ..calling.local import operator as marked
from ..options import DEFAULT, Options
from ..transforms.language.build import Builder
from ..transforms.language.core import Arr
from ..transforms.language.errors import AutodiffError, NonDifferentiable, TypeConflict
from ..transforms.language.ops import is_complex
from ..transforms.lower.values import Array, Scalar, Sequence
from ..transforms.source.definitions import definition, plain_function
from .derived import Derived
from .nesting import differentiated
from .zeros import warn_of_comparisons

if TYPE_CHECKING:
    from ..inspecting.variables import Variables
    from ..inspecting.why import Explanation


class Gradient(Derived):
    """The gradient of a scalar function with respect to some arguments.

    integers: these may hold integers, in whose places the gradient has None.
    """

    kind = "gradient"
    _seeds = "one"

    def __init__(self, function, wrt=0, with_value=False, has_aux=False, allow_unused=True, holomorphic=False,
                 integers=False, options: Options = DEFAULT):
        self.wrt, self.with_value, self.has_aux, self.allow_unused = wrt, with_value, has_aux, allow_unused
        self.holomorphic, self.integers = holomorphic, integers
        self.packs = allow_unused and not integers
        if holomorphic and has_aux:
            raise ValueError("holomorphic=True goes with functions that return one complex number, not with has_aux=True")
        super().__init__(function, options)
        self.single = isinstance(wrt, (int, str))

    def _parameters(self) -> dict:
        return {"wrt": self.wrt, "with_value": self.with_value, "has_aux": self.has_aux,
                "allow_unused": self.allow_unused, "holomorphic": self.holomorphic, "integers": self.integers}

    def _generate(self, names, values, static):
        lowered = self._lower(names, values, static)
        lowered, wanted, shapes = self.choose(lowered)
        name = f"{lowered.function.name}_{'value_and_grad' if self.with_value else 'grad'}"
        keep = self.with_value or self.has_aux
        generated = pipeline.gradient(lowered, wanted, keep, name, options=self.options)
        if not self.allow_unused:
            self.refuse_unused(wanted, generated.active)
        loss = replace(lowered.function, returns=lowered.function.returns[:1])
        warn_of_comparisons(loss, wanted, generated.active)
        made = self._compile(generated, lowered.result)
        made.extra["shapes"] = shapes
        made.extra["leaves"] = wanted
        made.extra["kept"] = len(lowered.function.returns) if keep else 0
        if any(map(compressed, shapes)):
            made.call = with_structures(made.call, made.extra["kept"], shapes)
        return made

    def _places(self, made, passed):
        shapes = dict(zip(made.params, map(np.shape, passed), strict=False))
        return [(k, f"`{p.hint}`", shapes[p], isinstance(p, Arr) and p.pairs)
                for k, p in enumerate(made.extra["leaves"], made.extra["kept"])]

    def _tree_of_out(self, made):
        shapes = made.extra["shapes"]
        return shapes[0] if self.single else Sequence(tuple(shapes))

    def choose(self, lowered):
        """Check the loss and pick the core parameters to differentiate with respect to."""
        result = lowered.result
        if self.has_aux:
            if not isinstance(result, Sequence) or len(result.items) != 2:
                raise NonDifferentiable(f"with has_aux=True `{self.__name__}` must return (loss, aux)",
                                        definition_place(self.target),
                                        "return a pair")
            result = result.items[0]
        place = definition_place(self.target)
        names = wrt_names(self.wrt, list(lowered.trees)[lowered.offset:], self.__name__, place)
        wanted, shapes = select_leaves(lowered.trees, lowered.leaves, names, place, True, self.integers)
        if self.holomorphic:
            check_holomorphic([result], wanted, self.__name__, place)
            return with_real_part(lowered), wanted, shapes
        check_loss(result, self.__name__, place)
        return lowered, wanted, shapes

    def why(self, argument=0) -> Explanation | Variables:
        """Where the gradient of an argument (name or position) comes from, or why it is zero, by lines of the source.

        Of another variable of the function, or of functions that it calls: for each line that binds it whether it has an
        adjoint, and whether the reverse sweep has its values from the tape, computes them again or does not need them.

        It speaks of the latest call. Prints as text; of an argument `depends`, `reason` and `steps` say the same, of
        variables the attributes of each `Variable`. Raises NonDifferentiable for an argument without floats, TypeConflict
        for a name that does not exist.
        """
        from ..inspecting.why import variables_of, why  # a first gradient starts without it
        lowered = self._inspect().generated.lowered
        place = definition_place(self.target)
        arguments = list(lowered.trees)[lowered.offset:]
        if isinstance(argument, str) and argument not in arguments and (found := variables_of(self).named(argument)):
            return found
        name, = wrt_names(argument, arguments, self.__name__, place)
        return why(lowered, name, place)

    def _reasons(self) -> dict[str, str]:
        found = {}
        lowered = self._inspect().generated.lowered
        for name in list(lowered.trees)[lowered.offset:]:
            try:
                found[name] = str(self.why(name))
            except AutodiffError:               # it holds no floats
                continue
        return found

    def refuse_unused(self, wanted, active) -> None:
        for p in wanted:
            if p not in active:
                raise NonDifferentiable(f"`{self.__name__}` does not depend on `{p.hint}`", definition_place(self.target),
                                        "leave it out of wrt=, or allow_unused=True for zeros")

    def _finish(self, made, raw):
        raw = raw if isinstance(raw, tuple) else (raw,)
        kept = made.extra["kept"]
        gradients = map(joined, raw[kept:], made.extra["leaves"])
        if self.holomorphic:
            gradients = map(conjugated, gradients)
        parts = tuple(rebuild_positions(s, gradients) for s in made.extra["shapes"])
        gradient = parts[0] if self.single else parts
        if not kept:
            return gradient
        value = rebuild(made.result, iter(raw[:kept]))
        if self.with_value:
            return value[1] if self.holomorphic else value, gradient
        return gradient, value[1]

    def derive(self, lowered):
        """The lowered program of the gradient of a lowered function."""
        return differentiated(self, lowered)


@marked
def partial_grad(function, wrt=0) -> Gradient:
    """As `grad`, for the rules of solvers: the arguments may hold integers, and the gradient has None in their places."""
    return Gradient(function, wrt=wrt, integers=True)


def with_real_part(lowered):
    """A lowered program that returns (real part, complex number) in the place of the complex number.

    The gradient of u = Re f is du/dx + i du/dy; of a holomorphic f it is the conjugate of f' = du/dx - i du/dy.
    """
    (value,) = lowered.function.returns
    b = Builder()
    real = b.load(value, (0,), "real")
    function = replace(lowered.function, body=(*lowered.function.body, *b.stmts), returns=(real, value))
    return replace(lowered, function=function, result=Sequence((Scalar(real), lowered.result)))


def check_holomorphic(results, wanted, name: str, place) -> None:
    """With holomorphic=True everything is complex: results and the arguments differentiated with respect to."""
    for result in results:
        if not isinstance(result, (Array, Scalar)) or not is_complex(result.dtype):
            raise NonDifferentiable(f"with holomorphic=True `{name}` must return complex numbers", place,
                                    "leave holomorphic=True out")
    for param in wanted:
        if not isinstance(param, Arr) or not param.pairs:
            raise NonDifferentiable(f"with holomorphic=True the arguments of `{name}` must be complex, and `{param.hint}` "
                                    "is real", place, "pass it as complex: x + 0j")


def with_structures(call, kept: int, trees):
    """`call`, with the gradients of sparse arguments, after `kept` other results, as sparse arrays."""
    def run(*passed):
        raw = call(*passed)
        parts = list(raw) if isinstance(raw, tuple) else [raw]
        return (*parts[:kept], *structured(trees, passed, parts[kept:]))
    return run


def definition_place(function):
    """Where a function is defined, for errors about it as a whole; None if that is not known."""
    if (place := getattr(function, "__autodiff_place__", None)) is not None:
        return place
    try:
        made = definition(plain_function(function))
    except AutodiffError:
        return None
    return made.loc(made.node)


def wrt_names(wrt, names: list[str], function: str, place) -> list[str]:
    """The argument names that `wrt` (positions, names or a tuple of them) means."""
    out = []
    for w in (wrt if isinstance(wrt, (tuple, list)) else (wrt,)):
        if isinstance(w, str):
            if w not in names:
                raise TypeConflict(f"{function}() has no argument `{w}`", place, f"it has {', '.join(names)}")
            out.append(w)
        else:
            if not -len(names) <= w < len(names):
                raise TypeConflict(f"wrt={w}: {function}() was called with {len(names)} arguments", place,
                                   "positions count from 0; names work too")
            out.append(names[w])
    return out


def check_loss(result, name: str, place) -> None:
    if isinstance(result, (Array, Scalar)) and is_complex(result.dtype) and not getattr(result, "rank", 0):
        raise NonDifferentiable(
            f"grad needs a real loss, but `{name}` returns a complex number", place,
            "take np.real or np.abs of it, pass a cotangent: out, pullback = vjp(f, z); pullback(1 + 0j), or say "
            "holomorphic=True for the complex derivative")
    if isinstance(result, Array):
        raise NonDifferentiable(
            f"grad needs a scalar loss, but `{name}` returns an array of rank {result.rank}", place,
            f"reduce it (np.sum), or pass a cotangent: out, pullback = vjp({name}, ...); pullback(np.ones_like(out))")
    if not isinstance(result, Scalar):
        raise NonDifferentiable(f"grad needs a scalar loss, but `{name}` returns several values or nothing", place,
                                "return one number, use has_aux=True for (loss, aux), or vjp for a cotangent of any shape")
    if result.dtype not in ("float64", "float32"):
        raise NonDifferentiable(f"`{name}` returns an integer ({result.dtype}); only floating point results have "
                                "derivatives", place, "compute the loss in float")
