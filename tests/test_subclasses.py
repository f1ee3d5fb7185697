"""Arrays and numbers that mean something else than the plain numbers in them are refused, wherever they enter."""

import collections
import decimal
import enum
import fractions
import sys
import warnings
from dataclasses import dataclass

import numba
import numpy as np
import pytest

from autodiff import AutodiffError, Tensor, grad, jacobian, jvp, linearize, value_and_grad, vjp


class Units(np.ndarray):
    """As packages of units make them."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return NotImplemented


class Plain(np.ndarray):
    pass


class Loud(float):
    def __mul__(self, other):
        return 7.0


pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass")
X = np.array([1.0, 2.0, 3.0])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    MATRIX = np.matrix([[1.0, 2.0], [3.0, 4.0]])
ODD = {
    "masked": np.ma.masked_array(X, [0, 1, 0]),
    "matrix": MATRIX,
    "units": X.view(Units),
    "subclass": X.view(Plain),
    "recarray": np.rec.array([(1.0, 2.0)], dtype=[("a", float), ("b", float)]),
    "structured": np.array([(1.0, 2.0)], dtype=[("a", float), ("b", float)]),
    "characters": np.char.array(["a", "b"]),
    "text": np.array(["a", "b"]),
    "objects": np.array([1.0, None]),
    "dates": np.array(["2020-01-01"], "datetime64[D]"),
    "float16": X.astype(np.float16),
    "longdouble": X.astype(np.longdouble),
    "number of 16 bits": np.float16(2.0),
    "long number": np.longdouble(2.0),
    "long complex number": np.clongdouble(2.0),
    "duration": np.timedelta64(3, "s"),
    "0-d masked": np.ma.masked_array(2.0, True),
    "a number that multiplies otherwise": Loud(2.0),
}


def total(x):
    return np.sum(x * x)


@dataclass
class Holder:
    x: object


def of_list(items, y):
    return np.sum(items[0] * items[0]) * y


def of_holder(h, y):
    return np.sum(h.x * h.x) * y


def beside(k, y):
    return np.sum(k * y)


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_arguments(odd):
    for call in (lambda: value_and_grad(total, mode="python")(odd),
                 lambda: grad(of_list, wrt=1, mode="python")([odd], 1.0),
                 lambda: grad(of_holder, wrt=1, mode="python")(Holder(odd), 1.0), lambda: vjp(total, odd, mode="python"),
                 lambda: jvp(beside, (odd, 2.0), (None, 1.0), mode="python"),
                 lambda: linearize(beside, odd, 2.0, mode="python")):
        with pytest.raises(AutodiffError) as caught:
            call()
        assert "InternalError" not in type(caught.value).__name__


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_values_from_outside(odd):
    holder = Holder(odd)

    def closure(y):
        return np.sum(odd * odd) * y

    def attribute(y):
        return np.sum(holder.x * holder.x) * y

    def default(y, k=odd):
        return np.sum(k * k) * y

    for f in (closure, attribute, default):
        with pytest.raises(AutodiffError):
            grad(f, mode="python")(2.0)


def test_after_a_plain_array_was_compiled():
    first = grad(total, mode="python")
    first(X)
    for odd in ("masked", "units", "subclass"):
        with pytest.raises(AutodiffError, match="plain"):
            first(ODD[odd])
    compiled = gradient_of_total(X)
    np.testing.assert_array_equal(compiled, 2.0 * X)
    with pytest.raises(AutodiffError, match="plain"):
        gradient_of_total(ODD["masked"])


gradient_of_total = grad(total)
GLOBAL = X.copy()


def with_global(y):
    return np.sum(GLOBAL * y)


def test_a_global_that_becomes_something_else():
    global GLOBAL
    f = grad(with_global, mode="python")
    assert f(1.0) == 6.0
    GLOBAL = ODD["masked"]
    try:
        with pytest.raises(AutodiffError):
            f(1.0)
    finally:
        GLOBAL = X.copy()


@pytest.mark.parametrize("name", ["masked", "units", "subclass", "float16"])
def test_cotangents_tangents_and_outputs(name):
    odd = ODD[name]
    _, pull = vjp(np.sin, X, mode="python")
    _, push = linearize(np.sin, X, mode="python")
    calls = [lambda: pull(odd), lambda: push(odd), lambda: jvp(np.sin, (X,), (odd,), mode="python"),
             lambda: pull.batched(np.ma.masked_array([X]) if name == "masked" else odd[None]),
             lambda: grad(total, mode="python")(X, out=odd)]
    for call in calls:
        with pytest.raises(AutodiffError):
            call()


def test_what_to_do_is_said():
    with pytest.raises(AutodiffError, match="x.data, x.mask"):
        grad(total)(ODD["masked"])
    with pytest.raises(AutodiffError, match="@ for products"):
        grad(total)(ODD["matrix"])
    with pytest.raises(AutodiffError, match="float32"):
        grad(total)(ODD["float16"])


@pytest.mark.parametrize("cast", [lambda x: np.sum(x.astype(np.float16)), lambda x: np.sum(x) * np.float16(0.1),
                                  lambda x: np.sum(np.zeros(3, dtype="float16") + x), lambda x: np.sum(np.half(x)),
                                  lambda x: np.sum(np.array(x, dtype=np.longdouble)), lambda x: np.longdouble(np.sum(x)),
                                  lambda x: np.sum(x, dtype=np.float16), lambda x: np.sum(x.astype("e"))])
def test_casts(cast):
    with pytest.raises(AutodiffError):
        grad(cast, mode="python")(X)


def test_memory_maps(tmp_path):
    x = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=3)
    x[:] = X
    value, found = value_and_grad(total, mode="python")(x)
    assert value == 14.0 and type(found) is np.ndarray
    np.testing.assert_array_equal(found, 2.0 * X)


class Mode(enum.IntEnum):
    SINE = 1
    COSINE = 2


def chosen(x, mode):
    return np.sin(x) if mode is Mode.SINE else np.cos(x) if mode == Mode.COSINE else x


class Count(int):
    pass


def test_numbers_of_other_classes():
    f = grad(chosen, mode="python")
    assert f(0.5, Mode.SINE) == np.cos(0.5) and f(0.5, Mode.COSINE) == -np.sin(0.5)
    assert grad(lambda x, n: x ** n, mode="python")(3.0, Count(2)) == 6.0
    assert grad(lambda x, k: x * float(k), mode="python")(3.0, fractions.Fraction(1, 2)) == 0.5
    assert grad(lambda x, k: x * float(k), mode="python")(3.0, decimal.Decimal("0.5")) == 0.5
    for odd in (fractions.Fraction(1, 2), decimal.Decimal("0.5")):
        with pytest.raises(AutodiffError):
            grad(lambda x, k: x * k, mode="python")(3.0, odd)


def test_jacobians():
    with pytest.raises(AutodiffError, match="plain"):
        jacobian(np.sin, mode="python")(ODD["masked"])


def test_numba_types_of_16_bits():
    with pytest.raises(AutodiffError, match="float16"):
        grad(total).specialize(numba.types.float16[:])
    with pytest.raises(AutodiffError, match="float16"):
        grad(beside, wrt=1).specialize(numba.types.float16, numba.float64)


def test_tensors():
    for name in ("masked", "matrix", "units", "subclass"):
        with pytest.raises(TypeError, match="plain array"):
            Tensor(ODD[name])
    t = Tensor(np.ones((2, 2)), requires_grad=True)
    with pytest.raises(TypeError, match="plain array"):
        t * ODD["matrix"]


class Scaled(dict):
    def __getitem__(self, key):
        return 5.0 * dict.__getitem__(self, key)


class Long(list):
    def __len__(self):
        return 42


class Tenfold(tuple):
    def __getitem__(self, k):
        return 10.0 * tuple.__getitem__(self, k)


@pytest.mark.parametrize("held", [Scaled(a=1.0), Long([1.0]), Tenfold((1.0,))])
def test_containers_with_operations_of_their_own(held):
    def outside(x):
        return x * len(held)

    def given(x, values):
        return x * len(values)
    for f, args in ((outside, (3.0,)), (given, (3.0, held))):
        with pytest.raises(AutodiffError, match="operations are its own"):
            grad(f, mode="python")(*args)


def test_containers_of_the_standard_library():
    counts, ordered = collections.Counter("aab"), collections.OrderedDict(b=3.0)
    sizes = collections.defaultdict(float, c=2.0)

    def f(x, more):
        return x * counts["a"] * ordered["b"] + sizes["c"] * more["c"] + sys.float_info.max_exp
    assert value_and_grad(f, mode="python")(2.0, sizes) == (f(2.0, sizes), 6.0)
