"""Random time loops over arrays whose tape is taken for a long one, so that they are taken in segments of a few iterations:
Python's value, and the gradient without segments. A program without such a loop is skipped."""

from __future__ import annotations

import copy
import random
import warnings
from unittest import mock

import numpy as np

from autodiff import value_and_grad
from autodiff.operators.gradients import Gradient
from autodiff.options import Options
from autodiff.transforms.language.errors import AutodiffError, InternalError

from ..support import from_text
from .checks import Outcome

HELPER = "autodiff.runtime.numbers.helpers.segment_length"
VECTORS, MATRICES = "uvwxy", "AM"


class Loops:
    """Writes one program: u, v, w, x and y are vectors of n numbers, A and M matrices of as many rows, s, c numbers, k an
    integer; x, y and M are the arguments, and p a number."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.pick = self.random.choice
        self.times: list[str] = []              # the loops around

    def number(self) -> str:
        return self.pick(["p", "s", "c", "0.3", f"{self.pick(VECTORS)}[{self.index()}]", "np.sum(u * w)", "A[0, 1]",
                          f"M[{self.index()}, 1]", *(f"0.1 * {t}" for t in self.times)])

    def index(self) -> str:
        return self.pick(["0", "-1", "k", *(f"{t} % 3" for t in self.times)])

    def vector(self) -> str:
        a, b = self.pick(VECTORS), self.pick(VECTORS)
        return self.pick([
            f"{a} * {b}", f"np.sin({a}) + {self.number()}", f"{a} - 0.3 * {b} ** 2", f"{a} / (2.0 + np.cos({b}))",
            f"np.roll({a}, 1) * {self.number()}", f"np.where({a} > {self.number()}, {a}, 0.5 * {b})",
            f"A[{self.index()}] * {a}",
            f"0.3 * M @ {a}", f"np.maximum({a}, {self.number()})", f"{a}[::-1] * 0.7", f"A[:, {self.pick('01')}] + {b}",
            f"np.linalg.solve(M + 3.0 * np.eye(n), {a})", f"np.sort({a})", f"0.2 * (M @ A) @ {a}",
            f"np.convolve({a}, {b})[:n]",
            f"np.cumsum({a}) * 0.2", f"{a} * np.sum({b})", f"np.exp(-{a} * {a})", f"np.sqrt(1.0 + {a} * {a})"])

    def change(self) -> list[str]:
        a, b = self.random.sample("uvwxy", 2)
        m = self.pick(MATRICES)
        return self.pick([
            [f"{a} = 0.6 * ({self.vector()})"], [f"{a} += 0.2 * ({self.vector()})"], [f"{a}[:] = 0.5 * ({self.vector()})"],
            [f"{a}[1:] -= 0.1 * ({self.vector()})[:-1]"], [f"{a}[1:-1] = {b}[1:-1] + 0.1 * ({b}[2:] - {b}[:-2])"],
            [f"{a}, {b} = {b}, 0.5 * ({self.vector()})"], [f"{a} = {b}.copy()"], [f"{a} = {b} * 1.0"],
            [f"for i in range(1, {a}.shape[0]):", f"    {a}[i] = 0.5 * {a}[i] + 0.2 * {a}[i - 1] * {self.number()}"],
            [f"for i in range({a}.shape[0]):", f"    if {a}[i] > {self.number()}:", f"        {a}[i] *= 0.5",
             "        s = s + 0.1 * " + a + "[i]"],
            [f"s = 0.5 * s + 0.1 * np.sum({self.vector()})"], [f"c = np.tanh(c + {self.number()})"], ["k = (k + 1) % 3"],
            [f"{m} = 0.5 * {m} + 0.1 * np.outer({a}, {b})"], [f"{m}[{self.index()}] = 0.5 * ({self.vector()})"],
            [f"{a} = np.zeros_like({b})", f"{a}[1:] += 0.5 * ({self.vector()})[:-1]", f"{a}[0] -= {self.number()} ** 2"],
            [f"h = np.full(n, {self.number()})", f"h[:-1] += {a}[1:] * {b}[:-1]", f"{a} = 0.3 * h * h"],
            [f"{m}[:, {self.index()}] += 0.1 * {a}"], [f"{m} *= {self.pick(['0.5', 'p', 'np.cos(s)'])}"],
            [f"for i in range({m}.shape[0]):", "    for j in range(n):",
             f"        {m}[i, j] = 0.5 * {m}[i, j] + 0.1 * {a}[j] * {b}[i]"]])

    def block(self, depth: int, count: int) -> list[str]:
        found: list[str] = []
        for _ in range(count):
            kind = self.random.random()
            if kind < 0.12 and depth < 3:
                found += [f"if {self.number()} > {self.number()}:", *indented(self.block(depth + 1, self.pick([1, 2])))]
                if self.pick([True, False]):
                    found += ["else:", *indented(self.block(depth + 1, 1))]
            elif kind < 0.2 and depth < 3 and len(self.times) < 2:
                found += self.loop(depth, self.pick([1, 2]))
            else:
                found += self.change()
        return found

    def loop(self, depth: int, count: int) -> list[str]:
        t = f"t{len(self.times)}"
        self.times.append(t)
        outer = ["range(steps)", "range(1, steps)", "range(steps, 0, -1)", "range(steps - 1, -1, -1)", "range(n)"]
        inner = ["range(2)", "range(k + 1)", f"range({self.times[0]} % 3)"]
        head = self.pick(outer if len(self.times) == 1 else inner)
        body = self.block(depth + 1, count)
        self.times.pop()
        return [f"for {t} in {head}:", *indented(body)]

    def program(self) -> str:
        lines = ["n = x.shape[0]", "u, v, w = x * 1.0, np.sin(y), x * y",
                 f"A = {self.pick(['M * 0.5', 'np.outer(x, y)', 'M.copy()'])}",
                 "s, c, k = 0.5, p, 1", *self.block(0, self.pick([0, 0, 1]))]
        for _ in range(self.pick([1, 1, 2])):
            lines += [*self.loop(0, self.pick([1, 2, 3, 4])), *self.block(0, self.pick([0, 0, 1]))]
        ends = ["np.sum(u * v)", "np.sum(w ** 2)", "s * np.sum(x)", "c * y[1]", "np.sum(A * A)", "np.sum(M)"]
        lines.append(f"return {' + '.join(self.random.sample(ends, 4))}")
        return "\n".join(["import numpy as np", "", "", "def f(x, y, M, p, steps):", *indented(lines), ""])


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def attempt(seed: int) -> tuple[Outcome, str]:
    """What comes of one program."""
    chosen, draw = random.Random(seed), np.random.default_rng(seed).uniform
    text = Loops(seed).program()
    args = *np.round(draw(0.2, 1.0, (2, 3)), 3), np.round(draw(0.2, 1.0, (3, 3)), 3), 0.7, chosen.randint(0, 7)
    short, taken = chosen.choice([1, 1, 2, 3]), []

    def length(steps, *iteration):
        taken.append(steps > short)
        return max(min(short, steps), 1)

    shown = f"{text}\nargs = {args!r}      # segments of {short}\n".replace("array(", "np.array(")
    f = from_text(f"<segments {seed}>", text)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = f(*copy.deepcopy(args))
        if not np.isfinite(expected) or abs(expected) > 1e6:
            return Outcome("skipped", "result"), shown
        try:
            plain = Gradient(f, (0, 1, 2, 3), True, options=Options("python", segments="never"))(*copy.deepcopy(args))
        except AutodiffError as e:
            return Outcome("failed" if isinstance(e, InternalError) else "refused", str(e).split("\n")[0], str(e)), shown
        try:
            with mock.patch(HELPER, length):
                found = value_and_grad(f, wrt=(0, 1, 2, 3), mode="python", debug=True)(*copy.deepcopy(args))
        except Exception as e:
            return Outcome("failed", f"raises {type(e).__name__}", f"{e!r}"), shown
    if not np.isclose(found[0], expected, rtol=1e-9):
        return Outcome("failed", "value", f"{found[0]}, Python: {expected}"), shown
    for name, mine, other in zip("xyMp", found[1], plain[1], strict=True):
        if not np.allclose(mine, other, rtol=1e-9, atol=1e-10):
            return Outcome("failed", f"gradient in {name}", f"{mine}, without segments: {other}"), shown
    return Outcome("ok" if any(taken) else "skipped", "" if any(taken) else "no segments"), shown
