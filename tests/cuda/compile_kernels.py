"""Compiles adjoints of the example kernels, in float32, to PTX for compute capability 9.0, without a GPU; names those that
use float64, and those for which the assembler, where there is one, spills registers."""

import os
import re

os.environ["KERNELS_OF"] = "float32"
import numpy as np
from numba.cuda import atomic, grid, shared, syncthreads, threadIdx

from autodiff.cuda import kernel
from autodiff.runtime.cuda.assembly import resources
from autodiff.runtime.cuda.availability import CudaUnavailable
from tests.cuda import example_kernels

CHOSEN = ("strided_while", "inner_while", "local_array", "sum_of_squares", "bodies", "matrix_product", "gather_scatter")


def by_their_names(x, y):
    """The names of `numba.cuda` without it."""
    s = shared.array(8, example_kernels.real)
    s[threadIdx.x] = x[grid(1)]
    syncthreads()
    atomic.add(y, 0, s[7 - threadIdx.x] ** 2)


complaints = []
f = np.zeros(16, np.float32)
for function, blocks, block, args in [*example_kernels.cases(np.float32), (by_their_names, 2, 8, (f, f))]:
    if function.__name__ not in (*CHOSEN, "by_their_names"):
        continue
    k = kernel(function)
    k.specialize(blocks, block, *args)
    text = k.ptx((9, 0))[f"{function.__name__}_adjoint"]
    if re.search(r"\.f64\b", text):
        complaints.append(f"{function.__name__}: float64")
    try:
        if resources(text, (9, 0)).spills:
            complaints.append(f"{function.__name__}: spills")
    except CudaUnavailable:
        pass
print("compiled", *complaints, sep="\n")
