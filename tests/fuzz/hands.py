"""Small programs whose names change hands in loops and branches: whole arrays and views of one memory, written through one
name and read through another. Python runs the same function."""

from __future__ import annotations

import random

from .checks import Outcome
from .semantics import against_python

NAMES = "xyuvw"


class Hands:
    """Writes one program: x and y are the vectors given, u, v and w arrays of three numbers or views of them, s a number."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def pick(self, options):
        return self.random.choice(options)

    def number(self) -> str:
        return self.pick(["0.5", "p", "s", f"{self.pick(NAMES)}[{self.pick([0, 1, 2])}]"])

    def array(self) -> str:
        name = self.pick(NAMES)
        return self.pick([name, name, name, f"{name}[:3]", f"{name}[::-1][:3]", f"{name}[:3] * {self.number()}",
                          f"{name}.copy()", f"np.ravel({name})[:3]", f"np.asarray({name})", f"{self.pick('xy')}[1:]"])

    def change(self) -> str:
        a, b, c = self.random.sample(NAMES, 3)
        return self.pick([
            f"{a}, {b} = {b}, {a}", f"{a}, {b} = {b}, {a}", f"{a}, {b}, {c} = {b}, {c}, {a}", f"{a} = {self.array()}",
            f"{a}, {b} = {b}, {self.array()}", f"{a}[{self.pick([0, 1, 2])}] = {self.number()}",
            f"{a}[{self.pick([0, 1, 2])}] *= {self.number()}", f"{a}[:2] += {b}[1:3]", f"{a} *= {self.number()}",
            f"s = s + {a}[0] * {b}[1]", f"s = s * 0.5 + np.sum({a}[:3])"])

    def block(self, depth: int, count: int) -> None:
        for _ in range(count):
            kind = self.random.random()
            pad = "    " * depth
            if depth < 3 and kind < 0.3:
                n = self.pick(["range(1)", "range(2)", "range(3)", "y[:2]"])
                self.lines.append(f"{pad}for i{depth} in {n}:")
                self.block(depth + 1, self.pick([1, 2, 3]))
            elif depth < 3 and kind < 0.42:
                self.lines.append(f"{pad}if {self.number()} > {self.number()}:")
                self.block(depth + 1, self.pick([1, 2]))
            else:
                self.lines.append(pad + self.change())

    def program(self) -> str:
        self.lines = [f"    {name} = {self.pick(['x[:3]', 'y[:3]', 'x[1:]', 'y', 'x', 'x[:3] * y[1:]', 'y[:3].copy()'])}"
                      for name in "uvw"]
        self.lines.append("    s = p")
        self.block(1, self.pick([2, 3, 4]))
        parts = " + ".join(f"{k + 1}.0 * np.sum({name}[:3] ** 2)" for k, name in enumerate(NAMES))
        return "import numpy as np\n\n\ndef f(x, y, p):\n" + "\n".join(self.lines) + f"\n    return s + {parts}\n"


def attempt(seed: int) -> tuple[Outcome, str]:
    return against_python(seed, Hands(seed).program())
