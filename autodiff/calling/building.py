"""From generated text to callables: the store, and what must hold at a call."""

from __future__ import annotations

import hashlib
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from ..options import Options
from ..runtime.machine_code import jit, store
from ..runtime.machine_code.forks import child_of_threads
from ..transforms.language.core import Arr, left_alone
from ..transforms.language.errors import CompilationError, UnsupportedSyntax
from ..transforms.language.python_text import fixed_sizes, signature_of
from .progress import progress

VERSION = "1"
ONE_GENERATOR = ("a random generator is found in two places outside, and its draws would have no order", None,
                 "pass it as an argument, or give each place its own: rng.spawn(2)")
RUNNER: ContextVar[Any] = ContextVar("runner", default=None)        # what calls generated Python text: a debugger, if any


def compile_programs(text: str, programs, options: Options, mutated=frozenset(), names=None, **how) -> dict:
    """The functions of a generated module, by name; those that stand for these programs take read-only arrays for what they
    do not write. mutated: parameters that may not be read-only although they are copied, as the user's function writes
    them. names: all functions of the module, if it has more."""
    unwritten = {p.name: left_alone(p, mutated) for p in programs}
    signatures = {p.name: signature_of(p.params) for p in programs}
    sizes = {p.name: fixed_sizes(p.params) for p in programs}
    return compile_text(text, names or list(signatures), signatures, options, unwritten=unwritten, sizes=sizes, **how)


def compile_text(text: str, names, signatures, options: Options, nogil: bool = False, parallel=(), unwritten=None,
                 sizes=None) -> dict:
    """Store, load and compile a generated module; its functions by name. unwritten, sizes: see `jit_functions`."""
    path, key = stored(text, names[0], options)
    module = store.load_module(path, key)
    others = [n for n, f in vars(module).items() if getattr(f, "__module__", None) == module.__name__ and n not in names]
    try:
        with progress(f"compiling {names[0]}: {text.count(chr(10))} lines"):
            functions = jit.jit_functions(module, list(names), mode=options.mode, signatures=signatures, called=others,
                                          fastmath=options.fastmath, nogil=nogil, precise=options.precise, parallel=parallel,
                                          unwritten=unwritten, sizes=sizes)
    except jit.CompilationFailed as e:
        raise CompilationError(f"Numba refused the generated code, which is a mistake of autodiff: {e}", None,
                               f"please report it with the file {path}; mode='python' may work meanwhile") from e
    if options.mode == "python":
        return {n: quiet(f) for n, f in functions.items()}
    return functions


def stored(text: str, name: str, options: Options) -> tuple[Path, str]:
    """(path, key) of a generated module in the store, where it is written if it is not there. name: of its entry."""
    how = f"{options.fastmath}|{options.precise}"
    digest = hashlib.sha256(f"{VERSION}|{how}|{text}".encode()).hexdigest()[:24]
    key = f"{name}:{digest}"
    return store.write_module(key, text), key


def file_of(generated, options: Options) -> str:
    """The path of the text that an object with these options shows as its source."""
    threads = generated.threads
    text, name = (generated.text, generated.programs[0].name) if threads is None else (threads.text, threads.names[0])
    return str(stored(text, name, options)[0])


def run(function, args):
    """What a function of `compile_programs` gives; arrays that it does not write may be read-only."""
    taking = getattr(function, "taking", None)
    return function(*args) if taking is None else function(*taking(args))


class ByThreads:
    """A compiled function that large arrays go to on several threads, small ones (and all after a fork from threads) on one.

    one: the function for one thread; make: makes the other at the first call that wants it.
    """

    LARGE = 200_000                 # elements of the largest array: below, starting threads costs what they save

    def __init__(self, one, make, large=None):
        self.one, self.make, self.several = one, make, None
        self.large = large or self.LARGE

    def __call__(self, *args):
        for a in args:
            if type(a) is np.ndarray and a.size >= self.large and not child_of_threads():
                if self.several is None:
                    self.several = self.make()
                return run(self.several, args)
        return run(self.one, args)


def quiet(function):
    """Python mode: NumPy's scalar semantics (numbers of 64 bits, as compiled), without its warnings."""
    def run(*args):
        args = tuple(map(jit.of_numpy, args))
        runner = RUNNER.get()
        with np.errstate(all="ignore"):
            return function(*args) if runner is None else runner(function, *args)
    return run


def check_generators(passed) -> None:
    """UnsupportedSyntax where two of these random generators, known to the program as two, are one."""
    if len({id(x.bit_generator) for x in passed}) < len(passed):
        raise UnsupportedSyntax(*ONE_GENERATOR)


def narrow_places(returns) -> tuple[int, ...]:
    """Which of a program's results are float32 numbers."""
    return tuple(k for k, r in enumerate(returns) if not isinstance(r, Arr) and r.dtype == "float32")


def narrowed(raw, places):
    """What a compiled function returned, with the numbers at `places` as float32."""
    parts = list(raw) if isinstance(raw, tuple) else [raw]
    for k in places:
        if isinstance(parts[k], float):
            parts[k] = np.float32(parts[k])
    return tuple(parts) if isinstance(raw, tuple) else parts[0]
