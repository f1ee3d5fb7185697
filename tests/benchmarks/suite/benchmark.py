"""What a timed program is: the function, its arguments, what it is differentiated by, and the same in other tools."""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numba
import numpy as np

FAST = {"contract", "reassoc", "nsz", "arcp"}


@dataclass(frozen=True)
class Benchmark:
    """`make(rng, tiny)` gives the arguments of `function`, which is differentiated by the positions `wrt`.

    primals: hand-written, compiled forms of the function; the fastest of these, of the function itself under Numba and of
        the function under plain NumPy is what a gradient is compared with.
    adjoint: value and gradients by a hand-written adjoint, compiled; it may keep buffers between calls.
    jax, torch, autograd: given that package, the function in its idiom; `True` where the text of `function` serves, with
        that package's NumPy in place of NumPy.
    writes: positions of arguments that the function overwrites, copied before each call of a primal.
    runs: by the name of a tool, given its package, the whole computation instead of a value and its gradients: for
        programs whose derivative is not the gradient of one number. It returns a tuple of arrays.
    """

    name: str
    function: Callable
    make: Callable
    wrt: tuple[int, ...]
    primals: tuple[Callable, ...] = ()
    adjoint: Callable | None = None
    jax: Callable | bool | None = None
    torch: Callable | bool | None = None
    autograd: Callable | bool | None = None
    writes: tuple[int, ...] = ()
    runs: Mapping[str, Callable] = field(default_factory=dict)

    def arguments(self, tiny: bool) -> tuple:
        return self.make(np.random.default_rng(1), tiny)


BENCHMARKS: dict[str, Benchmark] = {}


def benchmark(name: str, function: Callable, make: Callable, wrt, **parts) -> Benchmark:
    """Record a program; what `parts` leave open can be added to the result by `also`."""
    assert name not in BENCHMARKS, name
    made = BENCHMARKS[name] = Benchmark(name, function, make, tuple(wrt), **parts)
    return made


def also(name: str, part: str):
    """Decorator: the function is this part (`adjoint`, `jax`, `torch`, `autograd`) of a recorded program."""
    def record(function):
        BENCHMARKS[name] = replace(BENCHMARKS[name], **{part: function})
        return function
    return record


def by_hand(function):
    """Compiled as an expert would: sums in any order, fused multiply-add, no changes to NaN and infinity."""
    return numba.njit(fastmath=FAST, error_model="numpy")(function)


def exact(function):
    """Compiled with the text's own order of operations, where another order would change the algorithm."""
    return numba.njit(error_model="numpy")(function)


def adbench_file(name: str):
    """An ADBench data file as numbers, from the folder that `--adbench` names; None without that folder or file."""
    folder = os.environ.get("ADBENCH_DATA")
    path = folder and os.path.join(folder, name)
    if not path or not os.path.exists(path):
        return None
    with open(path) as f:
        return np.array(f.read().split(), dtype=float)


def with_module(function, module):
    """The same text with another package's NumPy for `np` and `math`."""
    space = {**function.__globals__, "np": module, "math": module}
    return types.FunctionType(function.__code__, space, function.__name__, function.__defaults__, function.__closure__)


def scanned(jax):
    """What repeats a step from one state to the next, as JAX's users write it."""
    return lambda step, state, count: jax.lax.scan(lambda s, _: (step(s), None), state, None, length=count)[0]


def looped(step, state, count):
    """The same in Python."""
    for _ in range(count):
        state = step(state)
    return state
