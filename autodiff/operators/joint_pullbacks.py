"""The pullback of a function as one compiled function, without a tape that outlives it."""

from __future__ import annotations

from .. import pipeline
from ..arguments.positions import select_leaves
from ..calling.compiled import Compiled
from ..options import DEFAULT, Options
from ..transforms.language.core import is_float
from ..transforms.language.errors import NonDifferentiable
from .gradients import definition_place, wrt_names


class JointPullback(Compiled):
    """From arguments and cotangents of the results to cotangents of the arguments, in one function."""

    kind = "joint pullback"
    _seeds = "given"

    def __init__(self, function, wrt=None, options: Options = DEFAULT):
        self.wrt = wrt
        super().__init__(function, options)

    def _parameters(self) -> dict:
        return {"wrt": self.wrt}

    def _generate(self, names, values, static):
        lowered = self._lower(names, values, static)
        if not any(is_float(r) for r in lowered.function.returns):
            raise NonDifferentiable(f"`{self.__name__}` returns nothing that has a derivative",
                                    definition_place(self.target), "return floats")
        place = definition_place(self.target)
        own = list(lowered.trees)[lowered.offset:]
        chosen = own if self.wrt is None else wrt_names(self.wrt, own, self.__name__, place)
        wanted, _ = select_leaves(lowered.trees, lowered.leaves, chosen, place, True, self.wrt is None)
        generated = pipeline.pullback(lowered, wanted, f"{lowered.function.name}_pullback", self.options)
        made = self._compile(generated, lowered.result)
        made.extra["leaves"] = wanted
        made.extra["kept"] = 0
        return made


__all__ = ["JointPullback"]
