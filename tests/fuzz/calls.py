"""Programs of small functions that call each other, in which every call that can stay a call does.

Python says what a program gives or raises, the same program with all calls inlined what its derivatives are: gradient,
forward mode, Hessian, Jacobian of several results, and the gradient of a gradient.
"""

from __future__ import annotations

import copy
import random
import textwrap
import traceback
from contextlib import contextmanager

import numpy as np

import autodiff as ad
from autodiff.transforms.lower.functions import worth

from .checks import Outcome, TookTooLong, limited
from .errors import pieces
from .programs import Program

HEAD = """import numpy as np

RATE = 0.75
TABLE = np.array([0.3, -0.6, 1.2, 0.9])
CALLS = []


def scale(v, by=1.5):
    return v * by

"""
NUMBERS = pieces("""
{n} + {n}|{n} - {n}|{n} * {n}|{n} * 0.5|np.sin({n})|np.cos({n})|np.exp(-{n} * {n})|{n} / (1.5 + {n} * {n})|abs({n})|RATE
TABLE[{i}]|np.sqrt(1.0 + {n} * {n})|max({n}, {n})|min({n}, 0.5)|({n} if {n} > {n} else {n})|-{n}|{n} ** 2|float(k + 1) * {n}
np.tanh({n})|scale({n})|scale({n}, by={n})|{n} % 0.7|np.log1p({n} * {n})|np.where({n} > 0.1, {n}, {n})|{i} * {n}
np.sum(TABLE * {n})|(lambda u: u * {n})({n})|np.arctan2({n}, 1.0 + abs({n}))|{n} // 0.3|len(TABLE) * {n}|np.float64({n})""")
CALLED = pieces("""
{f}({n}, {n})|{f}({n}, {n})|{f}({n}, 0.5)|{f}(1.5, {n})|{f}({n})|{f}({n}, b={n})|{f}(b={n}, a={n})|{f}({n}, k={i})""")
BODY = pieces("""
{v} = {n}|{v} = {n}|{v} = {v} * {n}|{v} += {n}|{v} = {c}|{v} = {c} + {c}|{v} = {c} * 0.5 - {n}|if {n} > {n}:;    {v} = {n}
if {n} > {n}:;    {v} = {c};else:;    {v} = {n}|for j in range(3):;    {v} = {v} * 0.5 + {n}
for j in range({i}):;    {v} += {c} * j
for t in TABLE:;    {v} += t * {n}|while {v} > 1.0:;    {v} = {v} * 0.5|w = np.array([{n}, {n}, {n}]);{v} = w[{i}] * w[0]
w = np.zeros(3);w[1] += {n};{v} += w.sum()|if {n} > 2.5:;    raise ValueError("too large")|{v} = [{n}, {n}][{i} % 2]
w = [];for j in range(3):;    w.append({n});{v} += sum(w)|if {v} > 1.2:;    return {r}|{v}, u = {n}, {n};{v} -= u
g = lambda u: u * {n};{v} = g({n}) + g({v})|def g(u, c={n}):;    return u * c + {v};{v} = g({n}) * g({n}, {n})
{v} = apply(scale, {n})|{v} = apply(lambda u: u * {v} + {n}, {n})|p, q = pair({n}, {n});{v} = p - q * {n}
p, q = pair({n}, 0.5);{v} = p * q|{v} = {n} / ({v} - {v} + 1.0)|{v} = np.float64({n}) * 2""")


class Writer:
    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.functions: list[str] = []
        self.single = True
        self.names = ["a", "b", "v"]

    def fill(self, text: str, depth: int) -> str:
        out, rest = "", text
        while "{" in rest:
            before, _, rest = rest.partition("{")
            kind, _, rest = rest.partition("}")
            out += before + self.hole(kind, depth)
        return out + rest

    def hole(self, kind: str, depth: int) -> str:
        match kind:
            case "i":
                return self.random.choice(("0", "1", "2", "-1", "k"))
            case "v":
                return "v"
            case "f":
                return self.random.choice(self.functions)
            case "c":
                return self.fill(self.random.choice(CALLED), 1) if self.functions else self.hole("n", depth)
            case "r":
                return self.fill(f"v * {{n}} + {self.names[0]}" if self.single else "(v, {n} - v)", 1)
        if not depth or self.random.random() < 0.4:
            return self.random.choice((*self.names, "0.5", "-0.3", "1.25"))
        return f"({self.fill(self.random.choice(NUMBERS), depth - 1)})"

    def function(self, name: str, result: bool = True) -> str:
        self.single = result
        lines = ["v = a"]
        for _ in range(self.random.randint(1, 5)):
            lines += self.fill(self.random.choice(BODY), 2).split(";")
        lines.append(f"return {self.hole('r', 2)}")
        return f"def {name}(a, b=0.25, k=1):\n" + textwrap.indent("\n".join(lines), "    ") + "\n\n\n"

    def text(self) -> str:
        parts = [HEAD, "\ndef apply(f, u):\n    return f(u) * 0.5 + f(0.25)\n\n\n", self.function("pair", False)]
        for k in range(self.random.randint(1, 3)):
            parts.append(self.function(f"f{k}"))
            self.functions.append(f"f{k}")
        self.names = ["x", "y", "v", "z[0]", "z[1]"]
        lines = ["v = x", "k = 1"]
        for _ in range(self.random.randint(2, 5)):
            lines += self.fill(self.random.choice(BODY), 2).split(";")
            lines += [f"v = v * 0.5 + {self.hole('c', 1)}"]
        single, self.single = self.single, True
        parts.append("def program(x, y, z):\n" + textwrap.indent("\n".join([*lines, "return v"]), "    ")+ "\n")
        self.single = single
        return "".join(parts)


@contextmanager
def calls(kept: bool):
    """Every call that can be one stays a call, or none does."""
    before = worth.LEAST, worth.WORTH
    worth.LEAST, worth.WORTH = (0, 0) if kept else (0, 10 ** 9)
    try:
        yield
    finally:
        worth.LEAST, worth.WORTH = before


def derivatives(function, args) -> dict:
    """What each operator gives for a function of two numbers and an array."""
    x, y, z = args
    options = {"mode": "python", "debug": True}
    vector = lambda u: np.array([function(u[0], y, z), function(u[1], u[0], z) * 2.0])
    return {
        "value": lambda: ad.value_and_grad(function, wrt=(0, 1, 2), **options)(*args),
        "jvp": lambda: ad.jvp(function, args, (1.0, -0.5, z), **options),
        "linearize": lambda: ad.linearize(function, *args, **options)[1](1.0, -0.5, z),
        "hessian": lambda: ad.hessian(function, wrt=2, **options)(*args),
        "hvp": lambda: ad.hvp(function, **options)(x, y, z, 1.0),
        "second": lambda: ad.grad(ad.grad(function, **options), **options)(*args),
        "jacobian": lambda: ad.jacobian(vector, **options)(z),
        "rows": lambda: ad.jacobian(vector, direction="reverse", **options)(z)}


def results(found: dict) -> dict:
    """What each of these calls gives or raises."""
    made: dict = {}
    for name, run in found.items():
        try:
            made[name] = run()
        except TookTooLong:
            raise
        except Exception as e:
            made[name] = e
    return made


def numbers(value) -> np.ndarray:
    if isinstance(value, (tuple, list)):
        return np.concatenate([numbers(v) for v in value]) if value else np.zeros(0)
    return np.ravel(np.asarray(value, complex))


def attempt(seed: int) -> tuple[Outcome, str]:
    chosen = random.Random(seed + 1)
    args = (chosen.uniform(-1.5, 1.5), chosen.uniform(-1.5, 1.5), np.array([chosen.uniform(-1, 1), chosen.uniform(-1, 1)]))
    return compared(seed, Writer(seed).text(), args, derivatives)


def compared(seed: int, text: str, args: tuple, derivatives) -> tuple[Outcome, str]:
    """What becomes of the function `program` of a module with calls and without, and in Python. derivatives: calls by name,
    for a function and its arguments."""
    script = f"{text}\n\nprint(program(*{args!r}))\n".replace("array(", "np.array(").replace("np.np.", "np.")
    try:
        function, other = (Program(seed, text, "").module(f"<calls {seed} {k}>")["program"] for k in range(2))
    except SyntaxError:
        return Outcome("skipped", "syntax"), script
    try:
        with np.errstate(all="ignore"):
            expected = function(*copy.deepcopy(args))
    except Exception as e:
        expected = e
    try:
        with np.errstate(all="ignore"), limited(60.0):
            with calls(False):
                flat = results(derivatives(other, args))         # of a function of its own, which shares no compiled code
            with calls(True):
                found = results(derivatives(function, args))
    except TookTooLong as e:
        return Outcome("skipped", str(e)), script
    if isinstance(flat["value"], ad.AutodiffError) and type(found["value"]) is type(flat["value"]):
        return Outcome("refused", str(flat["value"]).splitlines()[0]), script
    for name, want in flat.items():
        have = found[name]
        if isinstance(want, Exception) or isinstance(have, Exception):
            if type(want) is not type(have) or str(want).replace(" 1>", " 0>") != str(have).replace(" 1>", " 0>"):
                trace = "".join(traceback.format_exception(have)[-3:]) if isinstance(have, Exception) else repr(have)
                return Outcome("failed", name, f"inlined: {want!r}\ncalls: {have!r}\n{trace}"), script
        elif not np.allclose(numbers(have), numbers(want), rtol=1e-9, atol=1e-11, equal_nan=True):
            return Outcome("failed", name, f"inlined: {want}\ncalls: {have}"), script
    value = found["value"]
    if isinstance(expected, Exception) or isinstance(value, Exception):
        if not (isinstance(expected, Exception) and isinstance(value, type(expected))):
            return Outcome("failed", "python", f"Python: {expected!r}\nautodiff: {value!r}"), script
    elif not np.allclose(numbers(value[0]), numbers(expected), rtol=1e-12, equal_nan=True):
        return Outcome("failed", "python", f"Python: {expected}\nautodiff: {value[0]}"), script
    return Outcome("ok"), script
