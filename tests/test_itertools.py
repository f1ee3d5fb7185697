"""`itertools` over arrays of a length known only when the program runs, over lists and over generators."""

import functools
import itertools
import operator

import numpy as np
import pytest

from autodiff import AutodiffError, differentiable, grad, value_and_grad
from tests.support import assert_gradient, module_of

X = np.array([0.7, 1.4, 0.3, 0.9, 1.1])


def squares(a):
    for v in a:
        yield v * v


def combinations(x):
    s = 0.0
    for a, b in itertools.combinations(x, 2):
        s += a * b * s + a
    return s + sum(a * b * c for a, b, c in itertools.combinations(list(x[:4]), 3))


def pairs_of_places(x):
    s = 0.0
    for i, j in itertools.combinations(range(len(x)), 2):
        d = x[i] - x[j]
        if d > 0.6:
            continue
        s += 1.0 / (0.5 + d * d)
    return s


def other_choices(x):
    s = sum(a * b ** 2 for a, b in itertools.permutations(x, 2))
    return s + sum(a * b for a, b in itertools.combinations_with_replacement(x, 2)) + sum(
        [a * b for a, b in itertools.product(x, squares(x))])


def counted(x):
    s = 0.0
    for k in itertools.count(1):
        if k > len(x):
            break
        s += k * x[k - 1]
    return s + sum(k * v for k, v in zip(itertools.count(2, 3), x))


def first_large(x):
    for k in itertools.count():
        if x[k] > 1.0:
            return x[k] * k + x[0]
    return 0.0


def around(x):
    signs = itertools.cycle([1.0, -0.5])
    return sum(a * b for a, b in zip(x, signs)) + sum(a * b for a, b in zip(x, itertools.repeat(x[1]))) + sum(
        itertools.repeat(x[2], 3))


def parts(x):
    return sum(itertools.islice(x, 1, None)) * sum(v * v for v in itertools.islice(squares(x), 3)) + sum(
        itertools.islice(x, 0, 5, 2))


def by_value(x):
    big = itertools.takewhile(lambda v: v > 0.5, x)
    rest = itertools.dropwhile(lambda v: v > 0.5, x)
    return sum(v * v for v in big) * sum(rest) + sum(itertools.filterfalse(lambda v: v > 0.8, x))


def neighbours(x):
    return sum(a * b for a, b in itertools.pairwise(x)) + sum(itertools.starmap(operator.mul, zip(x, squares(x))))


def joined(x):
    s = 1.0
    for v in itertools.chain(x, squares(x), [x[0], 2.0]):
        s = s * 0.5 + v
    return s + sum(itertools.chain.from_iterable([x, x * 2.0])) + sum(itertools.compress(x, [1, 0, 1, 1, 0]))


def longest(x):
    return sum(a * b for a, b in itertools.zip_longest(x, x[1:], fillvalue=0.5))


def running(x):
    best = list(itertools.accumulate(x, max))
    return best[-1] * best[0] + sum(itertools.accumulate(x, operator.mul, initial=x[1])) + functools.reduce(
        operator.mul, itertools.accumulate(squares(x)))


GOOD = [combinations, pairs_of_places, other_choices, counted, first_large, around, parts, by_value, neighbours, joined,
        longest, running]


@pytest.mark.parametrize("f", GOOD)
def test_value_and_gradient(f):
    assert differentiable(f, mode="python")(X) == pytest.approx(f(X.copy()), rel=1e-12)
    assert_gradient(f, (X,), (0,), "python")


def test_compiled():
    assert_gradient(combinations, (X,), (0,), "numba")


def endless(x):
    return sum([a for a, _ in zip(itertools.count(), itertools.repeat(x[0]))])


def four_of_many(x):
    return sum(a * b * c * d for a, b, c, d in itertools.combinations(x, 4))


@pytest.mark.parametrize("f, text", [(endless, "do not end"), (four_of_many, "three items"),
                                     (lambda x: sum(itertools.count(1)) * x[0], "does not end")])
def test_refused(f, text):
    with pytest.raises(AutodiffError, match=text):
        grad(f, mode="python")(X)


PRODUCTS = """
for i, j, k in itertools.product(range(-2, 3), repeat=3):
    r += 0.0 if (i, j, k) == (0, 0, 0) else np.sin(i * x[0] + j * x[1]) / (i * i + j * j + k * k)
---
for i, j in itertools.product(range(len(x)), range(2)): r += x[i] ** (j + 1)
---
for i, j in itertools.product(range(3), range(2)):
    if i == 2: break
    r += x[i] * j
---
for i, j in itertools.product(range(3), range(4)):
    if i == j: continue
    r += x[i] * j
---
for t in itertools.product(range(2), repeat=2): r += x[t[0]] * t[1]
else: r += 1.0
---
for i, j in itertools.product(range(2), [1.0, 2.0]): r += x[i] * j
---
d = {(0, 0): 1.0, (0, 1): 2.0, (1, 0): 3.0, (1, 1): 4.0}
for i, j in itertools.product(range(2), range(2)): r += x[i] * d[i, j]
r += i + 2 * j
---
r = sum(x[i] * j for i, j in itertools.product(range(2), range(3)))
---
for t in itertools.product(range(3)): r += x[t[0]]
---
n = 2
for i, j in itertools.product(range(n), range(n)):
    n = 5
    r += x[i] * j
r += n
---
for i, j in itertools.product(range(0), range(3)): r += x[i] * j
---
product = lambda *a: [(0, 1)]
for i, j in product(range(2), range(2)): r += x[i] * j
""".strip().split("\n---\n")


@pytest.mark.parametrize("body", PRODUCTS)
def test_products_of_ranges(body):
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    text = f"import itertools\nimport numpy as np\ndef f(x):\n    r = 0.0\n{lines}    return r\n"
    f, x = module_of(f"<{body}>", text)["f"], np.array([0.3, 1.2, 0.7])
    derived = value_and_grad(f, mode="python")
    value, slope = derived(x)
    assert value == pytest.approx(f(x), rel=1e-14) and derived.source.count("\n") < 120
    moved = [(f(x + e) - f(x - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(slope, moved, rtol=1e-6, atol=1e-8)
