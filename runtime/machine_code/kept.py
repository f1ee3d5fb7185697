"""Functions of this package in machine code: compiled once for each combination of argument types, kept on disk between
processes, and called by name.

Numba would compile a copy of a function into each of its callers. Machine code that calls one of these knows a name instead,
which stands for its address; whoever loads such code sees to it that the function is there (`_Kept`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import caching, cgutils, imputils, sigutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin

from .apart import apart
from .jit import CompiledFunction, Dispatcher, MachineCodeCache
from .jit import config as numba_config
from .references import Borrowing

__all__ = ["kept", "kept_for", "stands_for"]

KEPT_PREFIX = "autodiff_kept_"        # of the names of this package's functions in machine code that calls them
_alive: list[Any] = []                # what the names stand for, which machine code may call as long as the process runs


class _LibraryFunction(CompiledFunction):
    """As it is for generated code, in the places where Numba keeps functions of installed packages."""

    _locator_classes = caching.CompileResultCacheImpl._locator_classes


class _LibraryCache(MachineCodeCache):
    """The cache of a function of this package.

    Numba's own numbers its files: of two processes that save at once, one may later load what the other has saved, for other
    types.
    """

    _impl_class = _LibraryFunction

    def _is_part(self) -> bool:
        """Whether this function is being compiled for other types: it finds such code by a name of this process."""
        return self._compiling.counter > 1


class _KeptFunction(Dispatcher):
    """A function of this package, compiled as generated ones are: apart from who calls it.

    Compiled callers give it arrays of any layout, read-only or not, as one kind: one machine code serves all of them, unless
    they are to come `as_they_lie`.
    """

    as_they_lie = False

    def compile(self, sig: Any) -> Any:
        return apart(self._compile, sig)

    def _compile(self, sig: Any) -> Any:
        with global_compiler_lock:
            known = len(self.overloads)
            entry = super().compile(sig)
            made = self.overloads.get(sigutils.normalize_signature(sig)[0])
            if len(self.overloads) > known and made is not None and hasattr(made.library, "_reload_init"):
                _call_by_name(self, made)
            return entry

    def get_call_template(self, args: Any, kws: Any) -> Any:
        if self.as_they_lie:
            return super().get_call_template(args, kws)
        return super().get_call_template(tuple(map(_of_any_layout, args)), {k: _of_any_layout(v) for k, v in kws.items()})


@dataclasses.dataclass(frozen=True)
class _Kept:
    """A kept function for some types of arguments, as code that calls it by its name needs it: in place before that runs."""

    module: str
    function: str
    arguments: tuple

    @property
    def symbol(self) -> str:
        """The name in machine code."""
        kinds = hashlib.sha256(repr(self.arguments).encode()).hexdigest()[:16]
        return f"{KEPT_PREFIX}{self.module}_{self.function}_{kinds}"

    def __call__(self) -> None:
        getattr(importlib.import_module(self.module), self.function).compile(self.arguments)


def _call_by_name(dispatcher: Any, made: Any) -> None:
    """Have code that calls a function find it by name: Numba would compile a copy of it into every caller."""
    function = dispatcher.py_func
    described, library = made.fndesc, made.library
    known = _Kept(function.__module__, function.__name__, described.argtypes)
    _alive.append(library)
    llvm.add_symbol(known.symbol, library.get_pointer_to_function(described.llvm_func_name))

    def call(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = context.call_conv.get_function_type(described.restype, described.argtypes)
        callee = cgutils.get_or_insert_function(builder.module, kind, known.symbol)
        status, value = context.call_conv.call_function(builder, callee, described.restype, described.argtypes, args)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        context.active_code_library._reload_init.add(known)
        value = imputils.fix_returning_optional(context, builder, sig, status, value)
        return imputils.impl_ret_new_ref(context, builder, described.restype, value)

    call.signature, call.libs = described.argtypes, ()  # type: ignore[attr-defined]
    context = dispatcher.targetctx
    context._defns[made.entry_point] = selector = type(context._defns[made.entry_point])()
    selector.append(call, call.signature)               # type: ignore[attr-defined]


def _of_any_layout(kind: Any) -> Any:
    """The kind of an argument without what is known of an array's memory."""
    if type(kind) is not numba.types.Array:
        return kind
    return numba.types.Array(kind.dtype, kind.ndim, "A", readonly=not kind.mutable, aligned=kind.aligned)


def kept(function: Callable[..., Any], as_they_lie: bool = False) -> Any:
    """A function compiled by Numba for each combination of argument types, whose machine code is kept on disk.

    as_they_lie: apart for each layout of its arrays, which it knows then.
    """
    if numba_config.DISABLE_JIT:
        return function
    dispatcher = _KeptFunction(function, locals={}, targetoptions={"nopython": True, "error_model": "numpy",
                                                                   "boundscheck": None}, pipeline_class=Borrowing)
    dispatcher.as_they_lie = as_they_lie
    with contextlib.suppress(OSError, RuntimeError):            # RuntimeError: there is no place for it
        dispatcher._cache = _LibraryCache(dispatcher)
    return dispatcher


def kept_for(function: Callable[..., Any], as_they_lie: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: a function that is `kept`, and called by compiled code wherever that calls `function`, of the same
    arguments."""
    def record(own: Callable[..., Any]) -> Any:
        made = kept(own, as_they_lie)
        stands_for(function)(lambda *kinds: (made, ()))
        return made
    return record


def stands_for(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of what chooses, from the types of arguments, (the kept function that compiled calls of `function` call,
    numbers that it is given after them); or None, for types that `function` does not take.

    An overload would do the same with a function of its own between the two, to be compiled for each layout of the arrays.
    """
    def record(choose: Callable[..., Any]) -> Callable[..., Any]:
        @infer_global(function)
        class Template(AbstractTemplate):
            key = function

            def generic(self, args: Any, kws: Any) -> Any:
                found = None if kws else choose(*args)
                if found is None:
                    return None
                callee, numbers = found
                kind: Any = numba.types.Dispatcher(callee)
                given = (*args, *(numba.typeof(x) for x in numbers))
                return signature(kind.get_call_type(self.context, given, {}).return_type, *args)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            callee, numbers = choose(*sig.args)
            kind: Any = numba.types.Dispatcher(callee)
            given = (*sig.args, *(numba.typeof(x) for x in numbers))
            wanted = kind.get_call_type(context.typing_context, given, {})
            values = [*args, *(context.get_constant(numba.typeof(x), x) for x in numbers)]
            values = [context.cast(builder, v, a, b) for v, a, b in zip(values, given, wanted.args, strict=True)]
            return context.get_function(kind, wanted)(builder, values)
        lower_builtin(function, numba.types.VarArg(numba.types.Any))(generate)
        return choose
    return record
