"""The measurements. Each takes `quick` (tiny sizes, for tests of the benchmarks) and returns rows of the table."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile

import numpy as np
from numba import njit

from autodiff import grad, value_and_grad

from . import programs
from .child import ROOT, environment
from .measure import Row, gap, median, milliseconds, paired, ratio

CASES: dict = {}


def case(function):
    CASES[function.__name__] = function
    return function


@case
def stencil(quick: bool) -> list[Row]:
    n, steps, rounds = (8, 2, 2) if quick else (250, 100, 15)
    generator = np.random.default_rng(0)
    A, B = generator.random((n, n)), generator.random((n, n))
    gradient = grad(programs.stencil, wrt=(0, 1))
    times = paired([lambda: programs.stencil_loops(A, B, steps), lambda: programs.stencil_expert(A, B, steps),
                    lambda: gradient(A, B, steps)], rounds)
    shown = milliseconds(times, loops=0, expert=1, gradient=2)
    return [Row("stencil: taped quantities", float(len(gradient.tape)), "", 0.0, "0 quantities are 0 bytes"),
            Row("stencil: gradient / hand-written loops", ratio(times, 2, 0), "x", 4.0, shown),
            Row("stencil: gradient / loops that vectorise", ratio(times, 2, 1), "x", 4.0)]


@case
def lu(quick: bool) -> list[Row]:
    n, rounds, repeats = (5, 2, 1) if quick else (60, 51, 10)
    A = np.random.default_rng(0).random((n, n)) + n * np.eye(n)
    primal, gradient = njit(error_model="numpy")(programs.lu), grad(programs.lu)
    times = paired([lambda: primal(A.copy()), lambda: gradient(A)], rounds, repeats)
    return [Row("LU: gradient / primal", ratio(times, 1, 0), "x", 5.0, milliseconds(times, primal=0, gradient=1)),
            Row("LU: taped quantities", float(len(gradient.tape)), "")]


@case
def chain(quick: bool) -> list[Row]:
    n, rounds = (50, 2) if quick else (2_000_000, 15)
    generator = np.random.default_rng(0)
    x, w = generator.random(n) + 0.5, generator.random(n)
    gradient, both = grad(programs.chain, wrt=(0, 1)), value_and_grad(programs.chain, wrt=(0, 1))
    times = paired([lambda: programs.chain_loop(x, w), lambda: gradient(x, w), lambda: both(x, w)], rounds)
    shown = milliseconds(times, primal=0, gradient=1)
    return [Row("chain: loops in the gradient", float(gradient.source.count("for ")), "", 1.0),
            Row("chain: temporaries (np.empty)", float(gradient.source.count("np.empty")), "", 0.0),
            Row("chain: gradient / hand-fused primal", ratio(times, 1, 0), "x", 2.0, shown),
            Row("chain: value and gradient / primal", ratio(times, 2, 0), "x", None,
                f"{both.source.count('for ')} loop(s)")]


@case
def rosenbrock(quick: bool) -> list[Row]:
    rounds, repeats = (2, 3) if quick else (31, 20_000)
    primal, gradient = njit(programs.rosenbrock), grad(programs.rosenbrock, wrt=(0, 1))
    times = paired([lambda: primal(0.1, 0.2), lambda: gradient(0.1, 0.2)], rounds, repeats)
    shown = ", ".join(f"{name} {1e6 * median(times, k):.2f} us" for k, name in enumerate(("primal", "gradient")))
    return [Row("Rosenbrock: gradient call - bare Numba call", 1e6 * gap(times, 1, 0), "us", 1.5, shown)]


@case
def first(quick: bool) -> list[Row]:
    """A fresh process with an empty store, then fresh processes with the store it left."""
    cold, warm, bare = [], [], []
    for _ in range(1 if quick else 5):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(child("first", store=folder)["seconds"])
            child("bare", store=folder)
            for _ in range(1 if quick else 3):
                warm.append(child("first", store=folder)["seconds"])
                bare.append(child("bare", store=folder)["seconds"])
    return [Row("first gradient, empty store", statistics.median(cold), "s", 3.0, "beyond `import numba`"),
            Row("first gradient, from the store", statistics.median(warm), "s", 0.3, "beyond `import numba`"),
            Row("a cached one-line @njit function", statistics.median(bare), "s", None, "Numba's own share")]


@case
def memory(quick: bool) -> list[Row]:
    """Highest resident size of a fresh process (the kernel's own count, so Numba's and BLAS's memory is in it)."""
    steps, units = (40, 8) if quick else (60_000, 192)
    with tempfile.TemporaryDirectory() as folder:
        found = child("memory", str(steps), str(units), store=folder)
    needed = found["inputs"] + found["states"] + found["adjoints"]
    used = found["inputs"] + found["beyond"]
    return [Row("RNN: peak / (inputs + T n + adjoints)", used / needed, "x", 1.1,
                f"T = {steps}, n = {units}: {used / 2**20:.0f} of {needed / 2**20:.0f} MiB"),
            Row("RNN: taped quantities", float(len(found["tape"])), "")]


def child(*arguments: str, store: str) -> dict:
    """What tests.benchmarks.child finds in a fresh process whose store is the folder `store`."""
    done = subprocess.run([sys.executable, "-m", "tests.benchmarks.child", *arguments], cwd=ROOT,
                          env=environment(store), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])
