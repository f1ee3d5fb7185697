"""The CUDA target on a GPU: `NUMBA_ENABLE_CUDASIM=0 python -m pytest -m gpu tests/cuda`. Skipped elsewhere.

The same values as the simulator's tests ask for, with the arrays of each library that is installed; and what the simulator
cannot show: streams, memory shared with other libraries, and that nothing waits.
"""

from .gpu_support import cuda  # isort: split

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import autodiff
from autodiff.cuda import kernel
from autodiff.runtime.cuda.device import Device
from autodiff.runtime.cuda.reductions import block, block_max, block_min, block_sum, place

from . import example_kernels
from .kernel_checks import check
from .library_cases import CASES
from .programs import EXAMPLES
from .random_programs import verdict
from .scalar_cases import BOTH, assert_agrees, kernel_of, rows

pytestmark = pytest.mark.gpu
KERNELS = {case[0].__name__: case for case in example_kernels.cases()}
GENERATOR = np.random.default_rng(5)


class Arrays:
    """How arrays of a library are made, and brought back to the host."""

    def __init__(self, name):
        self.name = name
        if name == "numba":
            self.to, self.host = cuda.to_device, lambda x: x.copy_to_host()
            return
        self.module = pytest.importorskip(name)
        if name == "cupy":
            self.to, self.host = self.module.asarray, self.module.asnumpy
        elif name == "torch":
            self.to, self.host = lambda x: self.module.as_tensor(x, device="cuda"), lambda x: x.cpu().numpy()
        else:
            self.module.config.update("jax_enable_x64", True)
            self.to, self.host = self.module.device_put, np.asarray


@pytest.fixture(params=["numba", "cupy", "torch", "jax"])
def kind(request):
    return Arrays(request.param)


def flat(x):
    if isinstance(x, dict):
        x = tuple(x.values())
    return [y for part in x for y in flat(part)] if isinstance(x, (tuple, list)) else [x]


@pytest.mark.parametrize("name", EXAMPLES)
def test_values_and_gradients(name, kind):
    given = EXAMPLES[name]
    expected = autodiff.value_and_grad(given.function, wrt=given.wrt, mode="python")(*given.arguments())
    args = [kind.to(a) if isinstance(a, np.ndarray) else a for a in given.arguments()]
    found = autodiff.value_and_grad(given.function, wrt=given.wrt, target="cuda")(*args)
    for a, b in zip(flat(found), flat(expected), strict=True):
        assert type(a) is type(args[0])
        np.testing.assert_allclose(kind.host(a), b, rtol=1e-9, atol=1e-9 * max(1e-300, np.max(np.abs(b), initial=0.0)))
    for a, b in zip(args, given.arguments(), strict=True):
        if isinstance(b, np.ndarray):
            np.testing.assert_array_equal(kind.host(a), b)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_same_bits_again(name):
    given = EXAMPLES[name]
    args = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in given.arguments()]
    try:
        gradient = autodiff.value_and_grad(given.function, wrt=given.wrt, target="cuda", deterministic=True)
        first, second = ([x.copy_to_host().tobytes() for x in flat(gradient(*args))] for _ in range(2))
    except autodiff.AutodiffError:
        pytest.skip("it adds to places that only the device knows")
    assert first == second


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", BOTH)
def test_scalar_operations(name, dtype):
    columns = rows(name, dtype)
    out = cuda.to_device(np.full(len(columns[0]), 99, dtype))
    Device().launch_as(kernel_of(name), (1, 1, 1), (1, 1), *map(cuda.to_device, columns), out)
    bessel = name in ("special.j0", "special.j1", "special.y0", "special.y1")       # less exact: libdevice's
    assert_agrees(name, columns, out.copy_to_host(), 2e-5 if dtype is np.float32 else 5e-12 if bessel else 5e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("n", [0, 1, 31, 33, 256, 5000, 3_000_001])
def test_sums_over_blocks(n, dtype):
    def kernel(n, x, parts):
        i = cuda.grid(1)
        total = block_sum(x[i] if i < n else x.dtype.type(0))
        if place() == 0:
            parts[block()] = total
    x = GENERATOR.integers(-8, 9, n).astype(dtype)
    device = Device()
    on_device, parts = device.own(x), device.partials((n,), dtype)
    device.launch(kernel, (n,), n, on_device, parts)
    for op, reference in (("sum", x.sum()), ("max", x.max(initial=-100)), ("min", x.min(initial=100))):
        start = {"sum": 0, "max": -100, "min": 100}[op]
        assert device.read(device.total(parts if op == "sum" else on_device, op, start)) == reference


@pytest.mark.parametrize("n", [0, 1, 31, 33, 5000, 3_000_001])
def test_truths_over_blocks(n):
    def kernel(n, x, any_parts, all_parts):
        i = cuda.grid(1)
        found, every = block_max(x[i] if i < n else False), block_min(x[i] if i < n else True)
        if place() == 0:
            any_parts[block()] = found
            all_parts[block()] = every
    device = Device()
    for x in (np.zeros(n, bool), np.ones(n, bool), np.arange(n) == n // 2, np.arange(n) != n - 1):
        on_device, some, every = device.own(x), device.partials((n,), np.bool_), device.partials((n,), np.bool_)
        device.launch(kernel, (n,), n, on_device, some, every)
        assert device.read(device.total(some, "max", False)) == x.any()
        assert device.read(device.total(every, "min", True)) == x.all()


@pytest.mark.parametrize("shape", [(1,), (3, 2), (5, 7), (32, 8), (33, 31)])
def test_blocks_of_any_shape(shape):
    def kernel(x, out):
        total = block_sum(x[place()])
        if place() == 0:
            out[0] = total
    x = GENERATOR.standard_normal(int(np.prod(shape)))
    out = cuda.to_device(np.zeros(1))
    Device().launch_as(kernel, (1, 1, 1), shape, cuda.to_device(x), out)
    np.testing.assert_allclose(out.copy_to_host()[0], x.sum(), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("op", CASES)
def test_library_calls(op, kind):
    shapes, args, static, wanted = CASES[op]
    if kind.name in ("numba", "jax"):
        pytest.importorskip("cupy" if "cupy" in sys.modules else "torch")
    given = [kind.to(a) if isinstance(a, np.ndarray) else a for a in args]
    device = Device.of(given)
    outs = [device.empty(s, np.asarray(w).dtype if np.asarray(w).dtype.kind == "f" else np.int64)
            for s, w in zip(shapes, wanted(), strict=True)]
    try:
        device.call(op, outs, [device.for_kernels(a) if hasattr(a, "shape") else a for a in given], *static)
    except AttributeError as missing:               # of an older version of the library
        pytest.skip(str(missing))
    found, expected = [out.copy_to_host() for out in outs], list(map(np.asarray, wanted()))
    if op in UNIQUE:                                # the other results are so up to signs, or the order
        found, expected = ([magnitudes(op, x[UNIQUE[op]])] for x in (found, expected))
    for x, value in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, value, rtol=1e-9, atol=1e-9)


UNIQUE = {"eigh": 0, "eigh_upper": 0, "syevr": 0, "complex_eigh": 0, "complex_eigh_upper": 0, "eig": 0,
          "svd": 1, "qr": 1, "complex_qr": 1}


def magnitudes(op, x):
    return np.sort(np.hypot(x[..., 0], x[..., 1]) if op in ("eig", "complex_qr") else np.abs(x), axis=None)


def test_memory_is_shared_and_comes_back(kind):
    x = kind.to(np.arange(12.0).reshape(3, 4))
    device = Device.of([x])
    taken = device.for_kernels(x)
    assert device.back(taken) is x
    device.assign(taken, 7.0)
    cuda.synchronize()
    assert (np.asarray(kind.host(x)) == 7.0).all()
    made = device.back(device.full((5,), 2.0, np.float32))
    assert type(made) is type(x) and kind.host(made).dtype == np.float32 and (kind.host(made) == 2.0).all()


def test_free_memory_is_used_again():
    device = Device()
    first = device.empty((1000,), np.float64)
    address = first.__cuda_array_interface__["data"][0]
    view = first[3:]
    del first
    assert device.empty((1000,), np.float64).__cuda_array_interface__["data"][0] != address
    del view
    assert device.empty((1000,), np.float64).__cuda_array_interface__["data"][0] == address


def loss(x, k):
    return np.sum(np.exp(-k * x * x))


def long_loop(n, out):
    s = 0.0
    for _ in range(n):
        s = math.sin(s + 1.0)
    out[0] = s


@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_calls_follow_the_current_stream_and_do_not_wait(name):
    kind = Arrays(name)
    x, gradient = kind.to(np.linspace(0.0, 1.0, 10 ** 6)), autodiff.value_and_grad(loss, target="cuda")
    out = kind.to(np.zeros(1))
    expected = float(kind.host(gradient(x, 1.5)[0]))                # compiles
    Device.of([x]).launch(long_loop, (1,), 1, Device.of([x]).for_kernels(out))
    cuda.synchronize()
    streams = kind.module.cuda
    stream = streams.Stream(non_blocking=True) if name == "cupy" else streams.Stream()
    with stream if name == "cupy" else streams.stream(stream):
        device = Device.of([x])
        assert device.handle == (stream.ptr if name == "cupy" else stream.cuda_stream)
        device.launch(long_loop, (1,), 20_000_000, device.for_kernels(out))         # half a second or more
        value, slope = gradient(x, 1.5)
        assert not (stream.done if name == "cupy" else stream.query()), "the call has waited for the device"
        np.testing.assert_allclose(float(kind.host(value)), expected, rtol=1e-12)
    assert slope.shape == x.shape


@pytest.mark.parametrize("name", KERNELS)
def test_adjoints_of_users_kernels(name):
    function, grid, block_size, args = KERNELS[name]
    check(kernel(function), grid, block_size, args)


@pytest.mark.parametrize("seed", range(5000, 5024))
def test_random_programs(seed):
    assert not verdict(seed)[0].isdigit()


def springs(x, k):
    e = 0.0
    for i in range(x.shape[0] - 1):
        e += 0.5 * k["k"] * (x[i + 1] - x[i]) ** 2
    return e, x * k["k"]


def test_tensors_through_the_bridge():
    torch = pytest.importorskip("torch")
    x = torch.linspace(0.0, 2.0, 7, dtype=torch.float64, device="cuda").pow(2).requires_grad_()
    k = torch.tensor(1.5, dtype=torch.float64, device="cuda", requires_grad=True)
    e, y = autodiff.torch.wrap(springs)(x, {"k": k})
    found = torch.autograd.grad(e + y.sum(), (x, k))
    wanted = 0.5 * k * ((x[1:] - x[:-1]) ** 2).sum() + (x * k).sum()
    for a, b in zip(found, torch.autograd.grad(wanted, (x, k)), strict=True):
        assert a.is_cuda
        torch.testing.assert_close(a, b)


def test_what_is_on_two_devices_or_of_two_libraries_is_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(autodiff.AutodiffError, match="numba and torch|torch and numba"):
        autodiff.grad(lambda x, y: np.sum(x * y), target="cuda")(torch.ones(3, device="cuda"), cuda.to_device(np.ones(3)))


@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "initcheck"])
def test_the_sanitizer_finds_nothing(tool, tmp_path):
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        pytest.skip("compute-sanitizer is not installed")
    root = Path(__file__).parents[2]
    program = tmp_path / "program.py"
    program.write_text("import numpy as np\nimport autodiff\nfrom numba import cuda\n"
                       "from tests.cuda.programs import EXAMPLES\n"
                       "for name in ('chain', 'stencil', 'mixture'):\n"
                       "    given = EXAMPLES[name]\n"
                       "    args = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in given.arguments()]\n"
                       "    autodiff.value_and_grad(given.function, wrt=given.wrt, target='cuda')(*args)\n"
                       "    cuda.synchronize()\n")
    done = subprocess.run([sanitizer, "--tool", tool, "--error-exitcode", "9", sys.executable, str(program)],
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])},
                          capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
