"""`cfunc`: derivatives as C functions with a status, from C, from threads, in SciPy's callbacks."""

import ctypes
import functools
import gc
import importlib
import os
import re
import shutil
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, ndimage

from autodiff import cfunc, grad, value_and_grad
from autodiff.errors import TypeConflict

EXAMPLES = Path(__file__).parents[1] / "examples"


def rosenbrock(x, k):
    if x[0] > 100.0:
        raise ValueError(f"too far: {x[0]:.1f} > 100")
    s = 0.0
    for i in range(x.shape[0] - 1):
        s += k * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2
    return s


X = np.array([0.5, 2.0, 1.0])


@functools.cache
def compiled_rosenbrock():
    """One for the tests that do not ask for its message."""
    return cfunc(rosenbrock, X, 1.0, kind="value_and_grad", name="rose")


def call(made, x, k, value, gradient):
    return made.ctypes(x.ctypes.data, x.size, k, value.ctypes.data, gradient.ctypes.data, gradient.size)


def test_results_go_where_the_caller_says():
    made = compiled_rosenbrock()
    value, gradient = np.zeros(1), np.zeros(3)
    assert call(made, X, 100.0, value, gradient) == 0
    want = value_and_grad(rosenbrock, mode="python")(X, 100.0)
    assert value[0] == pytest.approx(want[0])
    np.testing.assert_allclose(gradient, want[1])


def test_a_status_and_never_an_exception():
    made = cfunc(rosenbrock, X, 1.0, kind="value_and_grad")
    value, gradient = np.full(1, 7.0), np.full(3, 9.0)
    assert made.message == ""
    assert call(made, np.array([200.0, 1.0]), 1.0, value, gradient[:2]) == 1
    assert re.fullmatch(r"ValueError: too far: 200\.0 > 100\n  test_cfunc\.py:\d+, in rosenbrock", made.message)
    assert ctypes.string_at(made.message_address).decode() == made.message
    assert call(made, X, 1.0, value, gradient[:2]) == 2
    assert "another shape" in made.message
    assert call(made, np.zeros(0), 1.0, value, gradient) == 1
    assert made.message.startswith("IndexError: index 0 is out of bounds")
    assert value[0] == 7.0 and (gradient == 9.0).all()
    assert call(made, X, 1.0, value, gradient) == 0


def test_the_header():
    assert ("typedef int32_t (*rose)(const double *x, int64_t x_size, double k, double *result, double *x_bar, "
            "int64_t x_bar_size);\n") in compiled_rosenbrock().header

    def mixed(int, w, flag, small, n):
        int[0] = 0.0
        return np.sum(int) * w, flag, small * n
    header = cfunc(mixed, np.zeros((2, 2), complex), 1j, True, np.zeros(2, np.float32), np.int32(3)).header
    assert ("(*mixed_value)(const double *int_2, int64_t int_2_size0, int64_t int_2_size1, double w_re, double w_im, "
            "uint8_t flag, const float *small, int64_t small_size, int32_t n, double *result_0, uint8_t *result_1, "
            ) in header


def test_complex_numbers_and_booleans():
    def mixed(z, w, flag, n):
        return np.sum(z) * w if flag else z[0, 0], not flag, z * n
    made = cfunc(mixed, np.zeros((2, 2), complex), 1j, True, 3)
    z = np.arange(4.0).reshape(2, 2) + 1j
    for flag in (True, False):
        w, out, negated, product = 2.0 - 1.0j, np.zeros(1, complex), np.zeros(1, bool), np.zeros((2, 2), complex)
        status = made.ctypes(z.ctypes.data, 2, 2, w.real, w.imag, flag, 3, out.ctypes.data, negated.ctypes.data,
                             product.ctypes.data, 2, 2)
        want = mixed(z, w, flag, 3)
        assert status == 0 and out[0] == pytest.approx(want[0]) and bool(negated[0]) is want[1]
        np.testing.assert_allclose(product, want[2])


def test_it_lives_on():
    address, want = cfunc(rosenbrock, X, 1.0).address, rosenbrock(X, 2.0)
    gc.collect()
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p)(address)
    value = np.zeros(1)
    assert run(X.ctypes.data, 3, 2.0, value.ctypes.data) == 0 and value[0] == pytest.approx(want)


def test_threads():
    """Calls at once, one in three of which fails: each thread sees its own results and statuses."""
    made = compiled_rosenbrock()
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for k in range(60):
            x = rng.normal(size=4)
            x[0] += 500.0 * (k % 3 == 0)
            value, gradient = np.zeros(1), np.zeros(4)
            status = call(made, x, 2.0, value, gradient)
            if status != (k % 3 == 0) or status == 0 and not np.isclose(value[0], rosenbrock(x, 2.0)):
                wrong.append((seed, k, status))
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="needs a C compiler")
def test_called_from_c(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    found, status, message = importlib.import_module("descent_from_c").main()
    sys.modules.pop("descent_from_c")
    for _, value, p in found:
        np.testing.assert_allclose(p, [2.0, 0.7, 5.0], atol=0.02)
        assert value == pytest.approx(4e-4, rel=0.2)
    assert status == 1 and message.startswith("ValueError: the oscillation grows by 6.0 each second\n")


# ---- SciPy's callbacks ------------------------------------------------------------------------------------
def bell(x, a):
    return np.exp(-a * x * x)


def test_integrands():
    made = cfunc(bell, 1.0, 1.0)
    found = integrate.quad(made.low_level_callable("quad"), 0.0, 1.0, args=(2.0,))
    assert found == pytest.approx(integrate.quad(bell, 0.0, 1.0, args=(2.0,)))
    assert made.low_level_callable("quad") is made.low_level_callable("quad")
    box = [[0.0, 1.0], [0.5, 2.0]]
    assert integrate.nquad(made.low_level_callable("nquad"), box)[0] == pytest.approx(integrate.nquad(bell, box)[0])
    slope = cfunc(grad(lambda x: np.exp(-x * x)), 1.0).low_level_callable("quad")
    assert integrate.quad(slope, 0.0, 1.0)[0] == pytest.approx(np.exp(-1.0) - 1.0)


IMAGE = np.random.default_rng(0).normal(size=(12, 15))


def test_filters_of_images():
    def energy(w):
        return np.sum(w ** 2) / w.size

    def halved(c):
        return c[0] * 0.5, c[1] * 0.7

    def moved(c):
        return c * np.array([0.5, 0.7])
    filtered = ndimage.generic_filter(IMAGE, cfunc(energy, np.zeros(9)).low_level_callable("generic_filter"), 3)
    np.testing.assert_allclose(filtered, ndimage.generic_filter(IMAGE, energy, 3))
    want = ndimage.geometric_transform(IMAGE, halved)
    for f, example in ((halved, np.zeros(2, int)), (halved, np.zeros(2)), (moved, np.zeros(2))):
        made = cfunc(f, example).low_level_callable("geometric_transform")
        np.testing.assert_allclose(ndimage.geometric_transform(IMAGE, made), want)


def test_callbacks_that_fail():
    def positive(w):
        if w[0] < 0.0:
            raise ValueError("a negative pixel")
        return w[0]
    made = cfunc(positive, np.zeros(9))
    with pytest.raises(RuntimeError):
        ndimage.generic_filter(IMAGE, made.low_level_callable("generic_filter"), 3)
    assert made.message.startswith("ValueError: a negative pixel\n") and made.message.endswith(", in positive")
    made = cfunc(lambda x: np.ones(3)[int(10 * x)] * x, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        assert np.isnan(integrate.quad(made.low_level_callable("quad"), 0.0, 1.0)[0])
    assert "out of bounds" in made.message
    made = cfunc(lambda c: c[:1] * 1.0, np.zeros(2))
    with pytest.raises(RuntimeError):
        ndimage.geometric_transform(IMAGE, made.low_level_callable("geometric_transform"))
    assert "another number of coordinates" in made.message


def test_forms_that_do_not_fit():
    made = cfunc(rosenbrock, X, 1.0)
    for kind in ("quad", "nquad", "generic_filter", "geometric_transform"):
        with pytest.raises(TypeConflict, match=f"'{kind}' needs a function that takes"):
            made.low_level_callable(kind)
    with pytest.raises(ValueError, match="one of 'quad'"):
        made.low_level_callable("filter")


@pytest.mark.parametrize("function", [                  # few: each is compiled
    lambda int64_t, NULL, uint8_t, x_size0, x: x * int64_t + NULL * uint8_t + x_size0,
    lambda z_re, x_size, x_size_2, x, z: z * z_re + x_size * x_size_2 + x[0]])
def test_parameters_have_names_of_their_own_in_c(function, tmp_path):
    names = function.__code__.co_varnames
    made = cfunc(function, *(X if name == "x" else 1j if name == "z" else 2.0 for name in names))
    declared = [re.sub(r".*[ *]", "", part) for part in made.header.split("(*")[1].split(")(")[1].rstrip(");\n").split(", ")]
    assert len(set(declared)) == len(declared)
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler:
        import subprocess
        (tmp_path / "header.c").write_text(made.header)
        subprocess.run([compiler, "-fsyntax-only", "-Werror", str(tmp_path / "header.c")], check=True)


@pytest.mark.parametrize("name", ["int", "a b", "2x", "NULL", "int64_t", ""])
def test_a_name_that_c_does_not_take(name):
    with pytest.raises(ValueError, match="a name in C"):
        cfunc(rosenbrock, X, 1.0, name=name)
