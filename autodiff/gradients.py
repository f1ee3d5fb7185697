"""The gradient of a scalar function, joint form."""

from __future__ import annotations

from . import pipeline
from .arguments import Position, rebuild, rebuild_positions, select_leaves
from .compiled import Compiled
from .transforms.errors import AutodiffError, NonDifferentiable, TypeConflict
from .transforms.lower.values import Array, Scalar, Sequence
from .transforms.source import definition, plain_function


class Gradient(Compiled):
    """The gradient of a scalar function with respect to some arguments."""

    kind = "gradient"

    def __init__(self, function, wrt=0, with_value=False, has_aux=False, allow_unused=True, **options):
        self.wrt, self.with_value, self.has_aux, self.allow_unused = wrt, with_value, has_aux, allow_unused
        super().__init__(function, **options)
        self.single = isinstance(wrt, (int, str))

    def _options(self):
        return {**super()._options(), "wrt": self.wrt, "with_value": self.with_value, "has_aux": self.has_aux,
                "allow_unused": self.allow_unused}

    def _generate(self, names, values, static):
        lowered = self._lower(names, values, static)
        lowered, wanted, shapes = self.choose(lowered)
        name = f"{lowered.function.name}_{'value_and_grad' if self.with_value else 'grad'}"
        keep = self.with_value or self.has_aux
        generated = pipeline.gradient(lowered, wanted, keep, name, debug=self.debug, parallel=self.parallel)
        if not self.allow_unused:
            self.refuse_unused(wanted, generated.active)
        made = self._compile(generated, lowered.result)
        made.extra["shapes"] = shapes
        made.extra["wanted"] = len(wanted)
        made.extra["kept"] = len(lowered.function.returns) if keep else 0
        if all(isinstance(s, Position) for s in shapes) and (self.single or len(shapes) > 1):
            if not keep:
                made.extra["fast"] = made.call
            elif not self.has_aux:
                made.extra["fast"] = made.call if self.single else paired(made.call)
        return made

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
        wanted, shapes = select_leaves(lowered.trees, lowered.leaves, names, place)
        check_loss(result, self.__name__, place)
        return lowered, wanted, shapes

    def refuse_unused(self, wanted, active) -> None:
        for p in wanted:
            if p not in active:
                raise NonDifferentiable(f"`{self.__name__}` does not depend on `{p.hint}`", definition_place(self.target),
                                        "leave it out of wrt=, or allow_unused=True for zeros")

    def _finish(self, made, raw):
        raw = raw if isinstance(raw, tuple) else (raw,)
        kept = made.extra["kept"]
        gradients = iter(raw[kept:])
        parts = tuple(rebuild_positions(s, gradients) for s in made.extra["shapes"])
        gradient = parts[0] if self.single else parts
        if not kept:
            return gradient
        value = rebuild(made.result, iter(raw[:kept]))
        if self.with_value:
            return value, gradient
        return gradient, value[1]

    def derive(self, lowered):
        """The lowered program of the gradient of a lowered function."""
        from .nesting import differentiated
        return differentiated(self, lowered)

    def __autodiff_program__(self, names, values, static, boundscheck=None):
        """The lowered program of this gradient, for differentiating it again."""
        return self.derive(self._lower(names, values, static, boundscheck))

    def __autodiff_lower__(self, lo, args, kwargs):
        from .nesting import inline
        return inline(self, lo, args, kwargs)


def paired(call):
    """`call`, which returns a value and gradients, with the gradients as one tuple."""
    def run(*args):
        result = call(*args)
        return result[0], result[1:]
    return run


def definition_place(function):
    """Where a function is defined, for errors about it as a whole; None if that is not known."""
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
