"""What `math` means in generated code when Numba compiles it: `erf` and `erfc` have vector variants."""

from __future__ import annotations

import math as _math

from . import vectormath

erf, erfc = vectormath.erf, vectormath.erfc


def __getattr__(name: str):
    """Everything else is Python's."""
    return getattr(_math, name)
