"""Small programs whose functions work in turns: generators and the loops over them, inner functions that bind the names of
those around them (`nonlocal`), and objects of `collections` that change. Python runs the same function."""

from __future__ import annotations

import random

from .checks import Outcome
from .semantics import against_python

HEAD = """import collections

import numpy as np


class Best:
    def __init__(self, v):
        self.seen, self.best = [], v

    def push(self, v):
        self.seen.append(v)
        if v > self.best:
            self.best = v
        return self.best * 0.5

    def __iter__(self):
        return iter(self.seen)

    def __len__(self):
        return len(self.seen)


"""


class Turns:
    """Writes one program."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0
        self.pairs: dict[str, bool] = {}        # generators -> whether their items are pairs
        self.functions: list[str] = []

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def pick(self, options):
        return self.random.choice(options)

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def fresh(self, name: str) -> str:
        self.count += 1
        return f"{name}{self.count}"

    def num(self, names, depth: int = 1) -> str:
        if not depth or self.chance(0.3):
            return self.pick([*names, *names, "0.5", "1.5"])
        a, b = self.num(names, depth - 1), self.num(names, depth - 1)
        return self.pick([f"({a} + {b})", f"({a} * {b}) * 0.4", f"np.sin({a})", f"({a} - {b})"])

    def index(self, n: int, counters) -> str:
        return self.pick([str(self.random.randrange(n)), "-1", f"len(x) % {n}", *(f"{c} % {n}" for c in counters)])

    # -- functions ----------------------------------------------------------------------------------------
    def generator(self, depth: int, name: str) -> None:
        pair = self.pairs[name] = self.chance(0.3)
        others = [g for g, kind in self.pairs.items() if kind == pair and g != name]
        outer = [n for n in ("s", "n") if depth and self.chance(0.3)]
        self.put(depth, f"def {name}(a, v):")
        if outer:
            self.put(depth + 1, "nonlocal " + ", ".join(outer))
        self.put(depth + 1, "w = v")
        names = ["v", "w", "a[0]", "a[1]", *(["s"] if "s" in outer else [])]

        def item():
            return f"{self.num(names)}, {self.num(names)}" if pair else self.num(names)

        def block(depth, size, more):
            for _ in range(size):
                kind = self.random.randrange(13)
                if kind < 4:
                    self.put(depth, f"yield {item()}")
                elif kind == 4 and outer:
                    self.put(depth, self.pick([f"{outer[0]} += {self.num(names) if outer[0] == 's' else 1}"]))
                elif kind in (5, 6) and more:
                    self.put(depth, f"for {self.fresh('i')} in range({self.pick(['2', 'len(a)', '3'])}):")
                    block(depth + 1, self.random.randrange(1, 3), more - 1)
                    if self.chance(0.3):
                        self.put(depth + 1, f"if {self.pick(names)} > 0.9: {self.pick(['break', 'continue', 'return'])}")
                elif kind == 7 and more:
                    self.put(depth, f"if {self.pick(names)} > 0.5:")
                    block(depth + 1, self.random.randrange(1, 3), more - 1)
                    if self.chance(0.5):
                        self.put(depth, "else:")
                        block(depth + 1, 1, more - 1)
                elif kind == 8 and more:
                    counter = self.fresh("k")
                    self.put(depth, f"{counter} = 0")
                    self.put(depth, f"while {counter} < {self.pick(['3', 'len(a)'])}:")
                    self.put(depth + 1, f"{counter} += 1")
                    block(depth + 1, 1, more - 1)
                elif kind == 9 and others:
                    self.put(depth, f"yield from {self.pick(others)}(a, {self.num(names)})")
                elif kind == 10 and self.chance(0.4):
                    self.put(depth, f"if {self.pick(names)} > 1.0: return")
                else:
                    self.put(depth, f"{self.pick(['v', 'w'])} = {self.num(names)}")
        block(depth + 1, self.random.randrange(2, 5), 2)
        self.put(depth + 1, f"yield {item()}")

    def inner(self, name: str) -> None:
        """A function that binds names of the one around it."""
        self.put(1, f"def {name}(v):")
        outer = [n for n in ("s", "n", "t", "z") if self.chance(0.6)] or ["s"]
        self.put(2, "nonlocal " + ", ".join(outer))
        for own, start in (("s", "v"), ("n", "1"), ("t", "v"), ("z", "x * v")):
            if own not in outer:
                self.put(2, f"{own} = {start}")
        for _ in range(self.random.randrange(1, 4)):
            self.step(2, ["s", "t", "v", "x[1]", "n * 0.2"], (), 1, self.functions[:])
            if self.chance(0.2):
                self.put(2, f"if {self.pick(['s', 'v'])} > 0.9: return t")
        self.put(2, f"return {self.num(['s', 'v', 't'])}")
        self.functions.append(name)

    # -- statements ---------------------------------------------------------------------------------------
    def step(self, depth: int, names, counters, more: int, functions) -> None:
        num = lambda: self.num(names)
        call = f"{self.pick(functions)}({num()})" if functions else num()
        m, at = [self.index(2, counters), self.index(3, counters)], self.random.randrange(3)
        ways = [f"s = {num()}", f"s += {num()}", "n += 1", f"z = z * 0.9 + {num()}", f"z[{at}] += {num()}",
                f"t = {call}", f"s = s + {call}", call, f"t = {call} if {self.pick(names)} > 0.4 else {num()}",
                f"t = sum([{call} for _ in range({self.pick(['2', 'len(x)'])})])", f"q.append({num()})", "s += sum(q) * 0.2",
                f"q.appendleft({num()})", "s += q.popleft() if len(q) > 1 else 0.5", f"d[{self.index(3, ())}] += {num()}",
                f"s += d[{self.index(3, ())}]", f"m[{m[0]}][{m[1]}] {self.pick(['=', '+='])} {num()}",
                f"s += m[{m[0]}][{m[1]}]", f"t = best.push({num()})", "s += len(best) * 0.1 + best.best",
                "it = iter(x); t = next(it) + sum(it) * 0.1", "for v in best: s += v * 0.1"]
        kind = self.random.randrange(len(ways) + 9)
        if kind < len(ways):
            self.put(depth, ways[kind])
        elif not more:
            self.put(depth, f"t = {num()}")
        elif kind < len(ways) + 4:
            self.loop(depth, names, counters, more, functions)
        elif kind == len(ways) + 4:
            self.put(depth, f"if {self.pick(names)} > {self.pick(['0.3', call])}:")
            self.step(depth + 1, names, counters, more - 1, functions)
            if self.chance(0.5):
                self.put(depth, "else:")
                self.step(depth + 1, names, counters, more - 1, functions)
        elif kind == len(ways) + 5:
            counter = self.fresh("c")
            self.put(depth, f"{counter} = 0")
            self.put(depth, f"while {counter} < 3 and {call} < 1.7:")
            self.put(depth + 1, f"{counter} += 1")
            self.step(depth + 1, names, counters, more - 1, functions)
        elif kind == len(ways) + 6:
            self.put(depth, "try:")
            self.step(depth + 1, names, counters, more - 1, functions)
            self.put(depth + 1, f"if {self.pick(names)} > 0.6: raise ValueError")
            self.step(depth + 1, names, counters, more - 1, functions)
            self.put(depth, "except ValueError:")
            self.step(depth + 1, names, counters, more - 1, functions)
        else:
            counter = self.fresh("j")
            self.put(depth, f"for {counter} in range({self.pick(['2', '3', 'len(x)'])}):")
            for _ in range(self.random.randrange(1, 3)):
                self.step(depth + 1, names, (*counters, counter), more - 1, functions)
            if self.chance(0.2):
                self.put(depth + 1, f"if {self.pick(names)} > 0.8: {self.pick(['break', 'continue'])}")

    def loop(self, depth: int, names, counters, more: int, functions) -> None:
        """Something that runs over a generator."""
        if not self.pairs:
            return self.put(depth, "n += 1")
        name = self.pick(list(self.pairs))
        pair, call = self.pairs[name], f"{name}({self.pick(['x', 'y', 'z'])}, {self.num(names)})"
        target, one = ("p_, q_", "(p_ + q_ * 0.5)") if pair else ("p_", "p_")
        kind = self.random.randrange(7)
        if kind < 3:
            head = f"for {target} in {call}:"
            if not pair and self.chance(0.3):
                head = self.pick([f"for k_, p_ in enumerate({call}):", f"for p_, k_ in zip({call}, x):",
                                  f"for k_, p_ in zip({call}, {call}):"])
            self.put(depth, head)
            for _ in range(self.random.randrange(1, 3)):
                self.pick([lambda: self.put(depth + 1, f"s += {one} * 0.2"),
                           lambda: self.put(depth + 1, f"if p_ > 0.8: {self.pick(['break', 'continue'])}"),
                           lambda: self.step(depth + 1, [*names, "p_"], counters, more - 1, functions)])()
            if self.chance(0.2):
                self.put(depth, "else:")
                self.put(depth + 1, "s += 0.25")
        elif kind == 3:
            self.put(depth, f"s += sum([{one} for {target} in {call}]) * 0.1")
        elif kind == 4:
            whole = f"len(list({call})) * 0.1" if pair else f"{self.pick(['sum', 'max', 'min'])}({call}) * 0.2"
            self.put(depth, f"t = {whole}")
        elif kind == 5:
            self.put(depth, f"h = {call}")
            self.put(depth, "t = t + 0.1")
            self.put(depth, f"for {target} in h: s += {one} * 0.1")
        else:
            self.put(depth, f"q.extend([{one} for {target} in {call}])")
        return None

    def program(self) -> str:
        for k in range(self.random.randrange(0, 3)):
            self.generator(0, f"g{k}")
        self.put(0, "def f(x, y, p):")
        for line in ("s = x[0]", "n = 0", "t = 0.5", "z = x * 1.1",
                     f"q = collections.deque([x[0], p]{self.pick(['', ', maxlen=2', ', 4'])})",
                     f"d = collections.defaultdict({self.pick(['float', 'lambda: 0.5'])}, {{0: p, 2: x[1]}})",
                     "best = Best(0.1)",
                     f"m = {self.pick(['[[0.0] * 3 for _ in range(2)]', '[[p, 0.0, 1.0], [x[1], x[2], 2.0]]'])}"):
            self.put(1, line)
        for k in range(self.random.randrange(0, 3)):
            self.generator(1, f"h{k}") if self.chance(0.4) else self.inner(f"e{k}")
        for _ in range(self.random.randrange(3, 7)):
            self.step(1, ["s", "t", "x[0]", "p", "n * 0.1"], (), 2, self.functions)
        self.put(1, "return float(s + t * 0.5 + n * 0.1 + np.sum(z) * 0.3 + sum(q) * 0.2 + len(q) + sum(d.values()) * 0.1 + "
                    "sum([sum(row) for row in m]) * 0.1 + sum(best))")
        return HEAD + "\n".join(self.lines) + "\n"


def attempt(seed: int) -> tuple[Outcome, str]:
    """One program against Python: value, final contents of its arguments, gradient, class of what it raises."""
    return against_python(seed, Turns(seed).program())
