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

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_new_ref
from numba.extending import intrinsic, lower_builtin, overload, register_jitable, type_callable

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


def flat(array):
    """The elements one after the other: a view, or a copy of an array that does not lie so."""
    return array.reshape(-1)


@overload(flat)
def _flat(array):
    if array.layout == "C":
        return lambda array: array.reshape(array.size)
    return lambda array: array.flatten()


@register_jitable
def shaped(array, *sizes):
    """A vector with these sizes: a view."""
    return array.reshape(sizes)


def arrays():
    """Numba's code for arrays."""
    from numba.np import arrayobj  # what is found in the store starts without it
    return arrayobj


def ask_for_huge_pages(builder, start, size) -> None:
    """Tell Linux that memory of so many bytes, if they are many, is best in huge pages; a hint, which may fail."""
    if sys.platform != "linux":
        return
    word = ir.IntType(64)
    with builder.if_then(builder.icmp_unsigned(">=", size, word(LARGE)), likely=False):
        first = builder.and_(builder.add(builder.ptrtoint(start, word), word(PAGE - 1)), word(-PAGE))
        kind = ir.FunctionType(ir.IntType(32), [word, word, ir.IntType(32)])
        advise = cgutils.get_or_insert_function(builder.module, kind, "madvise")
        end = builder.add(builder.ptrtoint(start, word), size)
        builder.call(advise, [first, builder.sub(end, first), ir.IntType(32)(MADV_HUGEPAGE)])


def apart(context, builder, array: types.Array, shapes):
    """Code for an array of these sizes with ROOM bytes before and behind it: (it, its address, its bytes). ValueError, as
    NumPy's, if that is too large."""
    word = ir.IntType(64)
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
    arrays().populate_array(made, builder.bitcast(start, context.get_data_type(array.dtype).as_pointer()),
                            cgutils.pack_array(builder, shapes, ty=word), cgutils.pack_array(builder, strides, ty=word),
                            step, memory)
    ask_for_huge_pages(builder, start, size)
    return made._getvalue(), start, size


# Code where the call stands, not a function: what LLVM knows of a fresh array, that nothing else points to it, is lost at
# the border of one; and Numba takes ten times as long to put a function in the place of its call.
def fresh(function, fill):
    """Have Numba compile calls of `function`, which gives a fresh array. fill: code that fills it, after it is there."""
    @type_callable(function)
    def typed(context):
        def kind(shape, dtype=None):
            from numba.core.typing.npydecl import parse_dtype, parse_shape  # what is found in the store starts without it
            if isinstance(shape, types.Array):
                return types.Array(shape.dtype, shape.ndim, "C")
            return types.Array(types.float64 if dtype is None else parse_dtype(dtype), parse_shape(shape), "C")
        return kind

    def generate(context, builder, signature, args):
        given = signature.args[0]
        if isinstance(given, types.Array):
            shapes = cgutils.unpack_tuple(builder, context.make_array(given)(context, builder, args[0]).shape)
        else:
            shapes = arrays()._parse_shape(context, builder, given, args[0])
        made, start, size = apart(context, builder, signature.return_type, shapes)
        fill(context, builder, start, size, given, args[0])
        return impl_ret_new_ref(context, builder, signature.return_type, made)
    lower_builtin(function, types.Any)(generate)
    lower_builtin(function, types.Any, types.Any)(generate)


def with_zeros(context, builder, start, size, given, value) -> None:
    cgutils.memset(builder, start, size, 0)


def with_elements(context, builder, start, size, given, value) -> None:
    source = context.make_array(given)(context, builder, value)
    cgutils.raw_memcpy(builder, start, builder.bitcast(source.data, start.type), size, ir.Constant(size.type, 1))


fresh(empty, lambda *_: None)
fresh(zeros, with_zeros)
fresh(copied, with_elements)


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


@type_callable(assign)
def _assigned(context):
    return lambda out, value: types.none


@lower_builtin(assign, types.Array, types.Array)
def _assign(context, builder, signature, args):
    kinds = signature.args
    out, value = (context.make_array(kind)(context, builder, x) for kind, x in zip(kinds, args, strict=True))
    if kinds[0].layout == kinds[1].layout != "A" and kinds[0].dtype == kinds[1].dtype:
        cgutils.raw_memmove(builder, out.data, value.data, out.nitems, out.itemsize)
        return context.get_dummy_value()
    with cgutils.loop_nest(builder, cgutils.unpack_tuple(builder, out.shape), ir.IntType(64)) as index:
        source, target = (cgutils.get_item_pointer(context, builder, kind, x, index)
                          for kind, x in ((kinds[1], value), (kinds[0], out)))
        element = arrays().load_item(context, builder, kinds[1], source)
        element = context.cast(builder, element, kinds[1].dtype, kinds[0].dtype)
        arrays().store_item(context, builder, kinds[0], element, target)
    return context.get_dummy_value()
