"""Functions of integer arrays: values and dtypes are NumPy's, whatever the width of the integers."""

import numpy as np
import pytest

from autodiff import AutodiffError, differentiable

from .fuzz.integers import DTYPES, EXPRESSIONS, compared

SIZES = ("large", "signed", "small")


@pytest.mark.parametrize("start", range(0, len(EXPRESSIONS), 40))
def test_functions_of_integers_are_numpys(start):
    """Each at one dtype here; the random tests go through all of them."""
    for k, expression in enumerate(EXPRESSIONS[start:start + 40:2], start):
        outcome, script = compared(expression, DTYPES[(7 * k + 1) % len(DTYPES)], SIZES[k % 3], k)
        assert outcome.verdict != "failed", f"{outcome.text}\n{script}"


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i8"])
@pytest.mark.parametrize("function", [
    lambda a: np.linalg.norm(a), lambda a: np.linalg.norm(a, 1), lambda a: np.linalg.norm(a, np.inf),
    lambda a: np.linalg.norm(a, 3), lambda a: np.polyval(a, 3), lambda a: sum(a), lambda a: np.round(a, -1),
    lambda a: np.average(a, weights=a), lambda a: np.trapezoid(a, dx=2), lambda a: np.interp(100, a, a[::-1])])
def test_integers_that_would_wrap(function, dtype):
    a = np.array([90, 120]).astype(dtype)
    wanted, got = function(a), differentiable(function, mode="python")(a)
    assert np.asarray(got).dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_float16_is_refused():
    for function in (lambda a: np.ldexp(a, 2), lambda a: np.angle(a), lambda a: np.sin([True, False])):
        with pytest.raises(AutodiffError, match="float16"):
            differentiable(function, mode="python")(np.array([90, 120], "i1"))


def add_one(a):
    a += 1
    return a


def halve(a):
    a *= 0.5
    return a


def divide(a):
    a /= 2
    return a


def add_signed(a):
    a += np.array([1, -2])
    return a


def set_300(a):
    a[0] = 300
    return a


def set_all_300(a):
    a[:] = 300
    return a


def set_number(a, n):
    a[1] = n
    return a


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "u8", "i8"])
def test_what_cannot_be_stored_in_integers_is_an_error(dtype):
    for function, *rest in ((add_one,), (halve,), (divide,), (add_signed,), (set_300,), (set_all_300,), (set_number, 7),
                            (set_number, 300)):
        a = np.array([0, 1]).astype(dtype)
        try:
            wanted = function(a.copy(), *rest)
        except (TypeError, OverflowError):
            with pytest.raises((TypeError, OverflowError)):
                differentiable(function, mode="python")(a, *rest)
            continue
        got = differentiable(function, mode="python")(a, *rest)
        assert got.dtype == wanted.dtype and got.tolist() == wanted.tolist()


@pytest.mark.parametrize("y", [np.uint8(0), np.uint8(9), np.int8(1)])
@pytest.mark.parametrize("k", [-2, 300, 7])
def test_where_takes_integers_modulo_the_dtype(y, k):
    def f(y, k):
        return np.where(y > 3, y, k)
    try:
        want = f(y, k)
    except OverflowError:                       # from NumPy 2.5 on
        with pytest.raises(OverflowError):
            differentiable(f, mode="python")(y, k)
        return
    found = differentiable(f, mode="python")(y, k)
    assert found == want and found.dtype == want.dtype


def test_integers_beyond_the_dtype_beside_them():
    def caught(a):
        try:
            return a + 300
        except OverflowError:
            return a * 2

    a = np.array([0, 5], "u1")
    np.testing.assert_array_equal(differentiable(caught, mode="python")(a), [0, 10])
    for function, given in ((lambda a: a + 300, (a,)), (lambda a, k: a + k, (a, 300)), (lambda a, k: a - k, (a, -1))):
        with pytest.raises(OverflowError, match=r"Python integer (300|-1) out of bounds for uint8"):
            function(*given)
        with pytest.raises(OverflowError, match=r"Python integer (300|-1) out of bounds for uint8"):
            differentiable(function, mode="python")(*given)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_lowest_integer_by_minus_one_wraps(mode):
    lowest = np.iinfo(np.int64).min
    a, b = np.array([lowest, 7, lowest]), np.array([-1, -2, 3])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(differentiable(lambda a, b: a // b, mode=mode)(a, b), a // b)
        np.testing.assert_array_equal(differentiable(lambda a: a // -1, mode=mode)(a), a // -1)
        assert differentiable(lambda a, b: a // b, mode=mode)(np.int64(lowest), np.int64(-1)) == lowest


def test_steps_of_zero():
    for function in (lambda k: np.arange(0, 3, k), lambda k: np.arange(0.0, 3.0, 1.0 * k), lambda k: np.arange(0, 3, 0)):
        with pytest.raises(ZeroDivisionError):
            function(0)
        with pytest.raises(ZeroDivisionError):
            differentiable(function, mode="python")(0)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="Maximum allowed size exceeded"):
        np.arange(0, 3, np.int64(0))
    with pytest.raises(ValueError, match="Maximum allowed size exceeded"):
        differentiable(lambda k: np.arange(0, 3, k), mode="python")(np.int64(0))


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("dtype", ["u1", "u4", "i8"])
def test_divisors_that_divisions_made_are_zero(mode, dtype):
    x = np.array([5, 3, 0, 7], dtype)
    with np.errstate(divide="ignore"):
        for function in (lambda x: divmod(7 % x, 7 % x)[0], lambda x: (7 % x) // (7 % x), lambda x: x % (7 % x)):
            want, found = function(x), differentiable(function, mode=mode)(x)
            np.testing.assert_array_equal(found, want)
            assert found.dtype == want.dtype
