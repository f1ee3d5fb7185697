"""python -m tests.benchmarks [--only NAME ...] [--quick]"""

from __future__ import annotations

import argparse
import os

NAMES = ("stencil", "lu", "chain", "rosenbrock", "first", "memory")


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Ratios of gradients to primals.")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME",
                        help=f"measurements to make: {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: whether it runs, not how fast")
    chosen = parser.parse_args(arguments)
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[threads] = "1"           # before the libraries that read them are imported

    from .cases import CASES
    from .measure import HEAD
    print(HEAD, flush=True)
    for name in chosen.only:
        for row in CASES[name](chosen.quick):
            print(row, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
