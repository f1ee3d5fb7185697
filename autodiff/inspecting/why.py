"""`f.why("x")`: where the gradient of an argument comes from, or why it is zero."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..arguments.positions import select_leaves
from ..rules import REGISTRY
from ..transforms.differentiate.explain import Step, explain, unique
from ..transforms.language import markup
from ..transforms.language.cells import in_cells
from ..transforms.optimise.dead_zeros import overwritten_first
from .variables import variables_of


@dataclass(frozen=True)
class Explanation:
    """depends: whether the gradient of `argument` may be other than zero; reason: in a few words, why it is zero; steps: the
    lines through which the derivative flows, or those where it is cut. Prints as text."""

    argument: str
    depends: bool
    reason: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        head = f"the gradient of `{self.argument}` flows through" if self.depends else \
            f"the gradient of `{self.argument}` is zero: {self.reason}"
        return "\n".join([head, *map(str, self.steps)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *steps = str(self).split("\n")
        return markup.piece(markup.element("div", head), markup.program(in_cells("\n".join(steps))))


def why(lowered, name: str, place=None) -> Explanation:
    """The explanation for one argument of a lowered function, whose first result is the loss, by name."""
    wanted, _ = select_leaves(lowered.trees, lowered.leaves, [name], place)
    program = replace(lowered.function, returns=lowered.function.returns[:1])
    lost = [p for p in wanted if overwritten_first(program, p)]
    kept = [p for p in wanted if p not in lost]
    if lost and not kept:
        steps = [Step(stmt.loc) for stmt in (overwritten_first(program, p) for p in lost) if stmt is not None]
        return Explanation(name, False, "it is overwritten before it is read", unique(steps))
    answer = explain(program, kept, REGISTRY)
    return Explanation(name, answer.depends, answer.reason, answer.steps)


__all__ = ["Explanation", "variables_of", "why"]
