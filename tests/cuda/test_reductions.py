"""Reductions over blocks under the simulator."""

import numpy as np
import pytest
from numba import cuda

from autodiff.runtime.cuda import reductions
from autodiff.runtime.cuda.reductions import block, block_sum, neutral, place, row, total  # noqa: F401

from .support import run_for_device  # noqa: F401  isort: split

REFERENCE = {"sum": np.sum, "max": np.max, "min": np.min, "mul": np.prod}


def by_blocks(op, values, shape):
    """One element for each block, with the threads of a block in a plane."""
    names = {**vars(reductions), "cuda": cuda}
    exec(f"def kernel(x, parts):\n    found = block_{op}(x[block(), place()])\n    if place() == 0:\n"
         "        parts[block()] = found", names)
    parts = cuda.to_device(np.zeros(values.shape[0], values.dtype))
    cuda.jit(names["kernel"])[values.shape[0], shape](cuda.to_device(values), parts)
    return parts.copy_to_host()


@pytest.mark.parametrize("shape", [(16, 1), (4, 4), (1, 1), (5, 1), (3, 2), (8, 5)])
def test_blocks_of_any_shape(shape):
    generator = np.random.default_rng(3)
    for op, reference in REFERENCE.items():
        for dtype in (np.float64, np.float32, np.int64):
            values = generator.integers(-3, 4, (2, shape[0] * shape[1])).astype(dtype)
            np.testing.assert_array_equal(by_blocks(op, values, shape), reference(values, axis=1))


@pytest.mark.parametrize("op", ["max", "min", "sum", "mul"])
def test_nan_stays(op):
    values = np.array([[1.0, np.nan, 3.0, -2.0], [4.0, 1.0, 2.0, np.inf]])
    np.testing.assert_array_equal(by_blocks(op, values, (4, 1)), REFERENCE[op](values, axis=1))


def test_only_the_first_thread_has_the_result():
    def kernel(x, out):
        out[place()] = block_sum(x[place()])
    out = cuda.to_device(np.zeros(4))
    cuda.jit(kernel)[1, 4](cuda.to_device(np.ones(4)), out)
    assert out[0] == 4.0 and np.isnan(out.copy_to_host()[1:]).all()         # what a device leaves there is not defined


def test_several_reductions_in_one_kernel():
    def kernel(x, out):
        a = block_sum(x[place()])
        b = reductions.block_max(np.float32(x[place()]))
        c = block_sum(np.int64(place()))
        if place() == 0:
            out[0], out[1], out[2] = a, b, c
    out = cuda.to_device(np.zeros(3))
    cuda.jit(kernel)[1, 8](cuda.to_device(np.arange(8.0)), out)
    assert list(out.copy_to_host()) == [28.0, 7.0, 28.0]


def test_totals():
    for op, reference in REFERENCE.items():
        for n in (0, 1, 5, 37):
            parts = np.linspace(0.5, 1.5, n)
            out = cuda.to_device(np.zeros(2))
            start = neutral(op, np.float64)
            total[op][2, 16](cuda.to_device(parts), n, 20, start, 0.25, out)
            expected = [reference(np.append(part, start)) for part in (parts[:20], parts[20:])]
            combine = reductions.COMBINE[op]
            np.testing.assert_allclose(out.copy_to_host(), [combine(0.25, e) for e in expected], rtol=1e-14)


def test_rows_go_on_along_z():
    def kernel(out):
        out[row(), cuda.grid(1)] += 1
    out = cuda.to_device(np.zeros((12, 4), np.int64))
    cuda.jit(kernel)[(2, 2, 3), (2, 2)](out)
    assert (out.copy_to_host() == 1).all()


def test_neutral_numbers():
    assert neutral("sum", "float32") == 0 and neutral("mul", "int64") == 1
    assert neutral("max", "float64") == -np.inf and neutral("min", "int64") == np.iinfo(np.int64).max
    assert neutral("sum", "float32").dtype == np.float32
