"""Arrays that generated code allocates: NumPy's, in huge pages where they are large."""

import os
import platform
import re
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

from autodiff import grad
from autodiff.runtime import memory


@njit
def made(n, m):
    return memory.empty(n), memory.zeros((n, m)), memory.zeros(n, np.float32), memory.empty((m, n), np.int64)


@pytest.mark.parametrize("n, m", [(0, 3), (5, 4), (2_000, 300)])
def test_shapes_dtypes_and_zeros(n, m):
    arrays = made(n, m)
    assert [a.shape for a in arrays] == [(n,), (n, m), (n,), (m, n)]
    assert [a.dtype for a in arrays] == [np.float64, np.float64, np.float32, np.int64]
    assert all(a.flags.c_contiguous and a.flags.writeable for a in arrays)
    assert not arrays[1].any() and not arrays[2].any()


def flags_of(address):
    """The flags of the mapping that holds an address, as the kernel reports them."""
    inside = False
    for line in open("/proc/self/smaps"):
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(found[1], 16) <= address < int(found[2], 16)
        elif inside and line.startswith("VmFlags"):
            return line.split()[1:]
    return []


@pytest.mark.skipif(sys.platform != "linux" or not os.path.exists("/sys/kernel/mm/transparent_hugepage"),
                    reason="huge pages on request are Linux's")
def test_a_large_gradient_lies_in_huge_pages():
    def energy(x):
        return np.sum(np.sin(x) ** 2)
    gradient = grad(energy)(np.linspace(0.0, 1.0, 4_000_000))
    assert "hg" in flags_of(gradient.ctypes.data + gradient.nbytes // 2)


@njit(fastmath={"reassoc"}, error_model="numpy")
def swept(x):
    a, b, c = memory.copied(x), memory.empty(x.size), memory.zeros(x.size)
    for i in range(x.size):
        b[i] = 2.0 * a[i]
        c[i] += b[i] + a[i]
        a[i] -= x[i]
    return a, b, c


def test_llvm_knows_that_fresh_arrays_are_apart():
    a, b, c = swept(np.arange(5.0))
    assert not a.any() and (b == 2.0 * np.arange(5.0)).all() and (c == 3.0 * np.arange(5.0)).all()
    text, = swept.inspect_llvm().values()
    assert "vector.body" in text and "vector.memcheck" not in text


FRESH = """
import resource
import numpy as np

def faults():
    found = []
    for _ in range(9):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        arrays = [np.ones(300_000) for _ in range(4)]
        del arrays
        found.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return min(found)
first = faults()
import autodiff.runtime.memory
print(first, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the limit of freed memory is glibc's")
def test_freed_memory_is_not_mapped_again_at_each_call():
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    before, after = map(int, subprocess.run([sys.executable, "-c", FRESH], env=plain, text=True, check=True,
                                              capture_output=True).stdout.split())
    assert before > 200 and after < before / 10
