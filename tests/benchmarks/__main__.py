"""Timings: `python -m tests.benchmarks [--only NAME] [--quick]`. Medians of interleaved runs, one thread, one process."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from autodiff import grad, value_and_grad

from . import programs


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


def ratio(name, gradient, primal, note="") -> None:
    g, p = paired(gradient, primal)
    print(f"{name:34s} primal {p * 1e3:9.3f} ms   gradient {g * 1e3:9.3f} ms   ratio {g / p:5.2f}   {note}")


def stencil(quick: bool) -> None:
    n, steps = (20, 3) if quick else (250, 100)
    A = np.random.default_rng(0).random((n, n))
    second = A.copy()
    made = grad(programs.stencil, wrt=(0, 1))
    made(A, second, steps)
    ratio("stencil by slices", lambda: made(A, second, steps),
          lambda: programs.stencil_by_hand(A, A, steps), f"tape: {len(made.tape)} entries")


def lu(quick: bool) -> None:
    n = 8 if quick else 60
    A = np.random.default_rng(0).random((n, n)) + n * np.eye(n)
    made = grad(programs.lu)
    made(A)
    ratio("LU in place", lambda: made(A), lambda: programs.lu_by_hand(A), f"tape: {len(made.tape)} entries")


def chain(quick: bool) -> None:
    n = 1000 if quick else 2_000_000
    r = np.random.default_rng(0)
    x, w = r.random(n) + 0.5, r.random(n)
    made = grad(programs.chain, wrt=(0, 1))
    made(x, w)
    loops, arrays = made.source.count("for "), made.source.count("np.empty")
    ratio("sum of sin exp log", lambda: made(x, w), lambda: programs.chain_by_hand(x, w),
          f"{loops} loop, {arrays} temporaries")


def rosenbrock(quick: bool) -> None:
    made = grad(programs.rosenbrock, wrt=(0, 1))
    count = 1000 if quick else 200_000

    def many(call):
        def run():
            for _ in range(count):
                call(0.3, 0.7)
        return run
    g, p = paired(many(made), many(programs.rosenbrock_jitted), 7)
    print(f"{'Rosenbrock call':34s} Numba {p / count * 1e6:.3f} us   gradient {g / count * 1e6:.3f} us   "
          f"more {(g - p) / count * 1e6:.3f} us")


def first_call(quick: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "model.py")
        with open(script, "w") as f:
            f.write(programs.TWENTY_LINES)
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


def rnn(quick: bool) -> None:
    T, n = (5, 4) if quick else (2000, 100)
    r = np.random.default_rng(0)
    W, xs = r.standard_normal((n, n)) / n, r.standard_normal((T, n))
    made = grad(programs.rnn, wrt=(0, 1))
    made(W, xs)
    names = {"W_0": n, "W_1": n, "xs_0": T, "xs_1": n}
    kept = sum(eval(q.bytes, {}, names) for q in made.tape)
    ideal = 8 * (2 * (W.size + xs.size) + T * n)
    print(f"{'RNN, T = %d, n = %d' % (T, n):34s} tape {kept / 8 / T / n:.2f} T n floats   inputs + tape + adjoints "
          f"{(kept + 16 * (W.size + xs.size)) / ideal:.3f} of inputs + T n + adjoints")


def mixture(quick: bool) -> None:
    import numba
    by_hand = numba.njit(error_model="numpy")(programs.mixture)
    for d, K, n in [(2, 3, 20)] if quick else [(10, 25, 1000), (20, 50, 1000)]:
        r = np.random.default_rng(0)
        args = (r.standard_normal(K), r.standard_normal((K, d)), 0.1 * r.standard_normal((K, d * (d + 1) // 2)),
                r.standard_normal((n, d)))
        made = value_and_grad(programs.mixture, wrt=(0, 1, 2))
        made(*args)
        ratio(f"mixture, n {n} d {d} K {K}", lambda args=args, made=made: made(*args), lambda args=args: by_hand(*args),
              f"tape: {', '.join(f'{t.name}[{chr(44).join(t.shape)}]' for t in made.tape)}")


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
        other, ours = paired(lambda: torch.autograd.grad(chain(u, v, torch.sin), [u, v], ones),
                             lambda: ad.grad(chain(x, w), [x, w], seed), repeats)
        print(f"{'':34s} torch {other * 1e6:8.1f} us   ours {ours * 1e6:8.1f} us   torch / ours {other / ours:5.2f}")
    function = ad.differentiable(programs.smooth)
    y = function(x, 0.3)
    _, pullback = ad.vjp(programs.smooth, a, 0.3)
    one, plain = paired(lambda: ad.grad(y, x, seed, retain_graph=True), lambda: pullback(seed), repeats)
    eager = x + 1.0
    empty, _ = paired(lambda: ad.grad(eager, x, seed, retain_graph=True), lambda: None, repeats)
    print(f"{'compiled node':34s} pullback {plain * 1e6:6.1f} us   grad() {one * 1e6:6.1f} us   of which an empty grad() "
          f"{empty * 1e6:6.1f} us")


BENCHMARKS = {"stencil": stencil, "lu": lu, "chain": chain, "rosenbrock": rosenbrock, "first": first_call, "rnn": rnn,
              "mixture": mixture, "tensors": tensors}


def main(arguments=None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", choices=sorted(BENCHMARKS), action="append")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs")
    options = parser.parse_args(arguments)
    for name in options.only or BENCHMARKS:
        BENCHMARKS[name](options.quick)


if __name__ == "__main__":
    main()
