"""Memory, launches, totals and library calls of generated host functions, under the simulator."""

import math

import numpy as np
import pytest
from numba import cuda

from autodiff.runtime import fourier
from autodiff.runtime.cuda import library
from autodiff.runtime.cuda.compilation import compiled
from autodiff.runtime.cuda.device import Device, above, geometry
from autodiff.runtime.cuda.reductions import block, block_sum, place, row
from autodiff.runtime.linear_algebra import linalg

from .support import ROOT, needs_compiler, run_for_device  # isort: split

from .library_cases import CASES, A, B, S, V, Z, pairs

DEVICE = Device()
GENERATOR = np.random.default_rng(5)


def energy_kernel(x_size, k, x, x_bar, parts):
    i = cuda.grid(1)
    s = 0.0
    if i < x_size - 1:
        d = x[i + 1] - x[i]
        s = k[0] * math.exp(d * d)
        x_bar[i] = 2.0 * d
    total = block_sum(s)
    if place() == 0:
        parts[block()] = total


@pytest.mark.parametrize("n", [0, 1, 2, 17, 90])
def test_a_launch_and_its_total(n):
    x = np.linspace(0.0, 1.0, n) ** 2
    on_device, x_bar, k = DEVICE.own(x), DEVICE.zeros((n,), np.float64), DEVICE.cell(3.0, "float64")
    parts = DEVICE.partials((n - 1,), np.float64)
    DEVICE.launch(energy_kernel, (n - 1,), n, k, on_device, x_bar, parts)
    total = DEVICE.read(DEVICE.total(parts, "sum", k))
    assert math.isclose(total, 3.0 + 3.0 * np.exp(np.diff(x) ** 2).sum(), rel_tol=1e-14)
    np.testing.assert_allclose(x_bar.copy_to_host()[:max(n - 1, 0)], 2.0 * np.diff(x))
    assert on_device.copy_to_host().tobytes() == x.tobytes()


def test_totals_of_many_parts_take_two_launches_and_one_order():
    for n in (64, 65, 300):
        values = GENERATOR.standard_normal(n)
        found = {DEVICE.read(DEVICE.total(DEVICE.own(values), "sum", 0.5)) for _ in range(2)}
        assert len(found) == 1 and math.isclose(found.pop(), 0.5 + values.sum(), rel_tol=1e-12)
    values = GENERATOR.standard_normal(100).astype(np.float32)
    cell = DEVICE.total(DEVICE.own(values), "max", DEVICE.cell(0.25, np.float32))
    assert cell.dtype == np.float32 and cell.shape == (1,) and DEVICE.read(cell) == values.max()
    assert DEVICE.read(DEVICE.total(DEVICE.own(values), "min", -np.inf)) == -np.inf
    assert DEVICE.read(DEVICE.total(DEVICE.own(np.full(70, 2)), "sum", 1)) == 141
    for op, init in (("sum", 1.5), ("max", DEVICE.cell(-2.0, "float64")), ("mul", 3.0)):
        assert DEVICE.read(DEVICE.total(DEVICE.partials((0,), np.float64), op, init)) == (1.5, -2.0, 3.0)[
            ("sum", "max", "mul").index(op)]


@pytest.mark.parametrize("extents", [(1,), (5,), (40,), (3, 7), (9, 1), (1, 9), (2, 3, 5), (2, 1, 2, 3)])
def test_every_element_has_one_thread(extents):
    names = {"cuda": cuda, "row": row}
    rows = math.prod(extents[:-1])
    body = "    i = row()\n    j = cuda.grid(1)\n" if len(extents) > 1 else "    i = 0\n    j = cuda.grid(1)\n"
    exec(f"def kernel(out):\n{body}    if i < {rows} and j < {extents[-1]}:\n        out[i, j] += 1", names)
    out = DEVICE.zeros((rows, extents[-1]), np.int64)
    DEVICE.launch(names["kernel"], extents, out)
    assert (out.copy_to_host() == 1).all()
    grid, _ = geometry(extents)
    assert DEVICE.partials(extents, np.float64).shape == (math.prod(grid),)


@needs_compiler
def test_a_device_by_a_stubbed_driver():
    said = run_for_device(ROOT / "tests" / "cuda" / "stubbed_driver.py").splitlines()
    assert "total (10, 1, 1) (256, 1)" in said and said.count("total (1, 1, 1) (256, 1)") == 2
    assert all(line.split()[0] in ("_fill", "_fill_from", "copy", "total", "total_onto") for line in said)


def test_blocks_and_grids():
    for extents in ((1,), (10 ** 9,), (10 ** 6, 2), (2, 10 ** 6), (70000, 70000), (3, 10 ** 5, 2), (10 ** 5, 10 ** 5, 1)):
        grid, block_shape = geometry(extents)
        x, y, rows = grid[0] * block_shape[0], math.prod(grid[1:]) * block_shape[1], math.prod(extents[:-1])
        assert extents[-1] <= x < extents[-1] + block_shape[0] and rows <= y <= 2 * rows + block_shape[1]
        assert max(grid[1:]) <= 65535 and above(math.prod(block_shape)) == math.prod(block_shape) <= 16
    assert [above(n) for n in (0, 1, 2, 3, 1000)] == [1, 1, 2, 4, 1024]


def test_memory():
    assert np.isnan(DEVICE.empty((2, 3), np.float64).copy_to_host()).all()
    assert (DEVICE.zeros((2, 3), np.int64).copy_to_host() == 0).all() and DEVICE.zeros((0, 3), np.float32).shape == (0, 3)
    full = DEVICE.full((2, 2), DEVICE.cell(1.5, "float64"), np.float32)
    assert full.dtype == np.float32 and (full.copy_to_host() == 1.5).all()
    assert DEVICE.read(DEVICE.cell(True, np.bool_)) is True and DEVICE.read(DEVICE.cell(7, np.int64)) == 7
    assert type(DEVICE.read(DEVICE.cell(0.1, np.float32))) is np.float32
    x = GENERATOR.standard_normal((2, 3, 4))
    given = cuda.to_device(x)
    copy = DEVICE.own(given)
    copy[0, 0, 0] = 99.0
    assert given[0, 0, 0] != 99.0
    assert DEVICE.for_kernels(given) is given and DEVICE.for_kernels(x).copy_to_host().tobytes() == x.tobytes()
    narrow = DEVICE.for_kernels(given, np.float32)
    assert narrow.dtype == np.float32 and np.allclose(narrow.copy_to_host(), x)
    flipped = cuda.to_device(x)[:, ::-1, ::2]
    assert np.array_equal(DEVICE.for_kernels(flipped).copy_to_host(), x[:, ::-1, ::2])
    out = DEVICE.empty((4, 3), np.float64)
    DEVICE.assign(out, DEVICE.part(given, 1, transposed=True))
    assert np.array_equal(out.copy_to_host(), x[1].T)
    DEVICE.assign(out, 2)
    assert (out.copy_to_host() == 2.0).all()


def test_numbers_keep_their_types_and_arithmetic_does_not_raise():
    def kernel(a, b, n, out, kinds):
        out[0] = a * 0.5
        out[1] = math.log(b - b)
        out[2] = 1.0 / (b - b)
        kinds[0] = (a * b).dtype == np.float32
    out, kinds = DEVICE.zeros((3,), np.float64), DEVICE.zeros((1,), np.bool_)
    DEVICE.launch(kernel, (1,), np.float32(0.1), np.float32(2.0), 3, out, kinds)
    assert out[0] == np.float64(np.float32(0.1)) * 0.5          # a bare literal is float64, and so is the product
    assert out[1] == -np.inf and out[2] == np.inf and kinds[0]
    assert compiled(kernel) is compiled(kernel)


# ---- library calls ----

def called(op, shapes, args, static=(), dtype=np.float64):
    outs = [DEVICE.empty(s, np.int64 if s == "index" else dtype) for s in shapes]
    DEVICE.call(op, outs, [DEVICE.own(a) if isinstance(a, np.ndarray) else a for a in args], *static)
    return [out.copy_to_host() for out in outs]


@pytest.mark.parametrize("op", CASES)
def test_library_calls(op):
    shapes, args, static, wanted = CASES[op]
    for found, value in zip(called(op, shapes, args, static), wanted(), strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12)


def test_library_calls_that_fill_or_factor():
    out = DEVICE.own(np.ones((4, 2)))
    DEVICE.call("add_matmul", [out], [DEVICE.own(A), DEVICE.own(B)])
    np.testing.assert_allclose(out.copy_to_host(), 1.0 + A @ B)
    wanted = np.ones((4, 2))
    linalg.add_matmul(wanted, A, B)
    np.testing.assert_array_equal(out.copy_to_host(), wanted)
    for op, product in (("", Z @ Z), ("_cn", Z.conj().T @ Z), ("_nc", Z @ Z.conj().T)):
        out = DEVICE.own(np.ones((4, 4, 2)))
        DEVICE.call(f"add_complex_matmul{op}", [out], [DEVICE.own(pairs(Z)), DEVICE.own(pairs(Z))])
        np.testing.assert_allclose(out.copy_to_host(), pairs(1.0 + 1j + product), atol=1e-12)
    factors, pivots = called("factored", [(4, 4), (4,)], (A,))
    for trans in (False, True):
        for right in (V, B):
            found, = called("solve_factored", [right.shape], (factors, pivots.astype(np.int64), right, trans))
            np.testing.assert_allclose(found, np.linalg.solve(A.T if trans else A, right), rtol=1e-10)
    transposed = DEVICE.empty((4, 4), np.float64)
    stack = DEVICE.own(np.stack([A, S]))
    DEVICE.call("matmul", [transposed], [DEVICE.part(stack, 0, transposed=True), DEVICE.part(stack, 1)])
    np.testing.assert_allclose(transposed.copy_to_host(), A.T @ S)
    both, spectrum = np.empty((4, 4, 2)), DEVICE.empty((4, 4, 2), np.float64)
    fourier.fft_into(both, pairs(Z), 3, -1)
    DEVICE.call("fft", [spectrum], [DEVICE.own(pairs(Z)), 3, -1])
    np.testing.assert_allclose(spectrum.copy_to_host(), both, atol=1e-12)


def test_what_no_library_has_is_refused():
    assert not any(library.CALLS[op].device for op in ("sqrtm", "solve_banded", "solve_sylvester", "save_state"))
    with pytest.raises(NotImplementedError, match="solve_banded"):
        DEVICE.call("solve_banded", [], [])
