"""`python -m tests.bridges.seeds torch --minutes 10 --seed 1000`: the random tests of a bridge on seeds that no test has."""

from __future__ import annotations

import argparse
import importlib
import inspect
import time
import traceback
import warnings

TESTS = {"jax": [("test_jax", "test_random_structures")], "torch": [("test_torch", "test_random_arguments")],
         "torch_compile": [("test_torch_compile", "test_random_calls_in_graphs")],
         "pytensor": [("test_pytensor", "test_random_functions"), ("test_pytensor_joint", "test_random_densities")],
         "sharded": [("test_sharded", "test_random_shards_against_all_data")],
         "ipopt": [("test_ipopt", "test_random_sparse_problems")]}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bridges.seeds", description=__doc__)
    parser.add_argument("bridge", choices=TESTS)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1000, help="the first one")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tests = [getattr(importlib.import_module(f"{__package__}.{file}"), name) for file, name in TESTS[options.bridge]]
    if options.bridge == "jax":                     # as its fixture does
        importlib.import_module("jax").config.update("jax_enable_x64", True)
    end, seed, failed = time.monotonic() + 60.0 * options.minutes, options.seed, 0
    while time.monotonic() < end:
        for test in tests:
            takes = inspect.signature(test).parameters
            named = {"linker": "py" if seed % 8 else "numba"} if "linker" in takes else {}
            try:
                test(**named, seed=seed)
            except Exception:
                failed += 1
                print(f"---- seed {seed}, {test.__name__} {named}\n{traceback.format_exc(limit=-3)}", flush=True)
        seed += 1
    print(f"{options.bridge}: {seed - options.seed} seeds, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
