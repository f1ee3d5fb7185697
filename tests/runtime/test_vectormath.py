"""Vector variants of elementary functions: accuracy, special values, what is called, and doing without."""

from __future__ import annotations

import itertools
import math
import types

import numba
import numpy as np
import pytest

from autodiff import grad
from autodiff.runtime.machine_code.jit import jit_functions
from autodiff.runtime.numbers import vectormath

from ..support import module_of

NAMES = [*vectormath.ONE, *vectormath.SPECIAL]
RANGES = {"arcsin": (-1, 1), "arccos": (-1, 1), "arctanh": (-1, 1), "arccosh": (1, 50), "log": (1e-8, 50),
          "log2": (1e-8, 50), "log10": (1e-8, 50), "log1p": (-0.99, 50)}
ROUGH_ROOTS = tuple(map(int, numba.__version__.split(".")[:2])) < (0, 63)       # cbrt to 1e-13, without the sign of -0.0
_numbers = itertools.count()


def loop(expression: str, arguments: str = "x", precise: bool = False, signature: str | None = None):
    """A compiled loop over elements, as generated code has them."""
    text = f"""
import math
import numpy as np

def f({arguments}, out):
    for i in range(out.shape[0]):
        out[i] = {expression}
"""
    return compiled(text, precise, signature)


def compiled(text: str, precise: bool = False, signature: str | None = None):
    name = f"vector_test_{next(_numbers)}"
    module = types.ModuleType(name)
    module.__file__ = name
    module_of(name, text, module.__dict__)
    return jit_functions(module, ["f"], precise=precise, signatures=signature and {"f": signature})["f"]


def written(name: str) -> str:
    return f"math.{name}(x[i])" if name in vectormath.SPECIAL else f"np.{name}(x[i])"


def exact(name: str, x):
    """In extended precision; `erf` and `erfc` by libm in double, which is right to a unit."""
    if name in vectormath.SPECIAL:
        return np.array([getattr(math, name)(float(v)) for v in x], np.longdouble)
    return getattr(np, name)(x.astype(np.longdouble))


@pytest.fixture(scope="module")
def every():
    """Loops over all functions, one after the other: `every(precise)(x, out)`, a row of each for each function."""
    lines = ["import math", "import numpy as np", "", "def f(x, out):"]
    for k, name in enumerate(NAMES):
        value = written(name).replace("x[i]", f"x[{k}, i]")
        lines += ["    for i in range(out.shape[1]):", f"        out[{k}, i] = {value}"]
    text = "\n".join([*lines, ""])
    made = {precise: compiled(text, precise) for precise in (False, True)}
    return made.__getitem__


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_accuracy(every, dtype):
    """At most 4 units in the last place, everywhere."""
    generator = np.random.default_rng(0)
    x = np.array([generator.uniform(*RANGES.get(name, (-20, 20)), 4003) for name in NAMES]).astype(dtype)
    out = np.empty_like(x)
    every(False)(x, out)
    for name, given, found in zip(NAMES, x, out, strict=True):
        with np.errstate(all="ignore"):
            reference = exact(name, given)
            unit = np.spacing(np.abs(reference.astype(dtype)))
            finite = np.isfinite(reference) & (np.abs(reference) < np.finfo(dtype).max)
            error = np.abs((found.astype(np.longdouble) - reference) / unit)[finite]
        assert error.size > 3900 and error.max() <= 4, (name, error.max())


def test_special_values(every):
    row = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, -1e-310, 1e308, -1e308, 1.0, -1.0, 710.0, -746.0] * 5)
    x = np.array([row] * len(NAMES))
    out, expected = np.empty_like(x), np.empty_like(x)
    every(False)(x, out)
    every(True)(x, expected)
    if ROUGH_ROOTS:
        out, expected = (np.delete(rows, NAMES.index("cbrt"), axis=0) for rows in (out, expected))
    np.testing.assert_allclose(out, expected, rtol=1e-14, atol=0)
    np.testing.assert_array_equal(np.signbit(out[expected == 0]), np.signbit(expected[expected == 0]))


@pytest.mark.parametrize("name", list(vectormath.TWO))
def test_two_arguments(name):
    r = np.random.default_rng(1)
    x, y = r.uniform(0 if name == "power" else -5, 5, 1001), r.uniform(-5, 5, 1001)
    out = np.empty_like(x)
    loop(f"np.{name}(x[i], y[i])", "x, y")(x, y, out)
    np.testing.assert_allclose(out, getattr(np, name)(x, y), rtol=2e-15)


def test_integers_and_mixed_types():
    n = np.arange(1, 10)
    out = np.empty(9)
    loop("np.log(x[i]) + np.hypot(x[i], np.float32(2.5)) + np.exp(True)")(n, out)
    np.testing.assert_allclose(out, np.log(n) + np.hypot(n, 2.5) + np.e, rtol=1e-15)


@pytest.mark.skipif(not vectormath.variants("exp", 1), reason="no vector variants on this machine")
def test_vector_variants_are_called_unless_precise():
    signature = "(float64[::1], float64[::1])"
    for precise in (False, True):
        f = loop("np.exp(x[i]) * np.sin(x[i])", precise=precise, signature=signature)
        code = "".join(f.inspect_asm().values())
        assert ("_ZGV" in code) is not precise


def test_without_the_library(monkeypatch):
    monkeypatch.setattr(vectormath, "HAS_LIBRARY", False)
    assert vectormath.lanes() == []
    x = np.linspace(0.1, 3, 100)
    out = np.empty_like(x)
    loop("np.tanh(x[i]) + math.erf(x[i])")(x, out)
    np.testing.assert_allclose(out, np.tanh(x) + [math.erf(v) for v in x], rtol=1e-15)


@pytest.mark.skipif(not vectormath.variants("exp", 1), reason="no vector variants on this machine")
def test_gradients_use_them(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTODIFF_CACHE_DIR", str(tmp_path))         # code read back from a store cannot be looked into
    def f(x, w):
        return np.sum(np.sin(x) * np.exp(-w * x))
    x, w = np.linspace(0.1, 3, 101), np.linspace(0.5, 1, 101)
    fast, slow = grad(f, wrt=(0, 1)), grad(f, wrt=(0, 1), precise=True)
    for a, b in zip(fast(x, w), slow(x, w), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)
    codes = ["".join(g._latest.call.inspect_asm().values()) for g in (fast, slow)]
    assert "_ZGV" in codes[0] and "_ZGV" not in codes[1]
    assert "np.exp" in fast.source


def test_plain_numba_code_is_left_alone():
    @numba.njit
    def f(x, out):
        for i in range(out.shape[0]):
            out[i] = np.exp(x[i])
    f(np.ones(8), np.ones(8))
    assert "_ZGV" not in "".join(f.inspect_asm().values())
