"""Scalar operations of kernels: values against the CPU's under the simulator; PTX without float64 in float32 kernels."""

from .support import ROOT, needs_compiler, run_for_device  # isort: split

import math

import numpy as np
import pytest
import scipy.special
from numba import cuda

from autodiff.runtime.cuda import scalars, special
from autodiff.runtime.cuda.simulation import Prepared
from autodiff.transforms.device.operations import HELPERS, LEVELS, TEXTS, operation
from autodiff.transforms.language.ops import OPS

from .scalar_cases import BOTH, OWN, assert_agrees, kernel_of, rows


def on_device(name, columns, dtype):
    """The operation applied to each row of numbers, by one simulated thread."""
    out = cuda.to_device(np.full(len(columns[0]), 99, dtype))
    cuda.jit(Prepared(kernel_of(name)))[1, 1](*map(cuda.to_device, columns), out)
    return out.copy_to_host()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", BOTH)
def test_operations_agree_with_the_cpu(name, dtype):
    columns = rows(name, dtype)
    assert_agrees(name, columns, on_device(name, columns, dtype), 2e-5 if dtype is np.float32 else 2e-14)


@pytest.mark.parametrize("name", sorted(set(OWN) - {"isnan", "isinf", "isfinite", "signbit"}))
def test_float32_stays_float32(name):
    names = {**vars(scalars), "special": special, "math": math}
    exec(f"def compute(x, y, z):\n    return {operation(name).text.format('x', 'y', 'z')}", names)
    assert Prepared(names["compute"])(*map(np.float32, (0.5, 0.25, 2.0))).dtype == np.float32


@pytest.mark.parametrize("name", ["psi", "i0", "i1", "i0e", "i1e", "log_ndtr", "exprel", "gamma"])
def test_special_functions_are_accurate(name):
    with np.errstate(all="ignore"):
        x = np.concatenate([np.linspace(-30.0, 30.0, 381) + 0.0371, np.geomspace(1e-9, 600.0, 150)])
        wanted = getattr(scipy.special, name)(x)
        found = np.array([getattr(special, name)(number) for number in x])
    np.testing.assert_allclose(found, wanted, rtol=3e-14, atol=3e-14)


def test_beta_functions_are_accurate():
    # By mpmath with 60 digits: SciPy loses some where one argument is large.
    for a, b, logarithm, value in (
            (1e-09, 4000.0, 20.72326582807527, 999999991.1288596), (0.2, 1e8, -2.160072325559689, 0.11531678038576207),
            (3.7, 33.0, -11.655695890465546, 8.669530763741839e-06),
            (9.9, 10.0, -13.664081196934863, 1.1634961107392175e-06),
            (33.0, 171.0, -91.02574407500515, 2.937796012942443e-40), (1e8, 1e15, -1711809578.3872335, 0.0),
            (1.0, 1e15, -34.538776394910684, 1e-15), (0.5, 12.25, -0.6701967715887654, 0.5116078979824938)):
        for x, y in ((a, b), (b, a)):
            with np.errstate(all="ignore"):
                assert math.isclose(special.betaln(x, y), logarithm, rel_tol=5e-15)
                assert math.isclose(special.beta(x, y), value, rel_tol=1e-13)
                narrow = special.betaln(np.float32(x), np.float32(y))
            assert narrow.dtype == np.float32 and math.isclose(narrow, logarithm, rel_tol=2e-6, abs_tol=2e-6)
    with np.errstate(all="ignore"):
        assert math.isclose(special.beta(-0.5, 2.25), scipy.special.beta(-0.5, 2.25), rel_tol=1e-14)
        assert math.isclose(special.betaln(-0.5, 2.25), scipy.special.betaln(-0.5, 2.25), rel_tol=1e-14)
        assert special.betaln(2.0, np.inf) == -np.inf and special.beta(2.0, np.inf) == 0.0
        assert np.isnan(special.betaln(np.nan, 2.0)) and np.isnan(special.beta(2.0, np.nan))


def test_indices_wrap_as_in_python_and_failures_are_told():
    def kernel(at, out, failed):
        for i in range(out.shape[0]):
            out[i] = scalars.wrap_index(at[i], 5, failed)
    out, failed = cuda.to_device(np.full(4, 99)), cuda.to_device(np.zeros(1, np.int64))
    cuda.jit(kernel)[1, 1](cuda.to_device(np.array([0, 4, -1, -5])), out, failed)
    assert list(out.copy_to_host()) == [0, 4, 4, 0] and failed.copy_to_host()[0] == 0
    for bad in (5, -6):
        failed[0] = 0
        cuda.jit(kernel)[1, 1](cuda.to_device(np.array([bad] * 4)), out, failed)
        assert list(out.copy_to_host()) == [0] * 4 and failed.copy_to_host()[0] == 1


def test_tables_are_whole():
    assert operation("revolve_split") is None and operation("special.jv") is None
    for name, needed in HELPERS.items():
        assert all(hasattr(scalars, helper) for helper in needed) and all(f"{h}(" in TEXTS[name] for h in needed)
    for name in OPS:
        op = operation(name)
        arity = OPS[name].arity - (name == "wrap_index")             # kernels do not tell the axis
        assert op is None or ("np." not in op.text and op.arity == arity), name
    assert all(name in TEXTS for name in LEVELS)


@needs_compiler
def test_float32_kernels_have_no_float64_instruction():
    inside_libdevice = ("sin", "cos", "tan", "special.j0", "special.j1", "special.y0", "special.y1")
    said = run_for_device(ROOT / "tests" / "cuda" / "compile_scalars.py", *inside_libdevice).split()
    assert said[0] == "compiled" and set(said[1:]) <= set(inside_libdevice)
