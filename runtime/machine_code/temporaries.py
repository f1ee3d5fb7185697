"""Names of Numba's own variables that tell apart what is read.

Numba names what bytecode reads of a variable after that and the place in the bytecode: what is read of `t_1` at 396 and of
`t_13` at 96 is `$t_1396` in either case. A function with both could not be typed. Here a dot stands between.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import byteflow

_State: Any = getattr(byteflow, "_State", None)
KNOWN = hasattr(_State, "make_temp")


@contextmanager
def distinct_temporaries() -> Iterator[None]:
    """While a generated function is compiled (under Numba's lock)."""
    if not KNOWN:
        yield
        return
    numbas = _State.make_temp

    def make_temp(state: Any, prefix: str = "") -> str:
        return numbas(state, f"{prefix}." if prefix[-1:].isdigit() else prefix)
    _State.make_temp = make_temp
    try:
        yield
    finally:
        _State.make_temp = numbas


__all__ = ["distinct_temporaries"]
