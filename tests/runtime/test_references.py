"""Compiled functions that borrow references: arrays live exactly as long as Python would have them live."""

import functools
import random
import sys
import types

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from autodiff.runtime.machine_code.jit import jit_functions

NAMES = ("x", "y", "a", "b", "c")


class Writer:
    """A random function of two vectors that makes views, rebinds names, allocates, calls and returns."""

    def __init__(self, r: random.Random):
        self.r = r
        self.lines: list[str] = []

    def array(self) -> str:
        """An expression that gives a vector of three elements or more."""
        name, r = self.r.choice(NAMES), self.r
        return r.choice([name, f"{name}[:]", f"{name}[{r.choice((0, 0, 1))}:{name}.shape[0]]", f"{name}.T", f"{name}[::-1]",
                         f"({name} * 0.5)", f"{name}.copy()", f"np.zeros(3 + {r.randint(0, 2)})",
                         f"(np.ones((2, 3))[{r.randint(0, 1)}] * 0.5)", f"{name}[np.array([0, 2, 1])]",
                         f"{name}[np.abs({name}) > -1.0]", f"square({name})[1]", f"square({name}).T[0][:]",
                         f"kept({name}[0:3], {r.choice(NAMES)}[0:3])"])

    def statement(self, indent: str, depth: int) -> None:
        r, put = self.r, self.lines.append
        kind = r.randint(0, 9 if depth else 6)
        if kind < 3:
            put(f"{indent}{r.choice(NAMES)} = larger({self.array()})")
        elif kind < 5:
            put(f"{indent}add({self.array()}, {self.array()})")
        elif kind == 5:
            put(f"{indent}{r.choice(NAMES)}[{r.randint(0, 2)}] += {self.array()}[0] + {self.array()}[1:][1]")
        elif kind == 6:
            put(f"{indent}if {self.array()}[0] > 100.0:\n{indent}    raise ValueError(str(1))")
        elif kind == 7:
            put(f"{indent}if {self.array()}[0] > {r.uniform(-1.0, 1.0):.2f}:")
            self.block(indent + "    ", depth - 1)
            if r.random() < 0.5:
                put(f"{indent}else:")
                self.block(indent + "    ", depth - 1)
        else:
            put(f"{indent}for _{depth} in range({r.randint(0, 3)}):")
            self.block(indent + "    ", depth - 1)

    def block(self, indent: str, depth: int) -> None:
        for _ in range(self.r.randint(1, 4)):
            self.statement(indent, depth)

    def text(self) -> str:
        self.lines = ["    a = x[0:3]", "    b = y.copy()", "    c = y"]
        self.block("    ", 2)
        self.block("    ", 2)
        return "def made(x, y):\n" + "\n".join(self.lines) + f"\n    return {self.r.choice(NAMES)}, {self.array()}\n"


HELPERS = """
import numpy as np

def churn():
    total = 0.0                                 # over what was given back too early
    for k in range(1, 25):
        w = np.full(k, 1234.5)
        total += w[k - 1]
    return total

def add(out, v):
    churn()
    for k in range(min(out.shape[0], v.shape[0])):
        out[k] += v[v.shape[0] - 1 - k]

def kept(v, w):
    churn()
    return v if v[0] > w[0] else w

def square(v):
    made = np.zeros((3, v.shape[0]))
    made[1] = v
    made[0:1][0][0:2] = v[1:][0]
    return made

def larger(v):
    churn()
    if v.shape[0] < 3:
        w = np.ones(4)
        w[0:v.shape[0]] = v
        return w
    if -5.0 < v[0] < 5.0:
        return v
    made = np.zeros(v.shape[0])
    for k in range(v.shape[0]):
        made[k] = v[k] / (1.0 + abs(v[k]))
    return made

"""


@functools.cache
def helpers() -> dict:
    """The functions of HELPERS, compiled."""
    space = types.ModuleType("references_helpers")
    exec(HELPERS, space.__dict__)
    return jit_functions(space, ["churn", "add", "kept", "square", "larger"])


def judged(seed: int) -> str | None:
    """What is wrong with one random function, compiled; None: nothing."""
    text = Writer(random.Random(seed)).text()
    space, compiled_space = types.ModuleType(f"references_{seed}"), types.ModuleType(f"references_{seed}_compiled")
    exec(HELPERS + text, space.__dict__)
    vars(compiled_space).update(helpers(), np=np)
    exec(text, vars(compiled_space))
    plain, compiled = space.made, jit_functions(compiled_space, ["made"])["made"]
    r = np.random.default_rng(seed)
    inputs = r.uniform(-1.0, 1.0, 4), r.uniform(-1.0, 1.0, 5)
    given, expected_given = [x.copy() for x in inputs], [x.copy() for x in inputs]
    try:
        expected = plain(*expected_given)
    except (ValueError, IndexError) as error:
        with pytest.raises(type(error)):
            compiled(*given)
        return None
    compiled(*[x.copy() for x in inputs])               # compiles, which allocates
    before, counts = rtsys.get_allocation_stats(), [sys.getrefcount(x) for x in given]
    found = compiled(*given)
    fresh = [np.full(1 + k % 25, np.nan) for k in range(100)]           # over what was given back too early
    for one, other in zip((*found, *given), (*expected, *expected_given), strict=True):
        if not np.array_equal(one, other, equal_nan=True):
            return f"seed {seed}: {one} is not {other}\n{text}"
    del found, one, fresh
    after = rtsys.get_allocation_stats()
    if (after.alloc - after.free, after.mi_alloc - after.mi_free) != (before.alloc - before.free,
                                                                      before.mi_alloc - before.mi_free):
        return f"seed {seed}: {before}, {after}\n{text}"
    if [sys.getrefcount(x) for x in given] != counts:
        return f"seed {seed}: references to the arguments\n{text}"
    return None


@pytest.mark.parametrize("seed", range(12))
def test_random_functions(seed, counting):
    assert judged(seed) is None


@pytest.fixture
def counting():
    """Numba counts what it allocates."""
    was = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    yield
    if not was:
        _nrt_python.memsys_disable_stats()


def test_a_call_of_views_counts_nothing():
    space = types.ModuleType("calls_of_views")
    exec(HELPERS + "def made(x):\n    for k in range(x.shape[0]):\n        add(x[k], x.T[k])\n", space.__dict__)
    made = jit_functions(space, ["churn", "add", "made"])["made"]
    x = np.ones((3, 3))
    made(x)
    text = made.inspect_llvm(made.signatures[0])
    begin = text.index("define")
    assert "NRT_incref" not in text[begin:text.index("\n}", begin)]
