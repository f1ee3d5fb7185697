"""What runs in a fresh process: `python -m tests.benchmarks.child first`, `bare` or `memory T N`. Prints JSON."""

from __future__ import annotations

import json
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def environment(store: str | None = None) -> dict[str, str]:
    """Variables for a fresh process: this one's search path, and a store of its own if one is given."""
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return found if store is None else {**found, "AUTODIFF_CACHE_DIR": store, "NUMBA_CACHE_DIR": store}


def first() -> dict:
    """Seconds from the end of `import numba` to the first gradient in hand."""
    import numba  # noqa: F401
    start = time.perf_counter()
    from autodiff import grad

    from .twenty_lines import arguments, model
    gradient = grad(model)(*arguments())
    return {"seconds": time.perf_counter() - start, "gradient": gradient.tolist()}


def bare() -> dict:
    """The same for the smallest function that Numba itself keeps: what no library on top of Numba can undercut."""
    import numba  # noqa: F401
    start = time.perf_counter()
    from .programs import successor
    successor(1.0)
    return {"seconds": time.perf_counter() - start}


def memory(steps: int, units: int) -> dict:
    """Peak resident bytes of a gradient of an RNN beyond those resident before the call, when the inputs already are."""
    import numpy as np

    from autodiff import grad

    from .programs import rnn
    generator = np.random.default_rng(0)
    gradient = grad(rnn, wrt=(0, 1))
    gradient(np.eye(3), np.ones((4, 3)))                # compiled, and BLAS has its buffers
    W, x = generator.standard_normal((units, units)) / units, generator.standard_normal((steps, units))
    before = resident()
    W_bar, x_bar = gradient(W, x)
    peak = highest()
    return {"beyond": peak - before, "inputs": W.nbytes + x.nbytes, "adjoints": W_bar.nbytes + x_bar.nbytes,
            "states": 8 * steps * units, "tape": [str(entry) for entry in gradient.tape]}


def resident() -> int:
    """Bytes resident now (Linux), else the highest so far."""
    import resource
    try:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * resource.getpagesize()
    except OSError:
        return highest()


def highest() -> int:
    """The most bytes ever resident in this process."""
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main(what: str, *sizes: str) -> dict:
    return {"first": first, "bare": bare, "memory": memory}[what](*map(int, sizes))


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
