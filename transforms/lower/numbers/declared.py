"""Types that a jitted function declares, by `locals=` or a signature: numbers are cast to them, what cannot is refused."""

from __future__ import annotations

from functools import partial

import numba
import numpy as np
from numba.core.registry import CPUDispatcher

from ...language.errors import TypeConflict, UnsupportedSyntax
from ...language.ops import normal_dtype
from ..arrays.broadcasting import convert
from ..checks import in_jitted_code
from ..state import Lowering
from ..table import lowers
from ..values import Array, Scalar, Static, Value, is_number
from .conversions import cast, dtype_of, is_weak, truth

PYTHONS = {"float32": "float64", "float64": "float64", "int64": "int64"}
NUMBERS = {kind: np.dtype(str(kind)).type for kind in (
    *numba.types.integer_domain, *numba.types.real_domain, numba.types.boolean)}            # types that may be called
WAY_OUT = "leave the declaration out, or convert where the value is made: np.float32(x)"


def bound_as_declared(lo: Lowering, frame, bound: dict) -> dict:
    """The arguments of a function, of which `locals=` may declare the types."""
    return {k: as_declared(lo, v, frame.declared[k]) if k in frame.declared else v for k, v in bound.items()}


def declare(lo: Lowering, frame, target) -> None:
    """`frame` runs the function of `target`, a dispatcher or not."""
    if isinstance(target, CPUDispatcher):
        frame.jitted, frame.declared = True, dict(target.locals or {})


def signature_of(lo: Lowering, target, args):
    """The signature that a dispatcher with given ones runs for these arguments; None if it takes any."""
    if target._can_compile or not target.nopython_signatures:
        return None
    fitting = [s for s in target.nopython_signatures if len(s.args) == len(args)]
    exact = [s for s in fitting if all(map(partial(is_of_type, lo), args, s.args))]
    if not exact and len(fitting) != 1:
        raise lo.error(TypeConflict, f"no signature of `{target.__name__}` has the types of these arguments", WAY_OUT)
    return (exact or fitting)[0]


def is_of_type(lo: Lowering, value: Value, kind) -> bool:
    """Whether a number or array has a type of Numba's; other values do not count."""
    if isinstance(value, Array) and value.rank:
        return isinstance(kind, numba.types.Array) and (kind.ndim, str(kind.dtype)) == (value.rank, value.dtype)
    return not is_number(value) or str(kind) == dtype_of(lo, value)


def as_declared(lo: Lowering, value: Value, kind) -> Value:
    """`value` as a value of a declared type."""
    if isinstance(value, Array) and value.rank:
        if not is_of_type(lo, value, kind):
            raise lo.error(TypeConflict, f"an array of {value.dtype} where {kind} is declared", WAY_OUT)
        return value
    if not is_number(value):
        return value
    if kind not in NUMBERS:
        raise lo.error(UnsupportedSyntax, f"the declared type {kind} is not kept here", WAY_OUT)
    return number_of(lo, value, kind)


def number_of(lo: Lowering, value: Value, kind) -> Value:
    """A number as compiled code converts it to a type of Numba's. Arithmetic of narrow integers has 64 bits there."""
    name = np.dtype(str(kind)).name
    if isinstance(value, Static):
        with np.errstate(all="ignore"):
            value = lo.wrap(np.asarray(value.value).astype(name)[()])
    dtype = normal_dtype(name)
    if dtype == name:
        atom = lo.atom(value)
        return Scalar(truth(lo, atom) if dtype == "bool" else cast(lo, atom, dtype))
    made = lo.call_static(NUMBERS[kind], [Scalar(lo.atom(value))], {})
    return made if name == "uint64" else lo.call_static(np.int64, [made], {})


def lower_number(kind, lo: Lowering, x) -> Value:
    """A call of a type of Numba's: in compiled code a conversion, in Python what NumPy's class of that name makes."""
    if in_jitted_code(lo, lo.frame) and is_number(x):
        return number_of(lo, x, kind)
    return lo.call_static(NUMBERS[kind], [x], {})


for _kind in NUMBERS:
    lowers(_kind)(partial(lower_number, _kind))


def called_as_declared(lo: Lowering, target, args, run):
    """`run(args)`, a call of `target`, with arguments and result of the types that its signature declares."""
    if not isinstance(target, CPUDispatcher):
        return run(args)
    signature = signature_of(lo, target, args)
    if signature is None:
        result = run(args)
    else:
        result = run([as_declared(lo, a, t) for a, t in zip(args, signature.args, strict=True)])
        result = as_declared(lo, result, signature.return_type)
    if isinstance(result, Scalar) and lo.frames and not lo.frame.jitted and result.dtype in PYTHONS:
        return Scalar(cast(lo, result.atom, PYTHONS[result.dtype]), True)      # a number of Python's
    return result


def loop_of(lo, target, args) -> tuple[list, list | None]:
    """(arguments, dtypes of the results) as a numba.vectorize object with signatures takes and gives them."""
    if not target._frozen:
        return list(args), None
    for types in target.types:
        taken, given = types.split("->")
        if len(taken) == len(args) and all(is_weak(lo, a) or np.can_cast(dtype_of(lo, a), t)
                                           for a, t in zip(args, taken, strict=True)):
            kinds = [normal_dtype(np.dtype(t)) for t in types.replace("->", "")]
            if any(k != np.dtype(t).name for k, t in zip(kinds, types.replace("->", ""), strict=True)):
                raise lo.error(UnsupportedSyntax, f"the declared types {types} are not kept here", WAY_OUT)
            return [convert(lo, a, k) for a, k in zip(args, kinds, strict=False)], kinds[len(args):]
    raise lo.error(TypeConflict, f"no signature of `{target.__name__}` has the types of these arguments", WAY_OUT)


__all__ = ["loop_of"]
