"""The options that every operator takes: how its programs are made, compiled and run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

from .targets import NAMES

MODES = ("numba", "python")
Wrt = int | str | tuple[int | str, ...]         # what says which arguments: a position, a name, or several


@dataclass(frozen=True)
class Options:
    """As `autodiff.grad` describes them. ValueError for a mode or target that there is not.

    boundscheck: also a name of `transforms/lower/checks.py`, for programs that check more.
    segments: whether loops with tapes are taken in segments (`transforms/differentiate/segments.py`): "ask" (where the tape
        is long), "always", "never".
    outputs: names of arguments whose contents at the end are results; a single name may stand for itself.
    """

    mode: str = "numba"
    boundscheck: bool | str = True
    fastmath: bool = False
    precise: bool = False
    parallel: bool = False
    target: str = "cpu"
    deterministic: bool = False
    outputs: tuple[str, ...] = ()
    debug: bool = False
    segments: str = "ask"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode must be 'numba' or 'python', not {self.mode!r}")
        if self.target not in NAMES:
            *others, last = map(repr, NAMES)
            raise ValueError(f"target must be {', '.join(others)} or {last}, not {self.target!r}")
        if type(self.outputs) is not tuple:
            object.__setattr__(self, "outputs", (self.outputs,) if isinstance(self.outputs, str) else tuple(self.outputs))


class Settings(TypedDict, total=False):
    """The keywords for the options that every operator takes, for editors and type checkers."""

    mode: Literal["numba", "python"]
    boundscheck: bool
    fastmath: bool
    precise: bool
    parallel: bool
    debug: bool


class Targeted(Settings, total=False):
    """The same of operators that also make programs for GPUs."""

    target: Literal["cpu", "cuda", "auto"]
    deterministic: bool


DEFAULT = Options()

__all__ = ["DEFAULT", "Options", "Settings", "Targeted", "Wrt"]
