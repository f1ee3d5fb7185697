"""Arrays of unknown size, as generated code allocates them: large ones in huge pages, all with room around them.

The pages of a fresh array are mapped when they are first written; at 4 KiB a page that costs more than most loops over
the array. NumPy asks Linux for huge pages from 4 MiB on (2 MiB each), Numba's allocator does not: these functions do.

Fresh arrays are apart, and LLVM is to know it: the address of the elements is computed from that of the allocation, not
read from what Numba keeps of it. So a loop over any number of fresh arrays is vectorised without comparing their addresses.

Arguments may be anywhere. Before a loop that writes to an array and reads an argument, LLVM asks whether they are closer to
each other than what it computes at a time, and if so computes one element after the other: sums and `exp` then have other
last bits. With room around each array the answer does not depend on where memory happened to be free.

A tape of some MiB that is freed and allocated again at each call should not be given back to the system in between: glibc
keeps freed memory up to a limit, which begins at 128 KiB and rises to the largest array that was freed. Calls whose arrays
are each below the limit, and in sum above it, pay for fresh pages each time, so the limit is raised to its highest.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

LARGE = 1 << 22             # bytes, NumPy's own threshold
PAGE = 4096
MADV_HUGEPAGE = 14
TOO_LARGE = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."
ROOM = 256                  # bytes: 4 vectors of AVX-512, which is as much as loops compute at a time
HIGHEST = (1 << 25) - 2 * PAGE          # bytes: arrays up to 32 MiB count for glibc's limit, with their header


def keep_freed_memory() -> None:
    """Have glibc keep up to 64 MiB of freed memory, as after any program that has freed an array of 32 MiB.

    Nothing is touched, so no memory is taken for it. It changes nothing where `MALLOC_TRIM_THRESHOLD_` and the like are set
    in the environment, or with another allocator.
    """
    np.empty(HIGHEST, np.uint8)


keep_freed_memory()


def empty(shape, dtype=np.float64):
    """`np.empty`; `shape` is an integer or a tuple of them."""
    return np.empty(shape, dtype)


def zeros(shape, dtype=np.float64):
    """`np.zeros`; `shape` is an integer or a tuple of them."""
    return np.zeros(shape, dtype)


def copied(array):
    """`array.copy()`, of a contiguous array."""
    return array.copy()


def assign(out, value):
    """`out[...] = value`, for arrays of one shape."""
    out[...] = value


@intrinsic
def ask_for_huge_pages(context, array):
    """Tell Linux that the memory of a large contiguous array is best in huge pages; a hint, which may fail."""
    def generate(context, builder, signature, args):
        if sys.platform != "linux":
            return context.get_dummy_value()
        view = context.make_array(signature.args[0])(context, builder, args[0])
        word = ir.IntType(64)
        start = builder.ptrtoint(view.data, word)
        size = builder.mul(view.nitems, view.itemsize)
        with builder.if_then(builder.icmp_unsigned(">=", size, word(LARGE)), likely=False):
            first = builder.and_(builder.add(start, word(PAGE - 1)), word(-PAGE))
            kind = ir.FunctionType(ir.IntType(32), [word, word, ir.IntType(32)])
            advise = cgutils.get_or_insert_function(builder.module, kind, "madvise")
            builder.call(advise, [first, builder.sub(builder.add(start, size), first), ir.IntType(32)(MADV_HUGEPAGE)])
        return context.get_dummy_value()
    return types.none(array), generate


@intrinsic(prefer_literal=False)
def apart(context, shape, dtype):
    """`np.empty`, with ROOM bytes before and behind what it gives. ValueError, as NumPy's, if that is too large."""
    from numba.core.typing.npydecl import parse_dtype, parse_shape  # what is found in the store starts without these
    array = types.Array(parse_dtype(dtype), parse_shape(shape), "C")

    def generate(context, builder, signature, args):
        from numba.np import arrayobj  # as above
        word = ir.IntType(64)
        shapes = arrayobj._parse_shape(context, builder, signature.args[0], args[0])
        step = word(context.get_abi_sizeof(context.get_data_type(array.dtype)))
        strides: list = []
        size, large = step, ir.IntType(1)(0)
        for n in reversed(shapes):
            strides.insert(0, size)
            product = builder.smul_with_overflow(size, n)
            size, large = builder.extract_value(product, 0), builder.or_(large, builder.extract_value(product, 1))
        large = builder.or_(large, builder.icmp_signed(">", size, word((1 << 63) - 1 - 2 * ROOM)))
        with builder.if_then(large, likely=False):
            context.call_conv.return_user_exc(builder, ValueError, (TOO_LARGE,))
        align = ir.IntType(32)(context.get_preferred_array_alignment(array.dtype))
        memory = context.nrt.meminfo_alloc_aligned(builder, builder.add(size, word(2 * ROOM)), align)
        found = builder.ptrtoint(context.nrt.meminfo_data(builder, memory), word)       # as a place in what was allocated:
        start = builder.gep(memory, [builder.add(builder.sub(found, builder.ptrtoint(memory, word)), word(ROOM))])
        made = context.make_array(array)(context, builder)
        arrayobj.populate_array(made, builder.bitcast(start, context.get_data_type(array.dtype).as_pointer()),
                                cgutils.pack_array(builder, shapes, ty=word), cgutils.pack_array(builder, strides, ty=word),
                                step, memory)
        return made._getvalue()
    return array(shape, dtype), generate


@intrinsic
def fill_with_zeros(context, array):
    """Set the memory of a contiguous array to zero bytes."""
    def generate(context, builder, signature, args):
        view = context.make_array(signature.args[0])(context, builder, args[0])
        cgutils.memset(builder, view.data, builder.mul(view.nitems, view.itemsize), 0)
        return context.get_dummy_value()
    return types.none(array), generate


@intrinsic
def copy_to_start(context, out, array):
    """Copy a contiguous array to the start of the memory of a larger one of its dtype."""
    def generate(context, builder, signature, args):
        target, source = (context.make_array(kind)(context, builder, x)
                          for kind, x in zip(signature.args, args, strict=True))
        size = builder.mul(source.nitems, source.itemsize)
        cgutils.raw_memcpy(builder, target.data, source.data, size, ir.Constant(size.type, 1))
        return context.get_dummy_value()
    return types.none(out, array), generate


# Inlined: what LLVM knows of a fresh array, that nothing else points to it, is lost at the border of a function.
@overload(empty, inline="always")
def _empty(shape, dtype=np.float64):
    def compiled(shape, dtype=np.float64):
        array: Any = apart(shape, dtype)  # type: ignore[call-arg]
        ask_for_huge_pages(array)
        return array
    return compiled


@overload(zeros, inline="always")
def _zeros(shape, dtype=np.float64):
    def compiled(shape, dtype=np.float64):
        array: Any = apart(shape, dtype)  # type: ignore[call-arg]
        ask_for_huge_pages(array)
        fill_with_zeros(array)
        return array
    return compiled


@overload(copied, inline="always")
def _copied(array):
    def compiled(array):
        made: Any = apart(array.shape, array.dtype)  # type: ignore[call-arg]
        ask_for_huge_pages(made)
        copy_to_start(made, array)
        return made
    return compiled


@overload(assign)
def _assign(out, value):
    def line(out, value):
        for i in range(out.shape[0]):
            out[i] = value[i]

    def plane(out, value):
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = value[i, j]

    def space(out, value):
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                for k in range(out.shape[2]):
                    out[i, j, k] = value[i, j, k]

    def any_rank(out, value):
        out[...] = value
    return {1: line, 2: plane, 3: space}.get(out.ndim, any_rank)
