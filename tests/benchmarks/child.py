"""What runs in a fresh process: `python -m tests.benchmarks.child first` or `... memory T N`. Prints JSON."""

from __future__ import annotations

import json
import sys
import time


def first() -> dict:
    """Seconds from the end of `import numba` to the first gradient in hand."""
    import numba  # noqa: F401
    start = time.perf_counter()
    from autodiff import grad

    from .twenty_lines import arguments, model
    gradient = grad(model)(*arguments())
    return {"seconds": time.perf_counter() - start, "gradient": gradient.tolist()}


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
            "states": 8 * steps * units, "tape": str(gradient.tape).splitlines()}


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


if __name__ == "__main__":
    print(json.dumps(first() if sys.argv[1] == "first" else memory(int(sys.argv[2]), int(sys.argv[3]))))
