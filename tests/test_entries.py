"""`entry`: a derivative as one compiled function of flat numbers and arrays, against the operators that users call."""

import functools
from collections import namedtuple
from dataclasses import dataclass, field

import numba
import numpy as np
import pytest

from autodiff import NonDifferentiable, ShapeMismatch, UnsupportedSyntax, entry, grad, jvp, value_and_grad, vjp
from autodiff.arguments.kinds import flatten
from autodiff.errors import TypeConflict

from .programs import PROGRAMS

Point = namedtuple("Point", "x y")


@dataclass
class Material:
    density: float
    modes: np.ndarray = field(default_factory=lambda: np.zeros(2))


def numbers(result) -> list:
    return [x for x in flatten(list(result) if isinstance(result, tuple) else result) if x is not None]


def agree(found, wanted, **tolerances):
    found, wanted = numbers(found), numbers(wanted)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, **{"rtol": 1e-9, "atol": 1e-12, **tolerances})


def filtered(x, w):
    y = np.zeros_like(x)
    s = 0.0
    for i in range(x.shape[0]):
        s = np.tanh(w[i] * s + x[i])
        y[i] = s
    return y


X, W, BAR = np.linspace(0.1, 1.0, 5), np.full(5, 0.5), np.arange(5.0)


# ---- what it computes -----------------------------------------------------------------------------------
def scaled(p, m, z, n, flag):
    total = np.sum(p["x"] * p["pair"][0]) * m.density + n * np.sum(m.modes ** 2) * np.real(z * z)
    return total if flag else -total


def arguments():
    return {"x": np.array([1.0, 2.0]), "pair": (0.5, 1.5)}, Material(2.0, np.array([0.3, 0.4])), 1.0 + 2.0j, 3, True


FLAT = [np.array([1.0, 2.0]), 0.5, 1.5, 2.0, np.array([0.3, 0.4]), 1.0 + 2.0j, 3, True]


def test_structures():
    made = entry(scaled, *arguments(), wrt=(0, 1, "z"))
    assert [p.path for p in made.arguments] == ["p['x']", "p['pair'][0]", "p['pair'][1]", "m.density", "m.modes", "z", "n",
                                                "flag"]
    assert [p.name for p in made.arguments][:4] == ["p_x", "p_pair_0", "p_pair_1", "m_density"]
    assert [tuple(p[1:]) for p in made.results] == [
        ("result", "float64", 0), ("p_bar['x']", "float64", 1), ("p_bar['pair'][0]", "float64", 0),
        ("p_bar['pair'][1]", "float64", 0),
        ("m_bar.density", "float64", 0), ("m_bar.modes", "float64", 1), ("z_bar", "complex128", 0)]
    value, (p, m, z) = value_and_grad(scaled, wrt=(0, 1, 2), mode="python")(*arguments())
    agree(made(*FLAT), (value, p["x"], *p["pair"], m.density, m.modes, z))
    agree(entry(scaled, *arguments(), kind="vjp")(*FLAT, 2.0), [2.0 * v for v in (
        p["x"], *p["pair"], m.density, m.modes, z)])


def test_a_directional_derivative():
    made = entry(scaled, *arguments(), kind="jvp", wrt=("p", "z"))
    assert [p.path for p in made.arguments[len(FLAT):]] == ["p_dot['x']", "p_dot['pair'][0]", "p_dot['pair'][1]",
                                                            "z_dot"]
    dots = np.array([0.1, -0.2]), 0.7, 0.4, 0.3 - 0.1j
    want = jvp(scaled, arguments(), ({"x": dots[0], "pair": dots[1:3]}, None, dots[3], None, None), mode="python")
    agree(made(*FLAT, *dots), want)
    with pytest.raises(ValueError, match="not the shape of its primal"):
        made(*FLAT, np.zeros(3), 0.7, 0.4, 1j)


CHOSEN = [p for p in PROGRAMS if p.name in ("horner", "cholesky_in_place", "newton_root", "lstm", "softmax_cross_entropy")]


@pytest.mark.parametrize("program", CHOSEN, ids=[p.name for p in CHOSEN])
def test_pullbacks_of_programs(program):
    value, pullback = vjp(program.function, *program.arguments(), mode="python")
    rng = np.random.default_rng(3)
    bars = [rng.standard_normal(np.shape(a)) if np.ndim(a) else float(rng.standard_normal()) for a in numbers(value)]
    want = pullback(tuple(bars) if isinstance(value, tuple) else bars[0])
    leaves = [x for a in program.arguments() for x in flatten(a)]
    agree(entry(program.function, *program.arguments(), kind="vjp")(*leaves, *bars), want)


def weighted(parts):
    """A number from all numbers and arrays in a structure, with a derivative in each that floats."""
    total = 0.0
    for part in parts:
        total = total + np.real(np.sum(np.sin(part) * part))
    return total


def random_value(rng):
    kind = rng.choice(["float", "int", "complex", "float32", "array", "matrix", "row32", "integers", "signal"])
    return {"float": lambda: float(rng.normal()), "int": lambda: int(rng.integers(1, 5)),
            "complex": lambda: complex(rng.normal(), rng.normal()), "float32": lambda: np.float32(rng.normal()),
            "array": lambda: rng.normal(size=rng.integers(0, 4)), "matrix": lambda: rng.normal(size=(2, 3)),
            "row32": lambda: rng.normal(size=3).astype(np.float32), "integers": lambda: rng.integers(1, 5, 2),
            "signal": lambda: rng.normal(size=2) + 1j}[str(kind)]()


@pytest.mark.parametrize("seed", range(4))
def test_random_structures(seed):
    rng = np.random.default_rng(seed)
    parts = (*(random_value(rng) for _ in range(4)), 0.5)
    shape = rng.integers(3)

    def function(a, b):
        return weighted((a.x, a.y[0], a.y[1])) + weighted(b) * 2.0
    first = Point(parts[0], (parts[1], parts[4]))
    second = [parts[2], parts[3]] if shape else (parts[2], parts[3])
    leaves = flatten(first) + flatten(second)
    value, pullback = vjp(function, first, second, mode="python")
    a_bar, b_bar = pullback(3.0)
    agree(entry(function, first, second, kind="vjp")(*leaves, 3.0), [*numbers(a_bar), *numbers(b_bar)], rtol=1e-5)
    agree(entry(function, first, second, kind="value")(*leaves), [value], rtol=1e-5)


def test_inside_compiled_code():
    step = entry(filtered, X, W, kind="vjp").function

    @numba.njit
    def norm(x, w, y_bar):
        x_bar, w_bar = step(x, w, y_bar)
        return np.sum(x_bar ** 2) + np.sum(w_bar ** 2)
    bars = vjp(filtered, X, W, mode="python")[1](BAR)
    assert norm(X, W, BAR) == pytest.approx(sum(np.sum(b ** 2) for b in bars))


def test_what_is_bound_beforehand():
    def model(k, w, x):
        return k * np.sum(w * x ** 2)
    made = entry(functools.partial(model, 3.0, W), X)
    assert [p.path for p in made.arguments] == ["x"]
    agree(made(X), value_and_grad(model, wrt="x", mode="python")(3.0, W, X))
    agree(entry(functools.partial(model, 3.0, W), X, kind="vjp")(X, 2.0), [12.0 * W * X])
    agree(entry(functools.partial(model, 3.0, W), X, kind="jvp")(X, BAR), (
        3.0 * np.sum(W * X ** 2), 6.0 * np.sum(W * X * BAR)))


def test_a_derivative_given():
    """A derivative is a function: its results are those of kind="value"."""
    made = entry(grad(lambda x, k: k * np.sum(x ** 3)), X, 2.0, kind="value")
    agree(made(X, 2.0), [6.0 * X ** 2])


# ---- examples, shapes, what it takes --------------------------------------------------------------------
class Shaped:
    shape, dtype = (None, None), "float32"


def test_examples_are_kinds():
    made = entry(lambda x, n, y: np.sum(x) * n + np.sum(y), numba.float64[::1], numba.int64, Shaped(), kind="value")
    assert [(p.dtype, p.rank) for p in made.arguments] == [("float64", 1), ("int64", 0), ("float32", 2)]
    assert str(made.signature[2]) == "array(float32, 2d, C)"
    assert made(np.arange(6.0)[::2], 2, np.ones((2, 2), np.float32).T) == (16.0,)
    frozen = np.ones(3)
    frozen.flags.writeable = False
    assert made([1, 2], True, frozen.reshape(1, 3)) == (6.0,)


def results_of_all_kinds(x, n):
    return np.outer(x, x)[:n], np.cumsum(x), x[x > 0], np.zeros(n + 2) * x[0], [2 * v for v in x], x, x[0] * 1j


def test_narrow_integers():
    """Results have the dtypes that their places say, which are NumPy's."""
    made = entry(lambda a, b: (a + a, b + b), np.int32(2), np.arange(3, dtype=np.int8), kind="value")
    assert [place.dtype for place in made.results] == ["int32", "int8"]
    step = made.function
    found = numba.njit(lambda a, b: step(a, b)[1].itemsize)
    assert found(np.int32(2), np.arange(3, dtype=np.int8)) == made(2, np.arange(3, dtype=np.int8))[1].itemsize == 1


def test_shapes_of_results():
    made = entry(results_of_all_kinds, X, 2, kind="value")
    shapes = made.result_shapes((7,), 3)
    assert shapes[1:] == ((7,), None, (5,), (7,), (7,), ())
    assert made.result_shapes(np.zeros(7), None)[3] is None
    found = made(np.arange(7.0) - 2.0, 3)
    for shape, array in zip(shapes, found, strict=True):
        assert shape is None or shape == np.shape(array)
    assert entry(filtered, X, W, kind="vjp").result_shapes((9,), (9,)) == ((9,), (9,))
    assert entry(filtered, X, W, kind="jvp").result_shapes((9,), (9,), (9,), (9,)) == ((9,), (9,))
    with pytest.raises(ShapeMismatch, match="2 axes"):
        made.result_shapes((7, 1), 3)
    with pytest.raises(TypeError, match="takes 2 shapes"):
        made.result_shapes((7,))


def test_results_are_not_the_callers_memory():
    made = entry(results_of_all_kinds, X, 2, kind="value")
    x = X.copy()
    assert not any(np.shares_memory(r, x) for r in made(x, 2))


def doubled(x, y):
    x[:] = 2.0 * x
    return np.sum(x * y)


def test_functions_that_write():
    x = X.copy()
    agree(entry(doubled, X, W)(x, W), (np.sum(X), 2.0 * W))
    np.testing.assert_array_equal(x, X)
    made = entry(doubled, X, W, kind="value")
    agree(made(x, W), [np.sum(X)])
    np.testing.assert_array_equal(x, X)
    with pytest.raises(UnsupportedSyntax, match="`x` and `y` share memory"):
        made(x, x)
    step = made.function
    with pytest.raises(UnsupportedSyntax, match="`x` and `y` share memory"):
        numba.njit(lambda x: step(x[:3], x[2:]))(x)


# ---- errors ---------------------------------------------------------------------------------------------
def careful(x):
    if x[0] < 0.0:
        raise ValueError(f"negative: {x[0]}")
    return x[3] * x[0]


def test_errors_of_a_call():
    made = entry(careful, X)
    with pytest.raises(ValueError, match="negative: -1.0"):
        made(-np.ones(5))
    with pytest.raises(IndexError, match="out of bounds"):
        made(np.ones(2))
    pullback = entry(filtered, X, W, kind="vjp")
    with pytest.raises(ValueError, match="another shape than the result"):
        pullback(X, W, BAR[:3])
    with pytest.raises(TypeConflict, match="complex128"):
        made(X + 1j)
    with pytest.raises(ShapeMismatch, match="0 axes"):
        made(1.0)
    with pytest.raises(TypeError, match=r"takes 3 arguments \(x, w, result_bar\), not 2"):
        pullback(X, W)


@pytest.mark.parametrize("make, error, text", [
    (lambda: entry(careful, X, kind="gradient"), ValueError, "kind='gradient'"),
    (lambda: entry(careful, X, kind="value", wrt=0), ValueError, "differentiates nothing"),
    (lambda: entry(careful, X, wrt="y"), TypeConflict, "has no argument `y`"),
    (lambda: entry(careful, X, kind="jvp", wrt=1), TypeConflict, "called with 1 arguments"),
    (lambda: entry(careful), TypeError, "missing 1 required"),
    (lambda: entry(lambda n: 2 * n, 3, kind="jvp"), NonDifferentiable, "holds floats"),
    (lambda: entry(lambda n: 2 * n, 3, kind="vjp"), NonDifferentiable, "returns nothing"),
    (lambda: entry(lambda x, rng: x * rng.normal(), 1.0, np.random.default_rng()), TypeConflict, "not a Generator"),
])
def test_what_it_refuses(make, error, text):
    with pytest.raises(error, match=text):
        make()
