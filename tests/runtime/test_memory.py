"""Arrays that generated code allocates: NumPy's, in huge pages where they are large."""

import os
import re
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
