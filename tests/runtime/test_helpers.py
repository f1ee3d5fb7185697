"""Scalar and array helpers against NumPy, in plain Python and compiled."""

import functools
import itertools
import warnings

import numba
import numpy as np
import pytest

from autodiff.runtime.linear_algebra import linalg
from autodiff.runtime.numbers import helpers

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, -0.1, 3.0, -7.3, 0.9999999, 88.0, 745.0,
           -745.0, 1e30, -1e30, 1e300, 1e-40, 1e-310, np.inf, -np.inf, np.nan]
INTEGERS = [0, 1, -1, 2, -2, 3, 7, -7, 10, 63]
UNARY = ["sqrt", "cbrt", "square", "reciprocal", "absolute", "exp", "exp2", "expm1", "log", "log2", "log10",
         "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh",
         "arccosh", "arctanh", "floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite", "signbit",
         "deg2rad", "rad2deg", "sign", "sinc", "round_half_even"]
BINARY = ["hypot", "arctan2", "copysign", "fmax", "fmin", "maximum", "minimum", "divide", "mod",
          "floor_divide", "fmod", "heaviside", "power", "logaddexp", "logaddexp2"]
NUMPY_NAME = {"round_half_even": "round"}
FLOAT_ONLY = {"signbit", "deg2rad", "rad2deg"}
EITHER_ZERO = {"fmax", "fmin", "maximum", "minimum"}    # of 0.0 and -0.0, IEEE 754 lets either be returned
ROUGH_ROOTS = tuple(map(int, numba.__version__.split(".")[:2])) < (0, 66)       # cbrt to 1e-13, without the sign of -0.0
if ROUGH_ROOTS:
    EITHER_ZERO.add("cbrt")


@pytest.fixture(autouse=True)
def quiet():
    """The convention of plain Python mode."""
    with np.errstate(all="ignore"):
        yield


@functools.cache
def compiled(name, parameters, module="helpers"):
    names = {"helpers": helpers, "linalg": linalg}
    exec(f"def call({parameters}):\n    return {module}.{name}({parameters})", names)
    return numba.njit(error_model="numpy")(names["call"])


def typed(function, *arguments):
    """The result with the dtype it has inside compiled code, which Numba's unboxing hides."""
    result = function(*arguments)
    signature = function.overloads[tuple(numba.typeof(argument) for argument in arguments)].signature
    return np.asarray(result, dtype=str(signature.return_type).replace("bool", "bool_"))


def assert_same(result, expected, what, any_zero=False):
    result, expected = np.asarray(result), np.asarray(expected)
    assert result.dtype == expected.dtype, what
    tolerance = 1e-6 if expected.dtype == np.float32 else 1e-13 if ROUGH_ROOTS and what.startswith("cbrt") else 1e-14
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=0.0, err_msg=what)
    if result == 0 and not any_zero and result.dtype.kind == "f":
        assert np.signbit(result) == np.signbit(expected), what


def numpy_power_is_inconsistent(name, arguments):
    """np.power has a shortcut for the exponent 0.5 that differs from C's pow, for some of its callers."""
    return name == "power" and arguments[1] == 0.5 and (arguments[0] == -np.inf or arguments[0] == 0.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, int])
@pytest.mark.parametrize("name", UNARY + BINARY)
def test_agrees_with_numpy_at_special_values_in_both_modes(name, dtype):
    if dtype is int and name in FLOAT_ONLY:
        pytest.skip("defined for floats only")
    values = [dtype(value) for value in (INTEGERS if dtype is int else SPECIAL)]
    function, reference = getattr(helpers, name), getattr(np, NUMPY_NAME.get(name, name), None)
    reference = np.true_divide if name == "divide" else reference
    if name == "power" and dtype is int:
        reference = np.float_power
    if name in UNARY:
        fast, cases = compiled(name, "x"), [(x,) for x in values]
    else:
        fast, cases = compiled(name, "x, y"), [(x, y) for x in values for y in values]
    for case in cases:
        if numpy_power_is_inconsistent(name, case):
            continue
        expected, what = reference(*case), f"{name}{case}"
        assert_same(function(*case), expected, what + " as Python", name in EITHER_ZERO)
        assert_same(typed(fast, *case), expected, what + " compiled", name in EITHER_ZERO)


@pytest.mark.parametrize("name", sorted(set(UNARY) - FLOAT_ONLY))
def test_python_floats_do_not_raise(name):
    for value in SPECIAL:
        result = getattr(helpers, name)(value)
        assert isinstance(result, (float, bool, np.bool_))


def test_domain_errors_are_values():
    assert helpers.divide(1.0, 0.0) == np.inf and helpers.divide(1, 0) == np.inf
    assert np.isnan(helpers.divide(0, 0)) and np.isnan(helpers.sqrt(-1.0)) and np.isnan(helpers.arcsin(2.0))
    assert helpers.log(0.0) == -np.inf and np.isnan(helpers.log1p(-2.0))
    assert helpers.power(0.0, 0.0) == 1.0
    assert helpers.power(0.0, -1.0) == np.inf and helpers.power(0, -1) == np.inf
    assert np.isnan(helpers.power(-8.0, 1.0 / 3.0)) and helpers.power(-2.0, 3.0) == -8.0


def test_power_with_an_integer_exponent():
    @numba.njit(error_model="numpy")
    def powers(x):
        return helpers.power(x, 0), helpers.power(x, 3), helpers.power(x, 8), helpers.power(x, -2)

    for x in SPECIAL:
        for result, p in zip(powers(x), (0, 3, 8, -2), strict=True):
            np.testing.assert_allclose(result, np.power(x, float(p)), rtol=1e-14)
            np.testing.assert_allclose(helpers.power(x, p), np.power(x, float(p)), rtol=1e-14)
    fast = compiled("power", "x, y")
    assert typed(fast, np.float32(3.0), 2).dtype == helpers.power(np.float32(3.0), 2).dtype == np.float32


def test_round_to_decimals():
    fast = compiled("round_half_even", "x, y")
    for x in [value for value in SPECIAL if not abs(value) > 1e30]:
        for decimals in (0, 1, 3, -1):
            assert_same(typed(fast, x, decimals), np.round(x, decimals), f"round({x}, {decimals})")
    assert typed(fast, np.float32(1.25), 1).dtype == np.float32


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_indices(mode):
    wrap = helpers.wrap_index if mode == "python" else compiled("wrap_index", "i, n")
    check = helpers.check_index if mode == "python" else compiled("check_index", "i, n")
    assert [wrap(i, 3) for i in range(-3, 3)] == [0, 1, 2, 0, 1, 2]
    assert [check(i, 3) for i in range(-3, 3)] == [-3, -2, -1, 0, 1, 2]
    assert wrap(np.uint64(2), 3) == 2 and check(np.uint8(2), 3) == 2 and wrap(np.int32(-1), 3) == 2
    for function, text in ((wrap, "index {} is out of bounds for axis 0 with size {}"), (check, "index out of bounds")):
        for i, n in [(3, 3), (-4, 3), (0, 0), (-1, 0), (2**62, 3), (-2**62, 3)]:
            with pytest.raises(IndexError) as found:
                function(i, n)
            assert type(found.value) is IndexError and str(found.value) == text.format(i, n)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_integer_division_as_python(mode):
    quotient = helpers.int_floor_divide if mode == "python" else compiled("int_floor_divide", "x, y")
    remainder = helpers.int_mod if mode == "python" else compiled("int_mod", "x, y")
    for x in INTEGERS:
        for y in INTEGERS:
            if y == 0:
                for function in (quotient, remainder):
                    with pytest.raises(ZeroDivisionError):
                        function(x, y)
            else:
                assert (quotient(x, y), remainder(x, y)) == (x // y, x % y)


def test_floor_divide_of_the_smallest_integer():
    smallest = np.iinfo(np.int64).min
    assert compiled("floor_divide", "x, y")(smallest, -1) == np.floor_divide(smallest, np.int64(-1))


def test_helpers_stay_strict_under_fastmath():
    @numba.njit(fastmath=True, error_model="numpy")
    def call(x):
        return helpers.sign(x), helpers.heaviside(x, 0.5), helpers.logaddexp(x, x)

    assert np.isnan(call(np.nan)).all()
    assert call(np.inf) == (1.0, 1.0, np.inf)


@pytest.mark.parametrize(("mode", "shape", "dtype"), [        # each rank and each dtype is compiled once
    *itertools.product(["python"], [(0,), (3,), (3, 2), (1, 2, 4)], [np.float64, np.float32, np.int64, np.bool_]),
    *itertools.product(["numba"], [(0,), (3,), (3, 2), (1, 2, 4)], [np.float64]),
    *itertools.product(["numba"], [(3,)], [np.float32, np.int64, np.bool_])])
def test_resize(mode, shape, dtype):
    resize = helpers.resize if mode == "python" else compiled("resize", "a, n")
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    before = array.copy()
    for length in (shape[0] + 1, 50):
        grown = resize(array, length)
        assert grown.shape == (max(length, 2 * shape[0]), *shape[1:]) and grown.dtype == dtype
        np.testing.assert_array_equal(grown[:shape[0]], before)
    np.testing.assert_array_equal(resize(array, shape[0]), before)
    assert resize(array, 0).shape == shape


def test_resize_grows_a_tape_in_a_loop():
    @numba.njit
    def record(n):
        tape = np.empty(1)
        for i in range(n):
            tape = helpers.resize(tape, i + 1)
            tape[i] = i
        return tape[:n]

    np.testing.assert_array_equal(record(100), np.arange(100.0))


# ---- linear algebra ------------------------------------------------------------------------------


@pytest.fixture(params=["python", "numba"])
def mode(request):
    return request.param


@pytest.fixture(params=[np.float64, np.float32])
def dtype(request):
    return request.param


def linear(name, parameters, mode):
    return getattr(linalg, name) if mode == "python" else compiled(name, parameters, "linalg")


def close(dtype):
    return {"rtol": 1e-3 if dtype == np.float32 else 1e-9, "atol": 1e-4 if dtype == np.float32 else 1e-11}


@pytest.mark.parametrize("n", [0, 1, 3, 7, 8, 20])
def test_products(mode, dtype, n):
    random = np.random.default_rng(0)
    a, b = random.normal(size=(n, n + 1)).astype(dtype), random.normal(size=(n + 1, n + 2)).astype(dtype)
    spread = random.normal(size=(2 * n, 3 * n + 3)).astype(dtype)[::2, ::3]
    product = linear("matmul_into", "out, a, b", mode)
    cases = [(a, b), (np.asfortranarray(a), b), (b.T, a.T), (spread, b), (a, b[:, 0]), (a, b[:, 0].copy()),
             (a[:, 0].copy(), a), (b[:, 0], b)]
    if mode == "numba":                                         # every layout is compiled for itself
        cases = [(a, b), (spread, b.T.copy().T), (a, b[:, 0]), (a[:, 0].copy(), a)] if dtype is np.float64 else cases[:1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")                          # Numba's about arrays that BLAS cannot read
        for k, (left, right) in enumerate(cases):
            expected = left @ right
            for out in (np.full_like(expected, np.nan, order="C"), np.full_like(expected, np.nan, order="F"),
                        np.full(tuple(2 * size for size in expected.shape), np.nan,
                                dtype)[tuple(slice(None, None, 2) for _ in expected.shape)]):
                if mode == "python" or out.flags.c_contiguous or k == 0 and dtype is np.float64:
                    product(out, left, right)
                    np.testing.assert_allclose(out, expected, **close(dtype))


def test_products_whose_shapes_do_not_fit(mode):
    product = linear("matmul_into", "out, a, b", mode)
    for shapes in [((3, 3), (3, 2), (3, 3)), ((3, 2), (3, 3), (3, 3)), ((9, 9), (9, 8), (9, 9))]:
        with pytest.raises(ValueError):
            product(*(np.ones(shape) for shape in shapes))


@pytest.mark.parametrize(("mode", "dtype", "order"), [        # what is compiled by rows other tests call too
    *itertools.product(["python"], [np.float64, np.float32], "CF"), ("numba", np.float64, "C"), ("numba", np.float32, "C")])
def test_systems(mode, dtype, order):
    random = np.random.default_rng(1)
    a = np.array(random.normal(size=(5, 5)) + 4 * np.eye(5), dtype, order=order)
    b = random.normal(size=(5, 3)).astype(dtype)
    before = a.copy(), b.copy()
    solve, inv = linear("solve", "a, b", mode), linear("inv", "a", mode)
    for result, expected in [(solve(a, b), np.linalg.solve(a, b)),
                             (solve(a, b[:, 0]), np.linalg.solve(a, b[:, 0])),
                             (inv(a), np.linalg.inv(a)),
                             (linear("cholesky", "a", mode)(a @ a.T), np.linalg.cholesky(a @ a.T))]:
        np.testing.assert_allclose(result, expected, **close(dtype))
        assert result.dtype == dtype and result.flags.c_contiguous
    det, slogdet = linear("det", "a", mode), linear("slogdet", "a", mode)
    np.testing.assert_allclose(det(a), np.linalg.det(a), **close(dtype))
    np.testing.assert_allclose(slogdet(-a), np.linalg.slogdet(-a), **close(dtype))
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])
    if mode == "numba":
        assert typed(det, a).dtype == dtype
        np.testing.assert_allclose(inv(np.asfortranarray(a)), np.linalg.inv(a), **close(dtype))


def test_singular_and_indefinite_matrices_raise(mode, dtype):
    singular, wide = np.ones((2, 2), dtype), np.ones((2, 3), dtype)
    for matrix in (singular, wide):
        for name, arguments in [("solve", (matrix, np.ones(2, dtype))), ("inv", (matrix,))]:
            with pytest.raises(np.linalg.LinAlgError):
                linear(name, "a, b"[:4 * len(arguments) - 3], mode)(*arguments)
    for matrix in (-singular, wide):
        with pytest.raises(np.linalg.LinAlgError):
            linear("cholesky", "a", mode)(matrix)
    assert linear("det", "a", mode)(singular) == 0.0
    assert linear("slogdet", "a", mode)(singular) == (0.0, -np.inf)


def test_nan_gives_nan(mode, dtype):
    matrix = np.array([[1.0, np.nan], [0.0, 2.0]], dtype)
    assert np.isnan(linear("solve", "a, b", mode)(matrix, np.ones(2, dtype))).any()
    assert np.isnan(linear("inv", "a", mode)(matrix)).any()
    assert np.isnan(linear("det", "a", mode)(matrix))
    assert np.isnan(linear("slogdet", "a", mode)(matrix)[1])
