"""Compiles every scalar operation to PTX for compute capability 9.0, without a GPU; names float32 ones that use float64."""

import math
import re
import sys

import numba.cuda.dispatcher
from numba import cuda, types
from scipy.special import psi

from autodiff.rules import REGISTRY
from autodiff.runtime.cuda import atomics, reductions, scalars, special
from autodiff.transforms.device.operations import operation
from autodiff.transforms.language.ops import OPS


class Hopper:
    compute_capability = (9, 0)


numba.cuda.dispatcher.get_current_device = Hopper          # compiling device functions asks for it
REGISTRY.learn_of(psi)                                      # SciPy's functions become operations


def compiled(names, number):
    """The PTX of a kernel that computes these operations of numbers of one type."""
    known = {**vars(scalars), "special": special, "math": math, "cuda": cuda}
    lines = [f"    out[i, {k}] = {operation(name).text.format('x[i]', 'y[i]', 'z[i]')}" for k, name in enumerate(names)]
    exec("\n".join(["def kernel(x, y, z, failed, out):", "    i = cuda.grid(1)", *lines]), known)
    vectors = [types.Array(t, 1, "C") for t in (number, number, number, types.int64)]
    return cuda.compile_ptx(known["kernel"], types.void(*vectors, types.Array(number, 2, "C")), cc=(9, 0))[0]


def uses_float64(text):
    return re.search(r"\.f64\b", text) is not None


available = [name for name in OPS if operation(name) is not None and name not in ("dim", "cast")]
of_integers = ("wrap_index", "as_", "to_int", "to_uint")
integers = [name for name in available if OPS[name].kind == "bits" or name.startswith(of_integers)]
plain = {"add", "sub", "sum", "mul", "neg", "pos", "square", "copy", "link", "stop", "nan_to_num", "not", "and", "or", "xor"}
numbers = [name for name in available if name not in integers and name not in plain and OPS[name].kind != "compare"]
compiled(integers, types.int64)
numbers.sort(key=lambda name: name not in sys.argv)         # those that are known to use it, in one kernel
wide = []
for start in range(0, len(numbers), 10):
    some = numbers[start:start + 10]
    if uses_float64(compiled(some, types.float32)):
        wide += [name for name in some if uses_float64(compiled([name], types.float32))]
for op in reductions.COMBINE:
    parts = types.Array(types.float32, 1, "C")
    text, _ = cuda.compile_ptx(reductions.total[op].py_func, types.void(parts, types.int64, types.int64, types.float32,
                                                                        types.float32, parts), cc=(9, 0))
    assert text.count("shfl.sync.down") == 10, op           # five steps in each warp, five for the warps' results
    if uses_float64(text):
        wide.append(f"total {op}")
def scatter(n, at, x, line, plane):
    i = cuda.grid(1)
    if i < n:
        atomics.add_at(line, at[i], x[i])
        atomics.add_at(plane, (at[i], i % 3), x[i])


real, whole, square = (types.Array(t, axes, "C") for t, axes in ((types.float32, 1), (types.int64, 1), (types.float32, 2)))
text, _ = cuda.compile_ptx(scatter, types.void(types.int64, whole, real, real, square), cc=(9, 0))
assert text.count("match.any.sync") == 2 and not uses_float64(text)
print("compiled", *wide, sep="\n")
