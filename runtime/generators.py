"""Random generators in generated code: the draws that compiled generators lack, and their state as memory.

Compiled code draws from the state of the caller's own `numpy.random.Generator`, with Numba's methods of it, which give what
NumPy's give. Where a part of a program runs again (checkpointed loops, Jacobians in several parts), the state is kept in an
array and put back.
"""

from __future__ import annotations

import ctypes
import pickle
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.random.random_methods import random_interval

__all__ = ["WORDS", "permutation", "restore_state", "save_state", "standard_gumbel"]

WORDS = 420             # int64 that hold the state of any of NumPy's generators; Mersenne Twister's takes 2.7 kB


def permutation(rng: Any, n: int) -> Any:
    """`rng.permutation(n)`: the integers from 0 to n - 1 in random order."""
    return rng.permutation(n)


@overload(permutation)
def _permutation(rng, n):
    def compiled(rng, n):                       # Numba's own takes eight seconds to compile
        order = np.arange(n)
        for i in range(n - 1, 0, -1):
            j = np.int64(random_interval(rng.bit_generator, i))
            order[i], order[j] = order[j], order[i]
        return order
    return compiled


def standard_gumbel(rng: Any, size: Any = None) -> Any:
    """`rng.gumbel(size=size)`, which Numba's generators do not have."""
    return rng.gumbel(size=size)


@overload(standard_gumbel)
def _standard_gumbel(rng, size=None):
    def one(rng, size=None):
        u = 1.0 - rng.random()
        while not u < 1.0:
            u = 1.0 - rng.random()
        return -np.log(-np.log(u))
    if size is None or isinstance(size, (types.Omitted, types.NoneType)):
        return one

    def several(rng, size=None):
        drawn = np.empty(size)
        flat = drawn.reshape(-1)
        for i in range(flat.size):
            u = 1.0 - rng.random()
            while not u < 1.0:
                u = 1.0 - rng.random()
            flat[i] = -np.log(-np.log(u))
        return drawn
    return several


# ---- the state of a generator as memory ----------------------------------------------------------

def save_state(words: Any, rng: Any) -> None:
    """Put the state of a generator into `words`, an int64 array of length WORDS.

    Raises ValueError where it does not fit in, as that of a bit generator which is not NumPy's may not.
    """
    text = pickle.dumps(rng.bit_generator.state, protocol=5)
    if len(text) > 8 * (WORDS - 1):
        raise ValueError("the state of this random generator is too large to be kept")
    words[0] = len(text)
    words[1:].view(np.uint8)[:len(text)] = np.frombuffer(text, np.uint8)


def restore_state(rng: Any, words: Any) -> None:
    """Give a generator the state that `save_state` has put into `words`."""
    rng.bit_generator.state = pickle.loads(words[1:].view(np.uint8)[:words[0]].tobytes())     # what save_state wrote


def save_at(rng: Any, address: int) -> None:
    """`save_state` into the memory at an address, for compiled code."""
    save_state(_words_at(address), rng)


def restore_at(rng: Any, address: int) -> None:
    """`restore_state` from the memory at an address, for compiled code."""
    restore_state(rng, _words_at(address))


def _words_at(address: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_int64 * WORDS).from_address(address))


@overload(save_state)
def _save_state(words, rng):
    def compiled(words, rng):
        if not _saved(rng, words.ctypes.data):
            raise ValueError("the state of this random generator is too large to be kept")
    return compiled


@overload(restore_state)
def _restore_state(rng, words):
    def compiled(rng, words):
        if not _restored(rng, words.ctypes.data):
            raise ValueError("the state of a random generator could not be restored")
    return compiled


def _python_call(name: str):
    """Code that calls a function of this module with the generator behind a compiled one, and an address.

    Its value is false if the function has raised an error.
    """
    def generate(context, builder, signature, args):
        generator = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0])
        api = context.get_python_api(builder)
        lock = api.gil_ensure()
        module = api.import_module(context.insert_const_string(builder.module, __name__))
        function = api.object_getattr_string(module, name)
        address = api.long_from_ulonglong(args[1])
        done = api.call_function_objargs(function, (generator.parent, address))
        succeeded = cgutils.is_not_null(builder, done)
        with cgutils.if_unlikely(builder, builder.not_(succeeded)):
            api.err_clear()
        for x in (done, address, function, module):
            api.decref(x)
        api.gil_release(lock)
        return succeeded
    return generate


def _intrinsic_of(name: str) -> Any:
    @intrinsic
    def call(typing_context, rng, address):
        return types.boolean(rng, types.uintp), _python_call(name)
    return call


_saved, _restored = _intrinsic_of("save_at"), _intrinsic_of("restore_at")
