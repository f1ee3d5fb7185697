"""`linearize`: the value with everything its derivative depends on, and the linear map of tangents."""

from __future__ import annotations

import numpy as np

from ..arguments.foreign import taken
from ..arguments.kinds import as_passed, rebuild
from ..arguments.positions import flat_numbers, matching_parts
from ..calling.building import narrow_places, narrowed, run
from ..calling.debugged import DebuggedMap
from ..calling.fastcalls import MISS
from ..calling.pickling import AtAPoint
from ..calling.tracebacks import entry
from ..inspecting.lines import Lines, lines_of
from ..transforms.language.core import Arr, is_float
from ..transforms.language.errors import NonDifferentiable, ShapeMismatch
from ..transforms.language.ops import is_inexact
from ..transforms.lower.values import Buffer, Static
from .batches import run_rows
from .derived import with_leaves
from .fastmaps import pushing, remember_map
from .pullbacks import Split, seed_kind


class Linearize(Split):
    """`linearize(f, ...)` with its specialisations."""

    kind, half = "linearize", "tangents"

    def _generate(self, names, values, static):
        made = super()._generate(names, values, static)
        made.extra["tangents"] = with_leaves(made.result, lambda leaf: leaf if is_inexact(leaf.dtype) else Static(None))
        return made

    def linear_map(self, made, function, residuals, results, values):
        return TangentMap(made, function, residuals, [np.shape(v) for v in values])

    def map_text(self, form, function, residuals, results):
        w = form.writer
        shapes = ", ".join(f"{n}.shape" if isinstance(v, np.ndarray) else "()"
                           for n, v in zip(form.numbers, form.leaves, strict=True))
        return f"{w.constant(TangentMap)}({w.constant(form.made)}, {function}, {residuals}, [{shapes}])"


class TangentMap(AtAPoint, DebuggedMap):
    """Tangents of the primals to the tangent of the result, at one point."""

    kind = "tangent map"

    def __init__(self, made, function, residuals, shapes):
        self._made, self._function, self._residuals, self._shapes = made, function, residuals, shapes

    def _seeds(self, tangents, batch: int | None) -> list:
        trees, tangents = self._made.extra["trees"], taken(tangents)
        if len(tangents) != len(trees):
            raise TypeError(f"the tangent map takes {len(trees)} tangents, one for each primal, not {len(tangents)}")
        lead = () if batch is None else (batch,)
        given: dict = {}
        for k, (tree, tangent) in enumerate(zip(trees, tangents, strict=True)):
            given.update(zip(flat_numbers(tree), matching_parts(tree, tangent, f"tangent {k}", len(lead)),
                             strict=True))
        found = []
        wanted = set(map(id, self._made.extra["wanted"]))
        for k, (param, shape) in enumerate(zip(self._made.params, self._shapes, strict=True)):
            part = given.get(k)
            if not is_float(param):
                if part is not None:
                    raise NonDifferentiable(f"`{param.hint}` holds {param.dtype}, which has no tangent", None,
                                            "give None for it, or pass it as float")
                continue
            if id(param) not in wanted:
                continue
            part = np.zeros((*lead, *shape)) if part is None else part
            if np.shape(part) != (*lead, *shape):
                raise ShapeMismatch(f"the tangent of `{param.hint}` has shape {np.shape(part)}, the primal {shape}"
                                    + (", and tangents one leading axis more" if lead else ""))
            dtype = Buffer(param).dtype if isinstance(param, Arr) else param.dtype
            found.append(as_passed(part, seed_kind(dtype, (*lead, *shape))))
        return found

    @entry
    def __call__(self, *tangents):
        if (fast := self._made.linear) is not None and (found := fast(self, *tangents)) is not MISS:
            return found
        raw = run(self._function, (*self._residuals, *self._seeds(tangents, None)))
        raw = narrowed(raw, narrow_places(self._made.generated.programs[1].returns))
        found = self._placed(raw if isinstance(raw, tuple) else (raw,))
        remember_map(self._made, lambda: pushing(self._made))
        return found

    @entry
    def batched(self, *tangents):
        """The tangents of the result for many tangents, stacked along a leading axis: the forward part has run once."""
        trees = self._made.extra["trees"]
        given = [part for tree, t in zip(trees, taken(tangents), strict=False) for part in matching_parts(
            tree, t, "a tangent", 1)]
        sizes = {np.shape(part)[:1] for part in given if part is not None}
        if len(sizes) != 1 or sizes == {()}:
            raise ShapeMismatch("the tangents need one leading axis, of one length")
        (size,), = sizes
        return self._placed(run_rows(self._made, self._function, self._residuals, self._seeds(tangents, size),
                                     self._made.extra["rows"]), 1)

    def _placed(self, raw, lead: int = 0):
        return rebuild(self._made.extra["tangents"], iter(raw), lead)

    @property
    def lines(self) -> Lines:
        """Every line of `source`, with the user's lines that it computes; see `lines` of the compiled objects."""
        return lines_of(self._made)


__all__ = ["Linearize", "TangentMap"]
