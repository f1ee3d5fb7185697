"""Solvers differentiated by the implicit function theorem, against analytic results, differences and unrolled loops."""

from dataclasses import dataclass

import numpy as np
import pytest

from autodiff import (
    UnsupportedSyntax,
    differentiable,
    fixed_point,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linear_solve,
    minimize,
    odeint,
    root,
    value_and_grad,
    vjp,
)

W = np.array([[0.3, -0.2, 0.1], [0.05, 0.2, -0.3], [0.2, 0.1, 0.25]])
S = W @ W.T + np.eye(3)


def differences(f, x, h=1e-5):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2.0 * h) for e in np.eye(len(x))])


def check(loss, x, second=True):
    """First derivatives in both modes against differences of the value, second ones against differences of the first."""
    value = differentiable(loss, mode="python")
    gradient = grad(loss, mode="python")
    first = gradient(x)
    np.testing.assert_allclose(first, differences(value, x), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(jacobian(loss, direction="forward", mode="python")(x), first, rtol=1e-9, atol=1e-11)
    if second:
        np.testing.assert_allclose(hessian(loss, mode="python")(x), differences(gradient, x), rtol=1e-6, atol=1e-7)


def square(x, a):
    return x * x - a


def square_root(a):
    return root(square, 1.0, a)


@pytest.mark.parametrize("mode", ["numba", "python"])
def test_square_root(mode):
    value, slope = value_and_grad(square_root, mode=mode)(4.0)
    assert value == pytest.approx(2.0, rel=1e-14) and slope == pytest.approx(0.25, rel=1e-14)


def test_third_derivative_and_forward():
    gradient = grad(square_root, mode="python")
    assert grad(gradient, mode="python")(4.0) == pytest.approx(-1.0 / 32.0, rel=1e-12)
    assert grad(grad(gradient, mode="python"), mode="python")(4.0) == pytest.approx(3.0 / 256.0, rel=1e-12)
    assert jvp(square_root, (4.0,), (2.0,), mode="python")[1] == pytest.approx(0.5, rel=1e-12)
    assert jvp(gradient, (4.0,), (1.0,), mode="python")[1] == pytest.approx(-1.0 / 32.0, rel=1e-12)


@dataclass
class Reaction:
    rates: np.ndarray
    order: float


def balance(x, reaction, weights, power):
    return W @ x ** power * reaction.order + x * np.exp(reaction.rates) - weights["feed"]


def test_structures_and_arrays_outside():
    def loss(p):
        solution = root(balance, np.ones(3), Reaction(p[:3], p[3]), {"feed": p[4:] ** 2}, 2)
        return np.sum(solution ** 2 * np.arange(1.0, 4.0))
    check(loss, np.array([0.1, -0.2, 0.3, 1.2, 0.9, 1.1, 1.3]), second=False)


def test_closures_over_active_values():
    def loss(p):
        scale = np.exp(p[0])

        def inner(y):
            return np.tanh(y) * scale

        def residual(x):
            return x + inner(x) - p[1:]
        return np.sum(root(residual, np.zeros(2)) ** 3)
    check(loss, np.array([0.3, 1.0, -0.7]))


def test_the_unknown_may_be_a_matrix():
    def equation(X, a):
        return X @ X - a * np.eye(2) - 0.1 * np.array([[0.0, 1.0], [1.0, 0.0]])

    def loss(p):
        return np.sum(root(equation, np.eye(2), p[0]) * np.array([[1.0, 2.0], [3.0, 4.0]]))
    check(loss, np.array([4.0]), second=False)


def test_independent_of_the_iterations():
    def loss(a, start, tol):
        return np.sum(root(square, start, a, tol=tol) ** 3)
    gradient = grad(loss, wrt=(0, 1), mode="python")
    a = np.array([2.0, 9.0])
    by_a, by_start = gradient(a, np.array([1.5, 2.9]), 1e-4)
    far, _ = gradient(a, np.array([900.0, 2e4]), 1e-4)
    np.testing.assert_allclose(by_a, 1.5 * np.sqrt(a), rtol=1e-7)
    np.testing.assert_allclose(by_a, far, rtol=1e-7)
    np.testing.assert_array_equal(by_start, np.zeros(2))
    assert "tape" not in gradient.source


def contraction(x, b):
    return np.tanh(W @ x + b) * b[0]


def test_fixed_point():
    def loss(b):
        return np.sum(fixed_point(contraction, np.zeros(3), b) ** 2)

    def unrolled(b, steps):
        x = np.zeros(3)
        for _ in range(steps):
            x = contraction(x, b)
        return np.sum(x ** 2)
    b = np.array([0.3, 0.5, -0.2])
    check(loss, b, second=False)
    np.testing.assert_allclose(grad(loss, mode="python")(b), grad(unrolled, mode="python")(b, 80), rtol=1e-11)


def test_second_derivatives():
    """x = c cos x, minimisers of c exp x - x, solutions of (1 + c**2) x = c: against the formulas."""
    a = 0.6
    x = 0.5
    for _ in range(200):
        x = a * np.cos(x)
    slope = np.cos(x) / (1.0 + a * np.sin(x))
    bend = (-2.0 * np.sin(x) * slope - a * np.cos(x) * slope ** 2) / (1.0 + a * np.sin(x))
    position = lambda c: fixed_point(lambda x: c * np.cos(x), 0.5)
    assert grad(grad(position, mode="python"), mode="python")(a) == pytest.approx(bend, rel=1e-9)
    bottom = lambda c: minimize(lambda x, c: c * np.exp(x) - x, 0.0, c)
    assert two_derivatives(bottom, a) == pytest.approx((-1.0 / a, 1.0 / a ** 2), rel=1e-9)
    solution = lambda c: linear_solve(lambda v: v + c ** 2 * v, np.array([c]))[0]
    assert two_derivatives(solution, a) == pytest.approx(((1.0 - a ** 2) / (1.0 + a ** 2) ** 2,
                                                    2.0 * a * (a ** 2 - 3.0) / (1.0 + a ** 2) ** 3), rel=1e-9)


def two_derivatives(f, a):
    """First and second derivative, the second forward over reverse."""
    return jvp(grad(f, mode="python"), (a,), (1.0,), mode="python")


def bowl(x, c):
    return np.sum((x - c[1:]) ** 4) / 4.0 + 0.5 * c[0] * np.sum(x * x) + x[0] * x[1]


def valley(x, c):
    return 100.0 * (x[1] - x[0] ** 2) ** 2 + (c[0] - x[0]) ** 2


def test_minimize():
    def loss(c):
        return np.sum(minimize(bowl, np.zeros(2), c) ** 2)
    check(loss, np.array([1.3, 0.5, -0.2]), second=False)


def test_minimize_the_valley():
    """The minimiser is (c, c**2), whatever method finds it."""
    for method in ("newton", "bfgs"):
        def position(c, method=method):
            return minimize(valley, np.array([-1.2, 1.0]), c, method=method)
        np.testing.assert_allclose(jacobian(position, direction="reverse", mode="python")(np.array([0.8])), [[1.0], [1.6]],
                                   rtol=1e-7)


def test_minimize_refuses_what_is_not_isolated():
    def flat(x, c):
        return (x[0] + x[1] - c) ** 2

    def loss(c):
        return np.sum(minimize(flat, np.zeros(2), c))
    with pytest.raises(RuntimeError, match="not positive definite"):
        grad(loss, mode="python")(1.0)


def shifted(v, d):
    return S @ v + d * v + np.roll(v, 1) * d[0]


def test_gmres():
    def loss(p):
        return np.sum(linear_solve(shifted, p[3:] ** 2, p[:3]) ** 2)
    check(loss, np.array([1.3, 0.5, 0.2, 1.0, -0.4, 0.7]), second=False)


def test_conjugate_gradients():
    def loss(p):
        return np.sum(linear_solve(lambda v, d: S @ v + d * v, p[::-1] * p, p, method="cg") ** 2)

    def dense(p):
        return np.sum(np.linalg.solve(S + np.diag(p), p[::-1] * p) ** 2)
    p = np.array([1.3, 0.5, 0.2])
    check(loss, p, second=False)
    np.testing.assert_allclose(grad(loss, mode="python")(p), grad(dense, mode="python")(p), rtol=1e-9)


def test_gmres_with_restarts():
    rng = np.random.default_rng(5)
    A = np.eye(40) * 3.0 + 0.3 * rng.normal(size=(40, 40))
    b = rng.normal(size=40)
    solved = differentiable(
        lambda A, b: linear_solve(lambda v, A: A @ v, b, A, restart=7), mode="python")(A, b)
    np.testing.assert_allclose(A @ solved, b, atol=1e-9 * np.linalg.norm(b))


@pytest.mark.parametrize("mode", ["numba", "python"])
def test_without_convergence_there_is_no_result(mode):
    def none(a):
        return root(lambda x: x * x + a, 1.0)
    with pytest.raises(RuntimeError, match=r"root\(\) did not converge"):
        grad(none, mode=mode)(1.0)


def test_failures_of_the_other_solvers():
    p = np.array([1.3, 0.5, 0.2])
    with pytest.raises(RuntimeError, match="did not converge in 3 iterations"):
        grad(lambda b: np.sum(fixed_point(contraction, np.zeros(3), b, max_iterations=3)), mode="python")(p)
    with pytest.raises(RuntimeError, match="did not converge in 2 iterations"):
        grad(lambda d: np.sum(linear_solve(shifted, np.ones(3), d, max_iterations=2)), mode="python")(p)
    with pytest.raises(RuntimeError, match="positive definite"):
        grad(lambda d: np.sum(linear_solve(shifted, np.ones(3), d, method="cg")), mode="python")(-9.0 * p)
    with pytest.raises(RuntimeError, match="did not converge in 1 iterations"):
        grad(lambda c: np.sum(minimize(bowl, np.ones(2), c, max_iterations=1)), mode="python")(p)


def test_the_adjoint_solve_must_converge_too():
    """A tolerance that the solution meets at its start, and the adjoint does not."""
    def loss(d):
        return np.sum(linear_solve(lambda v, d: S @ v + d * v, np.zeros(3), d, max_iterations=1) * np.arange(1.0, 4.0))
    with pytest.raises(RuntimeError, match="did not converge in 1 iterations"):
        grad(loss, mode="python")(np.array([1.3, 0.5, 0.2]))


def test_called_from_python():
    assert root(square, 1, 9.0) == pytest.approx(3.0)


def test_captured_arrays_that_change_afterwards():
    """x = 4 ** (1/3) whatever the array holds later."""
    def loss(a):
        target = np.array([4.0 * a])
        x = root(lambda x: x ** 3 - target, np.ones(1))
        target[0] = a * a
        return x[0] * target[0]
    slope = 4.0 ** (1.0 / 3.0) * (7.0 / 3.0)
    assert grad(loss, mode="python")(1.0) == pytest.approx(slope, rel=1e-12)
    assert jvp(loss, (1.0,), (1.0,), mode="python")[1] == pytest.approx(slope, rel=1e-12)


def test_functions_that_write_around_them_are_refused():
    def counts(a):
        count = 0

        def f(x):
            nonlocal count
            count += 1
            return x - a
        return root(f, 1.0)

    def writes(a):
        memory = np.zeros(1)

        def f(x):
            memory[0] = x
            return memory[0] - a
        return root(f, 1.0)
    with pytest.raises(UnsupportedSyntax, match="writes a name of the function around it"):
        grad(counts, mode="python")(2.0)
    with pytest.raises(UnsupportedSyntax, match="changes an array, an object"):
        grad(writes, mode="python")(2.0)


def test_single_precision():
    one, a = np.ones(2, dtype=np.float32), np.array([4.0, 0.3], dtype=np.float32)
    slope = grad(lambda a: np.sum(root(lambda x: x ** 3 - a, one)), mode="python")(a)
    assert slope.dtype == np.float32
    np.testing.assert_allclose(slope, a ** (-2.0 / 3.0) / 3.0, rtol=1e-5)


def test_captured_numbers_are_seen_anew():
    global FACTOR
    FACTOR = 2.0
    gradient = grad(lambda a: root(scaled, 1.0, a), mode="python")
    assert gradient(4.0) == pytest.approx(0.5)
    FACTOR = 4.0
    assert gradient(4.0) == pytest.approx(0.25)


FACTOR = 1.0


def scaled(x, a):
    return FACTOR * x - a


def test_a_loop_within_the_function_of_a_solver():
    """The condition of the solver's loop calls a function that has loops of its own."""
    def energy(x, a):
        return (x - a) ** 2 + fixed_point(lambda z: x / (1.0 + z * z), 0.0)
    x = differentiable(lambda a: minimize(energy, 0.0, a), mode="python")(1.0)
    z = differentiable(lambda x: root(lambda z: z ** 3 + z - x, 0.0), mode="python")(x)
    assert 2.0 * (x - 1.0) + 1.0 / (3.0 * z * z + 1.0) == pytest.approx(0.0, abs=1e-9)


# ---- integers among the parameters -----------------------------------------------------------------------
def polynomial(x, a, powers, count):
    """An odd polynomial less a parameter: loops and indices known only when the program runs."""
    total = x - a[powers[0]]
    for k in range(count):
        total += a[0] ** 2 * x ** powers[k + 1]
    return total


def counted_map(x, theta):
    a, picked, count = theta
    for _ in range(count):
        x = 0.4 * np.sin(a[picked] * x) + a[1]
    return x


def picked_valley(x, a, k):
    return (x - a[k]) ** 2 + 0.1 * a[0] * x ** 4


def picked_decay(y, t, a, k):
    return -a[k] * y + a[0] * t


def picked_product(v, a, k):
    return (2.0 + a[k] ** 2) * v + 0.1 * a[0] * v[::-1]


def closure_root(a, k):
    def residual(x):
        return polynomial(x, a, np.array([1, 3, 5]), k)
    return root(residual, 0.5)


WITH_INTEGERS = {
    "root": lambda a, k: root(polynomial, 0.5, a, np.array([1, 3, 5]), k),
    "closure": closure_root,
    "fixed_point": lambda a, k: np.sum(fixed_point(counted_map, np.zeros(2), (a, k, k + 1)) ** 2),
    "minimize": lambda a, k: minimize(picked_valley, 0.1, a, k),
    "odeint": lambda a, k: odeint(picked_decay, 1.0, np.array([0.0, 1.0]), a, k, rtol=1e-8)[-1],
    "continuous": lambda a, k: odeint(picked_decay, 1.0, np.array([0.0, 1.0]), a, k, adjoint="continuous", rtol=1e-9,
                                      atol=1e-11)[-1],
    "linear_solve": lambda a, k: np.sum(linear_solve(picked_product, np.array([1.0, 2.0]), a, k)),
}


@pytest.mark.parametrize("name", WITH_INTEGERS)
def test_integers_among_the_parameters(name):
    loss = WITH_INTEGERS[name]
    a, k = np.array([0.6, 0.8, 1.1]), 2
    first = grad(loss, mode="python")(a, k)
    if name == "continuous":
        np.testing.assert_allclose(first, grad(WITH_INTEGERS["odeint"], mode="python")(a, k), rtol=1e-6, atol=1e-9)
        return
    np.testing.assert_allclose(jacobian(loss, direction="forward", mode="python")(a, k), first, rtol=1e-7, atol=1e-9)
    value = differentiable(loss, mode="python")
    np.testing.assert_allclose(first, differences(lambda a: value(a, k), a), rtol=1e-5, atol=1e-8)
    if name == "root":
        assert vjp(loss, a, k, mode="python")[1](1.0)[1] is None
        product = hvp(loss, mode="python")(a, k, a)
        np.testing.assert_allclose(product, differences(lambda a: grad(loss, mode="python")(a, k), a) @ a, rtol=1e-5)


class Counter:
    def __init__(self):
        self.calls, self.seen, self.by_name = 0.0, [], {"calls": 0.0}


def counted(count):
    """Functions of a root whose equation counts its calls in one of several ways."""
    def solved(x):
        c = Counter()
        seen = [0.0]

        def equation(u, x):
            count(c, seen, u)
            return u * u - x[0]
        return root(equation, 1.0, x) * (1.0 + c.calls + seen[0] + len(c.seen) + c.by_name["calls"])
    return solved


def by_attribute(c, seen, u):
    c.calls += 1.0


def by_item(c, seen, u):
    seen[0] = u


def by_append(c, seen, u):
    c.seen.append(u)


def by_key(c, seen, u):
    c.by_name["calls"] = u


@pytest.mark.parametrize("count", [by_attribute, by_item, by_append, by_key])
def test_an_equation_that_changes_what_it_captures_is_refused(count):
    """The changes were lost: value and gradient were those of nothing having been counted."""
    with pytest.raises(UnsupportedSyntax, match="changes an array, an object, a list or a dict outside it"):
        value_and_grad(counted(count), mode="python")(np.array([4.0]))


def test_an_equation_may_read_objects():
    def solved(x):
        c = Counter()
        c.calls = x[0]
        c.seen = [x[0], 2.0]
        return root(lambda u, x: u * u - c.calls * c.seen[0] * x[0], 1.0, x)
    value, slope = value_and_grad(solved, mode="python")(np.array([4.0]))
    assert np.isclose(value, 8.0) and np.isclose(slope[0], 3.0)
