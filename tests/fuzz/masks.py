"""Small programs whose arrays have a size that is known only inside a loop: masks, slices with bounds of the run, arrays
that grow or shrink, made in a loop and used after it, kept from earlier iterations. Python runs the same function."""

from __future__ import annotations

import random

from .checks import Outcome
from .semantics import against_python

HEAD = """import numpy as np


def above(v, c):
    return v[v > c] * 1.1


def halves(v, k):
    if k % 2 == 0:
        return v[:len(v) // 2]
    return np.concatenate((v[::2], v[:1] * 0.5))


"""


class Masks:
    """Writes one program: r and z are vectors of any size, u is a matrix, s a number, kept what was found before."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def pick(self, options):
        return self.random.choice(options)

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def fresh(self, name: str) -> str:
        self.count += 1
        return f"{name}{self.count}"

    def num(self) -> str:
        return self.pick(["s", "p", "0.3", "0.1", "x[1]", f"np.sum({self.pick('rzxy')}) * 0.2", "np.sin(s)", "s * p"])

    def length(self) -> str:
        v = self.pick("rzxy")
        return self.pick(["k", f"len({v}) // 2", f"int(np.sum({v} > {self.pick(['0.1', 'p', 's'])}))", "int(abs(s)) + 1"])

    def vector(self) -> str:
        v, n = self.pick("rzzxy"), self.length()
        return self.pick([
            f"{v}[{v} > {self.num()}]", f"{v}[:{n}]", f"{v}[{n}:]", f"{v}[::2]",
            f"np.concatenate(({v}, {self.pick('xyz')}[:{n}]))",
            f"np.append({v}, {self.num()})", f"u[u > {self.num()}]", f"np.sin({v}) * {self.num()}",
            f"above({v}, {self.num()})",
            f"halves({v}, {n})", f"np.compress({v} > {self.num()}, {v})", f"{v}[np.where({v} > {self.num()})[0]]",
            f"{v}[np.nonzero({v} > {self.num()})]", f"np.linspace(0.0, {self.num()}, {n} + 1)",
            f"u[{self.pick('xy')} > {self.num()}][:, 1]",
            f"np.where({v} > {self.num()}, {v} * p, 0.5 * {v})", f"{v}[:len({v}) // 2 * 2:2] + {v}[1::2]", f"{v}.copy()"])

    def step(self, depth: int, more: int, looping: bool) -> None:
        v, w = self.pick("rz"), self.pick("rz")
        ways = [f"{v} = {self.vector()}"] * 4 + [
            f"m = {v} > {self.num()}; {v}[m] = "
            + self.pick([f"{v}[m] * {v}[m]", f"np.exp(-{v}[m] ** 2)", f"np.sin({v}[m]) * p"]),
            f"{v} *= np.cos({v})", f"{v} = {v} * {v}", f"s = 0.3 * s + np.sum({v} * {v}) * 0.2",
            f"s = s * np.cos(np.sum({v}))",
            f"u[u > {self.num()}] *= {self.num()}", "u = np.outer(x, y) * 0.5 + s * 0.1",
            f"r, z = {self.pick(['z, r', 'r[1:], z * 0.9'])}",
            f"if len({v}) > 0: {v}[0] = {self.num()}", f"{v}[:1] = {self.num()}",
            f"kept = {v} * 0.5" if self.rebinds else f"kept.append({self.pick([v, f'{v} * 0.5'])})",
            f"kept = {v} * 0.5" if self.rebinds else "s += np.sum(kept[-1]) * 0.1", f"{v} = {w}", "x[0] = np.sin(s)",
            f"s += len({v}) * 0.1", f"if len({v}) > 12: {v} = {v}[:5]"]
        kind = self.random.randrange(len(ways) + 6)
        if kind < len(ways):
            self.put(depth, ways[kind])
        elif not more:
            self.put(depth, f"s += np.sum({v}) * 0.1")
        elif kind < len(ways) + 2:
            self.put(depth, f"if {self.num()} > 0.2:")
            self.block(depth + 1, more - 1, looping)
            if self.chance(0.5):
                self.put(depth, "else:")
                self.block(depth + 1, more - 1, looping)
        elif kind == len(ways) + 2 and looping:
            self.put(depth, f"if {self.num()} > 0.9: {self.pick(['break', 'continue', 'return float(s + np.sum(r))'])}")
        elif kind == len(ways) + 3:
            self.put(depth, "try:")
            self.block(depth + 1, more - 1, looping)
            self.put(depth, f"except {self.pick(['ValueError', 'IndexError', '(ValueError, IndexError)'])}:")
            self.put(depth + 1, "s += 0.5")
        else:
            self.loop(depth, more)

    def block(self, depth: int, more: int, looping: bool) -> None:
        for _ in range(self.random.randrange(1, 4)):
            self.step(depth, more, looping)

    def loop(self, depth: int, more: int) -> None:
        if self.chance(0.35):
            c = self.fresh("c")
            self.put(depth, f"{c} = 0")
            self.put(depth, f"while {c} < 3 and s < 5.0:")
            self.put(depth + 1, f"{c} += 1")
        else:
            c = self.fresh("i")
            self.put(depth, f"for {c} in range({self.pick(['2', '3', 'len(x)'])}):")
        self.put(depth + 1, f"k = {c} % 3")
        self.block(depth + 1, more - 1, True)
        if self.chance(0.3):
            self.put(depth + 1, f"last = {self.vector()}")
            self.after = True

    def program(self) -> str:
        self.rebinds, self.after = self.chance(0.5), False
        self.put(0, "def f(x, y, p):")
        for line in ("s, k = 0.5 * x[0], 1", "r, z = x * 1.1, y.copy()", "u = np.outer(x, y)",
                     "kept = None" if self.rebinds else "kept = [x * 0.5]"):
            self.put(1, line)
        self.loop(1, 3)
        for _ in range(self.random.randrange(0, 3)):
            self.step(1, 2, False)
        kept = "(0.0 if kept is None else np.sum(kept))" if self.rebinds else "sum([np.sum(v * v) for v in kept])"
        self.put(1, f"return float(s + np.sum(r * r) * 0.3 + np.sum(z) + np.sum(u * u) * 0.1 + {kept}"
                    f"{' + np.sum(last * last)' if self.after else ''})")
        return HEAD + "\n".join(self.lines) + "\n"


def attempt(seed: int) -> tuple[Outcome, str]:
    """One program against Python: value, final contents of its arguments, gradient, class of what it raises."""
    return against_python(seed, Masks(seed).program())
