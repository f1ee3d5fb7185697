"""What programs of scientists are made of: writes through slices, masks and lists of places, views under names of their
own, subscripts that have effects, closures that change, generator expressions, starred calls, records with methods, `match`,
`with` and `try`. Python runs the same function."""

from __future__ import annotations

import random
import re

from .checks import Outcome
from .errors import pieces
from .semantics import against_python

HEAD = """from dataclasses import dataclass, field

import numpy as np

SCALE = 0.75
PLACES = np.array([2, 0, 2])
WEIGHTS = (0.5, -1.0, 0.25)


@dataclass
class Body:
    pos: np.ndarray
    mass: float = 1.5
    seen: list = field(default_factory=list)

    @property
    def energy(self):
        return self.mass * np.sum(self.pos * self.pos)

    def push(self, d, *, scale=0.5):
        self.pos += scale * d
        self.seen.append(scale)
        return self

    def moved(self, d):
        return Body(self.pos + d, self.mass * 2.0)

    def __call__(self, k):
        return self.pos[k] * self.mass


def mix(a, b=0.5, *rest, c=1.0, **more):
    s = a - 2.0 * b * c
    for v in rest:
        s = s * 0.5 + v
    for k, v in more.items():
        s = s + v * len(k)
    return s


def relax(v, k, *, w=SCALE):
    v[1:-1] += w * (v[2:] - 2.0 * v[1:-1] + v[:-2]) * 0.25
    v[k], v[-1] = v[-1], v[k]
    return v


def fold(v, out=None):
    if out is None:
        out = np.zeros(4)
    for k, u in enumerate(v):
        out[(2 * k) % 4] += u
        if u < 0.0:
            continue
        out[k] -= 0.5 * u
    return out
"""
START = """    count = [0]
    total = 0.25
    m = np.outer(x, y)
    b = Body(y * 1.0)

    def step():
        count[0] += 1
        return count[0] % 4

    def add(v):
        nonlocal total
        total += v
        return total
"""
NUMBERS = pieces("""
{a}[{i}]|{a}[{i}]|{n} + {n}|{n} * {n}|{n} - {n}|np.sum({a})|{a} @ {a}|{m}[{i}, {i}]|np.sum({m}[:, {i}])|np.trace({m})
p|p|b.energy|b({i})|b.mass|{a}[::-1][{i}]|np.prod({a}[1:3])|np.sin({n})|sum(v * v for v in {a})
sum(v * u for v, u in zip({a}, {a}))|sum(k * v for k, v in enumerate({a}))|[v * 2.0 for v in {a}][{i}]
sum([v for v in {a} if v > {n}])|add({n})|mix(*{a}[:3])|mix({n}, *WEIGHTS)|mix(**dict(a={n}, b={n}))
mix({n}, c={n}, extra={n})|(lambda v, k={n}: v * k)({n})|SCALE|WEIGHTS[{i} % 3]|({n} if {n} > {n} else {n})
max({n}, {n})|np.max({a})|np.mean({m})|{a}[step()]|{a}[step()] - {a}[step()]|np.linalg.norm({a})|float({n})|abs({n})
np.interp({n}, [0.0, 0.5, 1.0], {a}[:3])|{a}[PLACES[1]]|np.add.reduce({a})|total|len([v for v in {a} if v > 0.2])
any(v > {n} for v in {a}) * {n}|({w} := {n}) * 2.0|sorted([{n}, {n}, {n}])[1]|{a}.dot({a}[::-1])|np.sum({a}[PLACES])
tuple({a})[{i}]|np.sum({a}[{a} > {n}])|{m}[{i}][{i}]|{m}[1:, 1:][{i} % 3, 0]|dict(zip("abcd", {a}))["c"]
np.where({n} > 0.3, {n}, {n})""")
ARRAYS = pieces("""
{a}|{a}|{a}|{a} * {n}|{a} + {a}|{a} * {a}|np.sin({a})|{a}[::-1]|{a}[[3, 1, 0, 2]]|np.where({a} > {n}, {a}, {n})
{m}[{i}]|{m}[:, {i}]|{m}.sum(axis=0)|np.roll({a}, 1)|{a}.copy()|np.cumsum({a})|{a}[np.argsort({a})]
np.concatenate([{a}[2:], {a}[:2]])|np.array([{n}, {n}, {n}, {n}])|np.clip({a}, -0.5, 0.9)|{m}.ravel()[::5]
np.diag({m})|{m}.reshape(2, 8)[0, ::2]|b.pos|fold({a})|fold({a}, {a})|relax({a}, {i})|relax({a}.copy(), {i}, w={n})
np.array([v * {n} for v in {a}])|b.moved({a}).pos|{m} @ {a}|-{a}|np.append({a}[1:], {n})|np.maximum({a}, {a}[::-1])
np.tile({a}[:2], 2)|{a}[{a} > -9.0]|np.multiply({a}, {n}, out=np.zeros(4))|np.full(4, {n})|{m}[{i}, ::-1]|{m}.T[{i}]
np.flip({a})|{a}[None, :][0]|np.linspace({n}, {n}, 4)|{m}.max(axis=1)""")
MATRICES = pieces("""
np.outer({a}, {a})|{m}.T|{m} * {n}|{m} + {a}|{m}[::-1]|{m}[:, ::-1]|{m}[[1, 0, 3, 2]]|np.stack([{a}, {a}, {a}, {a}])
{m}.copy()|{a}[:, None] * {a}|{m}|np.array([{a}, {a}, {a}, {a}])|np.where({m} > {n}, {m}, 0.1)|{m} - {m}.mean(axis=0)
np.tril({m})|{m}.reshape(16)[::-1].reshape(4, 4)|np.vstack([{m}[2:], {m}[:2]])|{m}[np.ix_([0, 2, 1, 3], [3, 1, 2, 0])]""")
WRITES = pieces("""
{a}[::-1][:2] = {a}[1:3] * 0.5|{a}[::-2] += {n}|{a}[{a} > {n}] = {n}|{a}[{a} > {n}] *= 0.5|{a}[[0, 2]] = {a}[[3, 1]]
{a}[[0, 0, 1]] += {n}|np.add.at({a}, [0, 0, 1], {n})|np.add.at({a}, np.array([1, 3, 1]), {a}[:3])
np.subtract.at({a}, [2, 2], {n})|{a}[0], {a}[1] = {a}[1], {a}[0]|{a}[:2], {a}[2:] = {a}[2:], {a}[:2]
{a}[1:] = {a}[:-1]|{a}[:-1] += {a}[1:]|{a}[1:] -= {a}[:-1]|{a}[:] = {a}[::-1]|{a} += {a}[::-1]|{a}[...] = {n}
{v} = {a}[1:3];{v} *= 2.0|{v} = {a}[::2];{v}[0] += {n};{v}[:] = {v}[::-1]|{m}[1] = {a}|{m}[:, 0] += {a}
{m}[1:3, ::2] *= {n}|{m}.T[0] = {a}|{m}[{i}] = {m}[{i}] * 2.0|{m}[[0, 1]] = {m}[[1, 0]]|{m}[[0, 1], [1, 2]] = {n}
{m}[{m} > {n}] = 0.5|np.fill_diagonal({m}, {n})|{m}[np.arange(4), np.arange(4)] += {a}|{m} -= {m}.mean(axis=0)
{m}[:, [0, 2]] = {m}[:, [2, 0]]|{m}[0], {m}[1] = {m}[1], {m}[0]|{v} = {m}[2];{v} += {a}|for {v} in {m}:;    {v} -= {n}
for {v}, {w} in zip({m}, {a}):;    {v} *= {w}|{a}[step()] += {a}[step()]|{a}[step()] = {n}
{a}[step()], {a}[step()] = {n}, {n}|{a}[step()] *= {n}|{v} = {w} = {a} * 1.0;{v}[0] = {n};{a}[1] = {w}[0]
{v} = {a}[0] = {n}|{a}[0] = {a}[1] = {n}|b.push({a})|b.push({a}, scale={n}).push({a})|b.pos[{i}] = {n}|b.pos *= 0.5
b.mass += {n}|b = b.moved({a})|add({n})|total *= 0.5|relax({a}, {i})|{v}, *{w} = {a};{a}[1] = {v} * {w}[-1]
*{v}, {w} = {a};{a}[0] = sum({v}) * {w}|fold({a}, {a})|np.copyto({a}, {a} * {n})|np.multiply({a}, {n}, out={a})
np.add({a}[1:], {a}[:-1], out={a}[:-1])|{a}.sort()|{a}.fill({n})|{v} = {a};{v} -= {n};{a}[2] = {v}[0]
{v} = {a}.reshape(2, 2);{v}[0] += {v}[1]|{a}[PLACES] = {a}[:3]|{a}[PLACES] += {n}|{a}[1:3] = {n}, {n}
{m}[1:3, 1:3] = {m}[:2, :2]|{m}[:, 1:] += {m}[:, :-1]|{m}.ravel()[3] = {n}|{m}.flat[2] = {n}|{m}[..., {i}] = {a}
{m}[{i}, {a} > {n}] = {n}|{m}[{a} > {n}] *= 0.5|{m}[{a} > {n}, 0] = {n}
{v} = {a} > {n};{a}[{v}] = {a}[{v}] * 2.0 + {n}|{v} = {a} > {n};{a}[~{v}] += np.sum({a}[{v}])|{a}[{i}] **= 2
{v} = [{a}, {a}.copy()];{v}[0][1] = {n};{v}[1] += {v}[0];{a}[2] = {v}[1][1]|{v} = dict(q={a});{v}["q"][{i}] -= {n}
x, y = y, x|{v} = lambda {w}: {w} * total;total = {n};{a}[0] = {v}({n})
{v} = [lambda {w}: {w} * k for k in range(3)];{a}[1] = {v}[0]({n})
{v} = {a}[1:];{w} = {v}[1:];{w} += {n};{v}[0] = {w}[-1]|{v} = {m}[:2];{m} = {m} * 0.5;{v}[0] = {a};{m}[3] = {v}[1]
{a}[{i}:] *= {n}|{a}[:{i}] = {n}|{a}[{i}:{i}:-1] += {n}|assert {a}[{i}] < 1e9, "%.3f" % {n}
if {n} > 1e9:;    raise ValueError("{{:.3f}} of {{}}".format({n}, {a}))
{v} = np.zeros((2, 4));{v}[0] = {a};{v}[1] = {v}[0] * 2.0;{a}[:] = {v}.sum(axis=0)
{v} = np.empty(4);{v}[:2] = {n};{v}[2:] = {a}[:2];{a}[:] = {v}|{v} = [];{v}.append({a});{v}[0][0] = {n}
{v} = ({a}, {n});{v}[0][1] = {v}[1]""")
FRAMES = (
    "if {n} > {n}:", "if {n} > {n}:", "for k in range(3):", "for k in range(len({a})):", "for k, u in enumerate({a}):",
    "for u in {a}:", "with np.errstate(all='ignore'):", "try", "match", "if ({w} := {n}) > 0.1:", "while count[0] < 3:",
    "for k in range(3, 0, -1):", "for k in [2, 0, 1]:", "for k, u in zip(PLACES, WEIGHTS):", "else", "def")


class Writer:
    """The text of one program."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.arrays, self.matrices, self.numbers = ["x", "y"], ["m"], ["p", "total"]
        self.count, self.depth = 0, 0

    def fill(self, text: str, depth: int = 2) -> str:
        """`text` with its holes filled."""
        own: dict[str, str] = {}

        def hole(match) -> str:
            match match[1]:
                case "i":
                    return self.random.choice(("0", "1", "2", "-1", "-2", "3"))
                case "v" | "w" as name:
                    if name not in own:
                        self.count += 1
                        own[name] = f"{name}{self.count}"
                    return own[name]
                case "n":
                    return self.inner(NUMBERS, [*self.numbers, "0.5", "-0.7", "1.5", "0.2"], depth)
                case "a":
                    return self.inner(ARRAYS, self.arrays, depth) if depth < 2 else self.random.choice(self.arrays)
                case _:
                    return self.inner(MATRICES, self.matrices, depth) if depth < 2 else self.random.choice(self.matrices)
        text = re.sub(r"\{([vwinam])\}", hole, text.replace("{{", "\0").replace("}}", "\1"))
        return text.replace("\0", "{").replace("\1", "}")

    def inner(self, templates, names, depth: int) -> str:
        if not depth or self.random.random() < 0.55:
            return self.random.choice(names)
        made = self.fill(self.random.choice(templates), depth - 1)
        return made if re.fullmatch(r"[\w.\[\]]+", made) else f"({made})"

    def put(self, text: str, more: int = 0) -> None:
        for line in text.split(";"):
            self.lines.append("    " * (self.depth + 1 + more) + line)

    def statement(self) -> None:
        pick = self.random.random()
        if pick < 0.12:
            self.bind("a", self.arrays, ARRAYS)
        elif pick < 0.2:
            self.bind("m", self.matrices, MATRICES)
        elif pick < 0.3:
            self.bind("n", self.numbers, NUMBERS)
        elif pick < 0.45 and self.depth < 2:
            self.frame()
        else:
            self.put(self.fill(self.random.choice(WRITES)))

    def bind(self, kind: str, names: list, templates) -> None:
        text = self.fill(self.random.choice(templates), 1)
        if self.random.random() < 0.4 and names[2:]:
            return self.put(f"{self.random.choice(names[2:])} = {text}")
        self.count += 1
        self.put(f"{kind}{self.count} = {text}")
        return names.append(f"{kind}{self.count}") if not self.depth else None

    def block(self) -> None:
        self.depth += 1
        for _ in range(self.random.randint(1, 2)):
            self.statement()
        self.depth -= 1

    def frame(self) -> None:
        head = self.random.choice(FRAMES)
        if head == "match":
            self.put(self.fill("match int(4.0 * abs({n})) % 3:"))
            for case in ("case 0:", "case 1 | 2 as k:"):
                self.put(case, 1)
                self.depth += 1
                self.block()
                self.depth -= 1
        elif head == "try":
            self.put("try:")
            self.block()
            self.put("finally:")
            self.block()
        elif head == "else":
            self.put(self.fill("for k in range(3):"))
            self.block()
            self.put(self.fill("if {n} > {n}:"), 1)
            self.put(self.random.choice(("break", "continue")), 2)
            self.put("else:")
            self.block()
        elif head == "def":
            self.count += 1
            name = f"f{self.count}"
            self.put(self.fill(f"def {name}(q, r={{n}}):"))
            self.arrays.append("q")
            kept = self.lines
            self.lines = []
            self.block()
            body, self.lines = self.lines, kept
            self.arrays.remove("q")
            if any(re.match(r"\s*(total|b|x|y|[anm]\d+)(, \w+)* [-+*]*= ", line) for line in body):
                self.put("nonlocal total", 1)
            self.lines += body
            self.put("return r * q[1]", 1)
            self.put(self.fill(f"total = total + {name}({{a}})"))
        else:
            self.put(self.fill(head))
            if head.startswith("while"):
                self.put("step()", 1)
            self.block()

    def text(self) -> str:
        for _ in range(self.random.randint(3, 7)):
            self.statement()
        ends = [f"np.sum({a} * np.array([1.0, -0.5, 0.7, 0.3]))" for a in self.arrays]
        ends += [f"0.1 * np.sum({m} * {m}[::-1])" for m in self.matrices]
        self.put("return total + b.energy + " + " + ".join(ends))
        return HEAD + "\n\ndef f(x, y, p):\n" + START + "\n" + "\n".join(self.lines) + "\n"


def attempt(seed: int) -> tuple[Outcome, str]:
    """One program against Python: value, final contents of its arguments, gradient, class of what it raises."""
    return against_python(seed, Writer(seed).text())
