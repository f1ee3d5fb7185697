"""Texts with numbers of the run in them, and what functions are called in messages."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass

import numpy as np

from ...language.core import Atom
from ..values import Static, Value


def said_of_nothing(function) -> str:
    """What Python says of an extremum of no items, which depends on its version."""
    try:
        return function(())
    except ValueError as e:
        return str(e)


@dataclass(eq=False)
class Text(Value):
    """A text with numbers of the run in it: strings and `Shown` numbers."""

    told = "a text with numbers of the run in it"
    parts: tuple

    @staticmethod
    def of(parts) -> Value:
        """A text of parts, which is known now if no number is in it."""
        parts = tuple(parts)
        return Static("".join(parts)) if known_now(parts) else Text(parts)


@dataclass(frozen=True)
class Shown:
    """A number of the run in a text: `field` says how it is written. inner: further numbers in the field."""

    atom: Atom
    field: str
    inner: tuple = ()


@dataclass(eq=False)
class ErrorText(Value):
    """An error that was caught, of one class, with numbers of the run in its text."""

    told = "an error with numbers of the run in its text"
    error: type
    template: str
    numbers: tuple


@dataclass(eq=False)
class Clock(Value):
    """What a clock says, or a difference of that: for logs, which programs leave out."""

    told = "the reading of a clock"


CLOCK = Clock()


class Placeholder(str):
    """What stands in a text for a value whose own text is not known: enough for a message, and for nothing else."""

    __slots__ = ()


def known_now(parts) -> bool:
    return not any(isinstance(p, (Shown, Placeholder)) for p in parts)


def templated(parts) -> tuple[str, list]:
    """(template with a field for each number, the numbers) of the parts of a text."""
    template = "".join(p.field if isinstance(p, Shown) else p.replace("{", "{{").replace("}", "}}") for p in parts)
    return template, [atom for p in parts if isinstance(p, Shown) for atom in (p.atom, *p.inner)]


def spaces_of(module: str) -> list[str]:
    """The modules in which something of a module of NumPy may be found, the likeliest first, as they are written."""
    parts = module.split(".")[1:]
    own = [".".join(("np", *parts[:k])) for k in range(1, len(parts) + 1) if not any(p.startswith("_") for p in parts[:k])]
    return ["np.fft", "np.linalg", "np.random", *own, "np.lib.stride_tricks", "np.rec", "np.char"]


def name_of(target) -> str:
    module = getattr(target, "__module__", None) or ""
    name = getattr(target, "__qualname__", getattr(target, "__name__", type(target).__name__))
    if isinstance(target, np.ufunc) and getattr(np, name, None) is not target:
        return f"scipy.special.{name}"
    if module.split(".")[0] == "numpy" or isinstance(target, np.ufunc):
        own = getattr(target, "__name__", name)
        space = "np" if getattr(np, own, None) is target else next((s for s in spaces_of(module) if getattr(
            sys.modules.get(s.replace("np", "numpy", 1)), own, None) == target), None)
        if space is not None or "polynomial" not in module:
            return f"{space}.{own}" if space is not None else f"np.{name}"
    public = ".".join(itertools.takewhile(lambda part: not part.startswith("_"), module.split(".")))
    if module.startswith("scipy.") and hasattr(sys.modules.get(public), name):
        return f"{public}.{name}"               # where users find it
    return f"{module}.{name}" if module not in ("", "builtins", "__main__") else name
