"""Jacobians by columns, by rows and by lanes against each other and against differences; Hessians."""

import pickle
import re

import numpy as np
import pytest

from autodiff import NonDifferentiable, grad, hessian, jacobian, jvp, vjp

from .support import direction_like
from .test_numpy_catalogue import ENTRIES, FLOATS, copies, function_of, inputs, source_of

X = np.array([0.3, 0.7, 0.9, 1.1, 0.5])
A = np.array([[0.3, 0.7, -0.2], [0.5, 1.1, 0.4]])


def differences(function, x, h=1e-6):
    """The Jacobian of a function of one array or number by central differences."""
    columns = []
    for k in np.ndindex(*np.shape(x)):
        d = np.zeros(np.shape(x))
        d[k] = h
        columns.append((np.asarray(function(x + d)) - np.asarray(function(x - d))) / (2 * h))
    stacked = np.stack(columns, -1)
    return stacked.reshape(*stacked.shape[:-1], *np.shape(x))


def shifted(x):
    y = np.empty(len(x) - 2)
    for i in range(len(x) - 2):
        y[i] = np.sin(x[i + 1]) * x[i] + x[i + 2] ** 2
    return y


def in_place(x):
    for i in range(1, len(x)):
        x[i] = x[i] * np.cos(x[i - 1])
    return x


def grown(x):
    """More results than parameters; a branch, and a value that is carried."""
    out, s = np.zeros((len(x), 3)), 1.0
    for i in range(len(x)):
        s = s * x[i] if x[i] > 0.6 else s + x[i] ** 2
        out[i] = s, x[i] * s, np.sin(s)
    return out


def matrices(a):
    return (a @ a.T) ** 2, np.tanh(a).sum(axis=0)


def while_loop(x):
    y = x * 1.0
    n = 0
    while np.sum(y) < 20.0 and n < 9:
        y = y * 1.3 + x ** 2
        n += 1
    return y


def two_numbers(x):
    a = b = 0.0
    for i in range(len(x)):
        t = np.sin(x[i])
        a += t * x[i]
        b += np.exp(t) * x[0]
    return a, b


def pair(x):
    return np.array([x[0] * x[1], np.exp(x[2]) * np.sum(x)])


def products(a):
    """Long and short products, vectors, transposes, a solve; numbers of lanes known and unknown."""
    b = np.arange(30.0).reshape(3, 10) / 30
    long = (a @ b) @ (a @ b).T
    return a @ a[0], long @ np.linalg.solve(long + 3 * np.eye(2), a), (a.T @ long)[0] @ a[1, :2], a[0] @ a[1]


def choices(x):
    """Names bound on two sides, loops that end early, swaps and growing lists."""
    a, b = x * 1.0, np.zeros(len(x))
    out = []
    for t in range(4):
        if t % 2:
            s = a[t] * x[0]
        else:
            s = np.sin(b[t])
        if s > 0.7:
            break
        a, b = b, a
        a += s * x
        out.append(s * a[0])
    return np.array(out), a + b * s, s


def selected(x):
    return x[x > 0.6] ** 2


PROGRAMS = [(shifted, X), (in_place, X), (grown, X), (matrices, A), (while_loop, X), (two_numbers, X),
            (pair, X), (selected, X), (choices, X), (products, A), (np.cumprod, X),
            (lambda t: np.array([t, t * t]), 0.7), (lambda t: X * t ** 2, 0.7)]


def parts(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("direction", ["forward", "reverse", "auto"])
@pytest.mark.parametrize("program, x", PROGRAMS)
def test_blocks(program, x, direction):
    def f(x):
        return program(x)
    found = jacobian(f, direction=direction, mode="python", debug=True)(x)
    value = parts(program(np.array(x)))
    for k, block in enumerate(parts(found)):
        assert np.shape(block) == np.shape(value[k]) + np.shape(x)
        wanted = differences(lambda x, k=k: parts(program(np.array(x)))[k], x)
        np.testing.assert_allclose(block, wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("direction, program, x", [
    ("forward", in_place, X), ("reverse", two_numbers, X), ("forward", pair, X)])
def test_compiled(direction, program, x):
    def f(x):
        return program(x)
    fast, slow = (jacobian(f, direction=direction, mode=m)(x) for m in ("numba", "python"))
    for a, b in zip(parts(fast), parts(slow), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("entry", ENTRIES[::3])
def test_library_functions(entry):
    """Forward and reverse give the same blocks."""
    values = inputs()
    function = function_of(source_of(entry), f"<jacobian {entry}>")
    wrt = tuple(n for n in FLOATS if re.search(rf"\b{n}\b", entry)) or ("x",)
    blocks = [jacobian(function, wrt=wrt, direction=d, mode="python")(*copies(values)) for d in ("forward", "reverse")]
    for a, b in zip(*blocks, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


def test_structures():
    def f(state, k):
        return {"y": state["a"] * k, "n": 3}, k * state["b"]
    found, last = jacobian(f, wrt=("state", "k"), mode="python")({"a": X, "b": 2.0}, 1.5)
    of_state, of_k = found["y"]
    np.testing.assert_allclose(of_state["a"], 1.5 * np.eye(5))
    np.testing.assert_allclose(of_state["b"], np.zeros(5))
    np.testing.assert_allclose(of_k, X)
    assert found["n"] is None and last[1] == 2.0 and last[0]["b"] == 1.5 and not last[0]["a"].any()


@pytest.mark.parametrize("n", [0, 1, 2, 5, 63, 64, 65, 130])
def test_every_length(n):
    """Columns in groups of 64."""
    def f(x):
        return np.sin(x) * np.sum(x)
    x = np.linspace(0.2, 1.0, n)
    wanted = np.diag(np.cos(x) * np.sum(x)) + np.sin(x)[:, None]
    for direction in ("forward", "reverse", "auto"):
        np.testing.assert_allclose(jacobian(f, direction=direction, mode="python")(x), wanted)


def test_sizes_are_checked_before_they_are_relied_on():
    def unpacked(p, t):
        a, b, c = p
        return a * np.exp(-b * t) + c
    J = jacobian(unpacked, direction="forward")
    assert J(X[:3], X).shape == (5, 3)
    assert J.source.index("does not unpack") < J.source.index("p_dot")
    with pytest.raises(ValueError, match="does not unpack into 3 values"):
        J(X, X)


def test_the_smaller_number_is_run_through():
    tall = jacobian(grown, mode="python")
    tall(X)
    assert "x_dot" in tall.source
    wide = jacobian(lambda a: np.sum(a ** 2, axis=1), mode="python")
    wide(np.ones((3, 40)))
    assert "a_bar" in wide.source


def test_few_results_share_one_sweep():
    def two_sums(x):
        a = b = 0.0
        for i in range(len(x)):
            t = np.sin(x[i])
            a += t * x[i]
            b += np.exp(t)
        return a, b
    made = jacobian(two_sums, mode="python")
    made(X)
    code = "\n".join(line for line in made.source.splitlines() if not line.strip().startswith("#"))
    assert code.count("np.sin") == code.count("np.exp") == code.count("for i") == 1


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def recurrent(x):
    h = np.zeros(2)
    for t in range(3):
        h = np.tanh(np.array([[0.3, 0.2], [0.1, 0.5]]) @ h + x[:2] * x[2])
    return h @ h + np.prod(x)


def looped(x):
    s = 1.0
    while s < 30.0:
        s = s * (1.2 + x[0] ** 2) + np.sin(x[1] * s)
    return s * x[2]


@pytest.mark.parametrize("program, mode", [(rosenbrock, "python"), (recurrent, "python"), (looped, "python"),
                                           (rosenbrock, "numba")])
def test_hessian(program, mode):
    found = hessian(program, mode=mode, debug=True)(X)
    np.testing.assert_allclose(found, found.T, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found, differences(grad(program, mode="python"), X), rtol=1e-5, atol=1e-6)


def test_blocks_of_a_hessian():
    def f(x, y, k):
        return np.sum(x * y) * k + np.sum(x ** 3)
    (xx, xk), (kx, kk) = hessian(f, wrt=("x", "k"), mode="python")(X, 2 * X, 3.0)
    np.testing.assert_allclose(xx, np.diag(6 * X))
    np.testing.assert_allclose(xk, 2 * X)
    np.testing.assert_allclose(kx, 2 * X)
    assert kk == 0.0


def test_third_order():
    def f(x):
        return np.sum(np.sin(x) * x[::-1] ** 2)
    found = jacobian(hessian(f, mode="python"), mode="python")(X[:3])
    np.testing.assert_allclose(found, differences(hessian(f, mode="python"), X[:3]), rtol=1e-6, atol=1e-8)


GAUSS_NEWTON = jacobian(shifted)


def normal_equations(x):
    J = GAUSS_NEWTON(x)
    return np.sum(np.linalg.solve(J @ J.T, shifted(x)))


def test_inside_a_differentiated_function():
    found = grad(normal_equations, mode="python")(X)
    J = jacobian(shifted, mode="python")
    plain = differences(lambda x: np.sum(np.linalg.solve(J(x) @ J(x).T, shifted(x))), X)
    np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-6)


def test_pushed_and_pulled_back():
    J = jacobian(grown, mode="python")(X)
    d = direction_like(X)
    np.testing.assert_allclose(jvp(grown, (X,), (d,), mode="python")[1], J @ d)
    out, back = vjp(grown, X, mode="python")
    w = direction_like(out, 3)
    np.testing.assert_allclose(back(w)[0], np.tensordot(w, J, 2))


def test_compiled_objects():
    again = pickle.loads(pickle.dumps(GAUSS_NEWTON))
    np.testing.assert_allclose(again(X), jacobian(shifted, mode="python")(X))
    made = hessian(rosenbrock)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(made))(X), made(X))
    assert "rosenbrock" in repr(made) and "J[" in made.source


def test_from_compiled_code():
    from numba import njit
    second = hessian(rosenbrock)

    @njit
    def traces(x, n):
        total = 0.0
        for k in range(n):
            total += np.trace(second(x + k)) + GAUSS_NEWTON(x)[0, 0]
        return total
    wanted = sum(np.trace(second(X + k)) + GAUSS_NEWTON(X)[0, 0] for k in range(3))
    assert traces(X, 3) == pytest.approx(wanted)


def test_mistakes():
    with pytest.raises(ValueError, match="direction must be one of"):
        jacobian(shifted, direction="sideways")
    with pytest.raises(NonDifferentiable, match="returns nothing"):
        jacobian(lambda x: 3, mode="python")(X)
    with pytest.raises(NonDifferentiable, match="returns an array"):
        hessian(shifted, mode="python")(X)


def trace(x):
    return np.trace(hessian(recurrent)(x)) + jacobian(shifted, direction="reverse")(x)[0, 1] ** 2


def test_derivative_of_a_trace():
    """Reverse over forward over reverse, through loops over columns and rows."""
    found = grad(trace, mode="python", debug=True)(X)
    second = hessian(recurrent, mode="python")
    first = jacobian(shifted, mode="python")
    plain = differences(lambda x: np.trace(second(x)) + first(x)[0, 1] ** 2, X)
    np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-6)
