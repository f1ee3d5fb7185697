"""`np.searchsorted` and what searches with it, beside NumPy: sizes around powers of two, repeated numbers, nan, views."""

import numpy as np
import pytest

from autodiff import differentiable, value_and_grad


def left(x, q, start, stop):
    return np.searchsorted(x[start:stop], q)


def right(x, q, start, stop):
    return np.searchsorted(x[start:stop], q, side="right")


def one_by_one(x, q, start, stop):
    found = np.zeros((2, *q.shape), dtype=int)
    for k in range(q.shape[0]):
        found[0, k] = np.searchsorted(x[start:stop], q[k])
        found[1, k] = np.searchsorted(x[start:stop], q[k], "right")
    return found


def ordered(r, size, kind):
    numbers = r.integers(-4, 12, size) if kind is not float or r.random() < 0.5 else r.standard_normal(size) * 3.0
    numbers = np.sort(numbers).astype(kind)
    if numbers.dtype.kind == "f" and size:
        numbers[size - r.integers(0, min(size, 3) + 1):] = np.nan
        numbers[:r.integers(0, 2)] = -np.inf
    return numbers


def keys(r, kind):
    numbers = np.concatenate([r.integers(-5, 13, 9), r.integers(-5, 13, 3) + 0.5]).astype(kind)
    if numbers.dtype.kind == "f":
        numbers[:3] = np.nan, np.inf, -np.inf
    return r.permutation(numbers)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("kind", [float, np.float32, int])
@pytest.mark.parametrize("function", [left, right, one_by_one])
def test_places_are_numpys(function, kind, mode):
    r = np.random.default_rng(7)
    ours = differentiable(function, mode=mode)
    for size in (*range(1, 19), 31, 32, 33, 200):
        x = ordered(r, size, kind)
        q = keys(r, kind)
        for start in (0, size // 3, size):
            np.testing.assert_array_equal(ours(x, q, start, size), function(x, q, start, size))
        wide = np.repeat(x, 2)[::2]
        np.testing.assert_array_equal(ours(wide, q, 0, size), function(x, q, 0, size))


@pytest.mark.parametrize("size", [1, 2, 3, 17, 64, 65])
def test_known_sizes_and_constant_arrays(size):
    r = np.random.default_rng(size)
    table = np.sort(r.integers(0, 9, size) * 1.5)
    ours = differentiable(lambda q: np.searchsorted(table, q) + 1000 * np.searchsorted(table, q, "right"), mode="python")
    for q in (*np.arange(-1.0, 15.0, 0.75), np.nan):
        assert ours(q) == np.searchsorted(table, q) + 1000 * np.searchsorted(table, q, "right")


def binned(w, x, edges, y):
    """A search whose places the reverse sweep needs again, in a loop over time."""
    s = w * 0.0
    for _ in range(3):
        for k in range(x.shape[0]):
            j = np.searchsorted(edges, s + x[k] * w)
            s = np.tanh(s + y[min(j, y.shape[0] - 1)] * w)
    return s


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_gradients_through_the_places_that_were_found(mode):
    r = np.random.default_rng(3)
    x, edges, y = r.standard_normal(7), np.sort(r.standard_normal(11)), r.standard_normal(12)
    ours = value_and_grad(binned, wrt=("w", "y"), mode=mode)
    value, (w_bar, y_bar) = ours(0.7, x, edges, y)
    assert value == pytest.approx(binned(0.7, x, edges, y), rel=1e-15)
    h = 1e-6
    assert w_bar == pytest.approx((binned(0.7 + h, x, edges, y) - binned(0.7 - h, x, edges, y)) / (2 * h), rel=1e-7)
    for k in range(y.size):
        moved = h * (np.arange(y.size) == k)
        assert y_bar[k] == pytest.approx((binned(0.7, x, edges, y + moved) - binned(0.7, x, edges, y - moved)) / (2 * h),
                                         rel=1e-7, abs=1e-9)


def orders(x, q, k):
    return (np.median(x), np.quantile(x, q), np.percentile(x, [25.0, 75.0], method="lower"), np.partition(x, k)[k],
            x[np.argpartition(x, (k, 0))[k]], np.quantile(x, np.linspace(0.0, 1.0, 10)))


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_selected_numbers_are_those_of_sorting(mode):
    """Of equal numbers the derivative goes to those that a stable sort puts there."""
    r = np.random.default_rng(1)
    ours = differentiable(orders, mode=mode)
    gradient = value_and_grad(lambda x, k: np.partition(x, k)[k] + 2.0 * np.median(x), mode=mode)
    for n in (1, 2, 5, 8, 80):
        for x in (r.standard_normal(n), r.integers(0, 3, n) * 1.0):
            k = int(r.integers(0, n))
            for a, b in zip(ours(x, 0.3, k), orders(x, 0.3, k), strict=True):
                np.testing.assert_array_equal(a, b)
            stable, expected = np.argsort(x, kind="stable"), np.zeros(n)
            for place, weight in ((k, 1.0), ((n - 1) // 2, 1.0), (n // 2, 1.0)):
                expected[stable[place]] += weight
            value, x_bar = gradient(x, k)
            assert value == np.sort(x)[k] + 2.0 * np.median(x)
            np.testing.assert_array_equal(x_bar, expected)
            x[n // 2] = np.nan
            assert np.isnan(gradient(x, k)[0])


def test_of_lanes():
    x = np.random.default_rng(2).standard_normal((4, 70, 3))
    for axis in (0, 1, -1, (0, 2), None):
        f = lambda x, axis=axis: (np.median(x, axis=axis), np.quantile(x, 0.35, axis=axis, keepdims=True))
        for a, b in zip(differentiable(f, mode="python")(x), f(x), strict=True):
            np.testing.assert_array_equal(a, b)


def among(x, t):
    return np.isin(x, t), np.isin(x, t, invert=True), np.setdiff1d(x, t)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_membership_in_few_and_many():
    """Compared one by one, looked up in a table, or searched for: by how many there are, and of which kind."""
    r = np.random.default_rng(11)
    ours = differentiable(among, mode="python")
    for _ in range(80):
        x, t = (of_kind(r, r.choice(["f8", "i8", "f4", "i1", "u1", "?", "i4"]), r.integers(0, size)) for size in (12, 40))
        if r.random() < 0.3:
            x = x.reshape(1, -1)
        for a, b in zip(ours(x, t), among(x, t), strict=True):
            np.testing.assert_array_equal(a, b)


def of_kind(r, kind, size):
    numbers = r.integers(-3, 40, size) * (1.0 if r.random() < 0.7 else 10.0 ** r.integers(0, 18))
    if kind[0] == "f":
        numbers = numbers * 0.5
        numbers[r.random(size) < 0.1] = np.nan
    return numbers.astype(kind)


@pytest.mark.parametrize("kind", ["f8", "i8"])
def test_membership_compiled(kind):
    r = np.random.default_rng(12)
    ours = differentiable(lambda x, t: np.isin(x, t))
    for size in (0, 3, 9, 60):
        x, t = of_kind(r, kind, 30), of_kind(r, kind, size)
        np.testing.assert_array_equal(ours(x, t), np.isin(x, t))


EMPTY = [
    (lambda x: np.median(x, axis=(-1,)), (0, 3)), (lambda x: np.quantile(x, 0.3, axis=(-1,)), (0, 3)),
    (lambda x: np.nanmedian(x, axis=1), (2, 0)), (lambda x: np.nanmedian(x, axis=0), (2, 0)),
    (lambda x: np.nanmedian(x), (0,)),
    (lambda x: np.nanquantile(x, [0.2, 0.3], keepdims=True), (4,)), (lambda x: np.histogram(x)[0], (0,)),
    (lambda x: np.histogram(x, 4)[1], (0,)), (lambda x: np.interp(np.array([np.nan, 1.5]), x, x), (4,)),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f, shape", EMPTY)
def test_of_nothing_and_of_nan(f, shape):
    x = np.arange(float(np.prod(shape))).reshape(shape)
    found = differentiable(f, mode="python")(x)
    np.testing.assert_array_equal(found, f(x))
    assert np.shape(found) == np.shape(f(x))


@pytest.mark.parametrize("f", [lambda x, q: np.quantile(x, q), lambda x, q: np.percentile(x, q),
                               lambda x, q: np.quantile(x, [q, 0.5])])
def test_a_quantile_of_nan_is_an_error(f):
    for mode in ("python", "numba"):
        with pytest.raises(ValueError, match="must be in the range"):
            differentiable(f, mode=mode)(np.arange(4.0), np.nan)


def test_membership_of_large_integers():
    large = np.array([2**64 - 1 - i for i in range(12)], np.uint64)
    for x in (large[3:], np.array([5, 2**64 - 1], np.uint64), np.array([2**63 + i for i in range(-8, 8)], np.uint64)):
        np.testing.assert_array_equal(differentiable(lambda x, t: np.isin(x, t), mode="python")(x, large), np.isin(x, large))
