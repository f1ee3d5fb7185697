"""Arrays whose size is known only inside the loop that makes them, and that the gradient needs again: one flat tape."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff
from autodiff import AutodiffError, value_and_grad

from .fuzz import masks
from .support import assert_gradient, from_text, outcome


def pairs(x, n):
    for t in range(n):
        y = x[:, None] - x + 0.1 * t
        y[y > 0] = (1.0 + y[y > 0]) ** -1.5
        x = np.sin(y @ x) + x
    return np.sum(x * x)


def sorted_pairs(x, n):
    for t in range(n):
        y = x[:, None] - x + 0.1 * t
        near = np.sort(y[y > 0])
        near *= near
        x = np.sin(x * near[0]) + np.sum(near * near) * 0.01 * x
    return np.sum(x * x)


def written_again_in_a_while(x, n):
    s, k = 0.0, 0
    while k < n:
        y = np.outer(x, x) + 0.1 * np.cos(s)
        z = y[y > 0.01]
        z[:1] = np.sin(s)
        for i in range(3):
            z *= np.cos(z)
        s = 0.1 * s + np.sum(z * z)
        if s > 0:
            w = y[y < 0.02]
            w *= w
            w *= np.exp(-w)
            s += np.sum(w[:1]) * np.sum(np.sort(w)[:2])
        k += 1
    return s


def matrices_of_computed_sizes(x, n):
    s = 0.0
    for t in range(n):
        k = int(np.sum(np.abs(x)) * (t + 1)) + 1
        z = np.linspace(0.0, s + x[t], k)
        m = np.zeros((k, 3))
        m[:, 0] = z
        m[:, 1] = z * z
        m[:, 2] = np.exp(-z)
        m *= np.cos(m)
        s += np.sum(np.linalg.inv(m.T @ m + 5.0 * np.eye(3))) + np.sum(np.linalg.solve(m @ m.T + np.eye(k), z))
    return s


def in_a_branch(x, n):
    s = 1.0
    for t in range(n):
        if t % 2 == 0:
            y = np.outer(x, x)
            z = np.sin(y[y > 0.1 * t])
            z *= z * s
            for i in range(2):
                z *= np.cos(z)
            s += np.sum(z)
        else:
            s = np.sin(s) + x[0]
    return s


def inside_a_branch_only(x, n):
    s = x[0]
    if n > 0:
        k = int(np.sum(np.abs(x))) + n
        z = np.linspace(0.0, s, k)
        for i in range(n):
            z *= np.cos(z)
        s = np.sum(z * z)
    return s


PROGRAMS = (pairs, sorted_pairs, written_again_in_a_while, matrices_of_computed_sizes, in_a_branch, inside_a_branch_only)
ARGS = (np.random.default_rng(3).uniform(0.1, 1.2, 5), 3)


@pytest.mark.parametrize("program", PROGRAMS)
def test_first_and_second_order(program):
    assert_gradient(program, ARGS, (0,), "python")
    gradient = autodiff.grad(program, mode="python")
    assert_gradient(lambda x, n: np.sum(gradient(x, n) ** 2), ARGS, (0,), "python", 1e-5)


@pytest.mark.parametrize("program", (pairs, sorted_pairs, written_again_in_a_while, matrices_of_computed_sizes))
def test_the_other_operators(program):
    """A pullback runs any number of times; tangents and tangent maps go forward."""
    x, n = ARGS
    expected = autodiff.grad(program, mode="python")(x, n)
    _, pullback = autodiff.vjp(program, x, n, mode="python")
    for _ in range(2):
        np.testing.assert_allclose(pullback(1.0)[0], expected, rtol=1e-10)
    d = np.cos(x)
    _, tangent_map = autodiff.linearize(program, x, n, mode="python")
    np.testing.assert_allclose(autodiff.jvp(program, (x, n), (d, None), mode="python")[1], expected @ d, rtol=1e-10)
    for _ in range(2):
        np.testing.assert_allclose(tangent_map(d, None), expected @ d, rtol=1e-10)


def test_compiled():
    assert_gradient(pairs, ARGS, (0,), "numba")


def checkpointed(x, n):
    for t in autodiff.checkpoint(range(n), snapshots=2):
        y = x[:, None] - x + 0.1 * t
        y[y > 0] = (1.0 + y[y > 0]) ** -1.5
        x = np.sin(y @ x) + x
    return np.sum(x * x)


def test_the_steps_of_a_checkpointed_loop():
    np.testing.assert_allclose(autodiff.grad(checkpointed, mode="python")(ARGS[0], 5),
                               autodiff.grad(pairs, mode="python")(ARGS[0], 5), rtol=1e-10)


def test_the_bill_says_that_only_a_run_can_tell():
    gradient = autodiff.grad(sorted_pairs, mode="python")
    gradient(*ARGS)
    assert any(entry.shape == ("elements",) for entry in gradient.tape)
    assert "?" in str(gradient.tape.bill(*ARGS))


def made_first_in_a_loop(x, n):
    for t in range(n):
        z = x[x > 0.1 * t]
        z = z * t
    return np.sum(z * z)


def rows_made_first_in_a_while(x, n):
    k = 0
    while k < n:
        z = np.outer(x, x)[x > 0.1 * k]
        k += 1
        if len(z) < 4:
            break
    return np.sum(z @ x)


def read_in_the_next_iteration(x, n):
    s = 0.0
    for t in range(n):
        if t > 0:
            s += np.sum(z) * x[t]               # noqa: F821, of the iteration before
        z = x[x > 0.1 * t] * 2.0
    return s + np.sum(z)


def made_in_a_list(x, n):
    for t in range(n):
        z = [x[x > 0.1 * t], x[0] * t]
    return np.sum(z[0]) * z[1]


def the_best(x, n):
    best = None
    for t in range(n):
        z = x[x > 0.1 * t]
        if np.sum(z) > 0.5:
            best = z
    return np.sum(best ** 2)


MADE_FIRST = (made_first_in_a_loop, rows_made_first_in_a_while, read_in_the_next_iteration, made_in_a_list, the_best)


@pytest.mark.parametrize("program", MADE_FIRST)
@pytest.mark.parametrize("n", (1, 3))
def test_arrays_first_made_in_a_loop(program, n):
    assert_gradient(program, (ARGS[0], n), (0,), "python")


def test_an_array_first_made_in_a_loop_that_does_not_run():
    with pytest.raises(UnboundLocalError):
        autodiff.grad(made_first_in_a_loop, mode="python")(ARGS[0], 0)


def second_name(x, n):
    for t in range(n):
        z = x[x > 0.1 * t] * 2.0
        y = z
    y[0] = x[1] * x[1]
    return np.sum(z * z)


def view_of_another(x, n):
    w = np.sin(x)
    for t in range(n):
        z = w[int(np.sum(x)) % 2 + t % 2:]
    z[0] = x[1]
    return np.sum(w * w)


@pytest.mark.parametrize("program", (second_name, view_of_another))
def test_what_two_names_see_is_not_written(program):
    with pytest.raises(autodiff.AutodiffError):
        autodiff.grad(program, mode="python")(*ARGS)


def halved_in_both_axes(u):
    while u.shape[0] > 2:
        u = 0.25 * (u[::2, ::2] + u[1::2, ::2] + u[::2, 1::2] + u[1::2, 1::2])
    return np.sum(u ** 2)


def test_an_array_that_changes_two_axes_is_refused_before_it_runs():
    """It raised a ValueError when it ran."""
    with pytest.raises(autodiff.AutodiffError, match="changes its shape in the loop, not only its length"):
        autodiff.grad(halved_in_both_axes, mode="python")(np.ones((8, 8)))


def spaced(x, n):
    s = 0.0
    for t in range(n):
        s += np.sum(np.linspace(x[0], x[1], t) * 2.0) + np.sum(np.logspace(x[0], x[1], t))
        s += np.sum(np.geomspace(x[2], x[3], t))
    return s


@pytest.mark.parametrize("n", (1, 2, 3, 4))
def test_a_range_of_one_number_is_its_start(n):
    """The size is known only when it runs: the one number was the end."""
    assert_gradient(spaced, (ARGS[0], n), (0,), "python")


@pytest.mark.parametrize("seed", [*range(40), 1000003, 3000322, 1000218, 1000080, 2000311, 1000244, 31000075, 31000142])
def test_random_programs(seed):
    found, text = masks.attempt(seed)
    assert found.verdict != "failed", f"{text}\n{found}"


def test_rows_of_other_sizes_are_refused():
    """Once the sizes have shown to differ, the arrays in a list would be broadcast to its first."""
    def kept_rows(x, y):
        kept = [x * 0.5]
        for _ in range(2):
            kept.append(y * 2.0)
        return sum([np.sum(v * v) for v in kept])
    x = np.array([1.0, 2.0, 3.0])
    assert autodiff.value_and_grad(kept_rows, mode="python")(x, x)[0] == kept_rows(x, x)
    for y in (x[:1], x[:2]):
        with pytest.raises(autodiff.UnsupportedSyntax, match="may have different shapes"):
            autodiff.value_and_grad(kept_rows, mode="python")(x, y)


def number_first(x):
    kept = [x[0], x * 0.5]
    for _ in range(2):
        kept.append(x)
    return sum([np.sum(v * v) for v in kept])


def number_later(x):
    kept = [x * 1.0]
    for i in range(2):
        kept.append(x * i)
    kept[0] = x[1] * 2.0
    return sum([np.sum(v * v) for v in kept])


def shorter_in_a_pair(x):
    kept = [(x * 1.0, 1.0)]
    for i in range(2):
        kept.append((x * i, 2.0))
    kept[0] = (x[:1] * 1.0, 1.0)
    return sum([np.sum(v * w) for v, w in kept])


def number_in_a_pair(x):
    kept = [(x * 1.0, 1.0)]
    for i in range(2):
        kept.append((x * i, 2.0))
    kept[0] = (x[1] * 2.0, 1.0)
    return sum([np.sum(v * w) for v, w in kept])


@pytest.mark.parametrize("f", (number_first, number_later, shorter_in_a_pair, number_in_a_pair))
def test_what_would_be_broadcast_into_a_list_that_grows_is_refused(f):
    with pytest.raises(autodiff.UnsupportedSyntax, match="may have different shapes"):
        autodiff.value_and_grad(f, mode="python")(np.array([1.0, 2.0, 3.0]))


STEPS = (np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.1, 0.2], [0.0, 1.0, 0.3], [0.1, 0.1, 0.1]]), np.ones((2, 1)))
STARTS = ("np.array([1.0, 0.0])", "np.zeros(2)", "np.ones(1)", "np.array([1.0, 0.5, 0.2])")
NEXT = ("A @ x + 0.1 * K", "A @ x", "A @ K + x[0]", "np.tanh(A @ K)", "x + K", "K * x[-1]")


@pytest.mark.parametrize("start", STARTS)
def test_states_of_known_length_beside_matrices_of_unknown(start):
    """The loop stays one: that the lengths agree is checked, and where they do not, the loop is written out."""
    for line in NEXT:
        f = from_text(f"<{start} {line}>", f"import numpy as np\ndef f(K, A):\n    x, J = {start}, 0.0\n"
                      f"    for k in range(4):\n        J += np.sum(x * x)\n        x = {line}\n    return J + x[0]\n")
        for A in STEPS:
            K = np.linspace(0.5, 1.0, A.shape[1])
            expected, found = outcome(f, K, A), outcome(value_and_grad(f, mode="python"), K, A)
            if isinstance(expected, Exception) or isinstance(found, AutodiffError):
                assert isinstance(found, (type(expected), AutodiffError)), (line, A, expected, found)
                continue
            assert found[0] == pytest.approx(expected, rel=1e-13)
            moved = [(f(K + e, A) - f(K - e, A)) / 2e-6 for e in 1e-6 * np.eye(len(K))]
            np.testing.assert_allclose(found[1], moved, rtol=1e-5, atol=1e-8)


def test_long_loops_of_small_states_are_not_written_out():
    def f(K, A, B):
        x, J = np.array([1.0, 0.0]), 0.0
        for k in range(40):
            u = -K @ x
            J += x @ x
            x = A @ x + B @ u
        return J
    derived = value_and_grad(f, mode="python")
    A, B, K = STEPS[0], np.array([[0.0], [0.1]]), np.ones((1, 2))
    assert derived(K, A, B)[0] == pytest.approx(f(K, A, B), rel=1e-12)
    assert derived.source.count("\n") < 150
