"""Compiles every scalar operation to PTX for compute capability 9.0, without a GPU; names float32 ones that use float64."""

import math
import re

import numba.cuda.dispatcher
from autodiff.runtime.cuda import copies, reductions, scalars, special
from autodiff.transforms.device.operations import operation
from autodiff.transforms.ops import OPS
from numba import cuda, types
from scipy.special import psi

from autodiff.rules import REGISTRY


class Hopper:
    compute_capability = (9, 0)


numba.cuda.dispatcher.get_current_device = Hopper          # compiling device functions asks for it
REGISTRY.learn_of(psi)                                      # SciPy's functions become operations
wide = []
for name in OPS:
    op = operation(name)
    if op is None or name in ("dim", "cast"):
        continue
    integers = op.kind == "bits" or name == "wrap_index"
    names = {**vars(scalars), "special": special, "math": math, "cuda": cuda}
    line = op.text.format("x[i]", "y[i]", "z[i]")
    exec(f"def kernel(x, y, z, failed, out):\n    i = cuda.grid(1)\n    out[i] = {line}", names)
    number = types.int64 if integers else types.float32
    vectors = [types.Array(t, 1, "C") for t in (number, number, number, types.int64, number)]
    text, _ = cuda.compile_ptx(names["kernel"], types.void(*vectors), cc=(9, 0))
    if re.search(r"\.f64\b", text) and not integers:
        wide.append(name)
for op in reductions.COMBINE:
    parts = types.Array(types.float32, 1, "C")
    text, _ = cuda.compile_ptx(reductions.total[op].py_func, types.void(parts, types.int64, types.int64, types.float32,
                                                                        types.float32, parts), cc=(9, 0))
    assert text.count("shfl.sync.down") == 10, op           # five steps in each warp, five for the warps' results
    if re.search(r"\.f64\b", text):
        wide.append(f"total {op}")
rows, strided = types.Array(types.float32, 3, "C"), types.Array(types.float32, 3, "A")
cuda.compile_ptx(copies._copying(3), types.void(rows, strided, types.int64), cc=(9, 0))
cuda.compile_ptx(copies._fill_from, types.void(parts, parts, types.int64), cc=(9, 0))
cuda.compile_ptx(reductions.total_onto["max"].py_func, types.void(parts, parts, parts), cc=(9, 0))
print("compiled", *wide, sep="\n")
