"""Adjoints of users' own kernels: against central differences of the simulated kernels, without races, and as PTX."""

from .support import ROOT, run_for_device  # isort: split

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest
from numba import cuda

from autodiff.cuda import kernel
from autodiff.transforms.device.owners import Owners
from autodiff.transforms.language.errors import (
    AutodiffError,
    NonDifferentiable,
    ShapeMismatch,
    TypeConflict,
    UnsupportedSyntax,
)

from . import example_kernels
from .kernel_checks import check, copies
from .races import watching
from .random_kernels import verdict

CASES = {case[0].__name__: case for case in example_kernels.cases()}
# Kernels whose adjoints need atomic additions, and to what: elements that several threads read. No other kernel has one.
ATOMIC = {
    "sparse_rows": {"values_bar", "x_bar"}, "gather_scatter": {"x_bar"}, "device_function": {"a_bar"},
    "red_black": {"u_bar"}, "stencil": {"u_bar", "tile_bar"}, "bodies": {"position_bar", "tile_bar"},
    "all_pairs": {"x_bar"}, "tile_of_two_loops": {"s_bar", "x_bar"},
    "matrix_product": {"A_bar", "B_bar", "sa_bar", "sb_bar"}, "half_filled": {"s_bar"},
    "border_of_three": {"s_bar", "x_bar"}, "exchange": {"a_bar", "b_bar"}, "histogram": {"s"},
    "added_between": {"s", "s_bar"}, "through_global": {"g_bar"}, "softmax": {"s_bar"}}
TAPED = {"newton": 1, "inner_while": 1, "sparse_rows": 1, "local_array": 1, "own_steps": 1, "half_filled": 1, "exchange": 2,
         "tile_of_two_loops": 1,
         "softmax": 1}


@pytest.mark.parametrize("name", CASES)
def test_pullbacks(name):
    function, grid, block, args = CASES[name]
    made = check(kernel(function), grid, block, args)
    launched = copies(args)
    with watching() as watch:
        kernel(function).vjp[grid, block](*launched)(**{made.names[j]: launched[j] for j in made.writes if j in made.floats})
    assert not watch.found, watch.report()
    assert {s.array.hint for s in made.stored.kernel.atomic} == ATOMIC.get(name, set())
    assert len(made.stored.tapes) == TAPED.get(name, 0)


@pytest.mark.parametrize("seed", range(10))
def test_random_kernels(seed):
    assert verdict(seed) == "ok"


def test_the_tracer_finds_planted_races(monkeypatch):
    monkeypatch.setattr(Owners, "own", lambda *_: True)             # nothing is atomic then
    for name, output in (("gather_scatter", "y"), ("matrix_product", "C")):
        function, grid, block, args = CASES[name]
        launched = copies(args)
        with watching() as watch:
            place = list(inspect.signature(function).parameters).index(output)
            kernel(function).vjp[grid, block](*launched)(**{output: launched[place]})
        assert ATOMIC[name] & {finding.array for finding in watch.found}


def test_generated_text():
    function, grid, block, args = CASES["strided"]
    k = kernel(function)
    k.specialize(grid, block, *args)
    assert k.source.partition("\n\n\n")[2] == '''\
def strided_adjoint(x, y, x_bar, y_bar):
    tx = cuda.threadIdx.x
    grid_x = cuda.gridDim.x
    bx = cuda.blockIdx.x
    # example_kernels.py:28    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
    quotient_1 = (x.shape[0] - (bx * 4 + tx) + (grid_x * 4 - 1)) // (grid_x * 4)
    # ---- reverse sweep: the same statements, last to first ----
    # example_kernels.py:28    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
    for i in range(quotient_1 - 1, -1, -1):
        # example_kernels.py:29    y[i] = math.exp(-x[i]) * x[i]
        i_1 = bx * 4 + tx + i * (grid_x * 4)
        y_bar_1 = y_bar[i_1]
        y_bar[i_1] = 0.0
        x_1 = x[i_1]
        y_1 = math.exp(-x_1)
        x_bar[i_1] += y_bar_1 * y_1 + -(y_bar_1 * x_1 * y_1)
'''


def test_tiles_are_filled_again_and_not_taped():
    function, grid, block, args = CASES["bodies"]
    k = kernel(function)
    made = k.specialize(grid, block, *args)
    assert not made.stored.tapes and made.scratch == set()
    assert k.source.count("tile[tx, c] = position[j, c]") == 1      # the forward sweep needs no tile


# -- how they are called ------------------------------------------------------------------------------------------
def test_device_arrays_stay_on_the_device():
    x, y = np.linspace(0.1, 1.0, 5), np.full(5, np.nan)
    k = kernel(cuda.jit(example_kernels.strided))
    on_device = cuda.to_device(x), cuda.to_device(y)
    pullback = k.vjp[1, 8](*on_device)
    found = pullback(y=cuda.to_device(np.ones(5)))
    assert all(hasattr(bar, "copy_to_host") for bar in found.values())
    np.testing.assert_allclose(found["x"].copy_to_host(), np.exp(-x) * (1 - x))
    np.testing.assert_array_equal(found["y"].copy_to_host(), 0.0)
    np.testing.assert_array_equal(pullback(y=np.ones(5))["x"].copy_to_host(), found["x"].copy_to_host())    # once more


def test_in_place():
    function, grid, block, (a, x, y) = CASES["saxpy"]
    k = kernel(function)
    x_bar, y_bar, a_bar = np.ones(13), np.arange(13.0), np.array([5.0])
    before = copies((x, y))
    k.adjoint[grid, block](a, x, y, x_bar=x_bar, y_bar=y_bar, a_bar=a_bar)
    np.testing.assert_allclose(x_bar, 1 + a * np.arange(13.0))
    np.testing.assert_array_equal(y_bar, np.arange(13.0))           # y += ...: the old contents count fully
    np.testing.assert_allclose(a_bar, 5 + x @ np.arange(13.0))
    for now, then in zip((x, y), before, strict=True):
        np.testing.assert_array_equal(now, then)
    k.adjoint[grid, block](a, x, y, y_bar=cuda.to_device(y_bar))    # nobody asks for the others
    function, grid, block, args = CASES["own_steps"]
    u_bar = np.ones(7)
    u = args[0].copy()
    kernel(function).adjoint[grid, block](*args, u_bar=u_bar)
    np.testing.assert_array_equal(args[0], u)                       # the adjoint runs on a copy of what it overwrites
    assert not np.allclose(u_bar, 1)


def test_float32_stays():
    for case in example_kernels.cases(np.float32):
        if case[0].__name__ in ("saxpy", "bodies", "newton"):
            function, grid, block, args = case
            k = kernel(function)
            pullback = k.vjp[grid, block](*copies(args))
            found = pullback(**{k.latest.names[j]: np.ones_like(args[j]) for j in k.latest.writes})
            wide = [a.astype(np.float64) if isinstance(a, np.ndarray) else float(a) for a in args]
            pullback = kernel(function).vjp[grid, block](*copies(wide))
            for name, bar in pullback(**{k.latest.names[j]: np.ones_like(wide[j]) for j in k.latest.writes}).items():
                assert found[name].dtype == np.float32
                np.testing.assert_allclose(found[name], bar, rtol=2e-4, atol=1e-4)


def test_deterministic():
    function, grid, block, args = CASES["saxpy"]
    check(kernel(function, deterministic=True), grid, block, args)          # sums over blocks have a fixed order
    with pytest.raises(NonDifferentiable, match="adds to `values_bar` from several threads") as error:
        kernel(CASES["sparse_rows"][0], deterministic=True).specialize(*CASES["sparse_rows"][1:3], *CASES["sparse_rows"][3])
    assert error.value.loc.text.strip() == "s = math.sin(s) + values[j] * x[columns[j]]"


def test_wrong_calls():
    function, grid, block, (a, x, y) = CASES["saxpy"]
    k = kernel(function)
    with pytest.raises(ValueError, match="has not been specialised"):
        print(k.source)
    pullback = k.vjp[grid, block](a, x.copy(), y.copy())
    with pytest.raises(TypeConflict, match="`x` is no array of floating point that `saxpy` writes"):
        pullback(x=x)
    with pytest.raises(ShapeMismatch, match=r"the cotangent `y` has shape \(3,\), and not \(13,\)"):
        pullback(y=np.ones(3))
    with pytest.raises(TypeConflict, match="the cotangent `y` is of dtype float32, and not float64"):
        pullback(y=np.ones(13, np.float32))
    with pytest.raises(TypeConflict, match="one array stands in two places"):
        k.vjp[grid, block](a, x, x)
    with pytest.raises(TypeConflict, match="one array stands in two places"):
        k.adjoint[grid, block](a, x, y, x_bar=x, y_bar=y)
    with pytest.raises(TypeConflict, match="no argument for the adjoint `z_bar`"):
        k.adjoint[grid, block](a, x, y, z_bar=x)
    with pytest.raises(TypeConflict, match="kernels with arrays of dtype complex128"):
        k.specialize(grid, block, a, x + 0j, y)
    with pytest.raises(TypeConflict, match="size is given at the launch"):
        k.vjp[grid, block, 0, 64]


def test_nothing_of_cuda_is_imported_before_a_launch():
    code = ("import sys, autodiff.cuda\n@autodiff.cuda.kernel\ndef k(x):\n    x[0] = 1.0\n"
            "assert not any(name.startswith(('numba.cuda', 'numba_cuda')) for name in sys.modules)")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr


# -- what is refused ----------------------------------------------------------------------------------------------
def early_return(x, y):
    s = cuda.shared.array(8, example_kernels.real)
    i = cuda.grid(1)
    if i >= x.size:
        return
    s[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    y[i] = s[0]


def uneven_loop(x, y):
    s = cuda.shared.array(8, example_kernels.real)
    t = cuda.threadIdx.x
    for k in range(t):
        s[t] = x[k]
        cuda.syncthreads()
    y[t] = s[0]


def neighbours(x):
    i = cuda.grid(1)
    if i + 1 < x.size:
        x[i] = 0.5 * (x[i] + x[i + 1])


def one_for_all(x, y):
    y[0] = x[cuda.grid(1)]


def read_what_is_added(x, y):
    i = cuda.grid(1)
    cuda.atomic.add(y, 0, x[i])
    x[i] = y[0]


def old_value(x, y):
    i = cuda.grid(1)
    x[i] = cuda.atomic.add(y, 0, 1.0)


def maximum(x, y):
    cuda.atomic.max(y, 0, x[cuda.grid(1)])


def shuffled(x, y):
    i = cuda.grid(1)
    y[i] = cuda.shfl_down_sync(0xffffffff, x[i], 1)


def sized_at_launch(x, y):
    s = cuda.shared.array(0, example_kernels.real)
    s[0] = x[0]


def two_large_tiles(x, y):
    s = cuda.shared.array((64, 64), example_kernels.real)
    i = cuda.grid(1)
    s[i, 0] = x[i]
    cuda.syncthreads()
    y[i] = s[i, 0] ** 2


def returning(x, y):
    return x[0]


@pytest.mark.parametrize(("function", "message", "line"), [
    (early_return, "not every thread of a block comes to this barrier", "    cuda.syncthreads()"),
    (uneven_loop, "not every thread of a block comes to this barrier", "        cuda.syncthreads()"),
    (neighbours, "one thread may write an element of `x` that another one reads", "        x[i] = 0.5"),
    (one_for_all, "one thread may write an element of `y` that another one writes", "    y[0] = x"),
    (read_what_is_added, "one thread may add to an element of `y` that another one reads", "    cuda.atomic.add(y"),
    (old_value, "what an atomic operation returns depends on the order of the threads", "    x[i] = cuda.atomic"),
    (maximum, "`cuda.atomic.max` is not supported", "    cuda.atomic.max"),
    (shuffled, "`cuda.shfl_down_sync` is not supported", "    y[i] = cuda.shfl"),
    (sized_at_launch, "given at the launch is not supported", "    s = cuda.shared"),
    (two_large_tiles, "the adjoint needs 65536 bytes of shared memory", ""),
    (returning, "a kernel returns nothing", ""),
])
def test_refused(function, message, line):
    with pytest.raises(AutodiffError, match=message) as error:
        k = kernel(function)
        k.specialize(2, 8, *[np.ones(16)] * len(k.signature.parameters))
    assert error.value.hint
    if line:
        assert error.value.loc.file == __file__ and error.value.loc.text.startswith(line)


def test_a_flag_may_be_raised_by_any_thread():
    def clipped(x, y, flag):
        i = cuda.grid(1)
        if i < x.size:
            if x[i] > 1.0:
                flag[0] = 1
            y[i] = min(x[i], 1.0) ** 2

    check(kernel(clipped), 2, 8, (np.linspace(0.05, 2.05, 13), np.zeros(13), np.zeros(1, np.int32)))


def test_parameters_in_an_array_are_summed_by_blocks():
    def line(p, x, y):
        i = cuda.grid(1)
        if i < x.size:
            for k in range(3):
                y[i] += p[0] * x[i] + p[1] * k

    made = check(kernel(line), 2, 8, (np.array([0.3, 0.7]), np.linspace(0.0, 1.0, 13), np.zeros(13)))
    assert made.text.count("block_sum(") == 2 and made.text.count("cuda.atomic.add(p_bar") == 2


def test_a_word_given():
    def alternate(x, parity):
        i = cuda.grid(1)
        if i + 1 < x.size and i % 2 == parity:
            x[i] = 0.5 * x[i] * x[i + 1]

    with pytest.raises(UnsupportedSyntax, match="another one reads"):
        kernel(alternate).specialize(2, 8, np.ones(13), 1)
    check(kernel(alternate, race_free=True), 2, 8, (np.linspace(0.5, 1.5, 13), 1))


def test_machine_code():
    """Every adjoint compiles for compute capability 9.0; in float32, without float64 instructions and without spills."""
    text = run_for_device(ROOT / "tests" / "cuda" / "compile_kernels.py")
    assert text.startswith("compiled\n") and text.split("\n")[1:-1] == []


def test_launches_on_a_stubbed_driver():
    """On the device nothing is copied back, and nothing waits but where a kernel counts the slots of a tape."""
    lines = run_for_device(ROOT / "tests" / "cuda" / "launch_kernels.py").splitlines()
    sums = "total total_onto copy"
    assert lines[1::2] == [
        f"saxpy copy saxpy_adjoint {sums} saxpy_adjoint {sums} " + str(dict.fromkeys("axy", "DeviceNDArray")),
        "newton copy newton_slots wait newton_adjoint newton_slots wait newton_adjoint " + str(
            dict.fromkeys("xy", "DeviceNDArray")),
        f"copy own_steps copy copy own_steps_adjoint {sums} copy own_steps_adjoint {sums} " + str(
            dict.fromkeys("uk", "DeviceNDArray"))]
    assert all("'float32'" in line or "'ndarray'" in line for line in lines[::2])


def test_page_is_current():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, str(ROOT / "docs" / "make_map.py"), "--check", "gpu_kernels.md"], cwd=ROOT,
                          env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
