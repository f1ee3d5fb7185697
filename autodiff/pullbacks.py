"""The split form: a forward call that keeps its tape, and the pullback that reads it."""

from __future__ import annotations

import numpy as np

from . import pipeline
from .arguments import as_passed, flatten, number_leaves, rebuild, rebuild_positions
from .batches import Rows, run_rows
from .compiled import Compiled, narrow_places, narrowed
from .transforms.core import Arr, Const, Var
from .transforms.errors import NonDifferentiable, ShapeMismatch
from .transforms.lower.values import Scalar, leaves


class Vjp(Compiled):
    """`vjp(f, ...)` with its specialisations."""

    kind = "vjp"

    def __init__(self, function, *args, needs: frozenset | None = None, **options):
        self.needs = needs                  # which of the float leaves of the arguments get a cotangent; None: all
        super().__init__(function, *args, **options)

    def _options(self) -> dict:
        return {**super()._options(), "needs": None if self.needs is None else tuple(sorted(self.needs))}

    def _register(self) -> None:
        """Pairs of a result and a pullback do not exist in compiled code."""

    def _generate(self, names, values, static):
        lowered = self._lower(names, values, static)
        wanted = [p for p in lowered.leaves if p.dtype in ("float64", "float32")]
        if self.needs is not None:
            wanted = [p for k, p in enumerate(wanted) if k in self.needs]
        if not any(r.dtype in ("float64", "float32") for r in lowered.function.returns):
            raise NonDifferentiable(f"`{self.__name__}` returns nothing that has a derivative", None,
                                    "return floats, or name written arguments: vjp(f, *args, outputs=(\"out\",))")
        generated = pipeline.pullback(lowered, wanted, f"{lowered.function.name}_vjp", self.debug)
        made = self._compile(generated, lowered.result)
        made.extra["wanted"] = wanted
        made.extra["rows"] = Rows(self.mode, self.fastmath, self.precise)
        trees, cursor = [], 0
        for k, tree in enumerate(lowered.trees.values()):
            numbered, cursor = number_leaves(tree, cursor)
            if k >= len(self._prefix):
                trees.append(numbered)
        made.extra["trees"] = trees
        return made

    def __call__(self, *args, **kwargs):
        made, raw = self._execute(args, kwargs)
        back = made.functions[made.generated.programs[1].name]
        raw = raw if isinstance(raw, tuple) else (raw,)
        count = len(made.generated.lowered.function.returns)
        results, residuals = raw[:count], raw[count:]
        kept = {id(r) for r in residuals if isinstance(r, np.ndarray)}
        results = tuple(r.copy() if isinstance(r, np.ndarray) and id(r) in kept or self.shares(r, residuals) else r
                        for r in results)
        return rebuild(made.result, iter(results)), Pullback(made, back, residuals, results)

    @staticmethod
    def shares(result, residuals) -> bool:
        return isinstance(result, np.ndarray) and any(
            isinstance(r, np.ndarray) and np.may_share_memory(result, r) for r in residuals)


class Pullback:
    """Cotangents of the results to cotangents of the primals, at one point."""

    def __init__(self, made, function, residuals, results):
        self._made, self._function, self._residuals = made, function, residuals
        self._results = [leaf for leaf in leaves(made.result) if hasattr(leaf, "dtype")]
        self._shapes = [np.shape(r) for r in results]

    def _seeds(self, cotangent, batch=None):
        found = flatten(cotangent)
        found = [f for f in found if f is not None and not isinstance(f, str)]
        floats = [(r, s) for r, s in zip(self._results, self._shapes, strict=True) if r.dtype in ("float64", "float32")]
        if len(found) == len(self._results) != len(floats):
            found = [f for f, r in zip(found, self._results, strict=True) if r.dtype in ("float64", "float32")]
        if len(found) != len(floats):
            raise ShapeMismatch(f"the pullback takes {len(floats)} cotangents, one for each float result, not "
                                f"{len(found)}")
        return [(f, r, s) for f, (r, s) in zip(found, floats, strict=True)]

    def __call__(self, cotangent):
        passed = []
        for given, result, shape in self._seeds(cotangent):
            if np.shape(given) != shape:
                raise ShapeMismatch(f"the cotangent has shape {np.shape(given)}, the result {shape}")
            passed.append(as_passed(given, seed_kind(result.dtype, shape)))
        return self._pull(passed)

    def batched(self, cotangents):
        """Pull back many cotangents, stacked along a leading axis, over the one tape."""
        stacked = []
        for given, result, shape in self._seeds(cotangents):
            if np.ndim(given) == 0 or np.shape(given)[1:] != shape:
                raise ShapeMismatch(f"the cotangents have shape {np.shape(given)}, the result {shape}: they need "
                                    "one leading axis more")
            stacked.append(as_passed(given, seed_kind(result.dtype, np.shape(given))))
        return self._placed(run_rows(self._made, self._function, self._residuals, stacked, self._made.extra["rows"]))

    def of_leaves(self, seeds) -> tuple:
        """One cotangent for each leaf of the primals that is differentiated, from one for each float result."""
        floats = [r for r in self._results if r.dtype in ("float64", "float32")]
        return self._raw([as_passed(s, seed_kind(r.dtype, np.shape(s))) for s, r in zip(seeds, floats, strict=True)])

    def of_leaves_batched(self, seeds, size: int) -> tuple:
        """As `of_leaves`, each cotangent with one more leading axis, of length `size`."""
        floats = [r for r in self._results if r.dtype in ("float64", "float32")]
        stacked = [as_passed(s, seed_kind(r.dtype, np.shape(s))) for s, r in zip(seeds, floats, strict=True)]
        return run_rows(self._made, self._function, self._residuals, stacked, self._made.extra["rows"])

    def _raw(self, passed) -> tuple:
        raw = narrowed(self._function(*self._residuals, *passed), narrow_places(self._made.generated.programs[1].returns))
        return raw if isinstance(raw, tuple) else (raw,)

    def _pull(self, passed):
        return self._placed(self._raw(passed))

    def _placed(self, raw):
        """Cotangents in the places of the primals they belong to."""
        by_leaf = dict(zip(map(id, self._made.extra["wanted"]), raw, strict=True))
        ordered = [by_leaf.get(id(p)) for p in self._made.params]
        return tuple(rebuild_positions(t, _Picker(ordered, t)) for t in self._made.extra["trees"])

    @property
    def source(self) -> str:
        """The generated source: forward part and pullback."""
        return self._made.generated.text


def seed_kind(dtype: str, shape):
    """What compiled code expects for a cotangent: an array or a number."""
    return Arr("seed", dtype, tuple(Const(int(s), "int64") for s in shape)) if shape else Var("seed", dtype)


class _Picker:
    """Iterates the results of the leaves of one argument."""

    def __init__(self, ordered, tree):
        from .arguments import flat_numbers
        self._values = iter([ordered[n] for n in flat_numbers(tree)])

    def __next__(self):
        return next(self._values)


__all__ = ["Pullback", "Scalar", "Vjp"]
