"""An entry as a handler of XLA's foreign function interface, compiled by Numba: XLA calls it without Python.

The layout of its structs is that of version 0.3 of `xla/ffi/api/c_api.h`, for pointers of 64 bits: a call frame holds the
table of XLA's functions at byte 16, arguments at 40 and results at 80, each with pointers to its buffers at 32; a buffer its
data at 24, its rank at 32 and its sizes at 40.
"""

from __future__ import annotations

import ctypes
import re
import struct
import sys
from pathlib import Path
from typing import Any

import jax
import numba
import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from .c import _KEPT, Guarded, compiled, defined, numpy_name

KNOWN = ((0, 3),)               # versions whose structs are as above
METADATA, INVALID_ARGUMENT = 1, 3
CREATE_ERROR = 48               # where the table of XLA's functions has the one that makes an error


def version() -> tuple[int, int] | None:
    """The version of the interface that JAX has, if this module knows it."""
    if struct.calcsize("P") != 8 or sys.byteorder != "little":
        return None
    try:
        text = (Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text()
    except (AttributeError, OSError):
        return None
    major, minor = (re.search(rf"#define XLA_FFI_API_{part} (\d+)", text) for part in ("MAJOR", "MINOR"))
    found = (int(major[1]), int(minor[1])) if major and minor else None
    return found if found in KNOWN else None


def pointer(context, address):
    """An address as a pointer."""
    def generate(context, builder, signature, args):
        return builder.inttoptr(args[0], context.get_value_type(types.voidptr))
    return types.voidptr(types.int64), generate


def called(context, address, argument):
    """The result of the C function at an address, from a pointer to a pointer."""
    def generate(context, builder, signature, args):
        word = ir.IntType(64)
        function = builder.inttoptr(args[0], ir.FunctionType(word, [word]).as_pointer())
        return builder.call(function, [args[1]])
    return types.int64(types.int64, types.int64), generate


as_pointer: Any = intrinsic(pointer)
call_at: Any = intrinsic(called)


@numba.njit
def word(address):
    return carray(as_pointer(address), (1,), np.int64)[0]


@numba.njit
def buffer(table, k):
    """The buffer of the k-th argument or result."""
    return word(word(table + 32) + 8 * k)


@numba.njit
def sizes(at):
    return carray(as_pointer(word(at + 40)), (word(at + 32),), np.int64)


@numba.njit
def answered(frame, major, minor):
    """Whether a call only asks for the version that the handler was made for; it is told."""
    extension = word(frame + 8)
    if extension == 0 or word(extension + 8) & 0xFFFFFFFF != METADATA:
        return False
    told = carray(as_pointer(word(extension + 24) + 24), (3,), np.int32)
    told[0], told[1], told[2] = major, minor, 0
    return True


@numba.njit
def failed(frame, message):
    """XLA's error with the text at an address."""
    given = np.array([32, 0, message, INVALID_ARGUMENT])
    error = call_at(word(word(frame + 16) + CREATE_ERROR), given.ctypes.data)
    given[0] = 0                                    # it lives until then
    return error


@numba.njit
def row(at, batch, lead, k):
    """Which element of an argument's leading axes belongs to the k-th one of the whole batch."""
    own, place, stride = sizes(at), 0, 1
    for axis in range(lead - 1, -1, -1):
        if own[axis] != 1:
            place += stride * (k % batch[axis])
        stride *= own[axis]
        k //= batch[axis]
    return place


HELPERS = {"answered": answered, "failed": failed, "word": word, "buffer": buffer, "sizes": sizes, "row": row,
           "as_pointer": as_pointer, "carray": carray, "np": np}


def handler(guarded: Guarded, taken: list[str], given: list[str], api: tuple[int, int]):
    """The compiled handler of an entry. taken, given: the dtypes of the buffers of its arguments and results.

    Leading axes of buffers are a batch (of `jax.vmap`), which it runs over; those of length 1 are the same for all.
    """
    made = guarded.entry
    lines = ["def handle(frame):", f"    if answered(frame, {api[0]}, {api[1]}):", "        return 0",
             "    batch, lead = np.ones(1, np.int64), 0"]
    both = [("a", 40, made.arguments, taken), ("r", 80, made.results, given)]
    for letter, table, places, _ in both:
        lines += [f"    {letter}{k}_at = buffer(frame + {table}, {k})" for k in range(len(places))]
    if given:
        lines += ["    batch = sizes(r0_at)", f"    lead = len(batch) - {made.results[0].rank}"]
    lines += ["    count = 1", "    for axis in range(lead):", "        count *= batch[axis]",
              "    for k in range(count):"]
    passed = []
    for letter, _, places, dtypes in both:
        for k, (place, dtype) in enumerate(zip(places, dtypes, strict=True)):
            name, size = f"{letter}{k}", np.dtype(dtype).itemsize
            lines += [f"        {name}_sizes = sizes({name}_at)", f"        {name}_bytes = {size}"]
            lines += [f"        {name}_bytes *= {name}_sizes[lead + {axis}]" for axis in range(place.rank)]
            shape = "".join(f"{name}_sizes[lead + {axis}], " for axis in range(place.rank)) or "1, "
            start = f"word({name}_at + 24) + {name}_bytes * row({name}_at, batch, lead, k)"
            text = f"carray(as_pointer({start}), ({shape}), np.{numpy_name(dtype)})"
            if letter == "a" and not place.rank:
                text = f"np.{numpy_name(place.dtype)}({text}[0])"
            elif letter == "a" and dtype != place.dtype:
                text += f".astype(np.{numpy_name(place.dtype)})"
            lines.append(f"        {name} = {text}")
            passed.append(name)
    lines += [f"        if attempt({', '.join(passed)}) != 0:",
              f"            return failed(frame, {guarded.message_address})", "    return 0"]
    body = compiled(lines, {**HELPERS, "attempt": guarded.attempt}, "handle")
    call = defined(["def call(frame):", "    return body(frame)"], {"body": body}, "call")
    return numba.cfunc(types.int64(types.int64))(call)


_registered: dict[str, Any] = {}


def register(made, taken: list[str], given: list[str], api: tuple[int, int]) -> str:
    """Register an entry with XLA, once; its name."""
    name = f"autodiff.{made.identity(taken, given)}"            # XLA's cache of executables knows it by that
    if name not in _registered:
        call = handler(Guarded(made), taken, given, api)
        _KEPT.append(call)
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(ctypes.c_void_p(call.address)), platform="cpu")
        _registered[name] = call
    return name


__all__ = ["register", "version"]
