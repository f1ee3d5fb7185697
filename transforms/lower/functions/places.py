"""Where the objects outside of a function are found."""

from __future__ import annotations

import dataclasses
import functools
import sys
import sysconfig
import types
from typing import Any

import numpy as np

from ..containers.packing import packed as pack

POLYNOMIALS = (np.polynomial.Polynomial.__mro__[1], np.poly1d)      # NumPy's, whose methods are read as a user's are
OF_POLYNOMIALS = frozenset(c.__name__ for c in POLYNOMIALS)
LIBRARIES = frozenset({"numpy", "scipy", "numba", "autodiff"})      # whose functions stay what they are


class Reads:
    """All that was read from outside while a program was made, of nested derivatives and rules too.

    loose: places of numbers that keep changing: parameters. rules: what the registry said, by (table, key).
    """

    def __init__(self, loose: frozenset = frozenset()):
        self.loose = loose
        self.silent = False
        self.conditions: dict[tuple, Condition] = {}
        self.rules: dict[tuple, tuple] = {}

    def need(self, place: Place | None, kind: str, value=None) -> None:
        if place is not None and not self.silent and (place.parent is not None or kind not in ("is", "there", "same")):
            self.conditions.setdefault((place.key, kind), Condition(place, kind, value))

    def rule(self, table: str, key, found) -> None:
        self.rules.setdefault((table, id(key)), (table, key, found))

    @property
    def numbers(self) -> dict:
        """The Python floats that stand in the program, by the keys of their places."""
        return {key: c.value for (key, kind), c in self.conditions.items() if kind == "same" and type(c.value) is float}


@dataclasses.dataclass
class Condition:
    """What must be found at a place.

    kind: "is" the object `value`; "same" number or text as `value`; "equal" to the copy `value`; of the "type" `value`;
    "sized": type and length; "packed": a long list of this kind; "keys": type and keys; "array": type, dtype and, for each
    axis, 0, 1 or None for more; "there" at all; "missing".
    """

    place: Place
    kind: str
    value: Any = None


def in_library(lo) -> bool:
    """Whether the code of a library, or of ours, is being lowered."""
    return trusted(lo.frame.root.globals.get("__name__"))


@functools.lru_cache(maxsize=1024)
def trusted(module: str | None) -> bool:
    """Whether the functions of a module are taken to stay what they are: a library's or Python's own."""
    top = (module or "").split(".")[0]
    if top in LIBRARIES or top not in sys.stdlib_module_names or top == "__main__":
        return top in LIBRARIES
    file = getattr(sys.modules.get(top), "__file__", None)              # a user may have a file of that name
    return file is None or file.startswith(sysconfig.get_path("stdlib"))


def followed(cls: type) -> bool:
    """Whether the methods of a class are read as they are written."""
    return not trusted(cls.__module__) or issubclass(cls, POLYNOMIALS)


class Place:
    """Where a value is found: `parent` with one more step, an attribute or item; a root is an object itself.

    key: equal for equal ways from one object.
    """

    __slots__ = ("key", "kind", "parent", "step")

    def __init__(self, parent: Place | None, kind: str, step: Any):
        self.parent, self.kind, self.step = parent, kind, step
        self.key: tuple = (id(step),) if parent is None else (*parent.key, (kind, type(step), step))

    @staticmethod
    def of(value) -> Place:
        return Place(None, "object", value)

    def attribute(self, name: str) -> Place:
        return Place(self, "attribute", name)

    def item(self, key) -> Place:
        return Place(self, "item", key)

    def along(self, way: tuple) -> Place:
        """The end of a way of attributes (names) and items (integers)."""
        place = self
        for step in way:
            place = place.item(step) if isinstance(step, int) else place.attribute(step)
        return place

    def now(self) -> Any:
        """What is found here now. Raises what Python raises."""
        if self.parent is None:
            return self.step
        owner = self.parent.now()
        if self.kind == "column":
            found = pack(owner)
            assert found is not None, "a long list with its columns"
            return found.arrays[self.step]
        return getattr(owner, self.step) if self.kind == "attribute" else owner[self.step]

    def column(self, k: int) -> Place:
        """The array of a part of the items of a long list."""
        return Place(self, "column", k)

    def spelled(self, cells: dict) -> str:
        """What a program would write for it; "" if that is not known. cells: the function's, by name."""
        if self.parent is None:
            return getattr(self.step, "__name__", "")
        owner = self.parent.step
        if self.parent.parent is None and isinstance(owner, types.CellType):
            return next((name for name, cell in cells.items() if cell is owner), "")
        if self.parent.parent is None and isinstance(owner, dict) and "__builtins__" in owner:
            return str(self.step)
        within = self.parent.spelled(cells)
        if self.kind == "attribute":
            return f"{within}.{self.step}" if within else self.step
        return f"{within}[{self.step!r}]" if within else ""

    @property
    def hint(self) -> str:
        """A name for it in generated code."""
        if self.parent is not None and self.kind == "column":
            return self.parent.hint
        return self.step if isinstance(self.step, str) and self.step.isidentifier() and not self.step.startswith(
            "cell_") else "constant"


def place_key(place: Place | None, value) -> tuple:
    """What an array outside is known by: where it was found."""
    return (id(value),) if place is None else place.key
