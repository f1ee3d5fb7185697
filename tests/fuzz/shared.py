"""Small programs of names, items and fields that begin as one memory: on some paths of a loop they are copied, filtered or
bound to another's array, on others written, in the loop itself or by functions. Python runs the same function."""

from __future__ import annotations

import random

from .checks import Outcome
from .semantics import against_python

HEAD = """from dataclasses import dataclass

import numpy as np


@dataclass
class Pair:
    u: np.ndarray
    v: np.ndarray


def halved(w, k):
    w[k] *= 0.5


def halved_copy(w, k):
    w = w.copy()
    w[k] *= 0.5
    return w


def same(w):
    return w


def larger(v, w):
    if v[0] > w[0]:
        return v
    return w


def f(x, y, p):
    s = p
"""
PLACES = ("u", "v", "w", "x", "y", 'd["a"]', 'd["b"]', "l[0]", "l[1]", "t.u", "t.v")


class Writer:
    """The text of one program. Every place holds a vector of at least two numbers; filters may leave fewer."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.places = self.random.sample(PLACES[:5], self.random.choice([2, 3])) + self.random.sample(
            PLACES[5:], self.random.choice([0, 0, 1, 2]))

    def pick(self, options):
        return self.random.choice(options)

    def place(self) -> str:
        return self.pick(self.places)

    def number(self) -> str:
        return self.pick(["0.5", "p", "s", f"{self.place()}[0]", f"{self.place()}[1]", "2.0"])

    def condition(self, index: str) -> str:
        return self.pick([f"{index} % 2 == 0", f"{index} > 0", f"{index} == 1", "p > 0.5", "p > 0.0", "x[0] > y[0]",
                          f"{self.place()}[0] > {self.number()}", f"not p > {self.number()}",
                          f"{self.place()} is {self.place()}"])

    def made(self) -> str:
        a, b = self.place(), self.place()
        return self.pick([f"{a}.copy()", f"np.array({a})", f"{a} * {self.number()}", a, a, f"{a}[:2]", f"{a}[::-1]", "x",
                          "y", f"{a} + 0.0", f"np.asarray({a})", f"({a} if {self.condition('s')} else {b})", f"same({a})",
                          f"larger({a}, {b})", f"halved_copy({a}, 0)", f"np.where({a} > 0.2, {a}, 0.5)", f"{a}[{a} > -0.3]",
                          f"np.sort({a})", f"np.roll({a}, 1)", f"np.atleast_1d({a})", f"{a}.reshape(-1)", f"{a}[[0, 1]]"])

    def statement(self, index: str) -> str:
        a, b, c, n = self.place(), self.place(), self.place(), self.number()
        rebound = [f"{a} = {self.made()}", f"{a}, {b} = {b}, {a}",
                   f"{a}, {b} = {self.made()}, {a}", f"{a}, {b}, {c} = {b}, {c}, {a}",
                   f"{a}, {b} = {b}, {a}"]
        written = [f"{a}[{index} % 2] *= {n}", f"{a}[{self.pick([0, 1, -1])}] = {n}", f"{a} *= {n}", f"{a}[:2] += {b}[:2]",
                   f"halved({a}, {self.pick([0, 1])})", f"np.add.at({a}, [0, 1], {n})", f"{a}[{a} > {n}] *= 0.5",
                   f"{a}.fill({n})", f"{a}[[0, 1]] -= {n}", f"np.multiply({a}, 0.5, out={a})", f"{a}[:] = {b}[0]",
                   f"{a}.sort()", f"{a} += {b}[0]"]
        read = [f"s += {a}[0] * {b}[1]", f"s = s * 0.5 + np.sum({a})"]
        return self.pick(self.pick([rebound, rebound, written, written, read]))

    def block(self, depth: int, index: str, count: int) -> None:
        pad = "    " * depth
        for _ in range(count):
            kind = self.random.random()
            if depth < 4 and kind < 0.35:
                self.lines.append(f"{pad}if {self.condition(index)}:")
                self.block(depth + 1, index, self.pick([1, 2]))
                if self.random.random() < 0.2:
                    self.lines.append(f"{pad}elif {self.condition(index)}:")
                    self.block(depth + 1, index, self.pick([1, 2]))
                if self.random.random() < 0.7:
                    self.lines.append(f"{pad}else:")
                    self.block(depth + 1, index, self.pick([1, 2]))
            elif depth < 3 and kind < 0.45:
                self.loop(depth)
            elif depth > 1 and kind < 0.48:
                self.lines.append(f"{pad}if {self.condition(index)}:")
                self.lines.append(f"{pad}    {self.pick(['break', 'continue', 'return s + np.sum(' + self.place() + ')'])}")
            else:
                self.lines.append(pad + self.statement(index))

    def loop(self, depth: int) -> None:
        pad, index = "    " * depth, f"i{depth}"
        if self.random.random() < 0.75:
            over = self.pick(["range(2)", "range(3)", "range(len(x))", "range(len(x))", "range(int(p + 2.5))"])
            self.lines.append(f"{pad}for {index} in {over}:")
        else:
            self.lines += [f"{pad}{index} = 0", f"{pad}while {index} < {self.pick(['3', 'len(x)', '2'])}:",
                           f"{pad}    {index} += 1"]
        self.block(depth + 1, index, self.pick([1, 1, 2, 3]))

    def text(self) -> str:
        one = self.pick(["x", "y", "x * 1.0", "y.copy()", "x + y"])
        starts = {place: self.pick(["one", "one", "one", "one[:3]", "one[::-1]", "one[:]", "one[-4:]", "x[:]",
                                    "x", "y", "one * 2.0"]) for place in PLACES}
        self.lines = [f"    one = {one}"]
        self.lines += [f"    {name} = {starts[name]}" for name in ("u", "v", "w") if name in self.places]
        used = " ".join(self.places)
        if "d[" in used:
            self.lines.append(f"    d = {{\"a\": {starts[PLACES[5]]}, \"b\": {starts[PLACES[6]]}}}")
        if "l[" in used:
            self.lines.append(f"    l = [{starts['l[0]']}, {starts['l[1]']}]")
        if "t." in used:
            self.lines.append(f"    t = Pair({starts['t.u']}, {starts['t.v']})")
        if self.random.random() < 0.4:
            self.lines.append("    " + self.statement("1"))
        self.loop(1)
        if self.random.random() < 0.3:
            self.block(1, "2", 1)
        parts = " + ".join(f"{k + 1}.0 * np.sum({place} ** 2)" for k, place in enumerate(self.places))
        return HEAD + "\n".join(self.lines) + f"\n    return s + {parts}\n"


def attempt(seed: int) -> tuple[Outcome, str]:
    return against_python(seed, Writer(seed).text())
