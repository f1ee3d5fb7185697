"""What the first gradient costs: processor seconds from a function to it, for small arguments and with nothing stored.

Each line: ours, lines of the text, Numba's own first call of the function, and JAX's first gradient where it is installed
and has the program; then the geometric means of the ratios.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from unittest import mock

import numba
import numpy as np

from autodiff import grad, value_and_grad

from .suite import BENCHMARKS, Benchmark
from .tools import by_jax, jitted

REFUSED = (numba.core.errors.NumbaError, TypeError, NotImplementedError)            # what NumPy runs and Numba refuses


def compiling(quick: bool) -> None:
    """Print the table; quick: of one program."""
    has_jax = importlib.util.find_spec("jax") is not None
    functions = {p.function: p for p in reversed(BENCHMARKS.values()) if not p.runs}        # each once
    programs = [BENCHMARKS["Rosenbrock, long"]] if quick else list(reversed(functions.values()))
    ratios: dict[str, list[float]] = {"Numba": [], "JAX": []}
    with (tempfile.TemporaryDirectory() as store, mock.patch.dict(os.environ, AUTODIFF_CACHE_DIR=store),
          warnings.catch_warnings()):
        warnings.simplefilter("ignore")
        grad(lambda x: np.sum(x * x))(np.ones(3))               # what Numba and JAX do once
        if has_jax:
            first_of_jax(BENCHMARKS["Rosenbrock 2-D, one call"])
        for program in programs:
            gradient = value_and_grad(program.function, wrt=program.wrt)
            first = seconds(lambda g=gradient, p=program: g(*p.arguments(True)))
            others = {"Numba": seconds(lambda p=program: jitted(p.function, numba)(*p.arguments(True))),
                      "JAX": first_of_jax(program) if has_jax and program.jax else float("nan")}
            for name, own in others.items():
                if own == own:
                    ratios[name].append(first / own)
            told = "  ".join(f"{name} {own:6.2f} s {first / own:6.2f}" for name, own in others.items())
            print(f"{program.name:34s} {first:5.2f} s  {gradient.source.count(chr(10)):4d} lines  {told}", flush=True)
    for name, found in ratios.items():
        if found:
            print(f"ours / {name}: {np.exp(np.mean(np.log(found))):.2f} in the geometric mean of {len(found)} programs, "
                  f"{min(found):.2f} to {max(found):.2f}")


def first_of_jax(program: Benchmark) -> float:
    return seconds(lambda: by_jax(program, program.arguments(True)))


def seconds(call: Callable) -> float:
    """Processor seconds of a call; nan where the tool refuses it."""
    start = time.process_time()
    try:
        call()
    except REFUSED:
        return float("nan")
    return time.process_time() - start


__all__ = ["compiling"]
