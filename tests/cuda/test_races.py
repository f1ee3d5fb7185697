"""The race checker finds what was planted, and nothing in what is right."""

from .support import cuda  # isort: split

import numpy as np
import pytest

from autodiff.runtime.cuda.device import Device
from autodiff.runtime.cuda.reductions import block, block_sum, place

from .races import check_races, watching

N = 20                                  # more than one block


def found(kernel, *shapes, written=True):
    """What is wrong with a kernel on fresh arrays of these shapes: (array, what)."""
    device = Device()
    with watching() as watch:
        made = [device.zeros(s, np.float64) if written else device.empty(s, np.float64) for s in shapes]
        with np.errstate(all="ignore"):
            try:
                device.launch(kernel, (N,), *made)
            except IndexError:
                assert watch.found
    return sorted({(f.array, f.what) for f in watch.found})


UNORDERED = "is accessed without order "


def test_two_threads_write_one_element():
    def kernel(y):
        i = cuda.grid(1)
        if i < y.shape[0]:
            y[i // 2] = 1.0
    assert found(kernel, (N,)) == [("y", UNORDERED + "(write/write)")]


def test_a_neighbour_is_read_that_is_written():
    def kernel(x):
        i = cuda.grid(1)
        if i < x.shape[0] - 1:
            x[i] = x[i + 1]
    assert found(kernel, (N,)) == [("x", UNORDERED + "(read/write)")]


def test_an_update_by_all():
    def kernel(s, x):
        i = cuda.grid(1)
        if i < x.shape[0]:
            s[0] += x[i]
    assert [a for a, _ in found(kernel, (1,), (N,))] == ["s"]


def test_two_names_of_one_memory():
    def kernel(x, y):
        i = cuda.grid(1)
        if i < x.shape[0] - 1:
            y[i] = x[i + 1]
    device = Device()
    with watching() as watch:
        x = device.zeros((N,), np.float64)
        device.launch(kernel, (N,), x, x)
    assert watch.found


def test_atomic_and_plain_accesses_mixed():
    def kernel(s, y):
        i = cuda.grid(1)
        cuda.atomic.add(s, 0, 1.0)
        if i == 3:
            y[0] = s[0]
    assert found(kernel, (1,), (1,)) == [("s", UNORDERED + "(atomic/read)")]


def test_a_barrier_left_out():
    def kernel(y):
        shared = cuda.shared.array(16, np.float64)
        t = cuda.threadIdx.x
        shared[t] = 1.0
        y[cuda.grid(1)] = shared[15 - t]
    (array, what), = found(kernel, (32,))
    assert array.startswith("shared memory of line") and what == UNORDERED + "(read/write)"


def test_a_barrier_orders_a_block_only():
    def within(y, z):
        shared = cuda.shared.array(16, np.float64)
        t = cuda.threadIdx.x
        shared[t] = 1.0
        y[cuda.grid(1)] = 1.0
        cuda.syncthreads()
        z[cuda.grid(1)] = shared[15 - t] + y[cuda.blockIdx.x * cuda.blockDim.x + 15 - t]

    def across(y, z):
        y[cuda.grid(1)] = 1.0
        cuda.syncthreads()
        z[cuda.grid(1)] = y[31 - cuda.grid(1)]
    assert found(within, (32,), (32,), written=False) == []
    assert ("y", UNORDERED + "(read/write)") in found(across, (32,), (32,), written=False)


def test_memory_that_nothing_has_written():
    def kernel(x, y):
        i = cuda.grid(1)
        if i < 5:
            x[i] = 1.0
        if i < 6:
            y[i] = x[i]
    assert found(kernel, (N,), (N,), written=False) == [("x", "is read before it is written")]
    assert found(kernel, (N,), (N,)) == []


def test_a_result_with_holes():
    def kernel(x):
        i = cuda.grid(1)
        if i != 3 and i < x.shape[0]:
            x[i] = 1.0

    def call():
        device = Device()
        x = device.empty((N,), np.float64)
        device.launch(kernel, (N,), x)
        return x
    with pytest.raises(AssertionError, match=r"the call: result 0\[3\] is returned but never written"):
        check_races(call)


@pytest.mark.parametrize("index", ["i + 1", "-1 - i"])
def test_indices_outside(index):
    names = {"cuda": cuda}
    exec(f"def kernel(x):\n    i = cuda.grid(1)\n    if i < x.shape[0]:\n        x[i] = x[{index}]", names)
    assert ("x", f"lies outside of the shape ({N},)") in found(names["kernel"], (N,))


def test_what_is_right_passes():
    def gather(x, y):
        i = cuda.grid(1)
        if 0 < i < x.shape[0] - 1:
            y[i] = x[i - 1] + x[i + 1] - x[0]

    def scatter(x, y):
        i = cuda.grid(1)
        if i < x.shape[0]:
            cuda.atomic.add(y, i // 3, x[i])

    def total(x, parts):
        i = cuda.grid(1)
        a = block_sum(x[i] if i < x.shape[0] else 0.0)
        b = block_sum(1.0)
        if place() == 0:
            parts[block()] = a + b
    for kernel in (gather, scatter, total):
        assert found(kernel, (N,), (N,)) == []


def test_device_operations_pass():
    def call():
        device = Device()
        x = device.own(np.arange(200.0).reshape(10, 20))
        y = device.full((20, 10), device.cell(2.0, "float64"), np.float64)
        device.assign(y, device.part(x, transposed=True))
        product = device.empty((10, 10), np.float64)
        device.call("matmul", (product,), (x, y))
        parts = device.own(np.ones(300))
        return device.total(parts, "sum", device.cell(1.0, "float64")), device.own(product)
    total, product = check_races(call)
    x = np.arange(200.0).reshape(10, 20)
    assert total[0] == 301.0 and np.allclose(product.copy_to_host(), x @ x.T)
