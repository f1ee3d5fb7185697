"""`linearize`: the tangent map against `jvp`, for many tangents at one point; `vjp` and `linearize` inside programs."""

import copy
import dataclasses
import functools

import numpy as np
import pytest

from autodiff import AutodiffError, NonDifferentiable, ShapeMismatch, checkpoint, grad, jvp, linearize, vjp
from autodiff.arguments.kinds import flatten

from . import test_jacobian, test_language
from .fuzz.programs import program
from .programs import PROGRAMS
from .support import direction_like

X = np.array([0.3, 0.7, 0.9])
W = np.array([[0.3, 0.2, -0.1], [0.1, 0.5, 0.4], [-0.3, 0.2, 0.6]])


def same(found, wanted, tolerance=1e-10):
    for a, b in zip(flatten(found), flatten(wanted), strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=1e-12)


def agrees(function, args, *many, mode="python"):
    """The map gives what `jvp` gives, for each of several tangents, in any order, and again."""
    value, push = linearize(function, *copy.deepcopy(args), mode=mode, debug=True)
    for dots in (*many, many[0]):
        wanted, dot = jvp(function, copy.deepcopy(args), dots, mode="python")
        same(push(*dots), dot)
        same(value, wanted)


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in PROGRAMS[::2]])
def test_programs(program):
    args = program.arguments()
    dots: list = [None] * len(args)
    for k, position in enumerate(program.wrt):
        dots[position] = direction_like(args[position], k)
    agrees(program.function, args, tuple(dots))


@pytest.mark.parametrize("program", test_language.PROGRAMS[::3], ids=lambda p: p.__name__)
def test_language_programs(program):
    x = test_language.X
    agrees(program, (x,), (direction_like(x, 2),))


@pytest.mark.parametrize("program, x", [p for p in test_jacobian.PROGRAMS if p[0] is not test_jacobian.choices])
def test_results_of_every_kind(program, x):
    agrees(lambda x: program(x), (x,), (direction_like(x, 1),), (direction_like(x, 2),))


def tangent_of(value, seed):
    """A tangent of a float argument, None for others."""
    return direction_like(value, seed) if np.asarray(value).dtype.kind == "f" else None


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::SyntaxWarning")
def test_random_programs():
    checked = 0
    for seed in range(0, 400, 20):
        made = program(seed)
        function = made.module(f"<fuzz {seed} linear>")["f"]
        dots = tuple(tangent_of(v, k) for k, v in enumerate(made.values()))
        try:
            _, dot = jvp(function, tuple(made.values()), dots, mode="python")
        except (AutodiffError, IndexError, ValueError):
            continue
        same(linearize(function, *made.values(), mode="python", debug=True)[1](*dots), dot, 1e-8)
        checked += 1
    assert checked > 10


def tickets(x):
    """Running numbers drawn by a loop of unknown length inside a loop, and by one inside a branch of it."""
    total = 0.0
    for i in range(3):
        s = x[i]
        while s < 4.0:
            t = s * 1.7 + np.sin(s)
            for j in range(i + 1):
                if t > 1.5:
                    t = t - np.cos(t * x[j])
                    k = 0
                    while k < 2:
                        total = total * np.exp(-t * x[j]) + t
                        k += 1
            s = s + 0.5 + t ** 2
        total += s
    return total


def overwritten(x, w):
    """Operands and results of library calls that are written to later, swaps, a matrix that changes."""
    a, b = x * 1.0, np.zeros(3)
    m = w.copy()
    for t in range(4):
        b[:] = np.linalg.solve(m, a)
        m[t % 3] *= x[0]
        a, b = b, a
        a *= 0.5 + x
    return a, m, np.sum(b)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_tapes(mode):
    agrees(tickets, (X,), (X[::-1].copy(),), (np.ones(3),), mode=mode)
    alone = [(X, None), (None, W)] if mode == "python" else []
    agrees(overwritten, (X, W + np.eye(3)), *alone, (X, W), mode=mode)


def test_a_checkpointed_loop():
    def f(x, n):
        for _ in checkpoint(range(n), budget=3):
            x = np.sin(x) * 1.1
        return x
    agrees(f, (X, 7), (X, None))


def network(w, x, steps):
    h = np.zeros(3)
    for _ in range(steps):
        h = np.tanh(w @ h + x)
    return {"h": h, "steps": steps}, h @ h


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_many_tangents(mode):
    """A leading axis; none and one of them; numbers."""
    _, push = linearize(network, W, X, 4, mode=mode)
    rows = np.random.default_rng(0).standard_normal((5, 3, 3))
    found, norms = push.batched(rows, None, None)
    for k, row in enumerate(rows):
        dot, norm = push(row, None, None)
        np.testing.assert_allclose(found["h"][k], dot["h"])
        assert norms[k] == pytest.approx(norm) and dot["steps"] is None
    assert push.batched(rows[:0], None, None)[0]["h"].shape == (0, 3)
    assert linearize(lambda a, b: a * b, 2.0, 3.0, mode=mode)[1].batched(np.arange(3.0), np.ones(3)).tolist() == [2, 5, 8]


def test_values_are_computed_once():
    """Nothing that is expensive stands in the linear part, and the program reads well."""
    _, push = linearize(network, W, X, 4, mode="python")
    linear = push.source[push.source.index("def network_tangents"):]
    code = "\n".join(line for line in linear.splitlines() if "#" not in line)
    assert "tanh" not in code and "h_dot" in code and "test_linearize.py" in linear
    _, push = linearize(lambda x: np.sum(np.sin(x) * np.exp(x)), X, mode="python")
    code = "\n".join(line for line in push.source[push.source.index("def primal_tangents"):].splitlines() if "#" not in line)
    assert "np.sin" not in code and "np.exp" not in code and "np.cos" not in code


@dataclasses.dataclass
class Model:
    w: np.ndarray
    name: str
    scale: float


def test_structures_and_missing_tangents():
    def f(model, table, n):
        return model.scale * np.sum(model.w) + table["a"][0] * n, {"n": n}
    model, table = Model(X, "m", 2.0), {"a": (3.0, 1), "b": X}
    _, push = linearize(f, model, table, 4, mode="python")
    dots = Model(np.ones(3), None, 0.5), {"a": (1.0, None), "b": None}, None
    assert push(*dots)[0] == pytest.approx(2.0 * 3 + 0.5 * X.sum() + 4) and push(*dots)[1] == {"n": None}
    assert push(None, None, None)[0] == 0.0
    for wrong, error, message in [
            ((None, None), TypeError, "takes 3 tangents"), ((X, None, None), ShapeMismatch, "another structure"),
            ((None, None, 1.0), NonDifferentiable, "holds int64"), ((Model(X[:2], None, None), None, None), ShapeMismatch,
                                                                   r"shape \(2,\), the primal \(3,\)")]:
        with pytest.raises(error, match=message):
            push(*wrong)
    with pytest.raises(ShapeMismatch, match="one leading axis"):
        push.batched(None, None, None)


def test_bound_and_default_arguments():
    """What is bound beforehand or stands as a default is no primal."""
    def f(x, k=2.0, n=3):
        return np.sum(x) * k ** n
    for function in (f, functools.partial(f, k=2.0)):
        assert linearize(function, X, mode="python")[1](X) == pytest.approx(8 * X.sum())
        bars = vjp(function, X, mode="python")[1](1.0)
        assert len(bars) == 1 and bars[0].tolist() == [8.0] * 3


def test_float32_and_outputs():
    def kernel(u, out):
        out[:] = u * u
    value, push = linearize(kernel, X.astype(np.float32), np.zeros(3, np.float32), outputs="out", mode="python")
    dot = push(np.ones(3), None)
    assert dot.dtype == value.dtype == np.float32
    np.testing.assert_allclose(dot, 2 * X, rtol=1e-6)
    with pytest.raises(NonDifferentiable, match="returns nothing"):
        linearize(lambda x: 3, 1.0, mode="python")


# ---- inside programs ------------------------------------------------------------------------------------
def product(a, b):
    return a @ b


def bent(a):
    return np.tanh(a) * a


def maps_inside(x, w):
    """Several cotangents of one pullback, primals and values written to in between, a map of a map's result."""
    y, pull = vjp(product, w, x)
    w_bar, _ = pull(np.sin(y))
    x[0] = 2.0
    s = np.sum(y)
    y[:] = 1.0
    total = s
    for k in range(3):
        _, x_bar = pull(w_bar[k])
        total += np.sum(x_bar ** 2)
    _, push = linearize(bent, x_bar)
    return total + np.sum(push(w_bar[0]) * w)


def written_out(x, w):
    y = w @ x
    w_bar = np.outer(np.sin(y), x)
    total = np.sum(y)
    for k in range(3):
        x_bar = w.T @ w_bar[k]
        total += np.sum(x_bar ** 2)
    t = np.tanh(x_bar)
    return total + np.sum((t + x_bar * (1 - t ** 2)) * w_bar[0] * w)


def test_inside_a_differentiated_function():
    found = grad(maps_inside, wrt=(0, 1), mode="python", debug=True)(X, W)
    for a, b in zip(found, grad(written_out, wrt=(0, 1), mode="python")(X, W), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def leaving(x, n):
    """The map outlives the iteration it was made in: the loop is written out."""
    for k in range(n):
        _, pull = vjp(bent, x * k)
    return np.sum(pull(x)[0])


def either(x):
    _, pull = vjp(bent, x) if x[0] > 0.1 else vjp(bent, 2 * x)
    return np.sum(pull(x)[0])


def too_many(x):
    return vjp(bent, x)[1](x, x)


def misfitting(x):
    return np.sum(linearize(bent, x)[1](x[1:]))


def test_mistakes_inside():
    np.testing.assert_allclose(grad(leaving, mode="python")(X, 3), grad(
        lambda x: np.sum((np.tanh(2 * x) + 2 * x * (1 - np.tanh(2 * x) ** 2)) * x), mode="python")(X))
    with pytest.raises(AutodiffError, match="outside of the loop or branch"):
        grad(either, mode="python")(X)
    with pytest.raises(AutodiffError, match="one cotangent of the result's structure"):
        grad(too_many, mode="python")(X)
    with pytest.raises(ValueError, match="not the shape"):
        grad(misfitting, mode="python")(X)
