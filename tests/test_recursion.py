"""Recursion: inlined where an integer decides its depth, else a loop over states; values, gradients, refusals."""

import math
import sys

import numpy as np
import pytest

from autodiff import AutodiffError, grad, vjp

from .support import assert_gradient


def g(x, w):
    return math.exp(-w * x * x) * math.sin(3 * x)


def simpson(a, b, w, tol):
    m = 0.5 * (a + b)
    h = b - a
    s1 = h / 6 * (g(a, w) + 4 * g(m, w) + g(b, w))
    s2 = h / 12 * (g(a, w) + 4 * g(0.5 * (a + m), w) + 2 * g(m, w) + 4 * g(0.5 * (m + b), w) + g(b, w))
    if abs(s2 - s1) < tol:
        return s2 + (s2 - s1) / 15
    return simpson(a, m, w, tol / 2) + simpson(m, b, w, tol / 2)


def adaptive_simpson(x):
    return simpson(0.0, x[0] + 1, x[1], 1e-04)


def collatz(v, n):
    if n <= 1:
        return v
    if n % 2 == 0:
        return collatz(v * 1.1, n // 2)
    return collatz(v * v * 0.5 + 0.1, 3 * n + 1)


def collatz_steps(x):
    return collatz(x[0], 7)


def segment(x, lo, hi):
    if hi - lo == 1:
        return x[lo] ** 2
    mid = (lo + hi) // 2
    a = segment(x, lo, mid)
    b = segment(x, mid, hi)
    return a * b + a + b


def segments(x):
    return segment(x, 0, len(x))


def even(v, s):
    if v < 0.1:
        return s
    return odd(v * 0.5, s + v * v)


def odd(v, s):
    if v < 0.1:
        return 2 * s
    return even(v - 0.3, s * v)


def mutual(x):
    return even(x[2] * 4, x[0])


def inner_function(x):

    def rec(i):
        if i >= len(x):
            return 1.0
        return x[i] * rec(i + 1) + 0.5
    return rec(0)


def power(x, n):
    if n == 0:
        return 1.0
    if n % 2 == 1:
        return x * power(x, n - 1)
    h = power(x, n // 2)
    return h * h


def fast_power(x):
    return power(x[0], int(np.argmax(x)) + 9)


def fill(y, lo, hi, f):
    if hi - lo < 1:
        return
    m = (lo + hi) // 2
    y[m] = f(y[m])
    fill(y, lo, m, f)
    fill(y, m + 1, hi, f)


def in_place_procedure(x):
    y = x.copy()
    fill(y, 0, len(y), math.sin)
    return np.sum(y * y)


def tree(x, k):
    if k >= len(x):
        return (0.0, 0)
    l, n = tree(x, 2 * k + 1)
    r, m = tree(x, 2 * k + 2)
    return (x[k] + 0.5 * max(l, r), n + m + 1)


def tree_with_two_results(x):
    v, n = tree(x, 0)
    return v * n


def loopy(x, k, depth):
    s = x[k]
    if s * depth > 3.0:
        return s
    for j in range(k + 1, len(x)):
        s += 0.3 * loopy(x, j, depth + 1) * x[j]
    return s


def calls_in_a_loop(x):
    return loopy(x, 0, 0)


def newton(f, y, k=0):
    step = (y * y - f) / (2 * y)
    return y if abs(step) < 1e-12 or k > 50 else newton(f, y - step, k=k + 1)


def conditional_expression_and_keyword(x):
    return newton(x[1], 1.0)


def ack(v, d):
    while v > 1.0:
        v = ack(v * 0.6, d) * 0.7
        if v < 0.2:
            break
    else:
        v = v + 0.1 * d
    return v


def call_in_while_with_break_and_else(x):
    return ack(x[3] * 2, x[0])


def cheb(n, x):
    if n == 0:
        return 1.0
    if n == 1:
        return x
    return 2 * x * cheb(n - 1, x) - cheb(n - 2, x)


def chebyshev(x):
    return cheb(10, x[0])


def chebyshev_unrolled(x):
    return sum((cheb(k, x[1]) for k in range(6)))


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def fibonacci(x):
    return fib(6) * x[0]


def quicksum(x, lo, hi, acc):
    acc = acc * 0.9 + x[lo]
    if lo + 1 < hi:
        acc = quicksum(x, lo + 1, hi, acc)
    return acc


def optional_deeper_call(x):
    return quicksum(x, 0, len(x), 0.0)


PROGRAMS = [
    adaptive_simpson,
    collatz_steps,
    segments,
    mutual,
    inner_function,
    fast_power,
    in_place_procedure,
    tree_with_two_results,
    calls_in_a_loop,
    conditional_expression_and_keyword,
    call_in_while_with_break_and_else,
    chebyshev,
    chebyshev_unrolled,
    fibonacci,
    optional_deeper_call,
]

X = np.array([0.3, 0.7, 0.9, 1.1])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_python_mode(program):
    assert_gradient(program, (X,), (0,), "python")


@pytest.mark.parametrize("program", [adaptive_simpson, segments, inner_function, in_place_procedure,
                                     call_in_while_with_break_and_else], ids=lambda p: p.__name__)
def test_compiled(program):
    assert_gradient(program, (X,), (0,), "numba")


def test_second_order():
    slope = grad(adaptive_simpson, mode="python")
    second = grad(lambda x: slope(x)[1], mode="python")(X)
    h = 1e-5
    for k, e in enumerate(np.eye(4)):
        np.testing.assert_allclose(second[k], (slope(X + h * e)[1] - slope(X - h * e)[1]) / (2 * h), atol=1e-8)


def test_split_form():
    value, pullback = vjp(segments, X, mode="python")
    assert value == segments(X)
    np.testing.assert_allclose(pullback(2.0)[0], 2.0 * grad(segments, mode="python")(X))


def deep(v, n):
    return v if n == 0 else deep(v * 0.999 + 0.001, n - 1)


def test_depth_beyond_pythons_limit():
    """The depth comes from the data, and no stack of Python's or of the machine is used."""
    def f(x):
        return deep(x[0], x.shape[0])
    n = 5000
    np.testing.assert_allclose(grad(f)(np.ones(n))[0], 0.999 ** n, rtol=1e-9)


def halves(x):
    if len(x) == 1:
        return x[0]
    middle = len(x) // 2
    return halves(x[:middle]) * halves(x[middle:])


def in_comprehension(v, n):
    return v if v > 5.0 else sum([in_comprehension(v * 1.5, n) for _ in range(n)])


def with_array_result(v):
    return np.ones(2) if v > 5.0 else with_array_result(v * 1.5) * v


@pytest.mark.parametrize(("function", "args", "message"), [
    (halves, (X,), "`x` is an array of rank 1 and is needed again after a recursive call"),
    (in_comprehension, (1.0, 2), "a recursive call in a comprehension"),
    (lambda v: np.sum(with_array_result(v)), (1.0,), "`an intermediate value` is an array of rank 1"),
])
def test_refused(function, args, message):
    with pytest.raises(AutodiffError, match=message):
        grad(function, mode="python")(*args)


def endless(x, n):
    return endless(x, n + 1) * x


def there(x, n):
    return back(x, n) * x


def back(x, n):
    return there(x, n + 1)


def drain(x):
    while x < 10.0:
        x = drain(x) + 1.0
    return x


def without_use(x, n):
    without_use(x, n + 1)
    return x


def of_rows(x):
    return np.sum(of_rows(x[1:]))


def by_another(f, x):
    return f(f, x) * x


class Series:
    def term(self, x, n):
        return self.next_term(x, n + 1)

    def next_term(self, x, n):
        return self.term(x, n - 1) * x

    def doubled(self, x, n):
        return x if x > 100.0 else self.doubled(x * 2.0, n=n - 1) * x

    def counted(self, x, n):
        return x if n == 0 else x * self.counted(x, n - 1)

    def __len__(self):
        return len(self)


SERIES = Series()
call_itself = lambda x: call_itself(x) * 2.0


def inner_endless(x):
    def one(y):
        return two(y) * 2

    def two(y):
        return one(y + 1)
    return one(x)


def to_zero(x):
    return x if x == 0.0 else to_zero(x - 1.0) * 1.5


ENDLESS = {
    "counting": (lambda x: endless(x, 0), "in endless"),
    "argument": (endless, "in endless"),
    "mutual": (lambda x: there(x, 0), "in back"),
    "lambda": (lambda x: call_itself(x), "in <lambda>"),
    "inner": (inner_endless, "in inner_endless"),
    "methods": (lambda x: SERIES.term(x, 0), "in term"),
    "special method": (lambda x: len(SERIES) * x, "in __len__"),
    "loop": (drain, "in drain"),
    "unused": (lambda x: without_use(x, 0), "in without_use"),
    "slices": (lambda x: of_rows(np.ones(3) * x), "in of_rows"),
    "function passed": (lambda x: by_another(by_another, x), "in by_another"),
    "by data": (to_zero, "in to_zero"),
}


@pytest.mark.parametrize("case", ENDLESS)
def test_endless_recursion(case):
    function, place = ENDLESS[case]
    args = (0.5, 0) if function is endless else (0.5,)
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded") as raised:
        grad(function, mode="python")(*args)
    notes = getattr(raised.value, "__notes__", [] if sys.version_info >= (3, 11) else [place])
    assert place in " ".join([str(raised.value), *notes])


@pytest.mark.parametrize("case", ["counting", "methods"])
def test_endless_recursion_compiled(case):
    with pytest.raises(RecursionError, match=ENDLESS[case][1]):
        grad(ENDLESS[case][0])(0.5)


def test_recursion_of_methods():
    doubled = lambda x: SERIES.doubled(x, 3)
    counted = lambda x: SERIES.counted(x, 300)
    for function, x in ((doubled, 0.9), (counted, 1.001)):
        step = (function(x + 1e-7) - function(x - 1e-7)) / 2e-7
        np.testing.assert_allclose(grad(function, mode="python")(x), step, rtol=1e-6)


def first_of_two(x, t):
    if t < 1:
        return x
    return np.sin(x) + second_of_two(x * 0.9, t - 1)


def second_of_two(x, t):
    if t < 1:
        return x * x
    return np.cos(x) * first_of_two(x * 1.1, t - 1)


@pytest.mark.parametrize("t", [3.0, 17.0, 30.0])
def test_two_functions_that_call_each_other_entered_by_both(t):
    """The adjoints of frames have their sizes from after the frames have grown."""
    def f(x, t):
        return first_of_two(x, t) + second_of_two(x, t)
    slope = (f(0.99 + 1e-6, t) - f(0.99 - 1e-6, t)) / 2e-6
    assert grad(f, mode="python")(0.99, t) == pytest.approx(slope, rel=1e-6)
