"""Loops brought together and memory saved: where it happens, and that values stay right where it must not."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from autodiff import differentiable, grad, value_and_grad, vjp

from .support import assert_gradient, from_text

X = np.array([0.3, 0.7, 0.9, 1.1])
A = np.random.default_rng(3).random((4, 5)) + 0.2


def row_softmax(A):
    """Rows: a maximum, a sum of exponentials, a pick by an array of indices."""
    shifted = A - np.max(A, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - shifted[np.arange(4), np.array([0, 3, 1, 1])])


def normalised(A):
    """A reduction over the leading axis, used by every row afterwards."""
    A = A - np.mean(A, axis=0)
    A = A / np.sqrt(np.mean(A ** 2, axis=0))
    return np.sum(np.tanh(A) * np.arange(5.0)) + np.sum(A.T @ A)


def outer_products(A):
    x, y = A[0], A[:, 1]
    B = A + np.outer(y, x)
    return np.sum((B.T @ (B @ x)) ** 2)


def pair_forces(A):
    x = A[:, :3]
    for _ in range(2):
        gap = x[None] - x[:, None]
        r2 = np.sum(gap * gap, axis=2) + 0.1
        x = x + 0.01 * np.sum(gap * (A[:, 4] / (r2 * np.sqrt(r2)))[:, :, None], axis=1)
    return np.sum(x ** 2)


def neighbours(A):
    """What a loop reads at its neighbours' places is not its own."""
    t = np.empty(5)
    s = 0.0
    for i in range(5):
        t[i] = np.sin(A[0, i])
    for i in range(5):
        s += t[4 - i] * t[i] + A[1, i]
    for i in range(1, 5):
        t[i] = t[i - 1] * A[2, i]
    for i in range(1, 5):
        s += t[i] ** 2
    return s


def scratch_of_two(A):
    s = 0.0
    for i in range(4):
        k = np.empty(2)
        k[0] = A[i, 0] * A[i, 1]
        k[1] = np.exp(-k[0])
        if A[i, 2] > 0.5:
            k[0] = k[0] * k[1]
        for j in range(3):
            k[1] += k[0] * A[i, j]
        s += k[0] * k[1]
    return s


def swapped_rows(A):
    old, new = A[0] * 1.0, np.zeros(5)
    s = 0.0
    for i in range(3):
        for j in range(5):
            new[j] = np.cos(old[j]) * A[i, j]
        old, new = new, old
        for j in range(5):
            s += old[j] * new[j]
    return s


def accumulated_over_time(A):
    """A buffer that is kept from one step to the next must keep its axis."""
    v = np.zeros(5)
    s = 0.0
    for t in range(3):
        for j in range(5):
            v[j] += A[t, j] ** 2
            s += v[j] * (t + 1)
    return s


def users_order(A):
    """Columns in the user's order, with a store elsewhere."""
    B = np.zeros((5, 4))
    for j in range(5):
        for i in range(4):
            B[j, i] = A[i, j] * A[i, 0]
    for i in range(4):
        for j in range(5):
            B[j, i] *= A[i, j]
    return np.sum(B ** 2)


def reaction(A):
    """Fields of one size only by a check, read at neighbours' places and updated in place at their own."""
    u, v = A[:, :4] * 1.0, A[:, 1:] * 1.0
    for _ in range(2):
        r = u[1:-1, 1:-1] * v[1:-1, 1:-1] ** 2
        d = u[:-2, 1:-1] + u[2:, 1:-1] - 2.0 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += 0.1 * d - r + 0.04 * (1.0 - u[1:-1, 1:-1])
        v[1:-1, 1:-1] += r - 0.1 * v[1:-1, 1:-1]
    return np.sum(v * v) + np.sum(u ** 3)


PROGRAMS = [reaction, row_softmax, normalised, outer_products, pair_forces, neighbours, scratch_of_two, swapped_rows,
            accumulated_over_time, users_order]


@pytest.mark.parametrize("program, mode", [*((p, "python") for p in PROGRAMS), *((p, "numba") for p in PROGRAMS[::3])],
                         ids=lambda p: getattr(p, "__name__", p))
def test_gradient(program, mode):
    assert_gradient(program, (A,), (0,), mode)


@pytest.mark.parametrize("program", PROGRAMS[:7], ids=lambda p: p.__name__)
def test_second_order(program):
    def along(A):
        return np.sum(grad(program, mode="python")(A) * A)
    if program is not row_softmax:                  # its rows' maximum is cut through by differences
        assert_gradient(along, (A,), (0,), "python")


def source(program, *args):
    made = value_and_grad(program, mode="python")
    made(*args)
    return made.source


def test_one_loop_over_rows():
    """What the rows of a softmax need is as long as a row; no buffer has two axes but the result."""
    text = source(row_softmax, A)
    assert text.count("    for i in range(") == 1
    assert text.count("empty((") + text.count("zeros((") == 1


def test_scalars_instead_of_small_buffers():
    text = source(scratch_of_two, A)
    assert "np.empty" not in text and "np.zeros(2)" not in text


def coupled(u, v):
    for _ in range(3):
        r = u[1:-1, 1:-1] * v[1:-1, 1:-1] ** 2
        d = u[:-2, 1:-1] + u[2:, 1:-1]
        u[1:-1, 1:-1] += 0.1 * d - r
        v[1:-1, 1:-1] += r - 0.1 * v[1:-1, 1:-1]
    return np.sum(v * v)


def test_statements_that_meet_at_moved_places_are_one_nest():
    """The adjoint of r is a number, and no zeros are written for that of d, though only a check makes the fields alike."""
    made = value_and_grad(coupled, wrt=(0, 1), mode="python")
    made(A.copy(), A.copy())
    reverse = made.source.split("reverse sweep")[1]
    assert "r_bar = empty" not in reverse and "r_bar[" not in reverse
    assert "d_bar[i, j] = " in reverse and "] = 0.0" not in reverse


def test_a_loop_adds_to_one_place_of_a_row():
    def wave(u, c):
        v = np.zeros(u.shape[0])
        for _ in range(3):
            v[1:-1] += c[1:-1] ** 2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
            u += v
        return np.sum(u * u)
    made = value_and_grad(wave, wrt=(0, 1), mode="python")
    made(np.arange(6.0), np.ones(6))
    reverse = made.source.split("reverse sweep")[1]
    loops = reverse.split("for i in range")
    assert "u_bar_row" in reverse and all(part.count("u_bar[") <= 1 for part in loops)


def written_where_sizes_agree(x, y, A):
    A[1:, -3:] -= 0.5
    A[0] = y
    return y[-3:]


def halves_of_one_size(x, y, A):
    x -= y
    y[:] -= np.concatenate((x[2:4], y[2:4]))
    y = x[:]
    return y


@pytest.mark.parametrize("f", [written_where_sizes_agree, halves_of_one_size])
def test_what_was_learnt_of_sizes_keeps_its_names(f):
    """The reverse sweep asks for sizes that the program had before a check gave them a common name."""
    x, y, A = X.copy(), X[::-1].copy(), np.random.default_rng(4).random((4, 4))
    value, pullback = vjp(f, x.copy(), y.copy(), A.copy(), mode="python", debug=True)
    np.testing.assert_array_equal(value, f(x.copy(), y.copy(), A.copy()))
    x_bar, y_bar, _ = pullback(np.ones(len(value)))
    for k, bar in enumerate((x_bar, y_bar)):
        steps = []
        for e in 1e-6 * np.eye(4):
            up, down = ([a + sign * e * (j == k) for j, a in enumerate((x, y))] for sign in (1, -1))
            steps.append(np.sum(f(*up, A.copy()) - f(*down, A.copy())) / 2e-6)
        np.testing.assert_allclose(bar, steps, atol=1e-7)


def random_fields(seed):
    """A function of three vectors by slices that may be equally long, read before or behind the place that is written."""
    rng = np.random.default_rng(seed)
    names, lines = ["u", "v", "w"], []

    def part():
        first = int(rng.integers(3))
        return f"{rng.choice(names)}[{first}:{first - 2 or None}]"

    for k in range(rng.integers(3, 7)):
        a, b, c = part(), part(), part()
        value = rng.choice([f"{a} * {b} - 0.3 * {c}", f"{a} + np.sin({b})", f"0.5 * {a} * {a}", f"{a} / (2.0 + {b} ** 2)"])
        if rng.random() < 0.4:
            lines.append(f"t{k} = {value}")
            lines.append(f"{part()} {rng.choice(['+=', '-=', '='])} 0.3 * t{k} + 0.1 * {part()}")
        else:
            lines.append(f"{part()} {rng.choice(['+=', '-=', '=', '*='])} 0.4 * ({value})")
    body = "".join(f"        {line}\n" for line in lines)
    text = ("import numpy as np\n\n\ndef f(x, y, z):\n    u, v, w = x * 1.0, y * 1.0, z * 1.0\n"
            f"    for _ in range(2):\n{body}    return np.sum(u * v) + np.sum(w ** 2) + np.sum(np.cos(v))\n")
    return from_text(f"<fields {seed}>", text)


@pytest.mark.parametrize("seed", range(25))
def test_random_fields(seed):
    rng = np.random.default_rng(seed)
    assert_gradient(random_fields(seed), tuple(rng.uniform(0.2, 1.0, (3, 7))), (0, 1, 2), "python")


TEXT_OF_ANOTHER_PROCESS = """
import numpy as np
from autodiff import value_and_grad
from tests.test_nests import A, scratch_of_two, pair_forces
from tests.programs.recurrences import lstm
from tests.programs.vectorised import correlation
r = np.random.default_rng(0)
for f, args in ((scratch_of_two, (A,)), (pair_forces, (A,)), (lstm, (r.random((12, 5)), r.random(12), r.random((4, 2)))),
                (correlation, (r.random((30, 4)), r.random((4, 4))))):
    for threads in (False, True):
        made = value_and_grad(f, mode="python", parallel=threads)
        made.specialize(*args)
        print(made.source)
"""


def test_every_process_writes_the_same_text():
    """The store finds machine code by the text: it may not depend on how this process hashes."""
    root = Path(__file__).parents[1]
    printed = set()
    for seed in ("1", "2"):
        done = subprocess.run([sys.executable, "-c", TEXT_OF_ANOTHER_PROCESS], cwd=root, capture_output=True, text=True,
                              check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        printed.add(done.stdout)
    assert len(printed) == 1


def test_writing_assigns_where_it_comes_first():
    def loss(A, x, y):
        return np.sum((A + np.outer(y, x)) ** 3)
    text = source(loss, A, A[0].copy(), X)
    assert "A_bar = empty" in text and "A_bar[i, j] = " in text


def columns(A):
    return np.sum(A.T @ A[:, 0])


def test_generated_loops_run_along_rows():
    """The adjoint of a transposed product adds to rows."""
    text = source(columns, A)
    lines = text.splitlines()
    for k, line in enumerate(lines):
        if "A_bar[" in line and "+=" in line:
            first, second = line.split("A_bar[")[1].split("]")[0].split(", ")
            before = "\n".join(lines[:k])
            assert second == "0" or before.rindex(f"for {first} in") < before.rindex(f"for {second} in"), text


def test_sizes_are_checked_before_anything_is_written():
    """A reverse iteration that comes early must not come before the check of the sizes that it relies on."""
    def loss(A, labels):
        return np.mean(A[np.arange(len(labels)), labels] - A[:, 0])
    made = value_and_grad(loss)
    made(A, np.array([0, 1, 2, 3]))
    with pytest.raises((ValueError, IndexError)):
        made(A, np.zeros(50_000, np.int64))


def fixed_element_of_an_empty_loop(A, n):
    s = 0.0
    for i in range(n):
        for j in range(n):
            s += A[n - 1, i] * A[i, j]
    return s


def assigned(x, n):
    v = np.array(x)
    w = x[1:n] * 1.0
    w[0] *= x[0]
    v[:] = w
    return np.sum(v * v)


def multiplied(x, n):
    v = np.exp(x)
    w = x[1:n] * 2.0
    w[0] *= x[0]
    v[1:] *= 2.0
    return np.sum(v * w)


@pytest.mark.parametrize("program", [assigned, multiplied])
def test_loops_before_the_check_of_their_sizes_stay_apart(program):
    """Else the shorter array would be written beyond its end before the check says that it is too short."""
    for run in program, differentiable(program, mode="python"), value_and_grad(program, mode="python"):
        with pytest.raises(ValueError, match="could not broadcast|could not be broadcast"):
            run(X, 3)


def test_nothing_is_read_for_a_loop_that_does_not_run():
    value, gradient = value_and_grad(fixed_element_of_an_empty_loop)(A, 0)
    assert value == 0.0 and not gradient.any()
    assert_gradient(fixed_element_of_an_empty_loop, (A, 3), (0,), "numba")


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (1, 4)])
def test_empty_and_single(shape):
    B = np.ones(shape)

    def loss(B):
        m = np.sum(B, axis=1)
        return np.sum(np.exp(B - m[:, None])) + np.sum(B * B)
    value, gradient = value_and_grad(loss)(B)
    assert gradient.shape == shape and np.isfinite(value)
    if B.size:
        assert_gradient(loss, (B,), (0,), "python")


def test_nan_stays_in_its_row():
    B = A.copy()
    B[1, 2] = np.nan
    gradient = value_and_grad(row_softmax)(B)[1]
    assert np.isnan(gradient[1]).any() and np.isfinite(gradient[[0, 2, 3]]).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_extrema_of_arrays(dtype):
    """Reductions with LLVM's own maximum: NaN wins, float32 stays float32."""
    x = np.linspace(-1.0, 1.0, 37).astype(dtype)
    for function in (np.max, np.min):
        made = value_and_grad(lambda x, function=function: function(x * 2.0))
        value, gradient = made(x)
        assert value == function(x * 2.0) and gradient.dtype == dtype and gradient.sum() == 2.0
        y = x.copy()
        y[5] = np.nan
        assert np.isnan(made(y)[0])


def repeated(x, k):
    return np.sum(np.repeat(x, k) ** 2)


def test_checks_of_all_items_come_before_what_they_are_for():
    """Joined with the loop that lists the places, the check of the third item came after the first had been written
    beyond the list's end."""
    x = np.arange(4.0)
    assert value_and_grad(repeated, mode="python")(x, np.array([3, 1, 2, 0]))[0] == repeated(x, np.array([3, 1, 2, 0]))
    for mode in ("python", "numba"):
        with pytest.raises(ValueError, match="negative"):
            value_and_grad(repeated, mode=mode)(x, np.array([3, 1, -2, 0]))
