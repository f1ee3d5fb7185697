"""Places that wrap around: `np.roll`, and branches of the user's that do the same."""

import re

import numpy as np
import pytest

from autodiff import hvp, jacobian, value_and_grad, vjp
from autodiff.transforms.optimise.wrapping import unwrap

from .pictures import Reader, body_of
from .support import assert_gradient, from_text, number_or_name


def ring(u, v, steps):
    """Periodic differences of two fields along both axes."""
    for _ in range(steps):
        right, down = np.roll(u, -1, 1), np.roll(v, 1, 0)
        u, v = u + 0.1 * (right - np.roll(u, 1, 1)) * v, v - 0.2 * (down - v) * np.roll(u, 2, axis=0)
    return np.sum(u * v) + np.sum(v ** 2)


def by_hand(u, v, steps):
    """One axis, with branches."""
    n = u.shape[0]
    for _ in range(steps):
        w = np.empty(n)
        for i in range(n):
            if i + 1 < n:
                right = u[i + 1]
            else:
                right = u[0]
            if i >= 1:
                left = u[i - 1]
            else:
                left = u[n - 1]
            w[i] = u[i] + 0.1 * (right - 2.0 * u[i] + left) * v[i]
        u = w
    return np.sum(u * u)


FIELDS = tuple(np.random.default_rng(1).random((2, 6, 7)) + 0.3)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_fields_on_a_ring(mode):
    assert_gradient(lambda u, v: ring(u, v, 2), FIELDS, (0, 1), mode)


def reaction(u, v, steps):
    """Two fields, rolled apart before anything says that they are as large."""
    for _ in range(steps):
        lu = np.roll(u, 1) + np.roll(u, -1) - 2.0 * u
        lv = np.roll(v, 1) + np.roll(v, -1) - 2.0 * v
        w = u * v * v
        u, v = u + 0.1 * lu - w, v + 0.05 * lv + w
    return np.sum(u * v)


def test_sizes_that_a_check_makes_equal():
    """The middle of each loop has no choices; fields that are not as large are an error."""
    gradient = value_and_grad(reaction, wrt=(0, 1), mode="python")
    x, y = np.random.default_rng(3).random((2, 5))
    assert_gradient(lambda u, v: reaction(u, v, 2), (x, y), (0, 1), "python")
    gradient(x, y, 2)
    loops = re.split(r"(?m)^ *for ", gradient.source)
    assert all(" if " not in loop for loop in loops if re.match(r"[ij] in range\(1, \w+ - 1\)", loop))
    assert sum(bool(re.match(r"[ij] in range\(1, \w+ - 1\)", loop)) for loop in loops) >= 2
    for m in (2, 3, 6):
        args = x, np.random.default_rng(m).random(m), 2
        assert number_or_name(lambda *a: gradient(*a)[0], *args) == number_or_name(reaction, *args) == "ValueError"


def test_branches_of_a_user():
    assert_gradient(lambda u, v: by_hand(u, v, 3), tuple(np.random.default_rng(2).random((2, 9))), (0, 1), "python")


def test_small_axes_turn_more_than_once():
    def turned(x, y):
        return np.sum(np.roll(x, 2) * x * np.roll(x[1:], -3).sum()) + np.sum(np.roll(y, (1, -2), axis=(0, 1)) * y ** 2)
    for n in range(6):
        x, y = np.linspace(0.5, 1.0, n), np.linspace(0.2, 0.9, 3 * n).reshape(n, 3)
        value, gradient = value_and_grad(turned, wrt=(0, 1), mode="python")(x, y)
        np.testing.assert_allclose(value, turned(x, y), rtol=1e-13)
        if n:
            assert_gradient(turned, (x, y), (0, 1), "python")


def test_the_middle_of_a_loop_has_no_branch():
    """Rows are chosen before the innermost loop, columns in one for the few at the ends, and sums are one for a row."""
    made = value_and_grad(ring, wrt=(0, 1), mode="python")
    made(*FIELDS, 2)
    lines = made.source.splitlines()
    assert not any(line.strip().startswith("if ") and "raise" not in after
                   for line, after in zip(lines, lines[1:], strict=False))
    assert any("in range(1, " in line for line in lines)


def test_a_loop_in_the_users_order_keeps_it():
    """The sum of a loop of the user's has the bits of Python's, at whichever end it wraps."""
    def total(x):
        s = 0.0
        for i in range(x.shape[0]):
            s = s * 0.9 + x[i + 1 if i + 1 < x.shape[0] else 0]
        return s
    x = np.random.default_rng(0).random(40) * 10.0 ** np.arange(40)
    assert value_and_grad(total)(x)[0] == total(x)


RUNNING = """
for j in range(n):
    if j < 3:
        t = x[j + (n - 3)]
    else:
        t = x[j - 3]
    s = np.add(s, t)
"""


def test_a_running_sum_is_not_in_two():
    """What an iteration reads of a sum is that of the iterations before it, in whatever order numbers are added."""
    def loops(text):
        return body_of(unwrap(Reader(f"s = 0.0{text}").program), False).count("for ")
    assert loops(RUNNING) == 2 and loops(f"{RUNNING}    y[j] = s") == loops(f"{RUNNING}    y[j] = np.add(s, x[j])") == 1


def test_places_that_are_read_in_a_branch_stay_in_it():
    def chosen(x, p):
        s = 0.0
        for i in range(5):
            if x[i] > 0.5:
                s += x[i] * x[p[i] + 1]
            else:
                s += x[i] * x[p[i + 1] + 1]
        return s
    p = np.array([3, 0, 2, 1, 4, 3])
    for x in np.random.default_rng(6).random((4, 6)):
        value, gradient = value_and_grad(chosen, mode="python", boundscheck=False, debug=True)(x, p)
        assert value == chosen(x, p)
        steps = [(chosen(x + 1e-6 * e, p) - chosen(x - 1e-6 * e, p)) / 2e-6 for e in np.eye(6)]
        np.testing.assert_allclose(gradient, steps, atol=1e-8)


def test_branches_in_branches():
    """What an inner branch settles is settled for those around it."""
    def turned(x, y):
        same, other = np.roll(np.where(x > 0.5, y, y), 1), np.roll(np.where(x > 0.5, y ** 2, x), -1)
        return np.sum(same * y ** 2 + other * np.roll(y, 2))
    x, y = np.random.default_rng(8).random((2, 6))
    assert value_and_grad(turned, mode="python", debug=True)(x, y)[0] == pytest.approx(turned(x, y), rel=1e-13)
    assert_gradient(turned, (x, y), (0, 1), "python")


def test_a_loop_before_a_check_does_not_know_what_the_check_says():
    """Sizes that are equal after it have no common name before it."""
    def chosen(x, y, a):
        d = {"place": np.roll(x, 1, axis=0), "speed": a}
        if y[1]:
            if d["speed"]:
                pass
            else:
                y, d["place"] = d["place"], y
        return np.maximum(x, y)
    x, y = np.random.default_rng(5).random((2, 5))
    for a in (-0.9, 0.0):
        value, pullback = vjp(chosen, x, y, a, mode="python", debug=True)
        np.testing.assert_array_equal(value, chosen(x, y, a))
        np.testing.assert_array_equal(sum(pullback(np.ones(5))[:2]).sum(), 5.0)


def test_second_derivatives_and_jacobians():
    def loss(u):
        return np.sum(np.roll(u, 1) * u ** 2 * np.roll(u, -2))

    def step(u):
        return u * np.roll(u, 1) - np.roll(u, -1) ** 2
    u, direction = np.random.default_rng(3).random((2, 7))
    plain = value_and_grad(loss, mode="python")
    change = (plain(u + 1e-6 * direction)[1] - plain(u - 1e-6 * direction)[1]) / 2e-6
    np.testing.assert_allclose(hvp(loss, mode="python")(u, direction), change, rtol=1e-6, atol=1e-8)
    dense = jacobian(step, mode="python")(u)
    np.testing.assert_allclose(jacobian(step, sparse=True, mode="python")(u).toarray(), dense, rtol=1e-13)
    change = (step(u + 1e-6 * direction) - step(u - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(dense @ direction, change, rtol=1e-6)


def random_ring(seed):
    """Statements on two matrices and a vector, rolled by anything along any axis, in loops and in place."""
    rng = np.random.default_rng(seed)
    names, lines = ["u", "v"], []

    def field():
        name, shift = rng.choice(names), rng.choice(["1", "-1", "2", "-3", "k", "-k"])
        axis = rng.choice(["0", "1", "1", "-1"])
        return rng.choice([str(name), f"np.roll({name}, {shift}, {axis})", f"np.roll({name}, {shift}, axis={axis})",
                           f"np.roll({name}, (1, {shift}), (0, 1))", f"np.roll(w, {shift})", "w",
                           f"np.roll(np.where({name} > 0.4, {rng.choice(names)}, {name}), {shift}, {axis})",
                           f"np.where(np.roll({name}, {shift}, {axis}) > 0.4, np.roll({name}, {shift}, {axis}), w)"])

    for k in range(rng.integers(3, 6)):
        value = rng.choice(["{} * {} - 0.3 * {}", "np.sin({}) + {} * {}", "0.5 * {} * {} / (2.0 + {} ** 2)"]).format(
            *(field() for _ in range(3)))
        target = rng.choice(["u", "v", "t"])
        if target == "t":
            lines.append(f"t{k} = {value} + 0.0 * u")
            names.append(f"t{k}")
        else:
            lines.append(rng.choice([f"{target} = 0.5 * {target} + 0.2 * ({value})", f"{target} += 0.1 * ({value})",
                                     f"{target}[1:] -= 0.1 * ({value})[1:]"]))
    body = "".join(f"        {line}\n" for line in lines)
    names = "\n".join(f"    t{k} = u * 1.0" for k in range(6))
    text = ("import numpy as np\n\n\ndef f(x, y, w, k):\n    u, v = x * 1.0, y * 1.0\n"
            f"{names}\n    for _ in range(2):\n{body}"
            "    return np.sum(u * v) + np.sum(np.cos(v)) + np.sum(np.roll(u, k) * u)\n")
    return from_text(f"<ring {seed}>", text)


@pytest.mark.parametrize("seed", range(14))
def test_random_rings(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 6, 2))
    x, y = rng.uniform(0.2, 1.0, (2, *shape))
    w, k = rng.uniform(0.2, 1.0, shape[1]), int(rng.integers(-4, 5))
    f = random_ring(seed)
    value_and_grad(f, mode="python", debug=True).specialize(x, y, w, k)         # every pass leaves a valid program
    assert_gradient(lambda x, y, w: f(x, y, w, k), (x, y, w), (0, 1, 2), "python")
