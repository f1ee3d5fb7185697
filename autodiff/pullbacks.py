"""The split form: a forward call that keeps its tape, and the pullback that reads it."""

from __future__ import annotations

import numpy as np

from . import pipeline
from .arguments import as_passed, flatten, number_leaves, rebuild, rebuild_positions
from .compiled import Compiled, narrow_places, narrowed
from .transforms.core import Arr, Const, Var
from .transforms.errors import NonDifferentiable, ShapeMismatch
from .transforms.lower.values import Scalar, leaves


class Vjp(Compiled):
    """`vjp(f, ...)` with its specialisations."""

    kind = "vjp"

    def _register(self) -> None:
        """Pairs of a result and a pullback do not exist in compiled code."""

    def _generate(self, names, values, static):
        lowered = self._lower(names, values, static)
        wanted = [p for p in lowered.leaves if p.dtype in ("float64", "float32")]
        if not any(r.dtype in ("float64", "float32") for r in lowered.function.returns):
            raise NonDifferentiable(f"`{self.__name__}` returns nothing that has a derivative", None,
                                    "return floats, or name written arguments: vjp(f, *args, outputs=(\"out\",))")
        generated = pipeline.pullback(lowered, wanted, f"{lowered.function.name}_vjp", self.debug)
        made = self._compile(generated, lowered.result)
        made.extra["wanted"] = wanted
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
        seeds = self._seeds(cotangents)
        size = np.shape(seeds[0][0])[0]
        rows = []
        for k in range(size):
            rows.append(self._pull([as_passed(np.asarray(given)[k], seed_kind(r.dtype, shape))
                                    for given, r, shape in seeds]))
        return _stack(rows)

    def _pull(self, passed):
        raw = narrowed(self._function(*self._residuals, *passed), narrow_places(self._made.generated.programs[1].returns))
        raw = raw if isinstance(raw, tuple) else (raw,)
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


def _stack(rows):
    first = rows[0]
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(_stack([r[k] for r in rows]) for k in range(len(first))))
    if isinstance(first, (tuple, list)):
        return type(first)(_stack([r[k] for r in rows]) for k in range(len(first)))
    if isinstance(first, dict):
        return {k: _stack([r[k] for r in rows]) for k in first}
    return None if first is None else np.stack([np.asarray(r) for r in rows])


__all__ = ["Pullback", "Scalar", "Vjp"]
