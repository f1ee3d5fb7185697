"""Programs over what makes its items when they are asked for, while something that the items are read from changes."""

from __future__ import annotations

import random

from .checks import Outcome
from .semantics import against_python

HEAD = """import itertools
import numpy as np


def square(u):
    return u * u


def bump(v, k):
    v[k] = v[k] + 0.25
    return v[k]


def total(items):
    s = 0.0
    for v in items:
        s = s + v
    return s


def later(v, items):
    v[1] = v[1] + 0.5
    return sum(items)


"""
PLAIN = ("x", "y", "l", "x[1:]", "(x[0], y[1], c)", "[p, x[1]]", "d.values()", "l[::-1]")
ITEMS = ("u * u", "u + p", "u * x[2]", "square(u)", "p * u - l[0]", "u if u > p else -u", "u * d['a']", "scale(u)")
TESTS = ("u > 0.2", "u < p", "l[1] > u", "u != y[0]")
FUNCTIONS = ("square", "scale", "lambda t: t * p", "lambda t: t + x[1]", "np.sin", "lambda t: l[0] * t")
CHANGES = ("x[2] = x[2] + v", "y[1] = s", "x[0] += v", "l[1] = v", "l.append(p)", "p = p + v", "l = [s, v, p]", "d['b'] = v",
           "x = x * 1.5", "y[:] = y * 0.5", "x[-1] = 0.3", "d = {'a': v, 'b': s, 'e': p}", "bump(x, 3)", "l[0] += v",
           "p = 0.7", "l.pop()", "y = x", "d['a'] += 0.5", "x, y = y, x", "s = s + total(l)")
ENDS = ("if s > 2.0: break", "if v < 0.0: continue", "if s > 4.0: return s * p", "")


class Writer:
    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.made = 0

    def pick(self, items):
        return self.random.choice(list(items))

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def lazy(self, depth: int = 1) -> str:
        """An expression whose items are numbers."""
        source = self.lazy(depth - 1) if depth and self.chance(0.25) else self.pick(PLAIN)
        kind = self.random.random()
        if kind < 0.45:
            name = self.pick(["u", "u", "v", "p"])
            text = f"{self.pick(ITEMS)} for u in {source}" + (f" if {self.pick(TESTS)}" if self.chance(0.3) else "")
            if self.chance(0.1):
                text = f"u * w for u in {source} for w in {self.pick(PLAIN)}"
            elif name == "v":
                text = text.replace("(u)", "(v)").replace("u ", "v ").replace(" u", " v")
            return f"({text})"
        if kind < 0.6:
            return f"map({self.pick(FUNCTIONS)}, {source})"
        if kind < 0.7:
            return f"filter({self.pick(['None', 'lambda t: t > 0.1', 'lambda t: t < p'])}, {source})"
        if kind < 0.8:
            return f"reversed({self.pick(['x', 'l', 'y'])})"
        if kind < 0.87:
            return f"map(lambda a, b: a * b, {source}, {self.lazy(0)})"
        return source

    def pairs(self) -> str:
        one, other, plain = self.lazy(), self.lazy(), self.pick(PLAIN)
        return self.pick([f"zip({one}, {other})", f"enumerate({one})", f"enumerate({one}, 1)", f"zip({plain}, {other})",
                          "d.items()", f"itertools.product({plain}, {self.pick(PLAIN)})"])

    def statements(self) -> list[str]:
        self.made += 1
        it = f"it{self.made}"
        body = [self.pick(["s = s + v", "s = s + v * p", "s += v"]), self.pick(CHANGES)]
        if self.chance(0.4):
            body.append(self.pick(CHANGES))
        if self.chance(0.35):
            body.insert(self.random.randrange(3), self.pick(ENDS) or "pass")
        kind = self.random.random()
        if kind < 0.5:
            head, before = f"for v in {self.lazy()}:", []
        elif kind < 0.65:
            head, before = f"for k, v in {self.pairs()}:", []
            if "items" in head:
                body.insert(0, "s += len(k)")
            elif self.chance(0.5):
                body.insert(0, "s += k")
        elif kind < 0.75:
            head = f"for v in {it}:"
            before = [f"{it} = {self.lazy()}", *([self.pick(CHANGES).replace("v", "p")] if self.chance(0.6) else [])]
        elif kind < 0.85:
            way = self.pick(["sum({})", "total({})", "later(x, {})", "max({})", "sum(list({}))",
                             "sum(bump(x, 1) * t for t in {})"])
            if self.chance(0.5):
                return ["v = p", f"{it} = {self.lazy()}", self.pick([*CHANGES, ""]) or "pass", f"s += {way.format(it)}"]
            return [f"s += {way.format(self.lazy())}"]
        elif kind < 0.92:
            head, before = f"for v in [{self.pick(ITEMS)} for u in {self.lazy()}]:", []
        else:
            head, before = f"for v in {self.pick(PLAIN)}:", []
        lines = [*before, head, *(f"    {b}" for b in body)]
        if self.chance(0.15):
            lines += ["else:", f"    s = s + {self.pick(['p', '1.0', 'x[0]'])}"]
        if self.chance(0.12):
            lines = [f"for r in range({self.pick([1, 2, 3])}):", *(f"    {t}" for t in lines)]
        return lines

    def program(self) -> str:
        lines = ["s, p = 0.0, 0.5", "v = c", "l = [x[0], c, x[3]]", "d = {'a': x[1], 'b': c}",
                 "scale = lambda t: t * p + x[0]"]
        for _ in range(self.pick([1, 1, 2, 3])):
            lines += self.statements()
        lines.append("return s + p * x[1] + l[0] + d['b'] + len(l)")
        return HEAD + "def f(x, y, c):\n" + "".join(f"    {t}\n" for t in lines)


def attempt(seed: int) -> tuple[Outcome, str]:
    found, shown = against_python(seed, Writer(seed).program(), """if __name__ == "__main__":
    import copy
    from autodiff import vjp
    print("Python:", f(*copy.deepcopy(args)))
    print(vjp(f, *copy.deepcopy(args), outputs=("x", "y"), mode="python")[0])
""")
    if "cannot stop early" in found.text:                # an error that says so, where the program runs
        found = Outcome("refused", "zip() with an array that is shorter than the tuple or list beside it")
    return found, shown
