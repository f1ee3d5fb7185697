"""Which calls of a program are worth a function of their own: what its lowerings learn of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

LEAST = 20                  # variables of a function below which it is inlined wherever it is called
WORTH = 60                  # variables that calls save, at least, to be worth a function of its own
ARRAYS = 2.5                # times as many if it takes arrays: results go through memory, the reverse sweep runs it again
ROUNDS = 6                  # lowerings of one program that look for more units, at most


def common(one: tuple, other: tuple) -> tuple:
    """What is known of arrays whichever of two calls gives them."""
    arrays: dict = {}
    sizes: dict = {}

    def both(x, y):
        return x if x == y and x[0] == x[1] else (("size", sizes.setdefault((x[0], y[0]), len(sizes))), min(x[1], y[1], 2))
    return tuple((arrays.setdefault((a[0], b[0]), len(arrays)), *map(both, a[1:], b[1:])) for a, b in zip(
        one, other, strict=True))


@dataclass
class Inlined:
    """A call that was inlined. first: its first statement; numbers: those known now; arrays: what is known of them; size:
    variables; around: the calls that it stands in, outermost first, as (key, the call in the text)."""

    key: tuple
    first: object
    numbers: tuple
    arrays: tuple
    size: int
    around: tuple

    def occurrence(self, chosen):
        """What this call has in common with others that stand at one place of one unit."""
        k = max((k for k, (key, _) in enumerate(self.around) if key in chosen), default=None)
        return id(self.first) if k is None else (self.around[k][0], tuple(site for _, site in self.around[k + 1:]))


@dataclass(eq=False)
class Units:
    """What the lowerings of one program know of its calls, by the function and the kinds of its arguments.

    arrays: whether functions of arrays may be units, too; chosen: those that are units, with the numbers that are constants
    of theirs, else None, and what is known of their arrays; refused: those that cannot be;
    inlined: the others, of the last lowering; kept: what keys know by its identity.
    lengths: whether arrays may change their length in loops that could be written out; stayed: whether some were to.
    """

    enabled: bool = True
    arrays: bool = True
    chosen: dict = field(default_factory=dict)
    refused: set = field(default_factory=set)
    inlined: list[Inlined] = field(default_factory=list)
    kept: list = field(default_factory=list)
    hurried: bool = False
    rounds: int = 0
    lengths: bool = False
    stayed: bool = False

    def grew(self) -> bool:
        """Whether the program that was lowered last has calls that should be units when it is lowered again."""
        self.rounds += 1
        if self.rounds > ROUNDS:
            return False
        calls: dict = {}
        for one in self.inlined:
            if one.key not in self.refused:
                calls.setdefault(one.key, []).append(one)
        grown, self.hurried = self.hurried, False
        for key, found in sorted(calls.items(), key=lambda item: -item[1][0].size):
            count = len({one.occurrence(self.chosen) for one in found})
            size = max(c.size for c in found)           # a call after another computes what both need only once
            worth = WORTH * ARRAYS if found[0].arrays else WORTH
            if key not in self.chosen and size >= LEAST and (count - 1) * size >= worth:
                constants = tuple(values[0] if len(set(values)) == 1 else None
                                  for values in zip(*(c.numbers for c in found), strict=True))
                self.chosen[key] = constants, reduce(common, (c.arrays for c in found))
                grown = True
        return grown


__all__ = ["Inlined", "Units", "common"]
