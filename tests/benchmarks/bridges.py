"""What bridges cost over a direct call: `python -m tests.benchmarks.bridges [--only dask]`. Medians, microseconds."""

from __future__ import annotations

import argparse
import functools
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np


def median(call, repeats: int = 15) -> float:
    """Microseconds of a call."""
    call()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return 1e6 * statistics.median(times)


def squares(w, X, y):
    total = 0.0
    for i in range(X.shape[0]):
        r = -y[i]
        for j in range(X.shape[1]):
            r += X[i, j] * w[j]
        total += np.tanh(r) ** 2
    return total


def dask() -> None:
    """Overhead of a shard, and how much faster two workers are."""
    import dask.array as da
    import distributed

    from autodiff import sharded, value_and_grad
    from autodiff.dask import value_and_grad as over_blocks

    w, count = np.linspace(-1.0, 1.0, 16), 64
    direct = value_and_grad(squares)
    for rows in (100, 20_000):
        X, y = np.random.default_rng(0).normal(size=(rows * count, 16)), np.zeros(rows * count)
        shards = [(X[k * rows:(k + 1) * rows], y[k * rows:(k + 1) * rows]) for k in range(count)]
        blocks = da.from_array(X, (rows, 16)), da.from_array(y, rows)
        whole = median(lambda X=X, y=y: direct(w, X, y))
        found = {"one call": whole, "sharded, map": median(functools.partial(sharded(squares, shards).value_and_grad, w))}
        with ThreadPoolExecutor(2) as pool:
            threads = sharded(squares, shards, map=pool.map)
            found["sharded, 2 threads"] = median(functools.partial(threads.value_and_grad, w))
        found["dask, threads"] = median(functools.partial(over_blocks(squares, blocks), w))
        with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
            with distributed.Client(cluster):
                kept = tuple(b.persist() for b in blocks)
                distributed.wait(kept)
                found["dask, 2 processes"] = median(functools.partial(over_blocks(squares, kept), w), 5)
        print(f"\n{count} shards of {rows} rows: us in all, us a shard over one call")
        for name, us in found.items():
            print(f"  {name:20} {us:10.0f} {(us - whole) / count:10.1f}")


def recurrence(x, w):
    y = np.zeros(x.shape[0])
    s = 0.0
    for i in range(x.shape[0]):
        s = np.tanh(w[i] * s + x[i])
        y[i] = s
    return y


def jax() -> None:
    """A gradient from Python and inside one XLA program, beside `lax.scan`."""
    import jax
    import jax.numpy as jnp

    from autodiff.jax import wrap

    jax.config.update("jax_enable_x64", True)
    ours = wrap(recurrence)

    def scanned(x, w):
        return jax.lax.scan(lambda s, xw: (jnp.tanh(xw[1] * s + xw[0]),) * 2, 0.0, (x, w))[1]

    def gradient(f):
        return jax.jit(jax.grad(lambda x, w: jnp.sum(f(x, w)), argnums=(0, 1)))
    print("\nus of a jitted gradient from Python, and in a loop of 1,000 inside jit: ours, lax.scan")
    for n in (10, 1000, 100_000):
        x, w = jnp.linspace(0.1, 1.0, n), jnp.full(n, 0.5)
        alone, inside = [], []
        for f in (ours, scanned):
            jitted = gradient(f)
            alone.append(median(lambda g=jitted, x=x, w=w: jax.block_until_ready(g(x, w)), 101))
        for f in (ours, scanned) if n < 100_000 else ():
            one = jax.grad(lambda x, w, f=f: jnp.sum(f(x, w)))
            many = jax.jit(lambda x, w, one=one: jax.lax.fori_loop(0, 1000, lambda _, x: x - 1e-3 * one(x, w), x))
            inside.append(median(lambda g=many, x=x, w=w: g(x, w).block_until_ready(), 7) / 1000)
        print(f"  n = {n:7}   {alone[0]:9.1f} {alone[1]:9.1f}   " + " ".join(f"{us:9.2f}" for us in inside))


def torch() -> None:
    """Forward and backward beside a direct call of the compiled functions, and beside an operation of torch's own."""
    import torch

    from autodiff import entry
    from autodiff.torch import wrap

    x, w = (torch.linspace(0.1, 1.0, 10, dtype=torch.float64, requires_grad=True) for _ in range(2))
    ours, a, b = wrap(recurrence), x.detach().numpy(), w.detach().numpy()
    value, back = (entry(recurrence, a, b, kind=kind).function for kind in ("value", "vjp"))
    found = {"direct": median(lambda: (value(a, b), back(a, b, np.ones(10))), 501),
             "wrapped": median(lambda: ours(x, w).sum().backward(), 501),
             "torch's x.sin().sum()": median(lambda: x.sin().sum().backward(), 501)}
    print("\nn = 10, forward and backward, us: " + ", ".join(f"{name} {us:.1f}" for name, us in found.items()))


SECTIONS = {"dask": dask, "jax": jax, "torch": torch}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=SECTIONS)
    chosen = parser.parse_args()
    for name, section in SECTIONS.items():
        if chosen.only in (None, name):
            section()


if __name__ == "__main__":
    main()
