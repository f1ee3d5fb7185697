"""`math` for generated code that CPython runs: where it raises, or leaves NumPy's numbers, compiled code has inf and nan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["erf", "erfc", "gamma", "lgamma"]


def erf(x: Any) -> Any:
    return _kind(x)(math.erf(x))


def erfc(x: Any) -> Any:
    return _kind(x)(math.erfc(x))


def gamma(x: Any) -> Any:
    """C's tgamma: an infinity of the sign of zero there, nan at negative integers."""
    try:
        return _kind(x)(math.gamma(x))
    except OverflowError:
        return _kind(x)(np.inf)
    except ValueError:
        return _kind(x)(math.copysign(np.inf, x) if x == 0.0 else np.nan)


def lgamma(x: Any) -> Any:
    try:
        return _kind(x)(math.lgamma(x))
    except (OverflowError, ValueError):
        return _kind(x)(np.inf)


def _kind(x: Any) -> Any:
    """NumPy's type of a number: its division by zero gives inf, that of Python's float an error."""
    return type(x) if isinstance(x, np.floating) else np.float64


def __getattr__(name: str) -> Any:
    return getattr(math, name)
