"""Cotangents that are zero by the text of a program are not multiplied by derivatives that are infinite there."""

import random

import numpy as np
import pytest

import autodiff as ad

from .short_programs import function_of

X = np.array([0.7, -0.4, 1.3, 0.2])


def distances(x):
    return np.sqrt((x[:, None] - x[None, :]) ** 2)


def potential(x):
    """As n-body codes write it: the distance of a body from itself is zero, and left out afterwards."""
    r = distances(x)
    r[r > 0] = 1.0 / r[r > 0]
    return np.sum(np.triu(r, 1))


def diagonal_filled(x):
    r = distances(x)
    np.fill_diagonal(r, 1.0)
    return np.sum(1.0 / r) / 2


def places_set(x):
    r = distances(x)
    n = np.arange(len(x))
    r[n == n[:, None]] = 1.0
    return np.sum(1.0 / r) / 2


def diagonal_by_elements(x):
    r = distances(x)
    for i in range(len(x)):
        r[i, i] = np.inf
    return np.sum(1.0 / r) / 2


def rows(x):
    s = 0.0
    for i in range(len(x)):
        r = np.sqrt((x - x[i]) ** 2)
        r[i] = 1.0
        f = 1.0 / r
        f[i] = 0.0
        s += np.sum(f)
    return s / 2


def chosen(x):
    r = distances(x)
    return np.sum(np.where(r > 0, 1.0 / np.where(r > 0, r, 1.0), 0.0)) / 2


def below(x):
    r = distances(x)
    inverse = np.zeros_like(r)
    np.divide(1.0, r, out=inverse, where=r > 0)
    return np.sum(np.tril(inverse, -1))


def pairs(x):
    return sum(1.0 / abs(x[i] - x[j]) for i in range(len(x)) for j in range(i))


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("f", [potential, diagonal_filled, places_set, diagonal_by_elements, rows, chosen, below],
                         ids=lambda f: f.__name__)
def test_of_self_distances(f, mode):
    with np.errstate(all="ignore"):
        value, x_bar = ad.value_and_grad(f, mode=mode)(X)
        np.testing.assert_allclose(value, f(X), rtol=1e-13)
        np.testing.assert_allclose(x_bar, ad.grad(pairs, mode="python")(X), rtol=1e-12)


def first_set(x):
    y = np.sqrt(x)
    y[0] = 1.0
    return np.sum(y * y)


def column_set(x):
    y = np.sqrt(np.stack((x, x * 2.0, x * 3.0)))
    y[:, 0] = x[1]
    return np.sum(y)


def by_branch(x):
    s = 0.0
    for v in x:
        r = np.sqrt(v)
        s += 1.0 / r if v > 0 else 2.0
    return s


@pytest.mark.parametrize("f, expected", [(first_set, [0.0, 1.0, 1.0]), (by_branch, [0.0, -0.5, -0.5 * 4.0 ** -1.5]),
                                         (column_set, [0.0, 3 + sum(np.sqrt([1, 2, 3])) / 2, sum(np.sqrt([1, 2, 3])) / 4])])
def test_of_elements(f, expected):
    for mode in ("python", "numba"):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(ad.grad(f, mode=mode)(np.array([0.0, 1.0, 4.0])), expected, rtol=1e-12)


def test_a_cotangent_that_happens_to_be_zero_is_multiplied():
    """The derivative of sqrt(x) ** 2 is 1, not 0: nan says that it was not found."""
    with np.errstate(all="ignore"):
        assert np.isnan(ad.grad(lambda x: np.sum(np.sqrt(x) ** 2), mode="python")(np.zeros(2))).all()
        assert np.isnan(ad.grad(lambda x: np.sum(np.where(x > -1, np.sqrt(x), 0.0) ** 2), mode="python")(np.zeros(2))).all()


def test_values_are_those_of_python():
    """0 * inf of the program itself stays nan."""
    def f(x, r):
        w = np.where(r > 0, x, 0.0)
        return np.sum(w * (1.0 / r))
    for mode in ("python", "numba"):
        with np.errstate(all="ignore"):
            assert np.isnan(ad.value_and_grad(f, mode=mode)(X, np.array([1.0, 0.0, 2.0, 1.0]))[0])


def test_an_element_that_is_written_again_counts():
    def f(x):
        y = np.sqrt(x)
        y[0] = 1.0
        z = y * y
        z[1] = y[0]
        y[0] = np.sqrt(x[1])
        return np.sum(z) + np.sum(y)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ad.grad(f, mode="python")(np.array([0.0, 4.0, 1.0])), [0.0, 0.5, 1.5])


# -- random programs: what is not defined at some places is overwritten there, one way or another -------------------------
SINGULAR = ["np.sqrt({x})", "{x} ** 0.3", "np.sqrt({x}) * np.exp({x})", "np.cbrt({x})", "np.sqrt({x} * c)",
            "{x} ** 0.5 + {x}", "np.hypot({x}, 0.0 * c)"]
CLEARED = ["{y}[x == 0] = {v}", "{y} = np.where(x > 0, {y}, {v})", "{y}[~(x > 0)] = {v}",
           "for i in range(len(x)):\n    if x[i] == 0:\n        {y}[i] = {v}",
           "{y}[0] = {v}", "{y} = {y} * 1.0\n{y}[0] = {v}",
           "z = np.ones_like({y})\nz[x > 0] = {y}[x > 0]\n{y} = z", "{y}[:1] = {v}"]
BETWEEN = ["{y} = {y} * c", "{y} = {y} + x", "{y} *= 1.3", "{y}[1:] += {y}[1:] * c[1:]",
           "s += {y}[1]", "{y}[1] = {y}[2] * x[1]", "{y} = -{y}", "{y}[x > 0] *= 0.7"]
AFTER = ["s += np.sum({y} ** 2)", "s += np.sum(1.0 / (1.0 + {y}))", "s += np.max({y}[1:])", "s += np.dot({y}, c)",
         "{y} = {y} ** 2 + x", "{y} = np.log({y} + 1.5)", "{y}[1:] *= c[1:]", "s += {y}[1] * {y}[2]", "{y}[2] = {y}[1]"]


def program(rng) -> str:
    """One where x[0] may be 0: the only elements that the root of it reaches are overwritten before they are used."""
    lines = ["s = 0.0"]
    for k in range(rng.randint(1, 2)):
        y = "yw"[k]
        fill = lambda text, y=y: text.format(y=y, x="x", v=rng.choice(["1.0", "c[0]", "0.0", "x[1]"]))
        lines += [f"{y} = {fill(rng.choice(SINGULAR))}", *(fill(rng.choice(BETWEEN)) for _ in range(rng.randint(0, 2))),
                  fill(rng.choice(CLEARED)), *(fill(rng.choice(AFTER)) for _ in range(rng.randint(1, 3))),
                  f"s += np.sum({y})"]
    lines = [part for line in lines for part in line.split("\n")]
    if rng.random() < 0.3:
        lines = ["total = 0.0", "for _ in range(2):", *("    " + line for line in lines), "    total += s", "s = total"]
    return "def f(x, c):\n" + "".join(f"    {line}\n" for line in (*lines, "return s"))


def judged(seed: int) -> str:
    """At x[0] = 0 the gradient is what it is for any other x[0], as no result depends on its root, or none at all."""
    rng = random.Random(seed)
    text = program(rng)
    f = function_of(text, f"guarded {seed}", {"np": np})
    c, x = np.array([0.8, 1.2, 0.6, 1.1]), np.array([0.0, 0.7, 1.9, 0.3])
    with np.errstate(all="ignore"):
        try:
            value, x_bar = ad.value_and_grad(f, mode="python")(x.copy(), c.copy())
        except ad.AutodiffError:
            return "refused"
        np.testing.assert_allclose(value, f(x.copy(), c.copy()), rtol=1e-12, err_msg=text)
        h = 1e-6
        slopes = [(f(x + h * e, c.copy()) - f(x - h * e, c.copy())) / (2 * h) for e in np.eye(4)[1:]]
    if not np.isfinite(slopes).all():
        return "not defined"
    if np.isnan(x_bar).any() or np.isinf(x_bar).any():
        return "nan"
    np.testing.assert_allclose(x_bar[1:], slopes, rtol=1e-5, atol=1e-6, err_msg=text)
    return "ok"


APART = ("[1:] +=", "[1:] *=", "[2] =", "[1] =", "s += y[1]", "s += w[1]")     # they keep nests over all elements apart


def test_programs():
    found: dict[bool, list] = {True: [], False: []}
    for seed in range(120):
        found[any(s in program(random.Random(seed)) for s in APART)].append(judged(seed))
    assert found[False].count("ok") > 0.9 * len(found[False]) > 15 and found[True].count("ok") > 40


def extrema(x):
    """Full truncation, as in Euler's method for a variance that may fall below zero."""
    s = 0.0
    for i in range(len(x)):
        s += np.sqrt(max(x[i], 0.0)) * x[i]
    return s


def stored(x):
    """What is positive, kept in an array, and read twice."""
    v = np.maximum(x, 0.0)
    w = np.zeros(4)
    for i in range(4):
        w[i] = np.sqrt(v[i]) if i != 2 else 0.0
    return np.sum(w) + 0.5 * v[2]


def cut_twice(x):
    return np.sum(np.sqrt(np.minimum(np.maximum(x, 0.0), 1.0)))


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize(("f", "slopes"), [
    (extrema, [1.5 * np.sqrt(0.7), 0.0, 1.5 * np.sqrt(1.3), 1.5 * np.sqrt(0.2)]),
    (lambda x: np.sum(np.sqrt(np.maximum(x, 0.0)) * 2.0), [1 / np.sqrt(0.7), 0.0, 1 / np.sqrt(1.3), 1 / np.sqrt(0.2)]),
    (lambda x: np.sum(np.sqrt(np.clip(x, 0.0, 1.0))), [0.5 / np.sqrt(0.7), 0.0, 0.0, 0.5 / np.sqrt(0.2)]),
    (lambda x: np.sum(np.maximum(np.log(np.fmax(x, 0.0)), -9.0)), [1 / 0.7, 0.0, 1 / 1.3, 5.0]),
    (cut_twice, [0.5 / np.sqrt(0.7), 0.0, 0.0, 0.5 / np.sqrt(0.2)]),
    (stored, [0.5 / np.sqrt(0.7), 0.0, 0.5, 0.5 / np.sqrt(0.2)])])
def test_what_is_not_chosen_is_not_multiplied(f, slopes, mode):
    with np.errstate(divide="ignore", invalid="ignore"):
        assert ad.grad(f, mode=mode)(X) == pytest.approx(slopes)
        if f is not stored:                 # tangents in arrays are not told from others that happen to be zero
            assert ad.jvp(f, (X,), (np.ones(4),), mode=mode)[1] == pytest.approx(sum(slopes))


def test_what_is_not_a_number_is_chosen():
    x = np.array([np.nan, 1.0, -1.0])
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(np.maximum(x, 0.0)), mode="python")(x), [1.0, 1.0, 0.0])
    assert np.isnan(ad.grad(lambda x: np.sum(np.sqrt(np.maximum(x, 0.0))), mode="python")(x)[0])


def test_other_rules_are_as_they_are():
    """The slope of a distance is set to 0 where it has none: times infinity that is nan."""
    with np.errstate(all="ignore"):
        assert np.isnan(ad.grad(lambda x: np.log(np.hypot(x, x)), mode="python")(0.0))
