"""Random programs on a device against the CPU: `python -m tests.cuda.random_programs FIRST END [PROCESSES]`.

Under the simulator, or with NUMBA_ENABLE_CUDASIM=0 on a GPU. The programs are those of `tests.fuzz` that give a number; a
device refuses a quarter of them. Value and gradients are those of Python's mode. Of one number alone it prints the program.
"""

import os
import sys
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")
import numpy as np

from autodiff import AutodiffError, value_and_grad
from tests.fuzz.programs import program


def verdict(seed: int) -> str:
    """ "ok", "refused", "skipped" or what differs."""
    made = program(seed)
    f = made.module()["f"]
    wrt = tuple(k for k, a in enumerate(made.values()) if np.asarray(a).dtype.kind == "f")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = value_and_grad(f, wrt=wrt, mode="python")(*made.values())
        except (AutodiffError, ArithmeticError, ValueError, IndexError) as e:       # several results among others
            return f"skipped: {type(e).__name__}"
        try:
            found = value_and_grad(f, wrt=wrt, target="cuda")(*made.values())
        except AutodiffError:
            return "refused"
        except Exception as e:
            return f"{seed}: {e!r}"[:300]
    names = ["the value", *(f"the gradient of `{made.names[k]}`" for k in wrt)]
    for name, a, b in zip(names, (found[0], *found[1]), (expected[0], *expected[1]), strict=True):
        size = np.max(np.abs(b), initial=0.0)
        if np.all(np.isfinite(b)) and not np.allclose(a, b, rtol=1e-9, atol=1e-9 * size):
            return f"{seed}: {name} is {a}, and {b} on the CPU"[:300]
    return "ok"


def main() -> None:
    first, end, processes = *map(int, sys.argv[1:3]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    if end == first + 1:
        print(program(first).source, program(first).arguments)
    count: Counter = Counter()
    with ProcessPoolExecutor(processes) as pool:
        waiting = [(seed, pool.submit(verdict, seed)) for seed in range(first, end)]
        for seed, future in waiting:
            try:
                said = future.result(timeout=120)
            except (TimeoutError, BrokenProcessPool) as e:
                print(seed, type(e).__name__, flush=True)
                continue
            count[said if said in ("ok", "refused") or said.startswith("skipped") else "wrong"] += 1
            if said[0].isdigit():
                print(said, flush=True)
    print(dict(count))


if __name__ == "__main__":
    main()
