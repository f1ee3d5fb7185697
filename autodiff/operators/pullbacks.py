"""The split form: a forward call that keeps its tape, and the pullback that reads it."""

from __future__ import annotations

import numpy as np

from .. import pipeline
from ..arguments.foreign import taken
from ..arguments.kinds import as_passed, flatten, holds, joined, on_device, rebuild
from ..arguments.packing import holds_lists
from ..arguments.positions import (
    compressed,
    flat_numbers,
    in_order_of,
    matching_parts,
    number_leaves,
    own_leaves,
    rebuild_positions,
    structured,
)
from ..calling.building import narrow_places, narrowed, run
from ..calling.compiled import Compiled
from ..calling.debugged import DebuggedMap
from ..calling.fastcalls import MISS, remember
from ..calling.pickling import AtAPoint
from ..calling.running import guarded
from ..calling.tracebacks import entry
from ..inspecting.lines import Lines, lines_of
from ..options import DEFAULT, Options
from ..targets import target_of
from ..transforms.language.core import Arr, Const, Swap, Var, is_float, is_generator, walk
from ..transforms.language.errors import NonDifferentiable, ShapeMismatch
from ..transforms.language.ops import PARTS, is_complex, is_inexact
from ..transforms.lower.values import Scalar, leaves
from .batches import Rows, run_rows
from .fastmaps import SplitForm, pulling, remember_map
from .zeros import warn_of_comparisons


class Split(Compiled):
    """A derivative in two parts: the function with its tape, and a linear map that reads it.

    needs: which of all float leaves, what is bound beforehand among them, are differentiated; None: those that a call
        passes.
    copy: whether the linear map has copies of what it reads of the caller's memory.
    """

    half = ""                               # what the second part is called
    form, alike = SplitForm, False          # with copies or without

    def __init__(self, function, needs: frozenset | None = None, copy: bool = True, options: Options = DEFAULT):
        self.needs, self.packs, self.copy = needs, needs is None, copy
        super().__init__(function, options)

    def _parameters(self) -> dict:
        return {"needs": None if self.needs is None else tuple(sorted(self.needs))}

    def _typing(self) -> None:
        """Compiled code calls `vjp` and `linearize` themselves: see numba_values.py."""

    @property
    def returns_lists(self) -> bool:
        return self.needs is None and super().returns_lists

    def linear_map(self, made, function, residuals, results, values):
        raise NotImplementedError

    def _generate(self, names, values, static):
        lowered = self._lower(names, values, static)
        if self.needs is None:
            wanted = [p for p in own_leaves(lowered, self._given[1]) if is_float(p)]
        else:
            wanted = [p for k, p in enumerate(filter(is_float, lowered.leaves)) if k in self.needs]
        if not any(is_float(r) for r in lowered.function.returns):
            raise NonDifferentiable(f"`{self.__name__}` returns nothing that has a derivative", None,
                                    f"return floats, or name written arguments: {self.kind}(f, *args, outputs=(\"out\",))")
        generated = pipeline.split_form(lowered, wanted, f"{lowered.function.name}_{self.kind}", self.half,
                                        self.options)
        warn_of_comparisons(lowered.function, wanted, generated.active)
        made = self._compile(generated, lowered.result)
        made.extra["wanted"] = wanted
        made.extra["borrowed"] = borrowed(generated.programs[0], len(lowered.function.returns))
        made.extra["rows"] = Rows(self.options)
        trees, cursor = [], 0
        for k, (name, tree) in enumerate(lowered.trees.items()):
            numbered, cursor = number_leaves(tree, cursor)
            if k >= lowered.offset and name not in self._given[1] and (name in names or name.endswith("]")):
                trees.append(numbered)          # of a primal; not what is bound beforehand or stands as a default
        made.extra["trees"] = trees
        made.extra["sparse"] = any(map(compressed, trees))
        return made

    def map_text(self, form: SplitForm, function: str, residuals: str, results: list[str]) -> str:
        """The expression of the linear map in generated code, from those of what it is made of."""
        raise NotImplementedError

    @entry
    def __call__(self, *args, **kwargs):
        for fast in self._fast:
            result = fast(self, args, kwargs)
            if result is not MISS:
                return result
        if self.options.target != "cpu":
            return target_of(self.options).call(self, args, kwargs)
        return self._call_with(args, kwargs)

    def _call_with(self, args, kwargs):
        made, result, linear = self._at(args, kwargs, frozenset() if self.copy else None)
        remember(self, made, args, kwargs)
        return result, linear

    def at(self, args, kwargs, spared=frozenset()):
        """The result and the linear map, which has copies of what it reads of the caller's memory.

        spared: the `id`s of arrays that nobody will change, or None for all arrays.
        """
        return self._at(args, kwargs, spared)[1:]

    def _at(self, args, kwargs, spared) -> tuple:
        """(the specialisation, the result, the linear map)."""
        names, values = self._taken(args, kwargs)
        made, raw = guarded(self, lambda made: run(made.call, self._leaves(made, names, values)), names, values)
        raw = narrowed(raw, made.narrow) if made.narrow else raw
        raw = raw if isinstance(raw, tuple) else (raw,)
        count = len(made.generated.lowered.function.returns)
        numbers = made.numbers(names, values)
        results, residuals = raw[:count], list(raw[count:])
        if spared is not None:
            for k, place in made.extra["borrowed"]:
                if not (place < len(numbers) and id(numbers[place]) in spared or on_device(residuals[k])):
                    residuals[k] = residuals[k].copy()
            if made.extra["sparse"]:                        # whose structure is that of the cotangents
                numbers = [x.copy() if isinstance(x, np.ndarray) and x.dtype.kind == "i" else x for x in numbers]
        kept = {id(r) for r in residuals if isinstance(r, np.ndarray)}
        results = tuple(r.copy() if isinstance(r, np.ndarray) and id(r) in kept or self.shares(r, residuals) else r
                        for r in results)
        function = made.functions[made.generated.programs[1].name]
        return made, rebuild(made.result, iter(results)), self.linear_map(made, function, residuals, results, numbers)

    @staticmethod
    def shares(result, residuals) -> bool:
        return isinstance(result, np.ndarray) and not on_device(result) and any(
            isinstance(r, np.ndarray) and np.may_share_memory(result, r) for r in residuals)


def borrowed(forward, count: int) -> list[tuple[int, int]]:
    """(number of a residual, number of the parameter) for the arrays of the caller that a forward part passes on; `count`
    results come before the residuals. Where arrays change places, the parameter is one that there is not."""
    places = {p: k for k, p in enumerate(forward.params) if isinstance(p, Arr) and p not in forward.copied
              and not is_generator(p)}
    swaps = [s for s in walk(forward.body) if isinstance(s, Swap)]
    for _ in swaps:
        for s in swaps:
            if any(a in places for a in (*s.targets, *s.sources)):
                places.update(dict.fromkeys((*s.targets, *s.sources), len(forward.params)))
    return [(k, places[r]) for k, r in enumerate(forward.returns[count:]) if isinstance(r, Arr) and r in places]


class Vjp(Split):
    """`vjp(f, ...)` with its specialisations."""

    kind, half = "vjp", "pullback"
    _seeds = "given"

    def linear_map(self, made, function, residuals, results, values):
        shapes = [np.shape(r)[:-1] if is_complex(leaf.dtype) else np.shape(r)
                  for r, leaf in zip(results, returned(made), strict=True)]
        return Pullback(made, function, residuals, shapes, values)

    def map_text(self, form, function, residuals, results):
        w = form.writer
        shapes = [f"{r}.shape[:-1]" if is_complex(leaf.dtype) else f"{r}.shape" if getattr(leaf, "rank", 0) else "()"
                  for r, leaf in zip(results, returned(form.made), strict=True)]
        return (f"{w.constant(Pullback)}({w.constant(form.made)}, {function}, {residuals}, [{', '.join(shapes)}], "
                f"[{', '.join(form.numbers)}])")


def returned(made) -> list:
    """The numbers and arrays of a result."""
    return [leaf for leaf in leaves(made.result) if hasattr(leaf, "dtype")]


class Pullback(AtAPoint, DebuggedMap):
    """Cotangents of the results to cotangents of the primals, at one point."""

    kind = "pullback"

    def __init__(self, made, function, residuals, shapes, given=()):
        self._made, self._function, self._residuals, self._shapes, self._given = made, function, residuals, shapes, given

    @property
    def _results(self) -> list:
        return returned(self._made)

    def _seeds(self, cotangent, batch: int = 0):
        cotangent, = taken([cotangent])
        if holds_lists(self._made.result):
            found = matching_parts(self._made.result, cotangent, "the cotangent", batch)
            found = [np.zeros(s) if f is None and not batch else f for f, s in zip(found, self._shapes, strict=True)]
        else:
            if holds(dict, [cotangent], {}):
                cotangent = in_order_of(self._made.result, cotangent, "the cotangent")
            found = [f for f in flatten(cotangent) if f is not None and not isinstance(f, str)]
        floats = [(r, s) for r, s in zip(self._results, self._shapes, strict=True) if is_inexact(r.dtype)]
        if len(found) == len(self._results) != len(floats):
            found = [f for f, r in zip(found, self._results, strict=True) if is_inexact(r.dtype)]
        if len(found) != len(floats):
            raise ShapeMismatch(f"the pullback takes {len(floats)} cotangents, one for each float result, not "
                                f"{len(found)}")
        return [(f, r, s) for f, (r, s) in zip(found, floats, strict=True)]

    @entry
    def __call__(self, cotangent):
        if (fast := self._made.linear) is not None and (found := fast(self, cotangent)) is not MISS:
            return found
        passed = []
        for given, result, shape in self._seeds(cotangent):
            if np.shape(given) != shape:
                raise ShapeMismatch(f"the cotangent has shape {np.shape(given)}, the result {shape}")
            passed.append(as_passed(given, seed_kind(result.dtype, shape)))
        found = self._placed(self._raw(passed), True)
        remember_map(self._made, lambda: pulling(self._made, lambda raw: of_primals(self._made, in_order(self._made, raw))))
        return found

    @entry
    def batched(self, cotangents):
        """Pull back many cotangents, stacked along a leading axis, over the one tape."""
        stacked = []
        for given, result, shape in self._seeds(cotangents, 1):
            if np.ndim(given) == 0 or np.shape(given)[1:] != shape:
                raise ShapeMismatch(f"the cotangents have shape {np.shape(given)}, the result {shape}: they need "
                                    "one leading axis more")
            stacked.append(as_passed(given, seed_kind(result.dtype, np.shape(given))))
        return self._placed(run_rows(self._made, self._function, self._residuals, stacked, self._made.extra["rows"]))

    def of_leaves(self, seeds) -> tuple:
        """One cotangent for each leaf of the primals that is differentiated, from one for each float result."""
        floats = [r for r in self._results if is_inexact(r.dtype)]
        raw = self._raw([as_passed(s, seed_kind(r.dtype, np.shape(s))) for s, r in zip(seeds, floats, strict=True)])
        return tuple(map(joined, raw, self._made.extra["wanted"]))

    def of_leaves_batched(self, seeds, size: int) -> tuple:
        """As `of_leaves`, each cotangent with one more leading axis, of length `size`."""
        floats = [r for r in self._results if is_inexact(r.dtype)]
        stacked = [as_passed(s, seed_kind(r.dtype, np.shape(s))) for s, r in zip(seeds, floats, strict=True)]
        raw = run_rows(self._made, self._function, self._residuals, stacked, self._made.extra["rows"])
        return tuple(map(joined, raw, self._made.extra["wanted"]))

    def _raw(self, passed) -> tuple:
        raw = run(self._function, (*self._residuals, *passed))
        raw = narrowed(raw, narrow_places(self._made.generated.programs[1].returns))
        return raw if isinstance(raw, tuple) else (raw,)

    def _placed(self, raw, single: bool = False):
        """Cotangents in the places of the primals they belong to; a single one of a sparse array is sparse."""
        ordered = in_order(self._made, raw)
        for found in (c for t in self._made.extra["trees"] for c in compressed(t) if single):
            place = found.fields["data"].number
            if ordered[place] is not None:
                ordered[place], = structured([found], self._given, [ordered[place]])
        return of_primals(self._made, ordered, self._given, 0 if single else 1)

    @property
    def lines(self) -> Lines:
        """Every line of `source`, with the user's lines that it computes; see `lines` of the compiled objects."""
        return lines_of(self._made)


def in_order(made, raw) -> list:
    """The cotangent of each parameter, None where it has none, from what the pullback's function returns."""
    wanted = made.extra["wanted"]
    by_leaf = dict(zip(map(id, wanted), map(joined, raw, wanted), strict=True))
    return [by_leaf.get(id(p)) for p in made.params]


def of_primals(made, ordered, given=(), lead: int = 0) -> tuple:
    """One cotangent for each primal, of its structure, from those of the parameters; `lead` of their axes come first."""
    return tuple(rebuild_positions(t, iter([ordered[n] for n in flat_numbers(t)]), given, lead) for t in made.extra["trees"])


def seed_kind(dtype: str, shape):
    """What compiled code expects for a cotangent: an array or a number."""
    if is_complex(dtype):
        return Arr("seed", PARTS[dtype], (), pairs=True)
    return Arr("seed", dtype, tuple(Const(int(s), "int64") for s in shape)) if shape else Var("seed", dtype)


__all__ = ["Pullback", "Scalar", "Split", "Vjp"]
