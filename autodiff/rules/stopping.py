"""stop_gradient: a value that derivatives do not see."""

from __future__ import annotations

import dataclasses
from typing import Any

import numba
import numpy as np
from numba.core.errors import TypingError
from numba.extending import overload

from ..arguments import kinds as argument_kinds
from ..transforms.lower.table import lowers
from .user import stopped


def stop_gradient(x):
    """`x` as a constant: its value is that of `x`, its derivative is zero, in every mode and of every order.

    x: a number, an array, or a tuple, list, dict, namedtuple or dataclass of them, nested as they like. Arrays are copied,
        so that writing to the result leaves `x` alone; what is neither a number nor an array is returned as it is.
    A Tensor is detached. In `@njit` functions of your own, `x` may be a number, an array or a tuple of them.

    >>> from autodiff import grad
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    tensors = argument_kinds.TENSORS
    if tensors is not None and isinstance(x, tensors[0]):
        return x.detach()
    if isinstance(x, np.ndarray):
        return x.copy()
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(stop_gradient, x))
    if isinstance(x, (tuple, list)):
        return type(x)(map(stop_gradient, x))
    if isinstance(x, dict):
        return {k: stop_gradient(v) for k, v in x.items()}
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return dataclasses.replace(x, **{f.name: stop_gradient(getattr(x, f.name)) for f in dataclasses.fields(x) if f.init})
    return x


@lowers(stop_gradient)
def lower_stop_gradient(lo, x):
    return stopped(lo, x)


@overload(stop_gradient)
def _stop_gradient(x):
    space: dict[str, Any] = {}
    exec(f"def stop(x):\n    return {_copied(x, 'x')}\n", space)
    return space["stop"]


def _copied(kind, name: str) -> str:
    """The text of an expression for the value `name` of a Numba type with its arrays copied."""
    if isinstance(kind, numba.types.Array):
        return f"{name}.copy()"
    if isinstance(kind, (numba.types.Number, numba.types.Boolean)):
        return name
    if isinstance(kind, numba.types.BaseTuple) and not isinstance(kind, numba.types.BaseNamedTuple):
        kinds: Any = kind
        parts = [_copied(k, f"{name}[{n}]") + ", " for n, k in enumerate(kinds)]
        return f"({''.join(parts)})"
    raise TypingError(f"stop_gradient takes numbers, arrays and tuples of them in compiled code, not {kind}")


__all__ = ["stop_gradient"]
