"""Numba compilation of generated modules, with machine code kept beside the module's text.

Numba's own cache is used for what it does well (turning a compiled function into bytes and back) and
replaced in where it is fragile. There is no shared index: each compiled signature is one file, named by
everything its machine code depends on (the module's text, the function, the argument types, the processor,
the options, the versions, the text of this package), written in one step, and beginning with a checksum. So
two processes cannot give each other the wrong code, and a file that is cut short, damaged, or open to other
users is compiled anew.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import itertools
import math
import os
import pickle
import platform
import sys
import tempfile
import types
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core import caching, environment, sigutils, typeinfer
from numba.core.codegen import RuntimeLinker
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.np import numpy_support

from ..numbers import plainmath, vectormath, vectorspecial
from .apart import apart
from .assignments import quick_assignments
from .indices import compiler_for
from .store import is_lasting, read_private_file, write_private_file
from .temporaries import distinct_temporaries

__all__ = ["CompilationFailed", "jit_functions", "of_numpy"]

_RELOAD_INIT = 7                      # the place, in what Numba keeps of a compile result, of what to call before it runs
BLAS_PREFIX = "autodiff_blas_"        # of the names of the routines of BLAS in machine code
_OF_NUMPY: dict[type, Callable[[Any], Any]] = {float: np.float64, int: np.int64}
config: Any = numba.config          # made when Numba starts, out of sight of type checkers
Dispatcher: Any = CPUDispatcher
_spaces: weakref.WeakKeyDictionary[types.ModuleType, dict[str, Any]] = weakref.WeakKeyDictionary()


class CompilationFailed(RuntimeError):
    """Numba rejected generated code: a fault of what generated it, not of the user's function."""


def jit_functions(module: types.ModuleType, names: Iterable[str], mode: str = "numba",
                  signatures: Mapping[str, str | None] | None = None,
                  fastmath: bool = False, nogil: bool = False, precise: bool = False,
                  parallel: Iterable[str] = (), called: Iterable[str] = (),
                  unwritten: Mapping[str, Iterable[int]] | None = None,
                  sizes: Mapping[str, tuple] | None = None) -> dict[str, Callable[..., Any]]:
    """Make the functions `names` of a generated module callable, compiled or as plain Python.

    mode "numba": each function becomes a Numba dispatcher with `error_model="numpy"`, and takes its place
    in the module's globals, so that the functions call each other, themselves included, as compiled code.
    One that has a signature (`"float64(float64[::1])"`, with or without the return type) is compiled or
    reloaded now and afterwards takes those argument types alone: others raise TypeError at the call. The
    rest compile at their first call for each combination of types. Asking again gives the same dispatchers.

    mode "python" (also whenever NUMBA_DISABLE_JIT is set): plain functions over a copy of the module's
    globals, so that they call each other as plain Python even if the module has been compiled.

    called: functions of the module that those call; as plain Python they are given NumPy's numbers for Python's.
    parallel: the functions whose `prange` loops run on Numba's threads. nogil: let other threads run during a call.
    sizes: of functions, for each parameter None or what is known of its shape: a tuple with None for sizes that are not. The
        text of the module must tell: the machine code is kept beside it.
    unwritten: for functions with a signature, which of their parameters are arrays that they do not write: `taking`.
    precise: no vector variants of elementary functions (`vectormath.py`).

    Raises CompilationFailed, now or at a first call, where Numba fails; ValueError if a function
    has been compiled before with the other `fastmath`.

    >>> halves = types.ModuleType("halves")
    >>> exec("def half(x): return 0.5 * x\\ndef quarter(x): return half(half(x))", halves.__dict__)
    >>> jit_functions(halves, ["half", "quarter"], mode="python")["quarter"](8.0)
    2.0
    """
    names = tuple(names)
    if mode == "python" or config.DISABLE_JIT:
        return _plain_functions(module, names, frozenset(called))
    if mode != "numba":
        raise ValueError(f"mode is {mode!r}; it can be 'numba' or 'python'")
    parallel = frozenset(parallel)

    def compiled() -> dict[str, Callable[..., Any]]:
        with global_compiler_lock:      # Numba's own lock: this may be called while a caller is being compiled
            made = {name: _dispatcher(module, name, fastmath, nogil, precise, name in parallel,
                                      compiler_for((sizes or {}).get(name, ())))
                    for name in (*called, *names)}
            _compile_now(made, signatures or {}, unwritten or {})
        return dict(made)
    return apart(compiled)


def inline(function: Any) -> Any:
    """Mark a generated function, which LLVM then puts in the places of its calls: loops around it can be vectorised."""
    function.inline = True
    return function


class _NotForOthers:
    """One of the things to do before machine code runs in another process: it has Numba compile callers anew.

    A caller with `@njit(cache=True)` holds a copy of generated code, and Numba does not see when that is out of date.
    """

    def __call__(self) -> None:
        """Nothing is to be done in this process."""

    def __reduce__(self) -> tuple[Callable[[], Any], tuple]:
        return _refuse, ()


def _refuse() -> None:
    raise OSError("code that calls generated code is not kept")      # the error that Numba takes for a file that is gone


_not_for_others = _NotForOthers()
_depth = 0          # how many generated functions are being compiled, each for the one before it; under Numba's lock


class _GeneratedFunction(Dispatcher):
    """A Numba dispatcher that reports a failure as ours, and keeps its machine code by the rules above."""

    unwritten: tuple[int, ...] = ()     # which of its parameters are arrays that it does not write

    def taking(self, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments of a call, for which this is ready then: read-only arrays go to the same machine code where it does
        not write them, which sees no difference, and as copies in more than 16 combinations."""
        places = tuple(k for k in self.unwritten if not args[k].flags.writeable)
        if not places:
            return args
        with global_compiler_lock:
            known = self.__dict__.setdefault("_read_only", {})  # with their types: Numba numbers these while they live
            if places not in known and len(known) < 16:
                (kinds, found), = self.overloads.items()
                kinds = tuple(kind.copy(readonly=True) if k in places else kind for k, kind in enumerate(kinds))
                self._insert([kind._code for kind in kinds], found.entry_point, found.objectmode)
                known[places] = kinds
        return args if places in known else [x.copy() if k in places else x for k, x in enumerate(args)]

    def compile(self, sig: Any) -> Any:
        return apart(self._compile, sig)

    def _compile(self, sig: Any) -> Any:
        global _depth
        with global_compiler_lock:
            _depth += 1
            try:
                with quick_assignments(), distinct_temporaries():
                    entry = super().compile(sig)
            finally:
                _depth -= 1
            for made in self.overloads.values():
                made.library._reload_init.add(_not_for_others)
            return entry

    def _compile_for_args(self, *args: Any, **keywords: Any) -> Any:
        try:
            return super()._compile_for_args(*args, **keywords)
        except NumbaError as error:
            raise _failure(self, error) from error

    def typeof_pyval(self, val: Any) -> Any:
        """Numba's type of an argument; of a plain array without loading `numpy.ma`, which only says that it is one."""
        if type(val) is not np.ndarray:
            return super().typeof_pyval(val)
        return _array_type(val.dtype, val.ndim, numpy_support.map_layout(val), not val.flags.writeable)

    def enable_caching(self) -> None:
        """Use the machine code beside the module, if that directory is ours and can be written."""
        path = Path(self.py_func.__code__.co_filename)
        with contextlib.suppress(OSError, RuntimeError):        # RuntimeError: Numba found no place to cache
            if is_lasting(path):
                self._cache = MachineCodeCache(self)


@functools.cache
def _array_type(dtype: np.dtype, ndim: int, layout: Any, readonly: bool) -> Any:
    try:
        kind: Any = numpy_support.from_dtype(dtype)
    except NumbaError:
        return numba.types.pyobject
    return numba.types.Array(kind, ndim, layout, readonly=readonly)


class _BesideTheModule(caching.InTreeCacheLocator):
    """The place of the machine code: `__pycache__` beside the module, private to the user."""

    def ensure_cache_path(self) -> None:
        """Make the directory; OSError if it is another user's or cannot be written."""
        directory = Path(self.get_cache_path())
        directory.mkdir(mode=0o700, exist_ok=True)
        if os.name == "posix" and directory.stat().st_uid != os.geteuid():
            raise PermissionError(f"{directory} belongs to another user")
        tempfile.TemporaryFile(dir=directory).close()


class CompiledFunction(caching.CompileResultCacheImpl):
    """Bytes of a compiled function, with the names of what it calls outside itself.

    Before Numba brings machine code back, it loads all it knows for compiling more, 0.1 to 0.2 s. Machine code needs only
    the addresses it calls: where one is missing, all is loaded as usual.
    """

    _locator_classes = [_BesideTheModule]

    def reduce(self, cres: Any) -> tuple[list[str], Any]:
        """(names of outside functions and data, Numba's serialised form) of a compile result."""
        module = cres.library._final_module
        outside = (f.name for f in itertools.chain(module.functions, module.global_variables) if f.is_declaration)
        payload = list(super().reduce(cres))
        payload[_RELOAD_INIT] = [step for step in payload[_RELOAD_INIT] if step is not _not_for_others]
        return [name for name in outside if not name.startswith("llvm.")], tuple(payload)

    def rebuild(self, target_context: Any, reduced: Any) -> Any:
        """The compile result of what `reduce` gave."""
        outside, payload = reduced
        rtsys.initialize(target_context)
        if any(name.startswith(BLAS_PREFIX) for name in outside):
            from ..linear_algebra import blas  # which is compiled by this
            blas.provide()
        if not all(map(llvm.address_of_symbol, outside)):
            target_context.refresh()
        prepare = payload[_RELOAD_INIT]
        for function in prepare:                                # starts Numba's threads, whose functions have addresses then
            function()
        engine = target_context.codegen()._engine
        missing = [name for name in outside if not (llvm.address_of_symbol(name) or engine.is_symbol_defined(name))]
        if missing:                                             # running it would end the process
            raise ImportError(f"machine code needs {missing}")
        found = super().rebuild(target_context, payload)
        found.library._reload_init.update(prepare)              # Numba forgets it: code that calls this one needs it too
        return found

    def check_cachable(self, cres: Any) -> bool:
        """Whether `cres` still works when another process loads it: Numba's own test, silent and stricter.

        Functions that call each other in a circle find one another through addresses that Numba fills in
        when it compiles and forgets to fill in when it reloads: calling them then would end the process.
        """
        circular = any(variable.name.startswith(RuntimeLinker.PREFIX)
                       for variable in cres.library._final_module.global_variables)
        return not (circular or cres.library.has_dynamic_globals or any(not part.can_cache for part in cres.lifted))


class _Unpickler(pickle.Unpickler):
    """Brings compile results back without importing the modules that library functions among them come from."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) == (environment.__name__, "_rebuild_env"):
            return _rebuilt_environment
        return super().find_class(module_name, global_name)


def _rebuilt_environment(module: str, constants: list, name: str) -> Any:
    """What Numba keeps for a compiled function: machine code reads its constants, and nothing reads its globals."""
    found = environment.lookup_environment(name)
    if found is None and module in sys.modules or not module.startswith("numba."):
        return environment._rebuild_env(module, constants, name)
    if found is None:
        found = environment.Environment({"__name__": module})
        found.consts[:] = constants
        found.env_name = name
        environment.Environment._memo[name] = found
    return found


class _MachineCodeFiles:
    """One checksummed file per key, in the part of Numba's `IndexDataCacheFile`."""

    def __init__(self, directory: str, base_name: str, stamp: Any):
        self.directory, self.base_name, self.stamp = Path(directory), base_name, stamp

    def path(self, key: Any) -> Path:
        """The file of `key`, a Numba index key: argument types, processor, bytecode."""
        name = hashlib.sha256(repr((key, self.stamp)).encode()).hexdigest()[:24]
        return self.directory / f"{self.base_name}.{name}.nbc"

    def load(self, key: Any) -> Any:
        """What was saved under `key`, or None."""
        data = read_private_file(self.path(key))
        if data is None or hashlib.sha256(data[32:]).digest() != data[:32]:
            return None
        stored_key, payload = _Unpickler(io.BytesIO(data[32:])).load()      # our own file, whole
        return payload if stored_key == key else None

    def save(self, key: Any, payload: Any) -> None:
        """Keep `payload` under `key`."""
        if " at 0x" in repr(key):                               # types known to this process only
            return
        data = caching.dumps((key, payload))
        write_private_file(self.path(key), hashlib.sha256(data).digest() + data)

    def flush(self) -> None:
        """Remove what is kept for this function."""
        for path in self.directory.glob(f"{self.base_name}.*.nbc"):
            path.unlink(missing_ok=True)


class MachineCodeCache(caching.FunctionCache):
    """Numba's cache of one function, over `_MachineCodeFiles`; trouble with it is never an error."""

    _impl_class = CompiledFunction

    def __init__(self, dispatcher: Any):
        super().__init__(dispatcher.py_func)
        self._compiling = dispatcher._compiling_counter
        stamp = (self._cache_file._source_stamp, _options_text(dispatcher.targetoptions), package_stamp())
        self._cache_file = _MachineCodeFiles(self._cache_path, self._impl.filename_base, stamp)  # type: ignore[assignment]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for `sig`, or None where there is none or it cannot be brought back."""
        if self._is_part():
            return None
        try:
            return self._load_overload(sig, target_context)     # without Numba's refresh, see CompiledFunction
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code for `sig` if possible; a full disk only costs the next start its time."""
        if not self._is_part():
            with contextlib.suppress(Exception):
                super().save_overload(sig, data)

    def _is_part(self) -> bool:
        """Whether the code is wanted for a generated function that is being compiled, which will contain it.

        What several functions make together is one file, compiled in one process: whoever finds some of it compiles all of
        it again, and gets the same code.
        """
        return _depth > 1


@functools.cache
def package_stamp(folder: Path = Path(__file__).parents[1]) -> str:
    """Versions, and the text of this package or of a part of it: its helpers are compiled into the code that calls them."""
    hashed = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*.py") if "cuda" not in p.relative_to(folder).parts):
        hashed.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    versions = (platform.python_version(), np.__version__, numba.__version__, llvmlite.__version__)
    return " ".join((*versions, hashed.hexdigest()))


def _options_text(options: Mapping[str, Any]) -> str:
    settings = (config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.BOUNDSCHECK,
                config.DEBUGINFO_DEFAULT)
    return repr((sorted(options.items()), settings, vectormath.lanes()))


def _dispatcher(module: types.ModuleType, name: str, fastmath: bool, nogil: bool, precise: bool,
                parallel: bool, compiler: type) -> _GeneratedFunction:
    """The dispatcher standing for `name` in the module's globals, made if it is still a plain function."""
    found = getattr(module, name)
    if isinstance(found, _GeneratedFunction):
        if found.targetoptions["fastmath"] is not fastmath:
            raise ValueError(f"{name} is compiled already with fastmath={not fastmath}")
        return found
    options = {"nopython": True, "error_model": "numpy", "fastmath": fastmath, "boundscheck": None}
    if nogil:
        options["nogil"] = True
    if parallel:
        options["parallel"] = True
    if getattr(found, "inline", False):
        options["forceinline"] = True
    space = module.__dict__ if precise else _with_vector_variants(module)
    dispatcher = _GeneratedFunction(_with_globals(found, space), locals={}, targetoptions=options, pipeline_class=compiler)
    dispatcher.enable_caching()
    setattr(module, name, dispatcher)
    space[name] = dispatcher
    return dispatcher


def _with_vector_variants(module: types.ModuleType) -> dict[str, Any]:
    """The module's globals as compiled code sees them: `np` and `math` name functions that LLVM can vectorise."""
    space = _spaces.get(module)
    if space is None:
        stand_ins = {id(np): vectormath, id(math): vectorspecial}
        space = _spaces[module] = {k: stand_ins.get(id(v), v) for k, v in module.__dict__.items()}
    return space


def _with_globals(function: types.FunctionType, space: dict[str, Any]) -> types.FunctionType:
    return function if function.__globals__ is space else _like(function, function.__code__, space)


def _like(function: types.FunctionType, code: types.CodeType, space: dict[str, Any]) -> types.FunctionType:
    """The function with other code, in another space of globals."""
    made = types.FunctionType(code, space, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__, made.__doc__, made.__module__ = function.__kwdefaults__, function.__doc__, function.__module__
    return made


def _compile_now(compiled: Mapping[str, _GeneratedFunction], signatures: Mapping[str, str | None],
                 unwritten: Mapping[str, Iterable[int]]) -> None:
    """Compile the functions that have a signature, then fix them to it."""
    for name, signature in signatures.items():
        dispatcher = compiled.get(name)
        if dispatcher is None or signature is None:
            continue
        try:
            arguments, result = sigutils.normalize_signature(signature)
            if tuple(arguments) in dispatcher.overloads:
                continue
            dispatcher.disable_compile(False)
            with typeinfer.register_dispatcher(dispatcher):
                dispatcher.compile(arguments if result is None else result(*arguments))
            dispatcher.unwritten = tuple(unwritten.get(name, ()))
        except Exception as error:                              # also Numba's slips: AssertionError, KeyError
            raise _failure(dispatcher, error) from error
    for name, signature in signatures.items():
        if name in compiled and signature is not None:
            compiled[name].disable_compile()


def _plain_functions(module: types.ModuleType, names: tuple[str, ...],
                     called: frozenset[str]) -> dict[str, Callable[..., Any]]:
    """The functions of a module over a copy of its globals in which all of them are plain Python."""
    copied = dict(module.__dict__)
    for name, value in module.__dict__.items():
        if value is math:
            copied[name] = plainmath
        function = value.py_func if isinstance(value, _GeneratedFunction) else value
        if isinstance(value, _GeneratedFunction) or (
                isinstance(function, types.FunctionType) and function.__globals__ is module.__dict__):
            copied[name] = _with_numpy_constants(_with_globals(function, copied))
            if name in called:
                copied[name] = _on_numpy_numbers(copied[name])
    return {name: copied[name] for name in names}


def _with_numpy_constants(function: types.FunctionType) -> types.FunctionType:
    """The function with its floats as NumPy's: one that is bound on some path divides by zero as compiled code does."""
    code = function.__code__
    made = {float: np.float64, complex: np.complex128}
    consts = tuple(made[type(c)](c) if type(c) in made else c for c in code.co_consts)
    return _like(function, code.replace(co_consts=consts), function.__globals__)


def _on_numpy_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on NumPy's numbers in the places of Python's, which divide by zero without an error, and wrap."""
    def run(*args: Any) -> Any:
        return function(*map(of_numpy, args))
    return run


def of_numpy(number: Any) -> Any:
    """A number of Python's as NumPy's of 64 bits, which is what compiled code has; anything else as it is."""
    return number if (made := _OF_NUMPY.get(type(number))) is None else made(number)


def _failure(dispatcher: _GeneratedFunction, error: Exception) -> CompilationFailed:
    told = "\n".join(itertools.islice((str(error) or repr(error)).splitlines(), 20))
    function = dispatcher.py_func
    return CompilationFailed(f"Numba could not compile the generated function {function.__name__} "
                             f"in {function.__code__.co_filename}\n{told}")
