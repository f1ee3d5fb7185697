"""Runs what `Device` does on a GPU without one: the driver is stubbed by host memory, kernels are compiled but not run.

It shows that memory, views, copies and launches are asked for as numba-cuda wants them, and that all kernels compile for the
types that they get. Prints the launches: kernel, grid, block.
"""

import contextlib
import ctypes
import gc
import types

import numba.cuda.api
import numba.cuda.cudadrv.devicearray
import numba.cuda.dispatcher
import numpy as np
from numba import cuda
from numba.cuda.cudadrv import devices, driver

from autodiff.runtime.cuda import arrays, compilation, dlpack, enqueue, memory
from autodiff.runtime.cuda import device as devices_of_ours
from autodiff.runtime.cuda import driver as ours
from autodiff.runtime.cuda.availability import CudaUnavailable
from autodiff.runtime.machine_code import store

CC = (9, 0)
LOG: list = []
BUFFERS: list = []
FREED: list = []
LAUNCHES: list = []


class Context:
    """What stands for a device: number 0, with the host's memory."""

    device = types.SimpleNamespace(id=0, compute_capability=CC)

    def memalloc(self, size):
        BUFFERS.append(np.zeros(max(size, 1), np.uint8))
        return driver.MemoryPointer(self, driver.binding.CUdeviceptr(BUFFERS[-1].ctypes.data), size, owner=BUFFERS[-1],
                                    finalizer=lambda: FREED.append(size))

    def get_default_stream(self):
        return driver.Stream(driver.binding.CUstream(0))

    def magic_tuple(self):
        return CC

    def create_external_stream(self, handle):
        return driver.Stream(driver.binding.CUstream(handle), external=True)


class Bindings:
    """What stands for NVIDIA's bindings of the driver, where we call them."""

    CUfunction = driver.binding.CUfunction

    def cuLaunchKernel(self, *given):
        LAUNCHES.append(given)
        return (0,)

    def cuMemsetD8Async(self, pointer, value, size, stream):
        ctypes.memset(pointer, value, size)
        LOG.append("memset")
        return (0,)

    def cuMemcpyHtoDAsync(self, pointer, source, size, stream):
        ctypes.memmove(pointer, source, size)
        return (0,)

    def cuMemcpyDtoHAsync(self, target, pointer, size, stream):
        ctypes.memmove(target, pointer, size)
        return (0,)

    def cuStreamSynchronize(self, stream):
        LOG.append("wait")
        return (0,)


def to_device(target, source, size, stream=0):
    ctypes.memmove(int(driver.device_pointer(target)), driver.host_pointer(source, readonly=True), size)


def to_host(target, source, size, stream=0):
    ctypes.memmove(driver.host_pointer(target), int(driver.device_pointer(source)), size)


def launch(kernel, grid, block, stream):
    def run(*args):
        cuda.compile_ptx(kernel.py_func, tuple(map(kernel.typeof_pyval, args)), cc=CC)
        LOG.append((kernel.py_func.__name__, grid, block))
    return run


context = Context()
numba.cuda.api.current_context = devices.get_context = lambda *_: context
devices._runtime.ensure_context = contextlib.nullcontext
cuda.get_current_device = numba.cuda.dispatcher.get_current_device = lambda: context.device
driver.host_to_device, driver.device_to_host = to_device, to_host
ours.bindings = enqueue.bindings = Bindings
devices_of_ours.configured = launch


class Foreign:
    """An array of some library, that has the interface."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    @property
    def __cuda_array_interface__(self):
        return {**self.array.__array_interface__, "stream": 1, "version": 3}


def check_order_of_streams(x, ours):
    """Another library's stream waits for ours before it reads; before the memory is used again, ours for the other."""
    noted: list = []
    def event(timing):
        return types.SimpleNamespace(record=lambda stream: noted.append(("after", dlpack.handle_of(stream))),
                                     wait=lambda stream: noted.append(("goes on", dlpack.handle_of(stream))))
    cuda.event = event
    for handle in (1, None, -1):                        # the default stream is ours
        del noted[:]
        dlpack.Imported(dlpack.Exported(arrays.interface_of(x), x, 0, ours).__dlpack__(stream=handle))
        assert noted == []
    taken = dlpack.Imported(dlpack.Exported(arrays.interface_of(x), x, 0, ours).__dlpack__(stream=77))
    assert noted == [("after", 0), ("goes on", 77)]
    del taken
    assert noted[2:] == [("after", 77), ("goes on", 0)]


def check_words_of_launches():
    """What a kernel is passed for arrays and numbers is what Numba passes."""
    table = np.arange(24.0).reshape(2, 3, 4)
    views = [table, table[0].T, table[:, ::2], table[:, :, :1], np.broadcast_to(table[0], (3, 3, 4))]
    given = [arrays.wrapped(Foreign(view)) for view in (*views, np.float32(table))]
    arguments = [*given, 3, np.int64(4), True, np.bool_(False), 0.5, np.float32(0.25)]
    numbas = [enqueue.numbas(x) for x in arguments]
    expected: list = []
    kernel = types.SimpleNamespace(extensions=())
    for x in numbas:
        numba.cuda.dispatcher._Kernel._prepare_args(kernel, cuda.jit(lambda: None).typeof_pyval(x), x, 0, [], expected)
    expected = [getattr(x, "value", x) for x in expected]

    def nothing(*args):
        """A kernel without effect."""
    dispatcher, called = cuda.jit(nothing), []
    handle = types.SimpleNamespace(get_cufunc=lambda: types.SimpleNamespace(handle=77))
    dispatcher.overloads[tuple(dispatcher.typeof_pyval(x) for x in numbas)] = types.SimpleNamespace(
        cooperative=False, debug=False, _codelibrary=handle)
    first = called.append
    for _ in range(3):
        enqueue.launch(dispatcher, lambda *given: first(len(given)), (2, 1, 1), (32, 4, 1), 9, 0, arguments)
    assert called == [len(arguments)] and len(LAUNCHES) == 2
    function, *sizes, shared, stream, pointers, extra = LAUNCHES[-1]
    assert (sizes, shared, stream, extra) == ([2, 1, 1, 32, 4, 1], 0, 9, 0) and int(function) == 77
    slots = (ctypes.c_void_p * len(expected)).from_address(pointers)
    kinds = {bool: ctypes.c_bool, float: ctypes.c_double, int: ctypes.c_int64}
    for k, (slot, value) in enumerate(zip(slots, expected, strict=True)):
        kind = ctypes.c_float if k == len(expected) - 1 else kinds[type(value)]
        assert kind.from_address(slot).value == value, (k, value)
    enqueue.launch(dispatcher, lambda *given: first("2"), (2,), (32,), 9, 0, [arrays.wrapped(Foreign(table)), (1, 2)])
    assert called[-1] == "2"                                                # what a user's kernel may take besides: Numba's


def main():
    device = devices_of_ours.Device.of([])
    assert (device.library, device.number, device.handle) == ("numba", 0, 0)
    x = device.own(np.arange(24.0).reshape(2, 3, 4))
    assert x.copy_to_host().sum() == 276.0 and device.for_kernels(x) is x
    del LOG[:]
    assert list(device.zeros((3,), np.float32).copy_to_host()) == [0, 0, 0] and LOG == ["memset", "wait"]
    assert device.zeros((0, 3), np.float64).shape == (0, 3)
    part, turned = device.part(x, 1), device.part(x, 1, transposed=True)
    assert list(part.copy_to_host()[0]) == [12, 13, 14, 15] and turned.shape == (4, 3) and turned.strides == (8, 32)
    del LOG[:]
    cell = device.cell(2.5, np.float64)
    device.cell(True, np.bool_), device.cell(3, np.int64), device.full((3, 4), cell, np.float32)
    device.for_kernels(turned), device.for_kernels(x, np.float32), device.assign(device.empty((4, 3), np.float64), turned)
    assert device.partials((1000,), np.float64).shape == (4,) and device.partials((0,), np.float64).shape == (0,)
    device.total(device.partials((10 ** 7,), np.float64), "sum", 0.0)
    device.total(device.partials((0,), np.float32), "max", device.cell(1.0, np.float32))
    assert "wait" not in LOG
    device.read(cell)
    assert LOG.pop() == "wait"
    pairs = arrays.in_pairs(device.own(np.array([1 + 2j, 3j])))
    assert pairs.copy_to_host().tolist() == [[1, 2], [0, 3]] and arrays.as_complex(pairs).copy_to_host()[0] == 1 + 2j
    taken = dlpack.Imported(dlpack.Exported(arrays.interface_of(x), x, 0, device.stream).__dlpack__(stream=1))
    assert arrays.on_memory(taken.__cuda_array_interface__, taken).copy_to_host().sum() == 276.0
    check_order_of_streams(x, device.stream)
    check_words_of_launches()
    table = np.arange(12.0).reshape(3, 4)
    for view in (table, table.T, table[:, ::-1], np.broadcast_to(table[0], (3, 4)), table[:0]):
        given = Foreign(view)
        assert arrays.wrapped(given).is_c_contiguous() == (view.flags.c_contiguous or not view.size)
        assert device.for_kernels(given).is_c_contiguous() and arrays.device_of(arrays.stand_in(given)) == 0
    before = len(BUFFERS)
    for _ in range(5):
        block = device.empty((1000,), np.float64)
        kept = block[3:10]
        del block
        assert not memory._free.get((memory.rounded(8000), 0, 0))           # a view keeps it
        del kept
    assert len(BUFFERS) == before + 1                                       # one block, five times
    cycle = [device.empty((1000,), np.float64)]
    cycle.append(cycle)
    del cycle, FREED[:]
    gc.collect()                                                            # as after an error, of its traceback
    assert len(BUFFERS) == before + 1 and not FREED
    assert device.empty((1000,), np.float64).shape == (1000,) and len(BUFFERS) == before + 1
    memory.forget()
    assert FREED
    try:
        device.call("matmul", (device.empty((3, 3), np.float64),), (part, turned))
    except CudaUnavailable as error:
        assert "CuPy or torch" in str(error)
    kernel = store.load_module(store.write_module("kept:code", "def kernel(x):\n    x[0] = 1\n"), "kept:code").kernel
    cache = compilation.compiled(kernel, fastmath=True)._cache
    assert cache._index_key((), context)[-1] == (compilation.stamp(), True, None)      # helpers and options are in the key
    for line in LOG:
        if isinstance(line, tuple):
            print(*line)


if __name__ == "__main__":
    main()
