"""Checkpointed loops: the gradient of the same loop with a tape, copies within the budget, few repetitions."""

import functools
import types

import numpy as np
import pytest
from numba import njit

from autodiff import UnsupportedSyntax, checkpoint, grad, value_and_grad, vjp
from autodiff.errors import AutodiffError
from autodiff.runtime.checkpoint import parse_bytes, revolve_split

from .support import module_of

X = np.array([0.3, 0.7, 0.9, 1.1, 0.5])


def wave(x, c, T, keep):
    u, old = x.copy(), x.copy()
    s = 0.0
    for t in keep(range(T)):
        bend = np.zeros_like(u)
        bend[1:-1] = u[2:] - 2.0 * u[1:-1] + u[:-2]
        old, u = u, 2.0 * u - old + c * c * bend * np.cos(u)
        s += 0.01 * np.sum(u * u)
    return s + u[3]


def network(x, c, T, keep):
    W = np.outer(np.cos(x), x) * c
    h = x
    for t in keep(range(T)):
        h = np.tanh(W @ h + x * (t + 1))
    return np.sum(h * x)


def in_place(x, c, T, keep):
    """Read before the loop, overwritten in it, read after it."""
    a = np.sin(x)
    s = np.sum(a ** 3)
    for t in keep(range(T)):
        for i in range(1, len(a)):
            a[i] = a[i] * np.cos(a[i - 1]) + c * x[t % 5]
        if a[0] > 0.5:
            a[0] = a[0] * a[1]
        else:
            a[0] += 0.1
    t = a[2] * 3.0
    a[2] = 0.5
    return s + np.sum(a ** 2) + t


def scalars_only(x, c, T, keep):
    y, z = x[0], 1.0
    for t in keep(range(T)):
        y, z = y + 0.1 * z * c, z - 0.1 * np.sin(y) * x[t % 5]
    return y * z


def downwards(x, c, T, keep):
    s = x[1]
    for t in keep(range(3 * T, 1, -3)):
        s = np.tanh(s * c + x[t % 5]) + 0.01 * t * s
    return s


def swapped(x, c, T, keep):
    a, b = x * 1.0, np.zeros(5)
    for t in keep(range(T)):
        for i in range(5):
            b[i] = np.sin(a[i]) + c * a[i - 1]
        a, b = b, a
    return np.sum(a * b)


def inner_loops(x, c, T, keep):
    total, y = 0.0, x[2]
    for t in keep(range(T)):
        k = 0
        while k < 3 and y < 40.0:
            y = y * 1.2 + c * x[k]
            k += 1
        for j in range(t % 3):
            total += y * x[j]
        y = np.sqrt(y)
    return total


def first_unused(x, c, T, keep):
    """The loop's numbers do not all matter."""
    s, count = 0.0, 0
    for t in keep(range(T)):
        count += t
        s = s * 0.5 + x[t % 5] ** 2
    return s * c + x[count % 5]


COUPLING = np.random.default_rng(2).random((5, 5)) * 0.3


def global_and_continue(x, c, T, keep):
    """An array from outside, numbers that are whole, iterations that end early."""
    y, state, s = x * 1.0, np.zeros(5, dtype=np.int64), 0.0
    for t in keep(range(T)):
        state[t % 5] += t
        if state[2] % 2 == 1:
            continue
        y = np.tanh(COUPLING @ y + c * x)
        s += y[state[0] % 5]
    return s + y @ y


PROGRAMS = [global_and_continue, wave, network, in_place, scalars_only, downwards, swapped, inner_loops, first_unused]


def with_snapshots(program, k):
    return as_text(program, f"checkpoint(R, snapshots={k})")


@functools.cache              # what was generated for one test serves the next
def as_text(program, spelled):
    """The program with `keep(...)` written out."""
    import inspect
    lines = inspect.getsource(program).splitlines()
    text = "\n".join(line.replace("keep(", "SPELLED(") for line in lines)
    before, rest = text.split("SPELLED(", 1)
    depth, end = 0, 0
    for end, letter in enumerate(rest):
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            break
    text = before + spelled.replace("R", rest[:end]) + rest[end + 1:]
    name = f"<{program.__name__} {spelled}>"
    space = module_of(name, text, dict(program.__globals__))
    return space[program.__name__]


def plain(program):
    return as_text(program, "R")


def both(program, k, T, mode, wrt=(0, 1)):
    checked = value_and_grad(with_snapshots(program, k), wrt=wrt, mode=mode, debug=mode == "python")
    taped = value_and_grad(plain(program), wrt=wrt, mode="python")
    return checked(X, 0.4, T, None), taped(X, 0.4, T, None)


def agree(found, wanted):
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-13)
    for g, w in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize(("k", "T"), [(1, 4), (2, 7), (3, 12), (50, 6), (3, 1), (2, 0)])
def test_same_gradient_as_with_a_tape(program, k, T):
    agree(*both(program, k, T, "python"))


@pytest.mark.parametrize("program", [global_and_continue, in_place], ids=lambda p: p.__name__)
def test_compiled(program):
    agree(*both(program, 3, 12, "numba"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_arguments_stay_as_they_were(program):
    x = X.copy()
    value_and_grad(with_snapshots(program, 2), mode="python")(x, 0.4, 5, None)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("program", [wave, in_place, swapped], ids=lambda p: p.__name__)
def test_pullback_of_its_own(program):
    """The split form may read its copies twice."""
    out, pullback = vjp(with_snapshots(program, 2), X, 0.4, 7, None, mode="python")
    value, (x_bar, c_bar) = value_and_grad(plain(program), wrt=(0, 1), mode="python")(X, 0.4, 7, None)
    np.testing.assert_allclose(out, value, rtol=1e-13)
    for _ in range(2):
        bars = pullback(1.0)
        np.testing.assert_allclose(bars[0], x_bar, rtol=1e-11)
        np.testing.assert_allclose(bars[1], c_bar, rtol=1e-11)


@pytest.mark.parametrize("program", [scalars_only, wave], ids=lambda p: p.__name__)
def test_second_order(program):
    def along(f):
        g = grad(f, mode="python")
        return grad(lambda x, c, T, keep: np.sum(g(x, c, T, keep) * np.cos(x)), mode="python")
    found = along(with_snapshots(program, 2))(X, 0.4, 4, None)
    np.testing.assert_allclose(found, along(plain(program))(X, 0.4, 4, None), rtol=1e-10)


def nested_outer(x):
    y, s = x * 1.0, 0.0
    for i in checkpoint(range(4), snapshots=2):
        for j in checkpoint(range(5), snapshots=2):
            y = np.sin(y) + 0.1 * x * (i + j)
        s += np.sum(y ** 2)
    return s


def nested_plain(x):
    y, s = x * 1.0, 0.0
    for i in range(4):
        for j in range(5):
            y = np.sin(y) + 0.1 * x * (i + j)
        s += np.sum(y ** 2)
    return s


def nested_with_lengths(x, keep):
    """Inner loops as long as the number of the step around them, and an array outside that each step writes."""
    u, rows = x.copy(), np.zeros((4, len(x)))
    for t in keep(range(4), snapshots=3):
        for k in keep(range(2), snapshots=3):
            for j in range(k + 1):
                u *= np.sin(u)
            for j in keep(range(k + 1), snapshots=1):
                u += 0.1 * u ** 2
        rows[t] = u
    return np.sum(rows ** 2)


def test_nested_of_different_lengths():
    found = grad(lambda x: nested_with_lengths(x, checkpoint), mode="python", debug=True)(X)
    wanted = grad(lambda x: nested_with_lengths(x, lambda r, snapshots: r), mode="python")(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_at_least_one_snapshot():
    with pytest.raises(ValueError, match="at least one snapshot, not 0"):
        checkpoint(range(3), snapshots=0)
    with pytest.raises(AutodiffError, match="at least one snapshot, not -1"):
        grad(lambda x: sum(x * t for t in checkpoint(range(3), snapshots=-1)), mode="python")(1.0)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_nested(mode):
    np.testing.assert_allclose(grad(nested_outer, mode=mode)(X), grad(nested_plain, mode="python")(X), rtol=1e-12)


def over_budget(x):
    y = x * 1.0
    for t in checkpoint(range(100), budget="200 B"):
        y = np.tanh(y * 1.1 + 0.1 * x)
    return np.sum(y)


def test_budget_bounds_the_copies():
    """200 bytes hold 5 copies of 5 numbers."""
    made = grad(over_budget, mode="python")
    made(X)
    copies = [q for q in made.tape if "copies of" in q.reason]
    sizes = {"x_size": 5, "max": max, "min": min}
    assert [eval(q.shape[0], sizes) for q in copies] == [5]
    assert sum(eval(q.bytes, sizes) for q in made.tape) <= 400          # the copies, and what one step keeps


def test_tape_holds_no_axis_of_steps():
    made = grad(with_snapshots(wave, 3), mode="python")
    made(X, 0.4, 50, None)
    for saved in made.tape:
        assert "T" not in saved.shape[0].replace("max(T, 0)", "") or "min(3" in saved.shape[0], str(saved)


def test_the_function_itself_ignores_it():
    assert with_snapshots(wave, 3)(X, 0.4, 6, None) == plain(wave)(X, 0.4, 6, None)
    assert njit(nested_outer)(X) == pytest.approx(nested_plain(X), rel=1e-13)


def inside_branch(x):
    s = x[0]
    if x[1] > 0.0:
        for t in checkpoint(range(4), snapshots=2):
            s = np.sin(s)
    return s


def no_loop(x):
    s = x[0]
    if checkpoint(s > 0.0, snapshots=2):
        s = np.sin(s)
    return s


def growing(x):
    s = [x[0]]
    while checkpoint(s[-1] > 0.1, snapshots=2):
        s.append(0.5 * s[-1])
    return sum(s)


def both_limits(x):
    s = x[0]
    for t in checkpoint(range(9), snapshots=2, budget=100):
        s = np.sin(s)
    return s


def no_bytes(x):
    s = x[0]
    for t in checkpoint(range(9), budget="many"):
        s = np.sin(s)
    return s


@pytest.mark.parametrize(("program", "says"), [(inside_branch, "branch"), (no_loop, "condition of a `while`"),
                                              (growing, "length of a list"), (both_limits, "either"),
                                              (no_bytes, "number of bytes")])
def test_refused_with_the_place(program, says):
    with pytest.raises(AutodiffError, match=says) as caught:
        grad(program, mode="python")(X)
    assert "test_checkpoint.py" in str(caught.value)
    assert says != "branch" or isinstance(caught.value, UnsupportedSyntax)


# -- loops whose end is not known ---------------------------------------------------------------------------------
def relaxed(x, c, T, keep):
    """Until it has settled: state in arrays and numbers."""
    u, change, n = x.copy(), 1.0, 0
    while keep(change > 0.02 * c and n < T):
        v = u.copy()
        u[1:-1] = 0.5 * (v[:-2] + v[2:]) + 0.3 * c * np.sin(v[1:-1])
        change = np.max(np.abs(u - v)) * 0.98 ** n
        n += 1
    return np.sum(u ** 2) * change


def left_early(x, c, T, keep):
    s, z = x[0], 1.0
    for t in keep(range(3, 3 + 2 * T, 2)):
        if s * z > 0.7 * T:
            break
        z = z + np.sin(s) * c * t * 0.1
        s = s + 0.1 * np.cos(z) ** 2
    return s * z


def returned_early(x, c, T, keep):
    y = x * c
    while keep(True):
        y = np.sin(y) + 0.9 * y
        T -= 1
        if T <= 0:
            return np.sum(y ** 3)


@pytest.mark.parametrize("program", [relaxed, left_early, returned_early])
@pytest.mark.parametrize("T", [1, 2, 7, 40])
def test_an_end_that_is_not_known(program, T):
    expected = grad(plain(program), wrt=(0, 1), mode="python")(X, 0.4, T, None)
    for k in (1, 2, 3, 6, 7, 50):
        found = grad(with_snapshots(program, k), wrt=(0, 1), mode="python")(X, 0.4, T, None)
        for p, q in zip(found, expected, strict=True):
            np.testing.assert_allclose(p, q, 1e-13, 1e-13)


def test_an_end_that_is_not_known_compiled_and_twice():
    fewer, taped = with_snapshots(relaxed, 4), plain(relaxed)
    np.testing.assert_allclose(grad(fewer)(X, 0.4, 30, None), grad(taped, mode="python")(X, 0.4, 30, None), 1e-13)
    second = [grad(lambda x: np.sum(grad(f, mode="python")(x, 0.4, 9, None) * X), mode="python")(X) for f in (fewer, taped)]
    np.testing.assert_allclose(*second, 1e-11)


def steps_run(T, k):
    """Steps beyond the first sweep and the T reversed, for a loop of unknown length."""
    ran = []

    def f(x):
        y, n = x, 0
        while checkpoint(n < T, snapshots=k):
            y = np.sin(y)
            n += 1
        return y
    gradient = grad(f, mode="python").specialize(0.5)
    loop = "    for k in range(first,"
    source = gradient.source.replace(loop, "    ran.append((first, end - 1))\n    " + loop)
    space = {"ran": ran}
    exec(source, space)
    space["f_grad"](0.5)
    return sum(last - first for first, last in ran)


def test_repetitions_stay_near_the_best_schedule():
    for T, k in ((60, 6), (60, 10), (90, 10), (89, 5)):
        assert steps_run(T, k) <= 2.0 * fewest(T, k)


# -- the schedule -------------------------------------------------------------------------------------------------
def repeated_steps(T, k):
    """How many steps the schedule runs beyond the first sweep and the T that are reversed; copies never exceed k."""
    taken: list = []
    count = 0

    def note(step, end):
        taken.append(step)
        assert len(taken) <= k
        return step + revolve_split(end - step, k - len(taken))
    due = 0
    for step in range(T):
        if step == due:
            due = note(step, T)
    for end in range(T, 0, -1):
        split = revolve_split(end - taken[-1], k - len(taken))
        due = taken[-1] + split if split else -1
        for step in range(taken[-1], end - 1):
            if step == due:
                due = note(step, end)
            count += 1
        if taken[-1] == end - 1:
            taken.pop()
    assert not taken
    return count


@functools.cache
def fewest(T, k):
    """Steps that reversing T takes at least with k copies, by trying every place for the next copy."""
    if T == 1:
        return 0
    if k == 1:
        return T * (T - 1) // 2
    return min(m + fewest(m, k) + fewest(T - m, k - 1) for m in range(1, T))


@pytest.mark.parametrize(("T", "k"), [(1, 1), (2, 1), (5, 2), (10, 3), (37, 4), (60, 5), (60, 59), (60, 60), (90, 10)])
def test_schedule_is_optimal(T, k):
    """The bound counts the first sweep's steps; the last one of these runs again, as does its way from the nearest copy."""
    total = T + repeated_steps(T, k)
    assert fewest(T, k) <= total <= fewest(T, k) + T // k + T // 2


@pytest.mark.parametrize(("k", "r"), [(3, 2), (5, 3), (10, 2)])
def test_schedule_reaches_the_binomial_number(k, r):
    """(k + r)! / (k! r!) steps take at most r extra runs."""
    from math import comb
    T = comb(k + r, r)
    assert repeated_steps(T, k) <= r * T


def test_bytes():
    assert [parse_bytes(t) for t in (12, "12", "2kB", "1.5 MiB", "3GB")] == [12, 12, 2000, 1572864, 3_000_000_000]
    with pytest.raises(ValueError, match="not a number of bytes"):
        parse_bytes("3 parsecs")


def test_global_of_another_name():
    space = types.SimpleNamespace(keep=checkpoint)

    def loss(x):
        s = x[0]
        for t in space.keep(range(6), snapshots=2):
            s = np.sin(s) * x[1]
        return s

    def taped(x):
        s = x[0]
        for t in range(6):
            s = np.sin(s) * x[1]
        return s
    np.testing.assert_allclose(grad(loss, mode="python")(X), grad(taped, mode="python")(X), rtol=1e-12)


def test_a_check_of_sizes_after_the_loop():
    def f(x):
        for _ in checkpoint(range(7), snapshots=3):
            x[1] += 0.5
        return x + x[3:]
    x = np.arange(1.0, 5.0)
    assert vjp(f, x, mode="python", debug=True)[0].tolist() == [5.0, 9.5, 7.0, 8.0]
