"""Where NumPy or Python raises, the compiled function raises the same class."""

import math
import re
import warnings

import numpy as np
import pytest

from autodiff import AutodiffError, differentiable, grad, value_and_grad, vjp

from .support import module_of

X = np.array([1.0, 2.0, 3.0, 4.0])
M = np.arange(12.0).reshape(3, 4) + 1.0


def function_of(expression: str):
    source = f"import math\nimport numpy as np\n\n\ndef f(x, m, n, k):\n    return {expression}\n"
    name = f"<error {expression}>"
    return module_of(name, source)["f"]


RAISES = """
np.zeros(n)
np.full(n, x[0])
np.linspace(0.0, x[0], n)
np.repeat(x, n)
np.repeat(x, k)
np.tile(x, n)
np.split(x, 0)
np.interp(0.5, x, x[1:])
np.interp(0.5, x[4:], x[4:])
np.partition(x, 9 - n)
np.argpartition(x, 7)
np.cross(m, m)
np.bincount(k)
np.bincount(np.abs(k), x[1:])
np.bincount(np.abs(k), minlength=n)
np.pad(x, n)
np.argmax(x[n + 7:])
np.max(x[n + 6:])
np.histogram(x, n)[0]
np.histogram(x, -x)[0]
np.digitize(x, np.array([1.0, 3.0, 2.0]))
np.convolve(x, x[n + 6:])
np.polyfit(x, x, n)
np.quantile(x, x[2])
np.percentile(x, 50.0 * x[2])
np.diff(x, n)
np.ravel_multi_index((n, 1), (3, 4))
np.unravel_index(n + 100, (3, 4))
np.diag(m[None])
np.diagonal(m, 0, 1, 1)
np.linalg.eigvalsh(m[:3, :3], 'X')
np.lib.stride_tricks.sliding_window_view(x, 6 - n)
np.expand_dims(x, 0)[k[0]]
math.sqrt(-x[0])
math.log(x[0] - x[0])
math.log10(-x[0])
math.acos(x[1])
math.atanh(x[0])
math.acosh(x[0] - 1.0)
math.exp(1000.0 * x[0])
math.cosh(1000.0 * x[0])
math.pow(-x[0], 0.5)
math.pow(x[0] - x[0], -1.0)
math.fmod(x[0], x[0] - x[0])
math.gamma(-x[0])
math.sin(math.inf * x[0])
math.dist(x, x[1:])
np.broadcast_to(x, (1, 1))
np.add(x[None], 1.0, out=x.copy())
m[:, :2].reshape(0, -1)
x[:n + 4].reshape(n + 2, -1)
np.exp(x[None], out=x.copy())
np.sum(m[None], axis=1, out=m[0].copy())
np.pad(x[n + 6:], 2, mode='edge')
round(x[0] > 2.0)
np.searchsorted(m, x[0])
np.searchsorted(x[0], x[1])
np.bincount(np.abs(k)[None])
np.bincount(x)
np.power(n, n + 1)
np.subtract(True, False)
round(x)
x[k[:2] > n]
np.outer(x, x)[k, k[:-1]]
np.outer(x, x)[k[1:], np.array([0, 1])]
np.linalg.inv(m[:, :len(k)])
np.linalg.lstsq(m, x, rcond=None)[0]
np.linalg.matrix_power(x, 2)
np.linalg.matrix_power(m, len(k))
np.average(m, weights=x)
np.average(x, weights=x * 0.0)
np.geomspace(x[0] - 1.0, 2.0, 4)
np.nanargmax(x * np.nan)
np.nanargmin(np.where(m > 4.0, m, np.nan), axis=1)
""".strip().splitlines()


@pytest.mark.parametrize("expression", RAISES)
def test_the_same_class(expression):
    f = function_of(expression)
    given = (X, M, -2, np.array([3, 1, -2, 0]))
    with np.errstate(all="ignore"), pytest.raises((ValueError, IndexError, ArithmeticError, TypeError)) as wanted:
        f(*given)
    with np.errstate(all="ignore"), pytest.raises(Exception) as found:
        differentiable(f, mode="python")(*given)
    kind = next(c for c in type(wanted.value).__mro__ if c.__module__ == "builtins" or c is np.linalg.LinAlgError)
    assert isinstance(found.value, (kind, AutodiffError)), found.value


VALUES = """
x[4:].max(initial=0.5) + np.sum(x)
np.min(x[n + 6:], initial=9.0) * x[0]
np.max(x, initial=3.5)
math.hypot(x[0], x[1], x[2])
math.hypot(x[0])
math.sqrt(x[1]) + math.log(x[2], 2) + math.exp(x[0]) + math.pow(x[0], -1.5)
math.gamma(x[1]) + math.acosh(x[2])
np.sum(np.einsum('ij,jk->ik', m, x[:1, None]))
np.sum(np.einsum('ij,ij->j', m, x[None, :]))
np.sum(np.einsum('i,i', x, x[:1]))
np.sum(np.einsum(m, [0, 1], x, [1]))
np.sum(np.einsum(m, [0, 1], x, [1], [0]) ** 2)
np.sum(np.einsum('...j,j', m, x) ** 2)
np.sum(np.einsum('ba', m) * m.T)
np.sum(np.digitize(x, np.array([3.5, 2.5, 1.5])) * x)
np.sum(np.diff(x, 0) ** 2)
np.sum(np.take_along_axis(m * x, np.array([-1, 0])[:, None], axis=0))
np.sum(np.take_along_axis(m * x, np.array([[1, 0]]), axis=1))
""".strip().splitlines()


@pytest.mark.parametrize("expression", VALUES)
def test_values(expression):
    f = function_of(expression)
    given = (M, -2, np.array([3, 1, -2, 0]))
    value, gradient = value_and_grad(f, mode="python")(X, *given)
    np.testing.assert_allclose(value, f(X, *given), rtol=1e-12)
    slopes = [(f(X + h, *given) - f(X - h, *given)) / 2e-6 for h in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)


INTEGERS = """
np.searchsorted(np.array([False, True, True]), True, side='right')
np.searchsorted(x > 2.0, x > 3.0)
np.searchsorted(np.array([1, 2, 3]), np.array([2.5, 1.5]))
np.searchsorted(np.array([1.1, 2.1], dtype=np.float32), np.array([2.1]))
np.bincount(x > 2.0)
np.mod(len(k), n + 2) + np.floor_divide(4, 0) + np.remainder(n, 0)
(x > 2.0) // (x > 0.0)
(x > 2.0) ** (x > 3.0)
(x > 2.0) % (x > 0.0)
np.left_shift(x > 2.0, x > 1.0)
np.square(x > 2.0)
np.abs(x > 2.0)
np.fmax(x > 2.0, x > 3.0)
np.nanargmax(np.array([np.nan, -np.inf, np.nan]))
np.argmax(np.median(x))
round(np.uint64(2 ** 63 - 1)) % np.uint64(1000)
""".strip().splitlines()


@pytest.mark.parametrize("expression", INTEGERS)
def test_integers_and_truths(expression):
    f = function_of(expression)
    given = (X, M, -2, np.array([3, 1, -2, 0]))
    with np.errstate(all="ignore"):
        wanted, found = np.asarray(f(*given)), np.asarray(differentiable(f, mode="python")(*given))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_logaddexp_of_infinity():
    for f in (lambda x: np.sum(np.logaddexp(x, 1.0)), lambda x: np.sum(np.logaddexp2(1.0, x))):
        assert value_and_grad(f, mode="python")(np.array([np.inf, -np.inf]))[1].tolist() == [1.0, 0.0]


def test_a_branch_that_is_not_taken_raises_nothing():
    def f(x):
        if x[0] > 5.0:
            return np.sum(np.zeros(-2)) + np.argmax(x[:0]) + np.max(np.zeros(0)) + x[0]
        return 2.0 * x[0]
    assert value_and_grad(f, mode="python")(X)[0] == 2.0
    with pytest.raises(ValueError, match="negative dimensions"):
        value_and_grad(f, mode="python")(X + 9.0)


def test_in_loops_math_gives_nan():
    """A check would keep loops from being vectorised."""
    def f(x):
        total = 0.0
        for v in x:
            total += math.sqrt(v)
        return total
    with np.errstate(all="ignore"):
        assert np.isnan(value_and_grad(f)(-X)[0])


@pytest.mark.parametrize("name", ["nansum", "nanmean", "nanmax", "nanmin", "nanprod", "nanvar", "nanstd", "nanmedian"])
def test_nan_has_gradient_zero(name):
    f = function_of(f"np.{name}(x)")
    x = np.array([1.0, np.nan, 3.0, 4.5, np.nan])
    value, gradient = value_and_grad(f, mode="python")(x, M, 0, None)
    np.testing.assert_allclose(value, getattr(np, name)(x))
    assert gradient[1] == gradient[4] == 0.0
    there = [0, 2, 3]
    slopes = [(f(x + h, M, 0, None) - f(x - h, M, 0, None)) / 2e-6 for h in 1e-6 * np.eye(5)[there]]
    np.testing.assert_allclose(gradient[there], slopes, rtol=1e-5, atol=1e-6)


def padded(x, widths, mode):
    return np.pad(x, widths, mode=mode)


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_padding_wider_than_the_axis(mode):
    for size in (1, 2, 4):
        x = np.arange(1.0, size + 1) ** 1.3
        for widths in ((0, 1), (4, 4), (7, 5)):
            pads = [np.pad(e, widths, mode=mode) for e in np.eye(size)]
            out, pullback = vjp(lambda x, w=widths: padded(x, w, mode), x, mode="python")
            np.testing.assert_array_equal(out, np.pad(x, widths, mode=mode))
            seed = np.cos(np.arange(len(out)))
            np.testing.assert_allclose(pullback(seed)[0], np.array(pads) @ seed)


def test_several_nans_are_one_value_and_one_place():
    def f(y, x):
        first, last = np.searchsorted(x, np.nan), np.searchsorted(x, np.nan, side="right")
        return y * (np.unique(x).shape[0] + 10.0 * first + 100.0 * last)
    for x in ([1.0, np.nan, np.nan], [1.0, 1.0, np.nan], [np.nan], [], [1.0, 2.0, 2.0]):
        x = np.array(x)
        assert value_and_grad(f, mode="python")(1.0, x) == (f(1.0, x), f(1.0, x))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_statistics_of_nothing_but_nan():
    for f in (lambda x: np.nanmedian(x), lambda x: np.nanquantile(x, 0.3), lambda x: np.nanpercentile(x, 30.0)):
        run = differentiable(f, mode="python")
        for x in (np.full(3, np.nan), np.array([np.nan, 2.0, 3.0])):
            np.testing.assert_array_equal(run(x), f(x))


def test_triangles_of_negative_sizes_are_empty():
    f = differentiable(lambda n: np.tri(n, 2), mode="python")
    assert f(-3).shape == (0, 2) and f(3).shape == (3, 2)


@pytest.mark.skipif(not hasattr(np, "vecdot"), reason="this NumPy has no vecdot")
def test_vecdot_does_not_broadcast_what_it_sums():
    with pytest.raises(ValueError, match="core dimension"):
        differentiable(lambda a, b: np.vecdot(a, b), mode="python")(np.ones(1), np.ones(3))


def test_arrays_like_another_lie_as_it_does():
    def f(m):
        like = np.zeros_like(m.T * 2.0) + m.T * 2.0
        rows = like.T.reshape(-1)               # a view, in NumPy too
        rows[1:] *= 3.0
        return np.sum(like)
    assert value_and_grad(f, mode="python")(M)[0] == f(M)


@pytest.mark.parametrize(("f", "error"), [
    (lambda x, m: np.average(x, weights=x[1:]), TypeError),
    (lambda x, m: np.take_along_axis(m[:, :1], np.array([[0], [0], [0], [0]]), axis=1), IndexError)])
def test_classes_of_errors(f, error):
    for run in (f, differentiable(f, mode="python")):
        with pytest.raises(error):
            run(X, np.ones((3, 2)))


WORDS = """
m @ x[:2]
x[:3] @ m.T
m @ m
np.dot(x, x[:2])
np.dot(m, m)
np.dot(m, np.ones((2, 3, 2)))
np.inner(x, x[:n])
np.matmul(np.ones((2, 3, 4)), m)
np.linalg.solve(m[:3, :3], x)
np.linalg.solve(m[:3, :3], np.ones((k, 2)))
x.reshape(3, 2)
np.reshape(x, (-1, 3))
m.reshape(5, -1)
np.outer(x, x).reshape(n)
x.reshape(n, n)
np.stack([x, x[:2]])
np.stack([m, x])
np.concatenate([m, x])
np.concatenate([m, m[:, :2]])
np.vstack([x, x[:n]])
np.hstack([m, m[:2]])
x[np.array([True, False])]
m[:, x[:3] > 1.0]
written(x[:2], x)
written(x[:n], m[0])
two()
two(x)
two(x, x, x)
two(x, c=x)
two(x, a=x)
two(x, x, d=1.0)
keyword(x)
unpacked((x, x, x))
unpacked((x,))
starred((x,))
"""


def written(target, value):
    y = target.copy()
    y[:] = value
    return y


def two(a, b):
    return a + b


def keyword(a, *, scale, offset=1.0):
    return a * scale + offset


def unpacked(t):
    a, b = t
    return a + b


def starred(t):
    a, *b, c = t
    return a + c


@pytest.mark.parametrize("expression", WORDS.strip().splitlines())
def test_the_words_are_those_of_python_or_numpy(expression):
    f = function_of(expression)
    f.__globals__.update(written=written, two=two, keyword=keyword, unpacked=unpacked, starred=starred)
    with pytest.raises(Exception, match=".") as wanted:
        f(X, M, 3, 5)
    with pytest.raises(Exception, match=".") as found:
        differentiable(f, mode="python")(X, M, 3, 5)
    assert isinstance(found.value, type(wanted.value))
    assert str(found.value).startswith(str(wanted.value).strip())


@pytest.mark.parametrize("call", [lambda f: f(), lambda f: f(1.0), lambda f: f(1.0, 2.0, 3.0), lambda f: f(1.0, a=2.0),
                                  lambda f: f(1.0, 2.0, d=3.0)])
def test_arguments_that_a_function_does_not_take(call):
    with pytest.raises(TypeError) as wanted:
        call(two)
    for made in (differentiable(two, mode="python"), value_and_grad(two, mode="python")):
        with pytest.raises(TypeError) as found:
            call(made)
        assert str(found.value) == str(wanted.value)


@pytest.mark.parametrize("text", [
    "np.eye(n, 0, 1)", "np.eye(4, n, 4)", "np.identity(n)", "np.tri(n, 3)", "np.vectorize(lambda v: v + 1.0)(x[:n + 1])",
    "np.apply_along_axis(np.sum, 0, np.outer(x, x)[:, :n + 1])",
    "np.apply_along_axis(lambda r: np.outer(r, r[:1] + 1), 0, np.outer(x, x)[:2])",
    "np.apply_along_axis(lambda r: np.outer(r, r[:1] + 1), -1, np.outer(x, x)[:2])"])
def test_sizes_that_make_nothing(text):
    """Of negative sizes only np.tri makes an array; what learns its result by a call needs an element."""
    f = function_of(text)
    for n in (-1, 0, 2):
        try:
            wanted = f(X, None, n, None)
        except ValueError:
            with pytest.raises(ValueError):
                differentiable(f, mode="python")(X, None, n, None)
        else:
            np.testing.assert_array_equal(differentiable(f, mode="python")(X, None, n, None), wanted)


def test_operators_in_place_add_no_axes():
    """What is assigned may have axes of length 1 before those of its place; the operand of an operator may not."""
    def f(x, picked):
        v = x * 1.0
        v[:] = x[None]
        if picked:
            v[[0, 1]] += x[None, :2]
        else:
            v *= x[None]
        return v
    for picked in (True, False):
        for g in (f, differentiable(f, mode="python")):
            with pytest.raises(ValueError, match="non-broadcastable output operand"):
                g(X, picked)


def test_functions_of_no_numbers():
    """Of no numbers the median is nan, and what is resized is zero; a quantile out of range is still an error."""
    x = np.array([3.0, 1.0, 2.0])
    for f in (lambda x, n: np.sum(np.resize(x[n:], 4)), lambda x, n: np.median(x[n:]),
              lambda x, n: np.sum(np.median(np.outer(x, x)[n:], axis=0)),
              lambda x, n: np.nanquantile(x * np.nan, n / 3.0), lambda x, n: np.nanpercentile(x * np.nan, n)):
        primal = differentiable(f, mode="python")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose([primal(x, n) for n in (1, 3)], [f(x, n) for n in (1, 3)])
    for f in lambda x, n: np.nanquantile(x * np.nan, n), lambda x, n: np.nanpercentile(x * np.nan, 100 * n):
        with pytest.raises(ValueError, match="must be in the range"):
            differentiable(f, mode="python")(x, 2)


@pytest.mark.parametrize("program", [
    lambda x: np.linalg.norm(x[:0], -1) + x[0], lambda x: np.linalg.norm(x[:0], -0.5) + x[0],
    lambda x: np.linalg.norm(x[:0], 3) + x[0], lambda x: np.linalg.norm(x / 0.0, -2) + x[0],
    lambda x: np.linalg.norm(x * 0.0, -1) + x[0], lambda x: np.sum(np.linalg.norm(x.reshape(2, 1)[:, :0], -1, axis=1)),
    lambda x: np.sum(x[:0].reshape(0, -1)) + x[0], lambda x: np.sum(x[:0].reshape(-1, 0)) + x[0],
    lambda x: np.sum(x[:0].reshape(-1, 3)) + x[0], lambda x: np.sum(x.reshape(1, -1)[:, :0].reshape(2, -1)) + x[0]])
def test_of_no_elements(program):
    x = np.array([1.0, 2.0])
    with np.errstate(all="ignore"):
        try:
            expected = program(x)
        except ValueError as e:
            with pytest.raises(ValueError, match=re.escape(str(e))):
                differentiable(program, mode="python")(x)
            return
        np.testing.assert_equal(float(differentiable(program, mode="python")(x)), float(expected))


@pytest.mark.parametrize("expression", [
    "np.linspace(0.0, x[0], n)", "np.partition(x, 9 - n)", "np.partition(x, n - 6)", "np.argpartition(x, [0, 7])",
    "np.delete(x, 7 - n)", "np.delete(m, n - 5, 1)", "np.insert(x, 9, 1.0)", "np.insert(m, n - 5, 1.0, axis=1)",
    "np.unravel_index(9 - n, (2, 2))", "np.unravel_index([0, 9, n], (2, 2))", "np.swapaxes(x, 0, 1)", "np.moveaxis(m, 2, 0)",
    "np.moveaxis(m, 0, 3)", "np.correlate(x[:0], x)", "np.correlate(x, x[4:])", "np.convolve(x[:0], x)",
    "np.geomspace(1.0, 2.0, n)"])
def test_words_are_numpys(expression):
    f = function_of(expression)
    given = X, M, -2, np.array([1, 2])
    with pytest.raises(Exception) as wanted:
        f(*given)
    with pytest.raises(wanted.type) as found:
        differentiable(f, mode="python")(*given)
    assert str(found.value).splitlines()[0] == str(wanted.value)


@pytest.mark.parametrize("function", [
    lambda x: np.sum(x.reshape(2, 2)[np.ix_(0, [1])]), lambda x: np.sum(x.reshape(2, 2)[np.ix_(int(x[0]), [1])]),
    lambda x: np.sum(x.reshape(2, 2)[np.ix_(np.array([[0]]), [1])]), lambda x: np.sum(np.arange(x[0] * np.nan)) + x[0],
    lambda x: np.sum(np.arange(0.0, np.inf)) + x[0], lambda x: np.sum(np.arange(0.0, x[0] * 1e300)) + x[0],
    lambda x: np.sum(np.arange(float("nan"))) + x[0], lambda x: np.sum(np.take(x.reshape(2, 2), 4, axis=1)) + x[0]])
def test_sizes_that_are_none(function):
    x = np.array([0.7, 1.3, 2.1, 0.4])
    with pytest.raises((ValueError, IndexError)) as wanted:
        function(x)
    with pytest.raises(wanted.type) as got:
        grad(function, mode="python")(x)
    assert str(got.value).split("\n")[0] == str(wanted.value)


@pytest.mark.parametrize("function", [
    lambda x: np.sum(np.take(x.reshape(2, 2)[:0], 4, axis=1)) + x[0],
    lambda x: np.take(x.reshape(2, 2)[:0], [[4, 5]], axis=1).size + np.take(x.reshape(2, 2)[:, :0], 1, axis=0).size + x[0],
    lambda x: np.sum(x.reshape(2, 2)[np.ix_([], [1])]) + x[0], lambda x: np.sum(x[np.ix_(x > 1)])])
def test_what_is_taken_from_nothing(function):
    x = np.array([0.7, 1.3, 2.1, 0.4])
    slopes = grad(function, mode="python")(x)
    step = np.array([1e-6, 0, 0, 0])
    assert slopes[0] == pytest.approx((function(x + step) - function(x - step)) / 2e-6, abs=1e-6)
