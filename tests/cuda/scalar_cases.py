"""Scalar operations with arguments, and the CPU's results: what a device must agree with."""

import math

import numpy as np
import scipy.special
from numba import cuda

from autodiff.rules import REGISTRY
from autodiff.runtime.cuda import scalars, special
from autodiff.runtime.numbers import helpers
from autodiff.runtime.numbers import special as host_special
from autodiff.transforms.device.operations import TEXTS, operation
from autodiff.transforms.language.ops import OPS

REGISTRY.learn_of(scipy.special.psi)        # SciPy's functions become operations
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 3.0, -7.3, 7.9, 8.1, 40.0, 88.0, 0.9999999, 1e-30, 1e30,
           -1e30, np.inf, -np.inf, np.nan]
INTEGERS = [0, 1, -1, 2, 3, -7, 10]
OF_INTEGERS = {"bitand", "bitor", "bitxor", "lshift", "rshift", "invert", "as_uint64", "word"}
OWN = sorted(name for name in TEXTS if name != "wrap_index")
EITHER_ZERO = {"maximum", "minimum", "fmax", "fmin", "clip"}        # of 0.0 and -0.0
BOTH = [name for name in OWN if "beta" not in name]             # at poles of the beta functions SciPy has limits


def kernel_of(name):
    """A kernel in which one thread applies an operation to each row of numbers."""
    names = {**vars(scalars), "special": special, "math": math, "cuda": cuda}
    line = operation(name).text.format("x[i]", "y[i]", "z[i]")
    exec(f"def kernel(x, y, z, out):\n    for i in range(out.shape[0]):\n        out[i] = {line}", names)
    return names["kernel"]


def on_host(text, columns):
    names = {**vars(helpers), "special": host_special, "math": math, "np": np}
    function = eval(f"lambda x, y, z: {text.format('x', 'y', 'z')}", names)
    found = []
    with np.errstate(all="ignore"):
        for row in zip(*columns):
            try:
                found.append(function(*row))
            except (ValueError, OverflowError):                     # of `math`: a pole, or an overflow
                found.append(None)
    return found


def rows(name, dtype):
    numbers = INTEGERS if name in OF_INTEGERS else NUMBERS
    pairs = [(a, b, 2.0) for a in numbers for b in (numbers if operation(name).arity > 1 else numbers[:1])]
    return [np.array(column, np.int64 if name in OF_INTEGERS else dtype) for column in zip(*pairs)]


def assert_agrees(name, columns, found, tolerance):
    """The device's results are the CPU's."""
    expected = on_host(OPS[name].text, columns)
    narrow = columns[0].dtype == np.float32
    for row, value, wanted in zip(zip(*columns), found, expected):
        if wanted is None or (narrow and abs(wanted) > 3e38) or (name == "special.zeta" and not row[0] < 99):
            continue                                # the CPU's range differs: `math` raises, SciPy's zeta overflows
        what = f"{name}{row}: {value}, not {wanted}"
        assert np.isclose(value, wanted, rtol=tolerance, atol=tolerance, equal_nan=True), what
        if wanted == 0 and name not in EITHER_ZERO and not name.startswith("special."):
            assert np.signbit(value) == np.signbit(np.float64(wanted)), what
