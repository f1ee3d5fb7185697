"""Integers are those of NumPy and Python: dtypes are kept, arithmetic wraps as NumPy's, Python's errors are raised."""

import itertools
import math

import numba
import numpy as np
import pytest

from autodiff import AutodiffError, differentiable, grad, value_and_grad, vjp

from .support import from_text

WIDTHS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered")


def arithmetic(a, b):
    return a + b, a - b, a * b, a // b, a % b, a / b, a & b, a | b, a ^ b, -a, ~b, abs(a)


def comparisons(a, b):
    return a < b, a >= b, a == b, a != b, np.maximum(a, b), np.minimum(a, b), np.where(a > 3, a, b), np.sign(a)


def shifted(a, b):
    return a << (b % 9), a >> (b % 9), a << 70 % 9, a ** 3, a ** 1, np.square(a), a * 3 + 1, a[0] * b[1], a[2] + 1


def reduced(a, b):
    return np.sum(a), np.prod(b), np.cumsum(a), np.max(a), np.min(b), np.mean(a), np.argmax(a), np.dot(a, b), np.ptp(a)


def converted(a, b):
    return (a.astype(np.int16), a.astype(np.uint64) // b, a.astype(float), a.astype(np.float32) * b, a * 1.5,
            np.zeros_like(a) + a, np.concatenate([a, b]), np.clip(a, 2, 100), np.floor(a), np.diff(a))


def arrays(first, second, seed):
    draw = np.random.default_rng(seed)
    made = [np.concatenate([draw.integers(np.iinfo(d).min, np.iinfo(d).max, 3, dtype=d, endpoint=True),
                            draw.integers(1, 20, 2).astype(d)]) for d in (first, second)]
    made[1][made[1] == 0] = 1
    return made


def same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("function", [arithmetic, comparisons, shifted, reduced, converted])
def test_as_numpy_has_it(function):
    compiled = differentiable(function, mode="python")
    pairs = list(itertools.product(WIDTHS, WIDTHS))
    chosen = pairs[::7] if function is arithmetic else pairs[::13]
    for seed, (first, second) in enumerate(chosen):
        a, b = arrays(first, second, seed)
        try:
            expected = function(a, b)
        except TypeError:                       # bits of uint64 and int64
            with pytest.raises(AutodiffError):
                compiled(a, b)
            continue
        with np.errstate(all="ignore"):
            same(compiled(a, b), expected)


def compiled_too(a, b):
    return a + b, a // b, a % b, a > b, np.sum(a), np.max(a), a >> 3, a.astype(float)


@pytest.mark.parametrize("width", ["int32", "uint64"])
def test_compiled(width):
    a, b = arrays(width, width, 5)
    with np.errstate(all="ignore"):
        same(differentiable(compiled_too)(a, b), compiled_too(a, b))


def test_numbers_of_numpy():
    with np.errstate(all="ignore"):
        found = differentiable(lambda a, b: (a + b, a * b, a + 1, -a, a // b), mode="python")(np.uint8(250), np.uint8(10))
    assert [int(x) for x in found] == [4, 196, 251, 6, 25] and all(x.dtype == np.uint8 for x in found)
    for f in (lambda x: x + 300, lambda x: np.int8(200) + x):
        with pytest.raises((AutodiffError, OverflowError)):
            differentiable(f, mode="python")(np.ones(2, np.uint8))


def test_large_numbers_of_uint64():
    k = np.array([2 ** 64 - 2, 2, 0], np.uint64)
    np.testing.assert_array_equal(differentiable(lambda k: np.arctan2(k, -2), mode="python")(k), np.arctan2(k, -2))
    assert differentiable(lambda k: math.sqrt(k), mode="python")(k[0]) == 2.0 ** 32


def test_floats_beside_integers():
    x = np.ones(3, np.float32)
    assert differentiable(lambda x, k: x * k, mode="python")(x, np.ones(3, np.int16)).dtype == np.float32
    assert differentiable(lambda x, k: x * k, mode="python")(x, np.ones(3, np.int32)).dtype == np.float64
    assert differentiable(np.sqrt, mode="python")(np.ones(3, np.uint16)).dtype == np.float32
    with pytest.raises(AutodiffError, match="float16"):
        differentiable(np.sqrt, mode="python")(np.ones(3, np.int8))


def labelled(x, k):
    total = 0.0
    for i in range(x.shape[0]):
        if k[i] == 2:
            total += x[k[i]] * k[i] + x[k[i] - 1]
    return total


@pytest.mark.parametrize("width", WIDTHS)
def test_labels_and_subscripts(width):
    x, k = np.array([0.5, 1.5, 2.5]), np.array([2, 0, 2], width)
    value, gradient = value_and_grad(labelled, mode="python")(x, k)
    assert value == labelled(x, k)
    np.testing.assert_array_equal(gradient, [0.0, 2.0, 4.0])


def factorial(x, n):
    f = 1
    for k in range(1, n + 1):
        f = f * k
    return x * f


def fibonacci(x, n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return x * a


def power(x, n):
    return x * 3 ** n


def shift(x, n):
    return x * (1 << n)


def product(x, n):
    return x * (n * n * n)


def bisection(x, n):
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if middle * 3 < n:
            low = middle + 1
        else:
            high = middle
    return x * low


def generator(x, n):
    state = 12345
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2147483648
    return x * state


@pytest.mark.parametrize(("f", "small", "large"), [
    (factorial, 20, 21), (fibonacci, 90, 93), (power, 39, 40), (shift, 62, 64), (product, 2 ** 20, 2 ** 21), (shift, 3, 70)])
def test_integers_of_python_do_not_wrap(f, small, large):
    compiled = grad(f, mode="python")
    assert compiled(1.5, small) == float(f(1, small))
    with pytest.raises(OverflowError, match="64 bits"):
        compiled(1.5, large)
    with pytest.raises(AutodiffError, match="61 bits"):
        compiled(1.5, 2 ** 62)


@pytest.mark.parametrize(("f", "n"), [(bisection, 1000), (generator, 50)])
def test_integers_that_stay_small_are_not_checked(f, n):
    compiled = grad(f, mode="python")
    assert compiled(1.5, n) == float(f(1, n))
    assert "raise" not in compiled.source


def test_compiled_integers_do_not_wrap():
    compiled = grad(factorial)
    assert compiled(1.5, 20) == float(math.factorial(20))
    with pytest.raises(OverflowError):
        compiled(1.5, 25)


def subscripts(x, n):
    total = 0.0
    for i in range(n):
        total += x[i * n - i * n * n + n // 4]
    return total


def test_subscripts_are_not_checked():
    compiled = grad(subscripts, mode="python")
    compiled(np.ones(5), 1)
    assert "OverflowError" not in compiled.source


@pytest.mark.parametrize("place", [
    "(n * n) % 3", "n * n // 2 ** 62", "(n * n) >> 79", "(n * n) & 1", "min(n * n, 2)", "max(0, min(n * n * n, 2))",
    "divmod(n * n, 3)[1]", "abs(n * n) % 3", "-(n * n) % len(x)", "np.clip(n * n, 0, 2)", "[0, 1, 2][n * n % 3]",
    "n ** 2 % 3"])
def test_what_chooses_an_element_by_its_remainder_does_not_wrap(place):
    f = from_text("<place>", f"import numpy as np\ndef f(x, n):\n    return x[{place}] ** 2\n")
    compiled = value_and_grad(f, wrt="x", mode="python")
    x = np.array([1.0, 2.0, 4.0])
    assert compiled(x, 3)[0] == f(x, 3)
    with pytest.raises(OverflowError, match="64 bits"):
        compiled(x, 2 ** 40 + 1)


@pytest.mark.parametrize(("f", "n", "error"), [
    (lambda x, n: x * (7 // n), 0, ZeroDivisionError), (lambda x, n: x * (7 % n), 0, ZeroDivisionError),
    (lambda x, n: x * divmod(7, n)[0], 0, ZeroDivisionError), (lambda x, n: x * (1 << n), -1, ValueError),
    (lambda x, n: x * (1 >> n), -2, ValueError), (lambda x, n: x * sum([i for i in range(0, 9, n)]), 0, ValueError)])
def test_errors_of_python(f, n, error):
    compiled = grad(f, mode="python")
    assert compiled(1.5, 2) == f(1.0, 2)
    with pytest.raises(error):
        compiled(1.5, n)


@pytest.mark.parametrize("n", [0, 5, 57, 58, 62, 63, 64, 70, 3000])
def test_shifts_do_not_wrap(n):
    """The whole shift is checked, not only what is left of it behind the first 63 bits."""
    f = lambda x, n: x * ((n % 100) << n)
    if f(1, n) < 2 ** 63:
        assert differentiable(f, mode="python")(1.0, n) == f(1.0, n)
    else:
        with pytest.raises(OverflowError):
            differentiable(f, mode="python")(1.0, n)


def test_what_stands_first_raises_first():
    with pytest.raises(ZeroDivisionError):
        differentiable(lambda x, n: x * (n // 0 << -1), mode="python")(1.0, 2)
    with pytest.raises(ValueError, match="negative shift count"):
        differentiable(lambda x, n: x * (n >> -1), mode="python")(1.0, 2)


def stepped(x, n):
    for _ in range(0, 5, n):
        x = x * 2.0
    return x


def test_a_step_of_zero():
    compiled = grad(stepped, mode="python")
    assert compiled(1.0, 2) == 8.0 and compiled(1.0, -1) == 1.0
    with pytest.raises(ValueError, match="must not be zero"):
        compiled(1.0, 0)


@pytest.mark.parametrize("f", [lambda x, n: x * (n + 2 ** 70), lambda x, n: x * (n < 2 ** 70)])
def test_integers_of_more_than_64_bits(f):
    with pytest.raises(AutodiffError, match="64 bits"):
        grad(f, mode="python")(1.5, 2)
    assert grad(lambda x, n: x * (n + float(2 ** 70)), mode="python")(1.5, 2) == 2.0 + 2.0 ** 70


def test_negative_powers():
    assert grad(lambda x, n: x * n ** -1, mode="python")(1.5, 2) == 0.5
    assert grad(lambda x, n, k: x * n ** k, mode="python")(1.5, 2, -1) == 0.5
    with pytest.raises(ValueError, match="negative integer powers"):
        differentiable(lambda k, n: k ** n, mode="python")(np.array([2, 3]), np.array([1, -1]))


@numba.njit
def inside(k):
    return vjp(weighted, np.ones(3), k)[0], doubled(k)


@differentiable
def doubled(k):
    return k + k


@numba.njit
def weighted(x, k):
    return x * (k + k)


def test_in_compiled_callers():
    value, other = inside(np.array([1, 2, 100], np.int8))
    np.testing.assert_array_equal(value, [2.0, 4.0, -56.0])
    assert other.dtype == np.int8
    np.testing.assert_array_equal(other, [2, 4, -56])


LAYOUTS = [lambda a: a[::-1], lambda a: np.repeat(a, 2, 0)[::2], np.asfortranarray, lambda a: a[:1], lambda a: a.T,
           lambda a: a.astype(a.dtype.newbyteorder("S")), lambda a: np.broadcast_to(a[:1], a.shape), lambda a: a[:0]]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_layouts(dtype):
    base = np.arange(6).reshape(2, 3).astype(dtype)
    for change in LAYOUTS:
        x = change(base)
        x.flags.writeable = False
        f = lambda x, y: np.cumsum(x * y, axis=0)
        value, pull = vjp(f, x, 2.0, mode="python")
        np.testing.assert_allclose(value, f(x, 2.0))
        bar = pull(np.ones_like(value))[0]
        assert bar is None if dtype == "int16" else bar.shape == x.shape and bar.dtype == np.dtype(dtype)


def first_or_zero(x):
    return x if x > 2 else 0


def limited(x):
    return x if x > 2 else 300


def chosen(x):
    return [x, 300][int(x > 2)] * 1.5


def largest(x):
    s = -1
    for v in x:
        if v > s:
            s = v
    return s


def total(x):
    s = 0
    for v in x:
        s += v
    return s / 255


def raised(x):
    s = 0.0
    for v in x:
        if v > 100:
            v = 300
        s += v * 0.5
    return s


@pytest.mark.parametrize(("f", "x"), [
    (first_or_zero, np.uint8(9)), (first_or_zero, np.uint8(1)), (limited, np.uint8(1)), (limited, np.uint8(9)),
    (chosen, np.uint8(9)), (chosen, np.uint8(1)), (lambda x: max(x, 300), np.uint8(9)), (lambda x: min(x, -3), np.int8(5)),
    (largest, np.array([5, 250], np.uint8)), (largest, np.array([], np.uint8)), (raised, np.array([5, 250], np.uint8)),
    (total, np.array([250, 250], np.uint8)), (total, np.array([3], np.int16))])
def test_numbers_of_another_kind_by_path(f, x):
    """Python's integers beside NumPy's of few bits are not wrapped."""
    assert differentiable(f, mode="python")(x) == f(x)


@pytest.mark.parametrize("f", [lambda x: first_or_zero(x) - 1, lambda x: min(x, 3) - 4, lambda x: -max(x, 1),
                               lambda x: first_or_zero(x) ** 2, lambda x: (x if x > 2 else 0.0) - 5])
def test_arithmetic_that_differs_by_path_is_refused(f):
    with pytest.raises(AutodiffError, match="by the way the program goes"):
        differentiable(f, mode="python")(np.uint8(1))


def same_result(f, *args):
    """In value, dtype or class of the error."""
    outcomes = []
    for run in (f, differentiable(f, mode="python")):
        try:
            outcomes.append(run(*args))
        except Exception as e:
            outcomes.append(type(e))
    expected, found = outcomes
    if isinstance(expected, type):
        return found is expected or isinstance(found, type) and issubclass(found, AutodiffError)
    if np.asarray(expected).dtype == np.float16:
        return isinstance(found, type) and issubclass(found, AutodiffError)
    return np.asarray(found).dtype == np.asarray(expected).dtype and np.array_equal(found, expected)


LONG = np.array([3, 2 ** 64 - 2, 0], np.uint64)
LOW = np.array([-2 ** 63, 2, -1])
TRUTHS = np.array([True, False])


@pytest.mark.parametrize(("f", "args"), [
    (lambda x, s: x << s, (np.array([1, 2, 3]), LOW)), (lambda x, s: x >> s, (LOW, LOW)),
    (lambda x: 1 << np.trunc(x), (-2,)), (lambda x, s: x << s, (3, LONG)),
    (lambda x: np.uint64(x) + (x >> x) * 0, (1,)), (lambda x: np.power(x, 2), (TRUTHS,)),
    (lambda x: x % x.size, (np.array([3, 1953929957260818687, 5], np.uint64),)),
    (lambda x: x ** x, (LONG,)), (lambda x: 10 ** x, (LONG,)), (lambda x: 3 ** x, (LONG,)),
    (lambda x: divmod(x, True)[0], (LONG,)), (lambda x: np.array(x, dtype=np.uint64), (np.array([-1.5, 2.5, -7.0]),)),
    (lambda x: len(range(0, 9, x)), (np.int64(2 ** 63 - 2),)), (lambda x: range(0, 9, x)[0], (np.int64(2 ** 63 - 2),)),
    (lambda x: range(0, 9, x)[1], (np.uint64(4),)), (lambda x: range(0, 9, x)[0], (np.uint64(0),)),
    (lambda x: np.logical_and(x, 2.5), (True,)), (lambda x: np.logical_and(x, -1), (np.array([1, 0], np.uint8),)),
    (lambda x: np.floor_divide(x, x - x), (np.array([5, 6], np.uint16),)),
    (lambda x: 7 % (x - x), (np.array([5], np.uint16),)),
    (lambda x, n: np.full(2, n) // n, (TRUTHS, 0)), (lambda x: x ** 2, (TRUTHS,)), (lambda x: np.round(x), (TRUTHS,)),
    (lambda x: np.fabs(x), (TRUTHS,)), (lambda x: (x == x) + (x == x), (np.int8(3),)), (lambda x: -(x == x), (np.int8(3),)),
    (lambda x: np.sign(x), (True,)), (lambda x: x - np.nan_to_num(x), (True,)), (lambda x: round(x) - 1, (np.uint64(0),)),
    (lambda x: math.sqrt(x), (np.float32(2.0),)), (lambda x: np.uint8(x), (-2.5,)), (lambda x: np.uint8(x), (2.5,)),
    (lambda x, y: np.arctan2(x, y), (np.array([1, 2], np.uint16), np.array([3, 4], np.int8))),
    (lambda x, y: np.hypot(x, y), (np.array([1, 2], np.uint16), np.array([3, 4], np.int16))),
    (lambda x, y: np.copysign(x, y), (np.array([1, 2], np.uint8), np.array([3, 4], np.int8))),
    (lambda x: np.where(x > 3, x, 0) ** np.float32(2.0), (0.1,)), (lambda x: max(x, 3), (np.array([1.0, 5.0]),)),
    (lambda x: int(x), (np.inf,)), (lambda x: int(x), (np.nan,)), (lambda x: math.floor(x), (-np.inf,)),
    (lambda x: x / x, (0.0,)), (lambda x: 7 % x, (0.0,)), (lambda x: divmod(x, x)[0], (0.0,)), (lambda x: x ** -1, (0.0,)),
    (lambda x: 1 / x, (0,)), (lambda x: x // 0, (3,))])
def test_corners(f, args):
    assert same_result(f, *args)


@pytest.mark.parametrize(("f", "x", "error"), [
    (lambda x: int(x), np.uint64(2 ** 64 - 1), OverflowError), (lambda x: int(x), 1e21, OverflowError),
    (lambda x: x ** 0.5, -2.0, ValueError)])
def test_python_results_that_do_not_fit(f, x, error):
    """Integers of more bits and complex numbers are errors."""
    with pytest.raises(error):
        differentiable(f, mode="python")(x)


def test_refused_arguments_are_not_given_to_numpy(monkeypatch):
    """np.stack of matrices writes behind the end of its result."""
    from .fuzz.inputs import attempt
    monkeypatch.setattr(np, "stack", lambda *args: pytest.fail("called"))
    assert attempt(9102002057)[0].verdict == "refused"
