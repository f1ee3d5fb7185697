"""How the scalar operations of core programs print in kernels, where NumPy's functions are not available.

`operation(name)` is the `Op` of a kernel: that of `transforms/language/ops.py` with another text where the CPU's cannot
stand. Texts are calls of `math`, or of the device functions of `runtime/cuda/scalars.py` and `runtime/cuda/special.py`.

In float32 kernels `sin`, `cos`, `tan` of large arguments and the Bessel functions `j0` to `y1` hold float64 instructions:
CUDA's own library has them there.
"""

from __future__ import annotations

from dataclasses import replace

from ..language.ops import OPS, Op

_MATH = {**{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log", "log1p", "log2",
                                    "log10", "sqrt", "floor", "ceil", "isnan", "isinf", "isfinite",
                                    "trunc")},
         "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
         "deg2rad": "radians", "rad2deg": "degrees"}
_MATH_OF_TWO = {"fmod": "fmod", "arctan2": "atan2", "hypot": "hypot", "copysign": "copysign"}
_OWN = {"exp2": 1, "cbrt": 1, "rint": 1, "sign": 1, "signbit": 1, "reciprocal": 1, "sinc": 1, "maximum": 2, "minimum": 2,
        "fmax": 2, "fmin": 2, "larger": 2, "smaller": 2, "heaviside": 2, "logaddexp": 2,
        "logaddexp2": 2}                                        # scalars.py has them by the same name
_SPECIAL = {"zeta": 2, "beta": 2, "betaln": 2, **dict.fromkeys((                   # special.py has these
    "erfinv", "erfcinv", "erfcx", "ndtri", "j0", "j1", "y0", "y1", "gamma", "rgamma", "gammaln", "exprel", "log_ndtr", "psi",
    "i0", "i1", "i0e", "i1e"), 1)}


def _call(name: str, arity: int) -> str:
    return f"{name}({', '.join(f'{{{k}}}' for k in range(arity))})"


TEXTS: dict[str, str] = {               # as Op.text; what is not here prints as on the CPU
    **{op: _call(f"math.{name}", 1) for op, name in _MATH.items()},
    **{op: _call(f"math.{name}", 2) for op, name in _MATH_OF_TWO.items()},
    **{op: _call(op, arity) for op, arity in _OWN.items()},
    **{f"special.{name}": _call(f"special.{name}", arity) for name, arity in _SPECIAL.items()},
    "sum": "{0} + {1}",
    "clip": "minimum(maximum({0}, {1}), {2})",
    "as_uint64": "{0}", "word": "{0}",
    "wrap_index": "wrap_index({0}, {1}, failed)",       # `failed`: a cell, 1 where an index was out of range
}
LEVELS: dict[str, int] = {"sum": OPS["add"].level}      # of the texts above that are no calls
HELPERS: dict[str, tuple[str, ...]] = {                 # what a text needs of runtime/cuda/scalars.py
    **{op: (op,) for op in _OWN}, "clip": ("maximum", "minimum"), "wrap_index": ("wrap_index",)}
_ON_THE_HOST = {"revolve_split", "segment_length", "union_sets", "grow_set"}


def operation(name: str) -> Op | None:
    """The operation of this name as kernels print it; None if kernels cannot compute it."""
    op = OPS[name]
    if name in _ON_THE_HOST or ((op.helper or name.startswith("special.")) and name not in TEXTS):
        return None
    return replace(op, text=TEXTS[name], level=LEVELS.get(name, 100)) if name in TEXTS else op
