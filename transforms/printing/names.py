"""The names of a text: the user's own, with a number where one is taken; for temporaries, that of what they are part of.

A name that is bound inside a block ends with it: loops one after the other use `i` again. Numbers that are bound by a
statement of `stretch = x[1:] - x[:-1]` are `stretch_1`, `stretch_2`, ..., their adjoints `stretch_bar`.
"""

from __future__ import annotations

import re

from ..language.core import Function, Var, defined, walk
from ..language.python_text import identifier
from ..language.queries import allocations, is_loop, is_range, loads, operation
from .schedule import Schedule

ANONYMOUS = re.compile(r"t((?:_bar|_dot|_tape|_set)*)((?:_\d+)?)")
ASSIGNED = re.compile(r"\s*(?:for\s+)?[(\[]?\s*(?:\w+\.)*([^\W\d]\w*)\s*(?:\[[^=]*\]\s*)?(?:[,:][^=]*)?"
                      r"(?:(?:[-+*/@%&|^]|//|\*\*|<<|>>)?=(?!=)|\s+in\s)")
RESULT, TEST = re.compile(r"\s*(?:return|yield)\b"), re.compile(r"\s*(?:if|elif|while|assert)\b")
OF_OPERATION = {"add": "total", "sum": "total", "sub": "difference", "mul": "product", "div": "quotient", "pow": "power",
                "neg": "negative", "cast": "number", "max": "count", "min": "count", "floordiv": "quotient",
                "lt": "test", "le": "test", "gt": "test", "ge": "test", "eq": "test",
                "ne": "test", "and": "test", "or": "test", "not": "test"}


def part_of(stmt) -> str:
    """What the user's line assigns to, returns or tests; else what the statement computes."""
    text = stmt.loc.text
    found = ASSIGNED.match(text)
    counts = operation(stmt) and stmt.var.dtype == "int64" and text.lstrip().startswith("for ")
    if found and not counts:
        return identifier(found[1])
    if RESULT.match(text) or TEST.match(text):
        return "result" if RESULT.match(text) else "test"
    if operation(stmt):
        return OF_OPERATION.get(stmt.op, identifier(stmt.op.rsplit(".", 1)[-1]))
    return "part"


def described(function: Function) -> dict:
    """Names for what has none of its own: for variables and buffers, a base and whether it is a part of what that names."""
    found: dict = {}
    for stmt in walk(function.body):
        bound: tuple = () if is_loop(stmt) else (*defined(stmt), *allocations((stmt,)))
        for x in bound:
            match = ANONYMOUS.fullmatch(x.hint)
            if not match or re.search(rf"\b{x.hint[0]}\b", stmt.loc.text):      # the user's name, perhaps
                continue
            found[x] = (f"{part_of(stmt)}{match[1]}", not match[1])
    return found


def on_threads(function: Function) -> bool:
    """Whether a program has loops that threads share."""
    return any(is_range(s) and s.origin == "parallel" for s in walk(function.body))


class Names:
    """Names in the order in which they are asked for. taken: those that may not be given now."""

    def __init__(self, function: Function, schedule: Schedule, taken: set[str]):
        self.schedule, self.taken = schedule, taken
        self.described = described(function)
        self.borrowed = {s.var for s in loads(walk(function.body)) if s.var.hint == s.array.hint}
        self.given: dict = {}
        self.scopes: list[list[str]] = [[]]
        self.kept: dict[str, str] = {}          # the dtype of a name that was given and may be given again
        self.on_threads = on_threads(function)

    def open(self) -> None:
        """A block begins."""
        self.scopes.append([])

    def close(self) -> None:
        """A block ends, and with it what only it knows."""
        self.taken.difference_update(self.scopes.pop())

    def known(self, variables) -> set[str]:
        """The names that variables have by now."""
        keys = map(self.schedule.shared.find, variables)
        return {self.given[k] for k in keys if k in self.given}

    def given_to(self, x) -> str | None:
        """The name that a variable or buffer has by now."""
        return self.given.get(self.schedule.shared.find(x) if isinstance(x, Var) else x)

    def base(self, x) -> tuple[str, bool]:
        """The name that something would like to have; whether it must have a number."""
        family = self.schedule.shared.family(x) if isinstance(x, Var) else [x]
        if not x.hint.strip("_") and self.schedule.uses.get(x):         # the user did not use it, but a tape does
            return "k", False
        own = [m for m in (x, *family) if not ANONYMOUS.fullmatch(m.hint)]
        if own:
            return next((m for m in own if m not in self.borrowed), own[0]).hint, False
        return next((self.described[m] for m in (x, *family) if m in self.described), (x.hint, False))

    def of(self, x, alone: bool = False) -> str:
        """The name of a variable or buffer. alone: no other may have it, even afterwards."""
        key = self.schedule.shared.find(x) if isinstance(x, Var) else x
        if key in self.given:
            return self.given[key]
        hint, numbered = self.base(x)
        base = identifier(hint)
        name, k = (f"{base}_1", 2) if numbered else (base, 1)
        depth = self.schedule.depth(x) if isinstance(x, Var) and not (alone or self.on_threads) else 0
        kind = x.dtype if depth > 1 else ""
        while name in self.taken or self.kept.get(name, kind) != kind or name in self.kept and not kind:
            name = f"{base}_{k}"
            k += 1
        self.taken.add(name)
        self.kept[name] = kind
        if depth > 1:
            self.scopes[min(depth, len(self.scopes)) - 1].append(name)      # one may stand before the loop that reads it
        self.given[key] = name
        return name


__all__ = ["Names"]
