"""Programs of small functions of arrays that call each other, in which every call that can stay a call does.

As in `calls.py`: Python says what a program gives or raises, the same program with all calls inlined what its derivatives
are.
"""

from __future__ import annotations

import random
import textwrap

import numpy as np

import autodiff as ad

from .calls import compared
from .checks import Outcome
from .errors import pieces

HEAD = """import numpy as np

RATE = 0.75
TABLE = np.array([0.3, -0.6, 1.2])
GRID = np.array([[0.5, -0.2, 0.1], [0.3, 0.9, -0.4], [-0.7, 0.2, 0.6]])


def apply(f, u):
    return f(u) * 0.5


"""
NUMBERS = pieces("""
{n} + {n}|{n} * {n}|{n} * 0.5|np.sin({n})|np.exp(-{n} * {n})|{n} / (1.5 + {n} * {n})|np.sum({v})|{v} @ {v}|{v}[{i}]
{m}[{i}, {i}]|np.max({v})|np.mean({m})|RATE|len({v}) * {n}|({v} * {v}).sum()|np.linalg.norm({v} + 2.0)
{v}.shape[0] * 0.1|np.trace({m})|({n} if {n} > {n} else {n})|np.sum({m}[{i}] * {v})|{c}[0]|np.sum({c})|np.sum({w})
{w} @ {v}[1:]|np.sum(np.where({v} > {n}, {v}, {n}))""")
VECTORS = pieces("""
{v} + {v}|{v} * {n}|{v} * {v}|np.sin({v})|np.exp(-{v} * {v})|{m} @ {v}|{v} @ {m}|{m}[{i}]|{m}[:, {i}]|TABLE|{v} - {n}
{v}[::-1]|np.where({v} > 0.1, {v}, {v} * {n})|np.cumsum({v})|np.linalg.solve(GRID @ GRID.T + 3.0 * np.eye(3), {v})
np.concatenate(({w}, {v}[:1]))|np.sum({m}, axis=0)|{m}.T[{i}]|{c}|{c}|{m}.diagonal()|np.maximum({v}, {n})
np.array([{n}, {n}, {n}])|np.sort({v})|{v}.copy()|np.zeros(3) + {v}|GRID[{i}] * {v}|{v} / (2.0 + {v} * {v})
np.roll({v}, 1)|{v}[np.array([2, 0, 0])]|np.full(3, {n})""")
SHORT = pieces("""
{v}[1:]|{v}[:-1]|np.diff({v})|{s}|{s}|{v}[1:] * {v}[:-1]|{v}[{v}.shape[0] - 2:]""")
MATRICES = pieces("""
np.outer({v}, {v})|GRID|GRID * {n}|{m} @ {m}|{m}.T|{m} + {m}|{v}[:, None] * {v}|np.diag({v})|{m} - {v}
np.stack(({v}, {v}, {v}))|x2|x2|np.tanh({m})|np.vstack([{v}, {v}, {v}])|np.linalg.inv({m} @ {m}.T + 4.0 * np.eye(3))""")
CALLED = pieces("""
{f}({v}, {n})|{f}({v})|{f}({v}, a={n})|{f}({v}, {n}, q={v})|{f}(p={v})|{f}({v}, k={i})|{f}({m}[{i}], {n})
{f}({v}[::-1])|{f}({m}[:, 0])|{f}(t, 0.5, t)|{f}(t, {n}, t[::-1])|{f}({v}, {n}, q=TABLE)|{f}(t)|{f}({m}.T[{i}], {n})
{f}({v} * 2.0, 1.5)""")
SHORT_CALLED = pieces("{f}({v}[1:], {n}, {v}[:-1])|{f}({v}[1:], {n}, {w})|{f}(np.diff({v}), q={v}[:2])")
BODY = pieces("""
t = {v}|t = {v}|t = t * {n}|t = t + {v}|s = {n}|s += {n}|t = {c}|t = {c} + {c}|s = s + np.sum({c})
if {n} > {n}:;    t = {v}|M = {m}|if {n} > {n}:;    t = {c};else:;    t = {v}|for j in range(3):;    t = t * 0.5 + {v}
for j in range(len(t)):;    s += t[j] * {n}|t = t.copy();t[{i}] = {n}|t = t.copy();t[1:] += {w}
t = t.copy();for j in range(1, len(t)):;    t[j] = t[j - 1] * 0.5 + {n}|for row in {m}:;    t = t + row * {n}
for j in range(2):;    t = {c} * 0.5 + t|if np.sum(t) > 6.0:;    raise ValueError("too large")
out = np.zeros(3);for j in range(3):;    out[j] = {n} * j;t = t + out|M = {m} @ {m}|if {n} > 2.5:;    return {r}
t = np.append({w}, {n})|g = lambda u: u * {n} + {v};t = g({v}) - g(t)|t = apply(lambda u: u * {n}, {v})
t, s = pair({v}, {n})|u, z = pair({v}, 0.5);t = u * z|s = float(np.sum(np.array([pair({v})[1] for j in range(2)])))
t -= {c}|t *= {n}|t[{i}] = {n}|t[1:] *= 0.5|while s > 1.0:;    s = s * 0.5|y = [{c}, {v}];t = y[0] * y[1]""")
ENDS = ("t", "t * {n}", "{v}", "t[::-1]", "p", "t + p * {n}", "q", "{v} * s", "M[0] + t", "M.T[1] * s", "np.sin(t)")


class Writer:
    head, numbers, vectors, matrices, body = HEAD, NUMBERS, VECTORS, MATRICES, BODY
    end = "np.sum(t * y) + s"

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.functions: list[str] = []
        self.matrix, self.inside, self.several = "GRID", True, False

    def fill(self, text: str, depth: int) -> str:
        out, rest = "", text
        while "{" in rest:
            before, _, rest = rest.partition("{")
            kind, _, rest = rest.partition("}")
            out += before + self.hole(kind, depth)
        return (out + rest).replace("x2", self.matrix)

    def hole(self, kind: str, depth: int) -> str:
        pick = self.random.choice
        deep = depth > 0 and self.random.random() < 0.55
        vectors = ("p", "t", "q") if self.inside else ("x", "t", "y")
        match kind:
            case "i":
                return pick(("0", "1", "-1", "k"))
            case "f":
                return pick(self.functions)
            case "n":
                return f"({self.fill(pick(self.numbers), depth - 1)})" if deep else pick(("a", "s", "0.5", "1.25", "-0.3"))
            case "v":
                return f"({self.fill(pick(self.vectors), depth - 1)})" if deep else pick(vectors)
            case "w":
                return f"({self.fill(pick(SHORT), depth - 1)})" if deep else f"{pick(vectors)}[1:]"
            case "m":
                return f"({self.fill(pick(self.matrices), depth - 1)})" if deep else pick(("M", "GRID", self.matrix))
            case "c":
                return self.fill(pick(CALLED), 1) if self.functions else self.hole("v", depth)
            case "s":
                return self.fill(pick(SHORT_CALLED), 1) if self.plain else self.hole("w", depth - 1)
        return self.fill("(t * {n}, s)" if self.several else pick(ENDS), 1)

    @property
    def plain(self) -> bool:
        return bool(self.functions) and self.random.random() < 0.3

    def lines(self, least: int, most: int) -> list[str]:
        made: list[str] = []
        for _ in range(self.random.randint(least, most)):
            made += self.fill(self.random.choice(self.body), 2).split(";")
        return made

    def function(self, name: str, several: bool = False) -> str:
        self.several = several
        lines = ["s, t, M = a, p, GRID", *self.lines(1, 4), f"return {self.hole('r', 2)}"]
        return f"def {name}(p, a=0.25, q=TABLE, k=1):\n" + textwrap.indent("\n".join(lines), "    ") + "\n\n\n"

    def text(self) -> str:
        parts = [self.head, self.function("pair", True)]
        for k in range(self.random.randint(1, 3)):
            parts.append(self.function(f"f{k}"))
            self.functions.append(f"f{k}")
        self.matrix, self.inside, self.several = "A", False, False
        lines = ["a, s, t, k, M = x[0], 0.5, x, 1, A", *self.lines(2, 4)]
        calls = [self.fill(f"t = t * 0.5 + {{c}}{end}", 1) for end in ("", " * {n}")]
        body = [line.replace("return p", "return x") for line in [*lines, *calls]]
        body.append(f"return {self.end}")
        parts.append("def program(x, y, A):\n" + textwrap.indent("\n".join(body), "    ") + "\n")
        return "".join(parts)


def ordered(piece: str) -> bool:
    """Whether a piece of a program asks what complex numbers do not answer."""
    return any(word in piece for word in (" > ", "max", "sort", "float(", "zeros", "norm", "trunc"))


class ComplexWriter(Writer):
    """The same of complex numbers: in tables, arguments, results and what functions read outside."""

    head = HEAD.replace("1.2]", "1.2j]").replace("0.9, -0.4]", "0.9j, -0.4 + 0.2j]")
    numbers = [p for p in NUMBERS if not ordered(p)] + pieces("""
1j * {n}|np.conj({n})|np.abs({v}[{i}])|np.real({n})|np.imag({n})|np.vdot({v}, {v})|({n} if abs({n}) > 0.6 else {n})
np.exp(1j * np.real({n}))|np.trace({m} @ {m}.conj().T)""")
    vectors = [p for p in VECTORS if not ordered(p)] + pieces("""
{v} * 1j|{v}.conj()|np.abs({v})|{v}.real|{m}.conj().T @ {v}|{v} @ {m}.conj().T|np.where(np.abs({v}) > 0.5, {v}, {n})
({m} @ {m}.conj().T)[{i}]|np.conj({m}.T) @ {v}""")
    matrices = [p for p in MATRICES if not ordered(p)] + pieces("""
{m}.conj().T|{m}.conj().T @ {m}|{m} @ {m}.conj().T|{m} * 1j|np.outer({v}, {v}.conj())|np.conj({m})|{m}.T.conj() @ {m}""")
    body = [p for p in BODY if not ordered(p)] + pieces("""
if abs({n}) > abs({n}):;    t = {v}|if abs({n}) > 0.4:;    M = {m}|if abs(np.sum(t)) > 6.0:;    raise ValueError("too large")
U = {m}.conj().T;t = U @ {v};U[0] = {v};M = U @ M|H = M * {n};g = lambda u: H @ u * 1j;t = g({v}) - g(t)""")
    end = "np.abs(np.sum(t * y) + s) ** 2"


def of_first_order(function, args) -> dict:
    """What each operator of first order gives for a function of two vectors and a matrix, real or complex."""
    x, y, A = args
    options = {"mode": "python", "debug": True}
    return {
        "value": lambda: ad.value_and_grad(function, wrt=(0, 1, 2), **options)(*args),
        "one": lambda: ad.grad(function, wrt=2, **options)(*args),
        "jvp": lambda: ad.jvp(function, args, (y, None, A), **options),
        "linearize": lambda: ad.linearize(function, *args, **options)[1](y, x, A)}


def derivatives(function, args) -> dict:
    """What each operator gives for a function of two vectors and a matrix."""
    x, y, A = args
    options = {"mode": "python", "debug": True}
    return {
        **of_first_order(function, args),
        "hessian": lambda: ad.hessian(function, wrt=0, **options)(*args),
        "hvp": lambda: ad.hvp(function, **options)(x, y, A, y),
        "rows": lambda: ad.jacobian(lambda u: np.array([function(u, y, A), function(y, u, A)]), direction="reverse",
                                    **options)(x)}


def attempt(seed: int) -> tuple[Outcome, str]:
    text, chosen = Writer(seed).text(), random.Random(seed + 1)
    numbers = lambda *shape: np.array([chosen.uniform(-1, 1) for _ in range(int(np.prod(shape)))]).reshape(shape)
    return compared(seed, text, (numbers(3), numbers(3), numbers(3, 3)), derivatives)


def attempt_complex(seed: int) -> tuple[Outcome, str]:
    text, chosen = ComplexWriter(seed).text(), np.random.default_rng(seed + 1)
    numbers = lambda *shape: (chosen.uniform(-1, 1, (*shape, 2)) @ np.array([1.0, 1j]))
    return compared(seed, text, (numbers(3), numbers(3), numbers(3, 3)), of_first_order)
