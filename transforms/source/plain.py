"""Which arrays and numbers are what they seem: a subclass of ndarray or float may mean something else by `*`."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import numpy as np

from ..language.errors import TypeConflict

PLAIN = frozenset({np.ndarray, np.memmap, bool, int, float, complex, np.bool_, np.float32, np.float64, np.complex64,
                   np.complex128, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
                   np.longlong, np.ulonglong, np.intc, np.uintc})
NUMERIC = (np.ndarray, np.generic, int, float, complex)
# by name: to look these classes up imports modules of NumPy
WAYS = {"MaskedArray": "pass the data and the mask as two arrays: x.data, x.mask",
        "matrix": "make it an array, np.asarray(m), and write @ for products of matrices",
        "recarray": "pass its fields as arrays of their own",
        "chararray": "pass numbers"}
SUPPORTED = "use float64, float32, complex128, complex64, integers or booleans"
HARMLESS = {"__new__", "__init__", "__init_subclass__", "__repr__", "__str__", "__format__", "__hash__", "__reduce__",
            "__reduce_ex__", "__getnewargs__", "__getstate__", "__setstate__", "__doc__", "__module__", "__dict__",
            "__weakref__", "__slots__", "__qualname__", "__annotations__", "__firstlineno__", "__static_attributes__",
            "__class_getitem__", "__orig_bases__", "__parameters__"}


class Unread:
    """Stands for what was set on an object beside its fields. place: where it is found, if that is known."""

    def __init__(self, place=None):
        self.place = place


def tuple_fields(cls: Any) -> tuple[str, ...]:
    """The names of a namedtuple's fields."""
    return cls._fields


def beside_fields(value) -> list[str]:
    """The names set on an object beside the fields of its dataclass or namedtuple."""
    kept = getattr(value, "__dict__", None)
    if not kept:
        return []
    names = tuple_fields(type(value)) if isinstance(value, tuple) else [f.name for f in dataclasses.fields(value)]
    return [k for k in kept if k not in names]


def misfit(value) -> tuple[str, str] | None:
    """Why an array or number cannot stand for the plain numbers in it, and what to do instead; None if it can."""
    kind = type(value)
    if isinstance(value, np.ndarray):
        if kind not in PLAIN and not hasattr(kind, "device_array"):        # or it stands for an array on a device
            return f"a {name_of(kind)} is not a plain array: its operations may mean something else", next(
                (WAYS[c.__name__] for c in kind.__mro__ if c.__name__ in WAYS and name_of(c).startswith("numpy.")),
                "if the plain numbers are meant, pass np.asarray(x)")
        return misfit_dtype(value.dtype)
    if kind in PLAIN or isinstance(value, enum.Enum):
        return None
    if isinstance(value, np.generic):
        return misfit_dtype(value.dtype) if value.dtype.kind in "fcmV" else None
    if isinstance(value, (int, float, complex)) and own_methods(kind):
        return (f"a {name_of(kind)} is not a plain number: it has operations of its own",
                "if the plain number is meant, pass float(x) or int(x)")
    return None


def misfit_container(value) -> tuple[str, str] | None:
    """Why a list, tuple or dict cannot stand for the plain one, and what to do instead; None if it can."""
    kind = type(value)
    if kind in (tuple, list, dict) or hasattr(kind, "_fields"):
        return None
    plain = next(base for base in kind.__mro__ if base in (tuple, list, dict))
    for base in kind.__mro__[:kind.__mro__.index(plain)]:
        if base.__module__ == "collections":
            continue
        if any(name in dir(plain) or name in ("__missing__", "__bool__") for name in vars(base) if name not in HARMLESS):
            return (f"a {name_of(kind)} is not a plain {plain.__name__}: some of its operations are its own",
                    f"pass a plain one, {plain.__name__}(...), or a dataclass")
    return None


def misfit_dtype(dtype: np.dtype) -> tuple[str, str] | None:
    """Why arrays of a dtype are not supported; None if they are."""
    if dtype == np.float16:
        return "float16 is not supported", "compute in float32: x.astype(np.float32)"
    if dtype.kind == "V" and dtype.names:
        return "structured arrays are not supported", "pass its fields as arrays of their own"
    if dtype.kind in "iub" or dtype.name in ("float32", "float64", "complex64", "complex128"):
        return None
    return f"arrays of dtype {dtype} are not supported", SUPPORTED


def is_foreign(kind: type) -> bool:
    """Whether objects of a class are arrays of another library: of the array API standard, or torch's."""
    if issubclass(kind, (np.ndarray, np.generic)) or hasattr(kind, "__autodiff_tensor__"):
        return False
    return is_torch(kind) or hasattr(kind, "__array_namespace__") and hasattr(kind, "__dlpack__")


def is_torch(kind: type) -> bool:
    """Whether objects of a class are torch tensors."""
    return any(base.__module__ == "torch" and base.__qualname__ == "Tensor" for base in kind.__mro__)


def check_plain(value) -> None:
    """TypeConflict for an array or number that means something else than the numbers in it."""
    if type(value) is np.ndarray and value.dtype.char in "dilfLFD?":
        return
    if (found := misfit_container(value) if isinstance(value, (tuple, list, dict)) else misfit(value)) is not None:
        raise TypeConflict(found[0], None, found[1])


def as_plain(value) -> np.ndarray:
    """A number or array as an ndarray. TypeError for a subclass that may mean something else."""
    if isinstance(value, np.ndarray) and type(value) not in PLAIN:
        raise TypeError(". ".join(misfit(value) or ()))
    return np.asarray(value)


def own_methods(kind: type) -> bool:
    """Whether a subclass of a number's class has special methods of its own: `__add__`, `__eq__`, `__array_ufunc__`."""
    bases = kind.__mro__[:next(k for k, base in enumerate(kind.__mro__) if base in PLAIN)]
    return any(name.startswith("__") and name not in HARMLESS for base in bases for name in vars(base))


def name_of(kind: type) -> str:
    home = kind.__module__.split(".")[0]
    return kind.__qualname__ if home in ("builtins", "__main__") else f"{home}.{kind.__qualname__}"


__all__ = ["NUMERIC", "SUPPORTED", "as_plain", "check_plain", "is_foreign", "is_torch", "misfit",
           "misfit_container", "misfit_dtype"]
