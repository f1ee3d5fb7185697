"""Generator functions, and inner functions that bind the names of those around them."""

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, differentiable, grad, hvp, jvp
from tests.fuzz.turns import attempt
from tests.support import assert_gradient

X = np.array([0.7, 1.4, 0.3, 0.9])


def pairs(a):
    for i in range(len(a) - 1):
        yield a[i], a[i + 1]


def above(a, least):
    for v in a:
        if v > least:
            yield v * v


def both(a):
    yield from above(a, 0.5)
    yield a[0] * a[1]
    yield from above(a * 1.5, 1.0)


def powers(y):
    while True:
        yield y
        y = y * 1.5


def until(a):
    for v in a:
        if v < 0.5:
            return
        yield v


def in_a_loop(x):
    s = 0.0
    for a, b in pairs(x):
        s += a * b * s + a
    return s


def summed(x):
    return sum(above(x, 0.4)) * max(both(x))


def in_a_list(x):
    return np.sum(np.array(list(above(x, 0.4))) ** 2) + np.sum(np.array([v * s for s, v in pairs(x)]))


def unpacked(x):
    a, b, c = pairs(x[:4])
    return a[0] * b[1] + c[0]


def stops(x):
    s = 1.0
    for v in powers(x[0]):
        s = s * v
        if s > 20.0:
            break
    return s


def stops_in_one_inside(x):
    s = 0.0
    for v in both(x):
        if v > 1.6:
            break
        s += v ** 2
    else:
        s += 100.0
    return s


def goes_on(x):
    s = 0.0
    for v in both(x):
        if v < 0.9:
            continue
        s += v ** 2
    else:
        s += x[2]
    return s


def nested(x):
    s = 0.0
    for a, b in pairs(x):
        for c in above(x, a * 0.55):
            s += a * b * c
    return s


def first_of(x):
    for v in above(x, 0.5):
        return v
    return 0.0


def found_in_pairs(x):
    for k in range(len(x)):
        for a, b in pairs(x):
            if a * b > 1.0 + k:
                return a * b * x[k]
            if a > 5.0:
                break
    return x[0]


def returns_early(x):
    s = x[3]
    for v in until(x):
        s = s * v
    return s


def held(x):
    items = above(x, 0.4)
    s = x[0]
    for v in items:
        s += v * s
    return s


def writes_what_it_reads(x):
    y = x * 1.0
    for k, v in enumerate_of(y):
        y[(k + 1) % 4] += v * 0.5       # seen by the generator, which comes to that place later
    return np.sum(y ** 2)


def enumerate_of(a):
    for k in range(len(a)):
        yield k, a[k]


def in_turns(x):
    s = 0.0
    for k, v in enumerate(above(x, 0.4)):
        s += k * v
    for a, (b, c) in zip(above(x, 0.1), pairs(x), strict=False):
        s += a * b * c * s
    return s + sum([a * b for a, b in zip(x, above(x, 0.2), strict=True)]) + any(v > 1.0 for v in above(x, 0.1))


def rows(x):
    m = np.outer(x, x)
    a, b, c, d = np.array([m[..., k] for k in range(m.shape[-1])])
    return np.sum(a * b * c) + d[0]


def shares_names(x):
    total = 0.0

    def items():
        nonlocal total
        for v in x:
            total += v * 0.5
            yield v * total
    s = 0.0
    for v in items():
        total = total * 1.5
        s += v
    return s * total


def counts(x):
    calls, total = 0, x[0]

    def f(v):
        nonlocal calls, total
        calls += 1
        if v > 0.5:
            total = total * v
        return total + v
    s = 0.0
    for i in range(len(x)):
        s += f(x[i]) if i % 2 == 0 else f(x[i] * 0.5)
    return s * calls + total


def rebinds_an_array(x):
    a = x * 2.0

    def step(c):
        nonlocal a
        a = a * c + 1.0
    for k in range(3):
        step(x[k])
    return np.sum(a ** 2)


def in_the_condition(x):
    n, t = 0, x[0]

    def grow():
        nonlocal t, n
        n += 1
        t = t * 1.5
        return t
    while grow() < 6.0:
        if x[1] > 1.0 and n > 3:
            break
    return t * n


def two_levels(x):
    s = x[0]

    def outer(v):
        t = v

        def inner(w):
            nonlocal s, t
            s = s * w
            t += w
        inner(v)
        inner(x[2])
        return t
    return outer(x[1]) * s


def in_a_comprehension(x):
    last = 0.0

    def smooth(v):
        nonlocal last
        last = 0.5 * last + 0.5 * v
        return last
    return np.sum(np.array([smooth(v) for v in x]) ** 2)


def caught(x):
    tries = 0

    def root(v):
        nonlocal tries
        tries += 1
        if v < 0.5:
            raise ValueError("low")
        return np.sqrt(v)
    s = 0.0
    for v in x:
        try:
            s += root(v)
        except ValueError:
            s += v * v
    return s * tries


def caught_in_the_body(x):
    s = x[1]
    for v in above(x, 0.2):
        try:
            if v > 1.5:
                raise ValueError("high")
            s += np.sqrt(v) if v > 0.4 else first_above(x, 5.0)
        except ValueError:
            s = s * 2.0
            if s > 50.0:
                break
        except LookupError:
            s += x[0]
    return s


def first_above(a, least):
    for v in above(a, least):
        return v
    raise LookupError("none")


def caught_from_a_loop_in_the_body(x):
    s, t = x[1], 1.0
    try:
        for v in above(x, 0.2):
            for w in x:
                if w * v > 1.2:
                    raise ValueError("high")
                s += w * v
            s = s * v
    except ValueError:
        s = s * 2.0
    for v in above(x, 0.2):
        try:
            for w in x:
                if w * v > 1.2:
                    raise ValueError("high")
                t += w * v
            if t > 9.0:
                break
        except ValueError:
            t = t + v
    return s * t


def roots(a):
    for v in a:
        if v < 0.35:
            raise ValueError("low")
        yield np.sqrt(v)


def caught_around(x):
    s = x[1]
    try:
        for v in roots(x):
            s += v * s
    except ValueError:
        s = s * 2.0
    try:
        for v in above(x, 0.2):
            if v > 1.5:
                raise ValueError("high")
            s += v
    except ValueError:
        s = s + x[0]
    for v in above(x, 0.1):
        try:
            s += v
            if v > 0.7:
                continue
            s *= 1.5
        finally:
            s += 0.1
    return s


def asks_too_often(x):
    def items():
        it = iter([x[0], x[1]])
        yield next(it)
        yield next(it)
        yield next(it)

    def stops():
        yield x[1]
        raise StopIteration
    s = x[0]
    for g in (items, stops):
        try:
            for v in g():
                s += v * s
        except StopIteration:
            s = s * 5.0
        except RuntimeError:
            s = s * 2.0
    return s


def appends_in_a_branch(x):
    def one(v):
        found = []
        if v > 0.5:
            found.append(v * 2.0)
        return sum(found)
    s = 0.0
    for v in x:
        s += one(v) * s + v
    return s


GOOD = [in_a_loop, summed, in_a_list, unpacked, stops, stops_in_one_inside, goes_on, nested, returns_early,
        first_of, found_in_pairs, held,
        writes_what_it_reads, in_turns, rows, shares_names, counts, rebinds_an_array, in_the_condition, two_levels,
        in_a_comprehension, caught, caught_in_the_body, caught_from_a_loop_in_the_body, caught_around, asks_too_often,
        appends_in_a_branch]


@pytest.mark.parametrize("f", GOOD)
def test_value_and_derivatives(f):
    assert differentiable(f, mode="python")(X) == pytest.approx(f(X.copy()), rel=1e-13)
    assert_gradient(f, (X,), (0,), "python")
    u = np.array([0.3, -0.2, 0.5, 0.1])
    g = grad(f, mode="python")
    assert jvp(f, (X,), (u,), mode="python")[1] == pytest.approx(g(X) @ u, rel=1e-11)
    ahead, back = g(X + 1e-6 * u), g(X - 1e-6 * u)
    np.testing.assert_allclose(hvp(f, mode="python")(X, u), (ahead - back) / 2e-6, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("f", [nested, shares_names, counts])
def test_compiled(f):
    assert_gradient(f, (X,), (0,), "numba")


def returns_a_value(a):
    yield a[0]
    return 3.0


def inside_try(a):
    try:
        yield a[0]
    except ValueError:
        yield a[1]


def made_counter():
    n = 0.0

    def count(v):
        nonlocal n
        n += v
        return n
    return count


def sends(a):
    got = yield a[0]
    yield got


REFUSED = {
    "a value": (lambda x: sum(returns_a_value(x)), "returns a value"),
    "try": (lambda x: sum(inside_try(x)), "inside `try`"),
    "endless": (lambda x: sum(powers(x[0])), "does not end"),
    "in turns": (lambda x: sum([a * b for a, b in zip(powers(x[0]), x, strict=False)]), "in turns"),
    "in turns with what it reads": (lambda x: written_in_turns(x), "is changed before"),
    "in turns with what it calls": (lambda x: counts_in_turns(x), "in turns"),
    "sent": (lambda x: sum(sends(x)), "whose value is used"),
    "a function that has returned": (lambda x: counted(x), "has returned"),
    "read twice": (lambda x: read_twice(x), "empty after"),
}


def written_in_turns(x):
    y, s = x * 1.0, 0.0
    for a, b in zip(above(y, 0.0), y, strict=True):
        s += a * b
        y[2] += 0.5
    return s


def counts_in_turns(x):
    n = 0

    def items():
        nonlocal n
        for v in x:
            n += 1
            yield v
    return sum([a * b * n for a, b in zip(items(), x, strict=True)])


def counted(x):
    count = made_counter()
    return count(x[0]) + count(x[1])


def read_twice(x):
    items = above(x, 0.4)
    return sum(items) + sum(items)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    f, text = REFUSED[name]
    with pytest.raises(UnsupportedSyntax, match=text) as raised:
        grad(f, mode="python")(X)
    assert "test_generators.py" in str(raised.value)


def last_of(x):
    for v in above(x, 0.5):
        last = v
    return last


def test_a_name_that_the_loop_binds_first():
    assert_gradient(last_of, (X,), (0,), "python")
    with pytest.raises(UnboundLocalError):
        grad(last_of, mode="python")(X * 0.1)


def test_random_programs():
    found = [(seed, *attempt(seed)) for seed in range(41_000_000, 41_000_060)]
    assert not [f"{seed}: {text}\n{result}" for seed, result, text in found if result.verdict == "failed"]
    assert sum(result.verdict == "ok" for _, result, _ in found) >= 35
