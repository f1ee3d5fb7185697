"""The same computation by each tool: a call without arguments that gives a value and gradients."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .suite.benchmark import Benchmark, with_module

PEERS = {"jax": "jax", "torch": "torch", "autograd": "autograd"}
OWN = ("primal", "by hand", "ours")


@dataclass
class Made:
    """`call()` computes; `first`: seconds of the first call, with tracing and compiling; `note`: what is worth telling."""

    call: Callable
    result: tuple
    first: float
    note: str = ""


def runs_with(program: Benchmark, tool: str) -> bool:
    """Whether `tool` has this program."""
    if program.runs:
        return tool == "primal" or tool in program.runs
    return tool in ("primal", "ours") or (program.adjoint is not None if tool == "by hand"
                                          else bool(getattr(program, tool, None)))


def make(program: Benchmark, tool: str, tiny: bool, threads: int = 1) -> Made:
    """`tool` is "primal", "by hand", "ours" or a peer's name."""
    args = program.arguments(tiny)
    if tool == "torch":
        start_torch(threads)
    if tool == "primal":
        return primal(program, args)
    if tool in program.runs:
        return by_own_means(program, tool, args)
    if tool == "ours":
        return ours(program, args, threads)
    return {"by hand": adjoint, "jax": by_jax, "torch": by_torch, "autograd": by_autograd}[tool](program, args)


def timed_first(call: Callable, note: str = "") -> Made:
    start = time.perf_counter()
    result = call()
    return Made(call, result, time.perf_counter() - start, note)


def seconds_of(call: Callable, at_least: float = 0.02, most: int = 100_000) -> float:
    """Seconds a call takes, of as many calls as fill `at_least`."""
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            call()
        spent = time.perf_counter() - start
        if spent >= at_least or count >= most:
            return spent / count
        count = min(most, max(2 * count, int(count * 1.2 * at_least / max(spent, 1e-9))))


def copies(program: Benchmark, args: tuple) -> Callable:
    """The arguments of one call: what the function overwrites is copied."""
    if not program.writes:
        return lambda: args
    return lambda: tuple(a.copy() if k in program.writes else a for k, a in enumerate(args))


def primal(program: Benchmark, args: tuple) -> Made:
    """The fastest of the hand-written forms, the function under Numba, and the function under NumPy."""
    import numba
    found, fresh = [], copies(program, args)
    begun = time.perf_counter()
    candidates = [("by hand", f, lambda: args) for f in program.primals]
    candidates.append(("Numba", jitted(program.function, numba), fresh))
    candidates.append(("NumPy", program.function, fresh))
    for name, function, given in candidates:
        if name == "NumPy" and found and time.perf_counter() - begun > 20.0:
            break                                                       # a Python loop over all elements takes minutes
        call = (lambda function=function, given=given: function(*given()))
        try:
            if name == "NumPy" and loops_over_elements(program.function) and found:
                continue
            call()
        except (numba.core.errors.NumbaError, TypeError, NotImplementedError):
            continue                                                    # Numba refuses what NumPy runs
        found.append((min(seconds_of(call) for _ in range(3)), name, call))
    _, name, call = min(found, key=lambda f: f[0])
    return timed_first(call, name)


def jitted(function, numba):
    """The function and those it calls, compiled."""
    space = dict(function.__globals__)
    home = function.__module__.partition(".")[0]
    for name in function.__code__.co_names:
        if hasattr(space.get(name), "__code__") and space[name].__module__.partition(".")[0] == home:
            space[name] = jitted(space[name], numba)
    made = type(function)(function.__code__, space, function.__name__, function.__defaults__, function.__closure__)
    return numba.njit(error_model="numpy")(made)


def loops_over_elements(function) -> bool:
    """Whether plain Python would run the innermost loops: a `for` in a `for`."""
    import dis
    return sum(i.opname == "FOR_ITER" for i in dis.get_instructions(function)) > 1


def adjoint(program: Benchmark, args: tuple) -> Made:
    return timed_first(lambda: program.adjoint(*args))


def ours(program: Benchmark, args: tuple, threads: int = 1) -> Made:
    import autodiff
    made = autodiff.value_and_grad(program.function, wrt=program.wrt, parallel=threads > 1)

    def call():
        value, gradients = made(*args)
        return value, *gradients
    timed = timed_first(call)
    timed.note = tape_size(made.tape.bill(*args))
    return timed


def tape_size(bill) -> str:
    """What the reverse sweep reads from the forward sweep, in bytes."""
    saved = [item.bytes for item in bill if item.holds.startswith("saved")]
    if not saved:
        return "none"
    size = sum(n for n in saved if n is not None)
    unit, name = next(u for u in ((2 ** 20, "MiB"), (2 ** 10, "KiB"), (1, "B")) if size >= u[0] or u[0] == 1)
    text = f"{size / unit:.3g} {name}"
    return text + " and what grows" * (None in saved)


def by_own_means(program: Benchmark, tool: str, args: tuple) -> Made:
    package = {"by hand": lambda: None, "ours": lambda: importlib.import_module("autodiff")}.get(tool)
    if package:
        run = program.runs[tool](package())
        return timed_first(lambda: run(*args))
    if tool == "jax":
        jax = start_jax()
        arrays = [jax.numpy.asarray(a) for a in args]
        run = program.runs[tool](jax)
        return timed_first(lambda: jax.block_until_ready(run(*arrays)))
    torch = start_torch()
    tensors = [torch.from_numpy(a) for a in args]
    run = program.runs[tool](torch)
    return timed_first(lambda: run(*tensors))


def start_jax():
    import jax
    jax.config.update("jax_enable_x64", True)
    return jax


def start_torch(threads: int | None = None):
    import torch
    if threads:
        torch.set_num_threads(threads)
    torch.set_default_dtype(torch.float64)
    return torch


def by_jax(program: Benchmark, args: tuple) -> Made:
    """`jit(value_and_grad)`; numbers that are not differentiated are static. Gradients by complex arrays, of which JAX gives
    the conjugate, become ours."""
    jax = start_jax()
    loss = with_module(program.function, jax.numpy) if program.jax is True else program.jax(jax)
    static = tuple(k for k, a in enumerate(args) if isinstance(a, int | float) and k not in program.wrt)
    made = jax.value_and_grad(loss, argnums=program.wrt)
    if any(np.iscomplexobj(args[k]) for k in program.wrt):
        plain, made = made, lambda *args: jax.tree.map(jax.numpy.conj, plain(*args))
    run = jax.jit(made, static_argnums=static)
    given = [a if k in static or not isinstance(a, np.ndarray | float) else jax.numpy.asarray(a) for k, a in enumerate(args)]

    def call():
        value, gradients = jax.block_until_ready(run(*given))
        return value, *gradients
    return timed_first(call)


def by_torch(program: Benchmark, args: tuple) -> Made:
    torch = start_torch()
    loss = with_module(program.function, torch) if program.torch is True else program.torch(torch)
    tensors = [torch.tensor(a) if isinstance(a, np.ndarray) or k in program.wrt else a for k, a in enumerate(args)]
    leaves = [tensors[k].requires_grad_(True) for k in program.wrt]

    def call():
        value = loss(*tensors)
        return value.detach(), *torch.autograd.grad(value, leaves)
    return timed_first(call)


def by_autograd(program: Benchmark, args: tuple) -> Made:
    from autograd import numpy, value_and_grad
    loss = with_module(program.function, numpy) if program.autograd is True else program.autograd(numpy)
    run = value_and_grad(loss, argnum=program.wrt)

    def call():
        value, gradients = run(*args)
        return value, *gradients
    return timed_first(call)


def numbers(result) -> list:
    """Values and gradients as NumPy arrays, complex ones as pairs."""
    result = result if isinstance(result, tuple) else (result,)
    found = [np.asarray(r.detach().numpy() if hasattr(r, "detach") else r) for r in result]
    return [np.stack((r.real, r.imag)) if np.iscomplexobj(r) else np.asarray(r, float) for r in found]


def paired(first, second, rounds: int = 15) -> tuple[float, float]:
    """Median seconds of two calls, run in turns."""
    first(), second()
    times: tuple[list, list] = ([], [])
    for _ in range(rounds):
        for call, into in ((first, times[0]), (second, times[1])):
            start = time.perf_counter()
            call()
            into.append(time.perf_counter() - start)
    return float(np.median(times[0])), float(np.median(times[1]))
