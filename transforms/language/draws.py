"""Random draws in the core language.

    z = rng.standard_normal(n)        Call((z, rng), "draw:standard_normal", (rng, n), (Draw("standard_normal", 0, 1),))

The last result of the call is the generator itself, which is read and left in another state. A draw has no derivative: where
one is wanted, the lowering has made it of a draw without parameters and arithmetic
(`lower/numpy_functions/random_draws.py`). What is left has parameters that must not depend on what is differentiated.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...runtime.generators import WORDS
from .build import Builder, integer
from .core import Arr, Function, Ref, array_of, is_generator, walk, written
from .errors import NonDifferentiable
from .ops import DRAW
from .queries import called

POSITIONAL = ("random", "standard_normal", "standard_exponential", "standard_cauchy")     # their first parameter is `size`
HELPERS = ("permutation", "standard_gumbel")        # what compiled generators lack, as functions of `runtime/generators.py`


@dataclass(frozen=True)
class Draw:
    """What the operands of a draw are, after its generator: `params` numbers, then as many sizes as the result has axes
    (`rank`, None for one number), then what it depends on besides. law: the method that the user called. options: further
    arguments, as text."""

    law: str
    params: int
    rank: int | None
    options: tuple[str, ...] = ()


def is_draw(stmt) -> bool:
    return called(stmt).startswith(DRAW)


def generators_of(function: Function) -> list[Arr]:
    """The parameters that stand for generators, in order."""
    return [p for p in function.params if is_generator(p)]


def drawn_from(function: Function) -> list[Arr]:
    """Those of them that the program draws from."""
    changed = written(function.body)
    return [g for g in generators_of(function) if g in changed]


def has_draws(block) -> bool:
    """Whether any statement draws."""
    return any(is_draw(s) for s in walk(block))


def kept_state(generator: Arr, slots=()) -> Arr:
    """A buffer for the state of a generator, or for several."""
    return Arr(f"{generator.hint}_state", "int64", (*slots, integer(WORDS)))


def save_state(b: Builder, generator: Arr, kept: Arr, slot=()) -> None:
    """Emit statements that keep the state of a generator."""
    b.call((Ref(kept, tuple(slot)),), "save_state", (Ref(generator),))


def restore_state(b: Builder, generator: Arr, kept: Arr, slot=()) -> None:
    """Emit statements that bring a kept state back, so that the same numbers are drawn again."""
    b.call((generator,), "restore_state", (Ref(kept, tuple(slot)),))


def draw_text(stmt, generator: str, operands: list[str]) -> tuple[str, str]:
    """(the expression that draws, the helper it calls or ""), from the texts of the generator and of what follows it."""
    (draw,), name = stmt.static, stmt.op.removeprefix(DRAW)
    shown = operands[:draw.params]
    if draw.rank is not None:
        sizes = operands[draw.params:draw.params + draw.rank]
        size = sizes[0] if len(sizes) == 1 else f"({', '.join(sizes)})"
        shown.append(size if name in POSITIONAL or name in HELPERS else f"size={size}")
    shown += draw.options
    if name in HELPERS:
        return f"{name}({', '.join((generator, *shown))})", name
    return f"{generator}.{name}({', '.join(shown)})", ""


def refuse_active(function: Function, varied: set) -> None:
    """NonDifferentiable for a draw with a parameter in `varied`."""
    for stmt in walk(function.body):
        if is_draw(stmt) and any(array_of(a) in varied for a in stmt.args[1:]):
            law = stmt.static[0].law
            raise NonDifferentiable(
                f"a parameter of `{law}` depends on what is differentiated, and draws of this law have no derivative with "
                "respect to it", stmt.loc, "pass autodiff.stop_gradient of it if that is meant, or draw from a law that is "
                "moved and scaled: loc + scale * rng.standard_normal(n)")


__all__ = ["Draw", "draw_text", "drawn_from", "generators_of", "has_draws", "is_draw", "kept_state", "refuse_active",
           "restore_state", "save_state"]
