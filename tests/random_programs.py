"""Random programs of loops, branches, mutation, views and early exits, for comparing gradients with differences.

`python -m tests.random_programs FIRST LAST [--lists]` runs a range of seeds and prints the programs that fail; with
`--lists` the programs use lists of numbers too.
"""

from __future__ import annotations

import copy
import linecache
import random
import sys
import warnings
from collections import Counter

import numpy as np

from autodiff import AutodiffError, InternalError, value_and_grad, vjp

RANGES = ("range(4)", "range(3)", "range(3, -1, -1)", "range(0, 4, 2)", "range(1, 3)", "range(len(x))")


class Generator:
    """Writes one program `f(x, y, a, b)` of two vectors of length 4 and two numbers."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.count, self.depth, self.budget = 0, 0, 14
        self.lines: list[str] = []
        self.numbers, self.arrays, self.indices = ["a", "b"], ["x", "y"], []

    def number(self, depth=0) -> str:
        pick, kind = self.random.choice, self.random.randrange(10)
        if depth > 2 or kind < 3:
            return pick(self.numbers)
        if kind < 5:
            return f"{pick(self.arrays)}[{self.index()}]"
        inner = [self.number(depth + 1) for _ in range(2)]
        return {5: "np.sin({0})", 6: "np.tanh({0})", 7: "({0} * {1})", 8: "({0} - 0.5 * {1})",
                9: "({0} / (1.5 + {1} ** 2))"}[kind].format(*inner)

    def index(self) -> str:
        pick = self.random.choice
        if self.indices and self.random.random() < 0.7:
            i = pick(self.indices)
            return pick([i, f"({i} + 1) % 4", f"3 - {i}", i])
        return str(pick([0, 1, 2, 3, -1]))

    def array(self, depth=0) -> str:
        pick, kind = self.random.choice, self.random.randrange(9)
        if depth > 2 or kind < 3:
            return pick(self.arrays)
        if kind == 5:
            return f"({self.array(depth + 1)} + {self.number(depth + 1)})"
        if kind == 6:
            return f"{pick(self.arrays)}[::-1]"
        inner = [self.array(depth + 1) for _ in range(3)]
        return {3: "np.cos({0})", 4: "({0} * {1})", 7: "np.where({0} > 0.3, {1}, {2})",
                8: "np.roll({0}, 1)"}[kind].format(*inner)

    def condition(self) -> str:
        return f"{self.number(1)} > {self.random.choice(['0.2', '0.5', '-0.1'])}"

    def put(self, text: str) -> None:
        self.lines.append("    " * (self.depth + 1) + text)

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def block(self, size: int) -> None:
        kept = list(self.numbers), list(self.arrays), list(self.indices)
        self.depth += 1
        for _ in range(size):
            self.statement()
        self.depth -= 1
        self.numbers, self.arrays, self.indices = kept

    def statement(self) -> None:
        pick, roll = self.random.choice, self.random.random
        self.budget -= 1
        kind = self.random.randrange(18 if self.budget >= 0 else 10)
        if kind < 3:
            operator = pick(["=", "=", "+=", "*=", "-="])
            self.put(f"{pick(self.numbers)} {operator} {self.number()}")
        elif kind == 3:
            name, value = self.fresh("s"), self.number()
            self.put(f"{name} = {value}")
            self.numbers.append(name)
        elif kind < 6:
            self.put(f"{pick(self.arrays)}[{self.index()}] {pick(['=', '+=', '*=', '-='])} {self.number(1)}")
        elif kind == 6:
            self.put(f"{pick(self.arrays)}[1:] {pick(['+=', '*=', '='])} {pick(self.arrays)}[:-1]")
        elif kind == 7:
            self.put(f"{pick(self.arrays)} = {self.array()} * 1.0")
        elif kind == 8:
            name, value = self.fresh("v"), self.array()
            self.put(f"{name} = {value} + 0.0")
            self.arrays.append(name)
        elif kind == 9:
            self.put(f"{pick(self.arrays)}[:] = {self.array()}")
        elif kind < 13 and self.depth < 3:
            self.loop()
        elif kind < 16 and self.depth < 3:
            self.put(f"if {self.condition()}:")
            self.block(self.random.randrange(1, 3))
            if roll() < 0.6:
                self.put("else:")
                self.block(self.random.randrange(1, 3))
        elif kind == 16 and self.depth < 2:
            name = self.fresh("w")
            self.put(f"{name} = 0")
            self.put(f"while {name} < 4 and {self.condition()}:")
            self.lines.append("    " * (self.depth + 2) + f"{name} += 1")
            self.block(2)
        elif kind == 17 and self.depth < 3 and roll() < 0.4:
            self.put(f"if {self.condition()}:")
            self.lines.append("    " * (self.depth + 2) + f"return {self.number()}")
        else:
            self.put(f"{pick(self.arrays)} = np.tanh({pick(self.arrays)})")

    def loop(self) -> None:
        name = self.fresh("i")
        self.put(f"for {name} in {self.random.choice(RANGES)}:")
        self.indices.append(name)
        self.block(self.random.randrange(1, 4))
        if self.random.random() < 0.25:
            self.depth += 1
            self.put(f"if {self.condition()}:")
            self.lines.append("    " * (self.depth + 2) + self.random.choice(["break", "continue"]))
            self.depth -= 1
            self.block(1)
        self.indices.remove(name)

    def program(self) -> str:
        for _ in range(self.random.randrange(3, 7)):
            self.statement()
        self.put(f"return np.sum(x * y) + a * b + {self.number()} + np.sum({self.arrays[-1]} ** 2)")
        return "def f(x, y, a, b):\n" + "\n".join(self.lines) + "\n"


class ListGenerator(Generator):
    """Programs that also use lists of at least three numbers: items, slices, growth, joining, integer beginnings."""

    def __init__(self, seed: int):
        super().__init__(seed)
        self.budget = 18
        self.lists: list[str] = []

    def item(self) -> str:
        pick = self.random.choice
        places = ["0", "1", "2", "-1", "-3"]
        if self.indices and self.random.random() < 0.6:
            i = pick(self.indices)
            places = [f"{i} % 3", f"{i} - 3", f"({i} + 1) % 3"]
        return f"{pick(self.lists)}[{pick(places)}]"

    def number(self, depth=0) -> str:
        if self.lists and self.random.random() < 0.3:
            return self.random.choice([self.item(), self.item(), f"sum({self.random.choice(self.lists)})"])
        return super().number(depth)

    def block(self, size: int) -> None:
        kept = list(self.lists)
        super().block(size)
        self.lists = kept

    def statement(self) -> None:
        pick = self.random.choice
        if self.random.random() < 0.55:
            return super().statement()
        self.budget -= 1
        if not self.lists or self.random.random() < 0.2:
            name = self.fresh("L")
            self.put(f"{name} = " + pick([f"[{self.number()}, {self.number(1)}, 0.5]", "[0.0] * len(x)", "[0] * len(y)",
                                          "[1, 2, 0]", "[1.0, 0.5, 2.0, 1]", f"[{self.number(1)}] * 3", "list(x)",
                                          "[v * 0.5 for v in y]", "x.tolist()"]))
            self.lists.append(name)
            return None
        one, two = pick(self.lists), pick(self.lists)
        self.put(pick([
            f"{self.item()} {pick(['=', '=', '+=', '*='])} {self.number(1)}",
            f"{self.item()} {pick(['=', '+='])} {self.number(1)}",
            f"{one}.append({self.number(1)})",
            f"{one} = {one}[1:] + [{self.number(1)}]",
            f"{one} = [v * 0.5 + {pick(self.numbers)} for v in {two}]",
            f"{one} += [{self.number(1)}]",
            f"{pick(self.numbers)} = max({one}[:3]) * 0.5",
            f"{one}[0], {two}[1] = {two}[1], {one}[0]",
            f"{pick(self.arrays)} = {pick(self.arrays)} * np.array({one}[:3] + [0.5])",
            f"if len({one}) > 3: {pick(self.numbers)} += 0.1 * {one}.pop()",
        ]))
        return None


def function_of(source: str, name: str):
    """The function of a program's text, with its source where inspect finds it."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace = {"np": np}
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]


def outcome(seed: int, mode: str = "python", kind=Generator) -> tuple[str, str]:
    """("ok" | "skipped" | what is wrong, the program)."""
    source = kind(seed).program()
    function = function_of(source, f"<random program {seed}>")
    generator = np.random.default_rng(seed)
    args = (generator.random(4), generator.standard_normal(4) * 0.5, 0.4, 0.7)
    try:
        with np.errstate(all="raise"):
            expected = function(*copy.deepcopy(args))
    except (FloatingPointError, OverflowError, ZeroDivisionError, NameError):
        return "skipped", source
    if not np.isfinite(expected) or abs(expected) > 1e4:
        return "skipped", source
    try:
        value, gradients = value_and_grad(function, wrt=(0, 1, 2, 3), mode=mode, debug=True)(*copy.deepcopy(args))
        _, pull = vjp(function, *copy.deepcopy(args), mode=mode, debug=True)
        bars = pull(1.0)
    except InternalError as e:
        return f"crash: {e}", source
    except AutodiffError as e:
        return f"refused: {e}", source
    except Exception as e:
        return f"crash: {type(e).__name__}: {e}", source
    if not np.isclose(value, expected, rtol=1e-9):
        return f"value {value} instead of {expected}", source
    if not all(np.allclose(p, q, rtol=1e-8, atol=1e-10) for p, q in zip(bars, gradients, strict=True)):
        return "split and joint form differ", source
    for position in range(4):
        d = generator.standard_normal(4) if position < 2 else 1.0
        slope = float(np.sum(gradients[position] * d))
        found = []
        for h in (1e-4, 1e-5, 1e-6, 1e-7):
            up, down = list(copy.deepcopy(args)), list(copy.deepcopy(args))
            up[position], down[position] = up[position] + h * d, down[position] - h * d
            found.append(float(function(*up) - function(*down)) / (2.0 * h))
        smooth = max(found) - min(found) < 1e-3 * max(1.0, abs(found[0]))       # no branch was crossed
        if smooth and min(abs(s - slope) for s in found) > 1e-4 * max(1e-3, abs(slope)):
            return f"gradient of argument {position}: {slope}, differences {found}", source
    return "ok", source


def main(first: int, last: int, kind=Generator) -> int:
    warnings.simplefilter("ignore")
    counts: Counter = Counter()
    for seed in range(first, last):
        result, source = outcome(seed, kind=kind)
        counts[result if result in ("ok", "skipped") else "failed"] += 1
        if result not in ("ok", "skipped"):
            print(f"seed {seed}: {result}\n{source}")
    print(dict(counts))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), ListGenerator if "--lists" in sys.argv else Generator))
