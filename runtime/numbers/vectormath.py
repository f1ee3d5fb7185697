"""Elementary functions that LLVM vectorises: what `np` means in generated code when Numba compiles it.

The wheels of llvmlite have no vector library, so that Numba calls libm once an element. Here `exp` and the like are the
same scalar calls of libm, declared free of side effects, with the attribute "vector-function-abi-variant" that names the
vector variants of glibc's libmvec: LLVM's loop vectoriser then calls those. Scalar calls, and machines without libmvec
(other systems, musl, glibc before 2.22 or, for most functions, 2.35), are served by libm as before.

Accuracy: libmvec's documented bound is 4 ulp, libm's own results are within 1 or 2; tests/runtime/test_vectormath.py
measures. Vectorised and scalar iterations of one loop may differ by that much; `precise=True` compiles with libm alone.

Source of the naming: Vector Function ABI for x86-64 and for AArch64; isa letters b, d, e are SSE, AVX2 and AVX-512, n is
Advanced SIMD.
"""

from __future__ import annotations

import math
import platform
from typing import Any

import llvmlite.binding as llvm
import numpy as _np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import lower_builtin, type_callable

LIBRARY = "libmvec.so.1"
ONE = {"exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
       "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh",
       "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "cbrt": "cbrt"}
TWO = {"arctan2": "atan2", "hypot": "hypot", "power": "pow"}
SPECIAL = {"erf": "erf", "erfc": "erfc"}

_KINDS: Any = {types.float64: (ir.DoubleType(), "", 1), types.float32: (ir.FloatType(), "f", 2)}


def _load() -> bool:
    """Whether the library of vector variants is there."""
    try:
        llvm.load_library_permanently(LIBRARY)
    except (RuntimeError, OSError):
        return False
    return True


HAS_LIBRARY = _load()


def lanes() -> list[tuple[str, int]]:
    """(isa letter, float64 lanes) of the vector variants that the processor compiled for can run."""
    if not HAS_LIBRARY:
        return []
    machine = platform.machine().lower()
    if machine in ("aarch64", "arm64"):
        return [("n", 2)]
    if machine not in ("x86_64", "amd64"):
        return []
    features = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
    found = [("b", 2)]
    if "+avx2" in features:
        found.append(("d", 4))
    if "+avx512f" in features:
        found.append(("e", 8))
    return found


def variants(name: str, arity: int, wide: int = 1) -> list[tuple[int, str]]:
    """(lanes, symbol) of the vector variants of a libm function that exist here; `wide` is 2 for float32."""
    found = []
    for isa, count in lanes():
        symbol = f"_ZGV{isa}N{count * wide}{'v' * arity}_{name}"
        if llvm.address_of_symbol(symbol):
            found.append((count * wide, symbol))
    return found


class _Attributes(ir.values.FunctionAttributes):
    """Function attributes that llvmlite has no name for, printed as they are (beside one that it knows)."""

    def __init__(self, text: str):
        super().__init__(("nounwind",))
        self.text = text

    def _to_list(self, ret_type):
        return [*super()._to_list(ret_type), self.text]


def _keep(module, functions) -> None:
    """Keep declarations alive until the vectoriser runs: they stand in the module's `llvm.compiler.used`."""
    pointers = [f.bitcast(ir.PointerType(ir.IntType(8))) for f in functions]
    used = module.globals.get("llvm.compiler.used")
    if used is not None:
        pointers = [*used.initializer.constant, *pointers]
    array = ir.ArrayType(ir.PointerType(ir.IntType(8)), len(pointers))
    if used is None:
        used = ir.GlobalVariable(module, array, "llvm.compiler.used")
        used.linkage, used.section = "appending", "llvm.metadata"
    used.value_type, used.type, used.initializer = array, array.as_pointer(), ir.Constant(array, pointers)


def _call(builder, name: str, kind, args):
    """A call of a libm function that carries its vector variants."""
    element, suffix, wide = _KINDS[kind]
    own = name + suffix
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(element, [element] * len(args)), own)
    if not isinstance(function.attributes, _Attributes):
        found = variants(own, len(args), wide)
        text = "memory(none) willreturn"
        if found:
            mapped = ",".join(f"_ZGV_LLVM_N{n}{'v' * len(args)}_{own}({symbol})" for n, symbol in found)
            text += f' "vector-function-abi-variant"="{mapped}"'
            _keep(builder.module, [cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(ir.VectorType(element, n), [ir.VectorType(element, n)] * len(args)), symbol)
                for n, symbol in found])
        function.attributes = _Attributes(text)
    return builder.call(function, args)


def _result(args):
    """The type in which a function of these scalars is computed; None if they are not numbers."""
    if not all(isinstance(a, (types.Float, types.Integer, types.Boolean)) for a in args):
        return None
    return types.float32 if all(a == types.float32 for a in args) else types.float64


def _define(own: str, libm: str, plain, arity: int):
    """A function that is `plain` in Python and the call of libm in compiled code."""
    if arity == 1:
        def function(x):
            return plain(x)
    else:
        def function(x, y):  # type: ignore[misc]
            return plain(x, y)
    function.__name__ = function.__qualname__ = own
    function.__doc__ = f"`{plain.__name__}` of scalars, with the vector variants of libm's `{libm}`."

    if arity == 1:
        @type_callable(function)
        def _one(context):
            return lambda x: _result((x,))
    else:
        @type_callable(function)
        def _two(context):
            return lambda x, y: _result((x, y))

    def lowered(context, builder, signature, args):
        kind = signature.return_type
        args = [context.cast(builder, a, t, kind) for a, t in zip(args, signature.args, strict=True)]
        return _call(builder, libm, kind, args)
    lower_builtin(function, *[types.Any] * arity)(lowered)
    return function


for _own, _libm in ONE.items():
    globals()[_own] = _define(_own, _libm, getattr(_np, _own), 1)
for _own, _libm in TWO.items():
    globals()[_own] = _define(_own, _libm, getattr(_np, _own), 2)
for _own, _libm in SPECIAL.items():
    globals()[_own] = _define(_own, _libm, getattr(math, _own), 1)


def add(x, y):
    """`np.add` of scalars in a sum whose order is free: LLVM may vectorise it with several accumulators."""
    return _np.add(x, y)


@type_callable(add)
def _sum(context):
    return lambda x, y: _result((x, y))


@lower_builtin(add, types.Any, types.Any)
def _lower_sum(context, builder, signature, args):
    kind = signature.return_type
    x, y = (context.cast(builder, a, t, kind) for a, t in zip(args, signature.args, strict=True))
    return builder.fadd(x, y, flags=("reassoc", "nsz"))


def _define_extremum(own: str, plain):
    """`plain` of floats by LLVM's own operation, which it can vectorise; NaN wins, as in NumPy."""
    def function(x, y):
        return plain(x, y)
    function.__name__ = function.__qualname__ = own
    function.__doc__ = f"`np.{own}` of scalars."

    @type_callable(function)
    def _typed(context):
        return lambda x, y: _result((x, y))

    @lower_builtin(function, types.Any, types.Any)
    def _lowered(context, builder, signature, args):
        kind = signature.return_type
        x, y = (context.cast(builder, a, t, kind) for a, t in zip(args, signature.args, strict=True))
        made = builder.module.declare_intrinsic(f"llvm.{own}", [x.type], ir.FunctionType(x.type, [x.type, x.type]))
        return builder.call(made, [x, y])
    return function


maximum = _define_extremum("maximum", _np.maximum)
minimum = _define_extremum("minimum", _np.minimum)


def __getattr__(name: str):
    """Everything else is NumPy's."""
    return getattr(_np, name)
