"""What a call costs: the shortest function, the first gradient in a fresh process, a node of a graph of Tensors."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import numba
import numpy as np

from autodiff import checkpoint, grad, value_and_grad
from autodiff.operators.gradients import Gradient
from autodiff.options import Options

from .compiling import compiling
from .forms import forms
from .growth import growth
from .library import library
from .segments import segments
from .sparse import sparse
from .suite import BENCHMARKS
from .suite.elementwise import rosenbrock
from .tools import paired

rosenbrock_jitted = numba.njit(error_model="numpy")(rosenbrock)


TWENTY_LINES = '''
import math, sys, time
import numba
start = time.perf_counter()
import numpy as np
from autodiff import grad

def model(p, x, y):
    a, b, c = p[0], p[1], p[2]
    total = 0.0
    for i in range(x.shape[0]):
        u = a * math.exp(-b * x[i])
        if u > c:
            v = u - c * math.sin(u)
        else:
            v = c * u
        w = v * v + 0.1
        for k in range(3):
            w = w + 0.5 * math.tanh(w * x[i])
        r = y[i] - w
        if r < 0.0:
            total += 2.0 * r * r
        else:
            total += r * r
    penalty = 0.0
    for j in range(p.shape[0]):
        penalty += p[j] ** 2
    return total + 0.01 * penalty

x = np.linspace(0.0, 1.0, 50)
grad(model)(np.array([1.0, 0.5, 0.3]), x, np.cos(x))
print(time.perf_counter() - start)
'''


def smooth(x, k):
    for _ in range(3):
        x = x + k * x * x
    return x


def call(quick: bool) -> None:
    made = grad(rosenbrock, wrt=(0, 1))
    count = 1000 if quick else 200_000

    def many(call):
        def run():
            for _ in range(count):
                call(0.3, 0.7)
        return run
    g, p = paired(many(made), many(rosenbrock_jitted), 7)
    print(f"{'Rosenbrock call':34s} Numba {p / count * 1e6:.3f} us   gradient {g / count * 1e6:.3f} us   "
          f"more {(g - p) / count * 1e6:.3f} us")


def first_call(quick: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "model.py")
        with open(script, "w") as f:
            f.write(TWENTY_LINES)
        environment = {**os.environ, "AUTODIFF_CACHE_DIR": os.path.join(folder, "store"),
                       "PYTHONPYCACHEPREFIX": os.path.join(folder, "bytecode")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)        # an installed package has its bytecode
        subprocess.run([sys.executable, script], env={**environment, "AUTODIFF_CACHE_DIR": os.path.join(folder, "other")},
                       capture_output=True, check=True)
        seconds = []
        for _ in range(2 if quick else 4):
            done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
            seconds.append(float(done.stdout))
    print(f"{'first gradient, fresh process':34s} cold {seconds[0]:.2f} s   from the store {np.median(seconds[1:]):.2f} s   "
          "(beyond import numba)")


def tensors(quick: bool) -> None:
    """What a node costs beyond NumPy's own calls, and torch's on the same chain where torch is installed."""
    import autodiff as ad
    n, repeats = (1000, 3) if quick else (1000, 300)
    rng = np.random.default_rng(0)
    a, b, seed = rng.random(n), rng.random(n), np.ones(n)
    x, w = ad.tensor(a, requires_grad=True), ad.tensor(b, requires_grad=True)

    def chain(x, w, sin=np.sin):
        for _ in range(25):
            x = (sin(x) * w + 1.0) * 0.5
        return x

    def numpy_backward():
        g, total = seed, 0.0
        for _ in range(25):
            g = g * 0.5
            total = total + g * a
            g = np.cos(a) * (g * b)
    forward, numpy_forward = paired(lambda: chain(x, w), lambda: chain(a, b), repeats)
    both, backward = paired(lambda: ad.grad(chain(x, w), [x, w], seed), numpy_backward, repeats)
    print(f"{'eager node, 1000 elements':34s} forward {(forward - numpy_forward) * 1e4:6.2f} us over NumPy   "
          f"backward {(both - forward - backward) * 1e4:6.2f} us over NumPy")
    try:
        import torch
    except ImportError:
        pass
    else:
        torch.set_num_threads(1)
        u, v = (torch.tensor(t, requires_grad=True) for t in (a, b))
        ones = torch.ones(n, dtype=torch.float64)
        for name in ("sin", "tanh"):
            theirs, own = getattr(torch, name), getattr(np, name)
            other, ours = paired(lambda f=theirs: torch.autograd.grad(chain(u, v, f), [u, v], ones),
                                 lambda f=own: ad.grad(chain(x, w, f), [x, w], seed), repeats)
            print(f"{'':26s} {name:7s} torch {other * 1e6:8.1f} us   ours {ours * 1e6:8.1f} us   torch / ours "
                  f"{other / ours:5.2f}")
    function = ad.differentiable(smooth)
    y = function(x, 0.3)
    _, pullback = ad.vjp(smooth, a, 0.3)
    one, plain = paired(lambda: ad.grad(y, x, seed, retain_graph=True), lambda: pullback(seed), repeats)
    eager = x + 1.0
    empty, _ = paired(lambda: ad.grad(eager, x, seed, retain_graph=True), lambda: None, repeats)
    print(f"{'compiled node':34s} pullback {plain * 1e6:6.1f} us   grad() {one * 1e6:6.1f} us   of which an empty grad() "
          f"{empty * 1e6:6.1f} us")


def threads(quick: bool) -> None:
    """Gradients with `parallel=True` beside those on one thread, with as many threads as Numba finds."""
    r = np.random.default_rng(0)
    n, side = (1000, 12) if quick else (1_000_000, 1000)
    A, H, small = r.random((side, side)), r.random((side // 10 or 5,) * 3), r.random((12 if quick else 100,) * 2)
    steps = 2 if quick else 20
    cases = [("elementwise chain", (r.random(n) + 0.5, r.random(n))),
             ("arc distances", tuple(r.random(n) + shift for shift in (0.3, 0.1, 1.4, 1.1))),
             ("5-point stencil by slices", (A, A.copy(), steps)), ("heat equation 3-D by slices", (H, H.copy(), steps)),
             ("5-point stencil by slices", (small, small.copy(), steps))]
    for name, args in cases[:1 if quick else None]:
        program = BENCHMARKS[name]
        one = value_and_grad(program.function, wrt=program.wrt)
        several = value_and_grad(program.function, wrt=program.wrt, parallel=True)
        a, b = paired(lambda: one(*args), lambda: several(*args), 3 if quick else 25)
        size = " x ".join(map(str, args[0].shape))
        count = numba.get_num_threads()
        print(f"{name + ', ' + size:46s} one thread {a * 1e3:8.2f} ms   {count} threads {b * 1e3:8.2f} ms   "
              f"{a / b:4.2f} times")


def simulated(u, c, T):
    for _ in range(T):
        u = u + c * np.sin(np.roll(u, 1) - u)
    return np.sum(u * u)


def simulated_with_copies(u, c, T, k):
    for _ in checkpoint(range(T), snapshots=k):
        u = u + c * np.sin(np.roll(u, 1) - u)
    return np.sum(u * u)


def checkpoints(quick: bool) -> None:
    """A long simulation with a tape and with copies: time, and the bytes of tape and copies."""
    n, T = (20, 30) if quick else (20_000, 2000)
    u = np.random.default_rng(0).random(n)
    taped = Gradient(simulated, options=Options(segments="never"))
    taped(u, 0.1, T)
    for k in (5,) if quick else (5, 10, 20, 50):
        kept = grad(simulated_with_copies)
        kept(u, 0.1, T, k)
        a, b = paired(lambda: taped(u, 0.1, T), lambda k=k: kept(u, 0.1, T, k), 3)
        print(f"{f'{T} steps of {n} numbers, {k} copies':46s} tape {8e-6 * n * T:6.1f} MB {a:6.3f} s   "
              f"copies {8e-6 * n * k:6.1f} MB {b:6.3f} s   {b / a:4.2f} times")


CALLS = {"call": call, "forms": forms, "first": first_call, "compiling": compiling, "growth": growth, "tensors": tensors,
         "threads": threads, "checkpoints": checkpoints, "segments": segments, "sparse": sparse, "library": library}
