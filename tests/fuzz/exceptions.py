"""Small programs of errors that the program itself catches: `try` in loops, branches and functions, handlers that go on,
leave, or raise again, `else` and `finally`. Python runs the same function."""

from __future__ import annotations

import re

from .checks import Outcome
from .semantics import HEAD, Writer, against_python

MORE = """import contextlib
import math


class Trouble(ValueError):
    pass


def root(u):
    if u < 0.0:
        raise Trouble("negative")
    return u ** 0.5


def step(u):
    return 1.5 if u > 0.2 else 0.0


def careful(u, c=1.0):
    try:
        return root(u) * c
    except Trouble:
        if u < -0.5:
            raise ArithmeticError("far")
        return c - u


def first_root(v):
    for u in v:
        try:
            return root(u)
        except ValueError:
            continue
    raise LookupError("none")


def total(v):
    s = 0.0
    try:
        for u in v:
            s += math.log(u)
    except ValueError:
        s = s * 2.0
    finally:
        s += 0.1
    return s

"""
ERRORS = ("ValueError", "Trouble", "ZeroDivisionError", "IndexError", "ArithmeticError", "OverflowError", "LookupError",
          "AssertionError", "Exception", "(ValueError, IndexError)", "(KeyError, ZeroDivisionError)", "KeyError",
          "TypeError")


LEFT_OUT = re.compile(r"^Python: \w+\([`'\"](index -?\d+ is out|math (domain|range)|float division|division by)")


class Catcher(Writer):
    """Programs whose expressions may raise, in statements that may catch it."""

    def num(self, depth: int = 2) -> str:
        if depth and self.chance(0.3):
            inner = self.num(depth - 1)
            return self.pick([f"root({inner})", f"careful({inner})", f"math.sqrt({inner})", f"math.log({inner})",
                              f"(1.5 / step({inner}))", f"{self.of('arr')}[int(4 * math.sin({inner})) + 2]",
                              f"math.exp(900.0 * {inner})", f"first_root({self.of('arr')})", f"total({self.of('arr')})",
                              f"careful({inner}, {self.num(0)})", self.of_many(), "{'low': 0.3}[" + f"kind({inner})]"])
        return super().num(depth)

    def of_many(self) -> str:
        """What a function that may raise gives of each element."""
        f, a = self.pick(["root", "careful", "math.sqrt"]), self.of("arr")
        if self.chance(0.3):                # of a comprehension whose variable has the name of another
            return f"max([{f}(p) for p in ({self.num(0)}, {self.num(0)})])"
        return self.pick([f"sum([{f}(u) for u in {a}])", f"sum({f}(u) for u in {a})", f"sum(map({f}, {a}))",
                          f"np.sum(np.array([{f}(u) for u in {a}]))", f"np.sum(np.vectorize({f})({a}))",
                          f"max([{f}(u) for u in {a}[:2]])"])

    def statement(self) -> None:
        r = self.random.random()
        if r < 0.3 and self.depth < 4:
            self.attempt()
        elif r < 0.38:
            self.put(f"if {self.cond()}:")
            self.put(self.pick(["raise ValueError('here')", "raise Trouble", "raise IndexError(3)",
                                f"raise ArithmeticError({self.num(0)})"]), 1)
        elif r < 0.42:
            self.put(f"assert {self.cond()}")
        else:
            super().statement()

    def attempt(self) -> None:
        if self.chance(0.12):
            self.put(f"with contextlib.suppress({self.pick(ERRORS[:9])}):")
            return self.block(self.random.randint(1, 3))
        self.put("try:")
        self.block(self.random.randint(1, 3))
        for _ in range(self.random.randint(0 if self.chance(0.1) else 1, 2)):
            name = f" as e{self.count}" if self.chance(0.3) else ""
            self.put(f"except {self.pick(ERRORS)}{name}:")
            self.handler(name)
        if self.has_handler() and self.chance(0.2):
            self.put("else:")
            self.block(1)
        if self.chance(0.25) or not self.has_handler():
            self.put("finally:")
            self.block(1)
        return None

    def has_handler(self) -> bool:
        """Whether the `try` being written has an `except` clause."""
        for line in reversed(self.lines):
            if line.startswith("    " * self.depth) and not line.startswith("    " * (self.depth + 1)):
                if line.lstrip().startswith("except"):
                    return True
                if line.lstrip().startswith("try"):
                    return False
        return False

    def handler(self, name: str) -> None:
        ways = [lambda: self.block(self.random.randint(1, 2))] * 4 + [
            lambda: self.put("raise", 1), lambda: self.put(f"return {self.num(1)}", 1), lambda: self.put("pass", 1),
            lambda: self.put("raise KeyError('other')" + (f" from {name[4:]}" if name else ""), 1)]
        if self.loops:
            ways += [lambda: self.put("continue", 1), lambda: self.put("break", 1)]
        self.pick(ways)()

    def text_of(self) -> str:
        text = super().text_of()
        return MORE + text


def attempt(seed: int) -> tuple[Outcome, str]:
    """One program against Python: value, final contents of its arguments, gradient, class of what it raises."""
    found, text = against_python(seed, Catcher(seed).text_of(), (
        "from autodiff import vjp\nprint(f(*args), args)\n# again, with other copies:\n"
        "# value, pull = vjp(f, *args, outputs=('x', 'y'), mode='python')\n"))
    if found.verdict == "failed" and LEFT_OUT.search(found.text):
        return Outcome("ok", "uncaught, of a part that no result needs, or of mathematics in a loop"), text
    return found, text


__all__ = ["HEAD", "attempt"]
