"""What programs cost to compile as they grow: a helper called more often, helpers of helpers, more statements.

Each line: processor seconds from the function to its first gradient with nothing stored, lines of its text, microseconds of
a call; the same in one function, all calls inlined; and Numba's own first call of the function with its helpers.
"""

from __future__ import annotations

import linecache
import os
import sys
import tempfile
import time
import timeit
import types
from unittest import mock

import numpy as np
from numba import njit

from autodiff import value_and_grad
from autodiff.transforms.lower.functions import pieces, worth

PRESSURE = """
def pressure(T, rho, x):
    a = 0.45724 * (1.0 + (0.37464 + 1.54226 * x - 0.26992 * x * x) * (1.0 - np.sqrt(T))) ** 2
    b = 0.0778 * (1.0 + 0.1 * x)
    p = rho * T / (1.0 - b * rho) - a * rho * rho / (1.0 + 2.0 * b * rho - b * b * rho * rho)
    s = 0.0
    for k in range(6):
        w = np.exp(-0.3 * k * T)
        if rho * w > 0.2:
            s += w * np.log(1.0 + rho * w)
        else:
            s += w * (rho - 0.5 * rho * rho * w)
    if T < 0.7:
        q = 1.0 / (0.3 + T * T)
        s += q * np.sin(rho * q) * (1.0 - x)
    return p + 0.01 * s
"""
OPTION = """
def cumulative(x):
    t = 1.0 / (1.0 + 0.2316419 * abs(x))
    p = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    q = 0.3989422804014327 * np.exp(-0.5 * x * x) * p
    return 1.0 - q if x > 0.0 else q


def price(S, K, r, v, T):
    d = (np.log(S / K) + (r + 0.5 * v * v) * T) / (v * np.sqrt(T))
    return S * cumulative(d) - K * np.exp(-r * T) * cumulative(d - v * np.sqrt(T))


def spread(S, r, v, T):
    return price(S, 0.9, r, v, T) - 2.0 * price(S, 1.0, r, v, T) + price(S, 1.1, r, v, T)


def total(S, r, v):
    return spread(S, r, v, 0.5) + spread(S, r, v, 1.0) - spread(S, r, v, 2.0) * spread(1.1 * S, r, v, 1.5)
"""
LAYER = """
def layer(h, W, b):
    z = W @ h + b
    m = np.mean(z)
    z = (z - m) / np.sqrt(np.mean((z - m) ** 2) + 1e-5)
    return h + np.tanh(z) / (1.0 + np.exp(-z))
"""
SERIES = """
def total(S, r, v):
    s = 0.0
    for k in range(100000):
        s += price(S + 1e-6 * k, 1.0, r, v, 1.0) - price(S - 1e-6 * k, 1.1, r, v, 1.0)
    return s
"""


def helper_calls(count: int) -> str:
    calls = " + ".join(f"pressure(T + {k / 50}, rho * {1 + k / 20}, x)" for k in range(count))
    return f"{PRESSURE}\n\ndef total(T, rho, x):\n    return {calls}\n"


def layers(count: int) -> str:
    lines = "".join(f"    h = layer(h, W * {1 + k / 10}, b + {k / 7})\n" for k in range(count))
    return f"{LAYER}\n\ndef total(h, W, b):\n{lines}    return np.sum(h * h)\n"


KINDS = {"statements": (1, "    v = np.sin(v) * {c} + T * rho\n"),           # how many statements, their text
         "loops": (2, "    for i in range(5):\n        v = np.sin(v) * {c} + T * rho\n"),
         "branches": (2, "    if v > {c}:\n        v = np.sin(v) * {c} + T * rho\n    else:\n        v = v + rho\n")}


def statements(kind: str, count: int) -> str:
    each, text = KINDS[kind]
    lines = "".join(text.format(c=1 + k / count) for k in range(count // each))
    return f"def total(T, rho, x):\n    v = x\n{lines}    return v\n"


def module(name: str, text: str) -> types.ModuleType:
    """A module of this text, whose functions' sources are found."""
    text = "import numpy as np\n\n" + text
    linecache.cache[f"{name}.py"] = len(text), None, text.splitlines(keepends=True), f"{name}.py"
    made = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, f"{name}.py", "exec"), vars(made))
    return made


def by_numba(made: types.ModuleType, args) -> float:
    """Processor seconds of Numba's first call of the same function."""
    space = dict(vars(made))
    for name, value in list(space.items()):
        if isinstance(value, types.FunctionType):
            space[name] = njit(types.FunctionType(value.__code__, space, name, value.__defaults__))
    start = time.process_time()
    space["total"](*args)
    return time.process_time() - start


def growth(quick: bool) -> None:
    """Compile time, lines and time of a call as programs grow."""
    state, option, series = (0.8, 0.5, 0.3), (1.05, 0.02, 0.3), OPTION.partition("def spread")[0] + SERIES
    layer = (np.linspace(0.0, 1.0, 100), np.eye(100) + 0.01, np.linspace(0.5, -0.5, 100))
    cases = [(f"a helper called {k} times", helper_calls(k), state) for k in ((2,) if quick else (1, 2, 4, 8, 16, 32))]
    if not quick:
        cases += [(f"a layer called {k} times", layers(k), layer) for k in (1, 4, 8, 16)]
        cases += [("helpers of helpers, three deep", OPTION, option),
                  ("two calls in a loop that runs 100,000 times", series, option)]
        cases += [(f"{k} statements" if kind == "statements" else f"{k} statements in {kind}", statements(kind, k), state)
                  for kind in KINDS for k in (25, 100, 400, 1000)]
    with tempfile.TemporaryDirectory() as store, mock.patch.dict(os.environ, AUTODIFF_CACHE_DIR=store):
        value_and_grad(lambda x: np.sum(x * x))(np.ones(3))             # Numba's own start
        for k, (name, text, args) in enumerate(cases):
            figures, forms = [], [(worth.WORTH, pieces.LONG), (10 ** 9, 10 ** 9)]       # as it is, and all in one function
            for least, longest in forms[:1 if name.startswith("1000 ") else 2]:         # which takes minutes for these
                made = module(f"growth_{k}_{least}", text)
                with mock.patch.object(worth, "WORTH", least), mock.patch.object(pieces, "LONG", longest):
                    start = time.process_time()
                    gradient = value_and_grad(made.total, wrt=(0, 1))
                    gradient(*args)
                first = time.process_time() - start
                numbers = 5 if "loop" in name else 200
                run = min(timeit.repeat(lambda g=gradient, a=args: g(*a), number=numbers, repeat=7)) / numbers * 1e6
                figures.append(f"{first:6.2f} s {gradient.source.count(chr(10)):5d} lines {run:9.2f} us")
            print(f"{name:44s} {'   in one '.join(figures)}   Numba {by_numba(made, args):5.2f} s", flush=True)


__all__ = ["growth"]
