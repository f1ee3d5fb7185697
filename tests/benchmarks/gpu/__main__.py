"""Gradients on a GPU against what the hardware allows, JAX and torch: `python -m tests.benchmarks.gpu [--out rows.json]`.

`--dry-run` runs everything under Numba's simulator at tiny sizes, and needs no GPU; `--static` needs none either: it
compiles the kernels for compute capability 9.0 and counts registers, instructions and bytes. `forward` is the value alone,
`forward+backward` value and gradient; medians of rounds in which the frameworks take turns. The floor is what must be moved
or computed, at the bandwidth and arithmetic measured in the same run.
"""

from __future__ import annotations

import argparse
import os
import sys
import time


def parse(arguments):
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="TEXT",
                        help="cases whose names contain this text; may be repeated")
    parser.add_argument("--peers", default="jax,torch,torch.compile", help="those that are wanted, if they can be imported")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=540.0, help="begin nothing new after this time")
    parser.add_argument("--out", metavar="FILE", help="write all times as JSON")
    parser.add_argument("--dry-run", action="store_true", help="tiny sizes under the simulator; peers on the CPU")
    parser.add_argument("--static", action="store_true", help="compile and count; run nothing")
    return parser.parse_args(arguments)


def main(arguments=None) -> int:
    options = parse(arguments)
    if options.dry_run:
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"        # before anything imports Numba
        sys.setswitchinterval(1e-5)
    from .cases import CASES
    asked = options.only or [""]
    chosen = [c for name, c in CASES.items() if any(text.lower() in name.lower() for text in asked)]
    if options.static:
        from .static import report
        print(report(chosen))
        return 0
    return compare(chosen, options)


def compare(cases, options) -> int:
    import autodiff

    from . import frameworks, measuring, table
    from .running import run
    deadline = time.monotonic() + options.seconds
    hardware = measuring.nominal() if options.dry_run else measuring.measured()
    ours = frameworks.Ours(simulated=options.dry_run)
    asked = [name for name in options.peers.split(",") if name]
    others, missing = frameworks.peers(asked, "cpu" if options.dry_run else "cuda")
    tools = [ours, *others]
    facts = {"gpu": hardware.name, "bandwidth": hardware.bandwidth, "peak": hardware.peak, "from": hardware.source,
             "dry run": options.dry_run, "versions": {"autodiff": autodiff.__version__, **versions(),
                                                      **{f.name: f.version for f in tools[1:]}}}
    print(f"{hardware.name}; {hardware.source}: copies {hardware.bandwidth / 1e12:.2f} TB/s, float32 "
          f"{hardware.peak / 1e12:.1f} Tflop/s")
    print(f"autodiff {autodiff.__version__} {ours.version}; " + "; ".join(f"{k} {v}" for k, v in facts["versions"].items()
                                                                         if k != "autodiff"))
    for line in missing:
        print(line)
    rows = []
    for case in cases:
        start = time.monotonic()
        rows += run(case, tools, hardware, tiny=options.dry_run, rounds=2 if options.dry_run else options.rounds,
                    deadline=deadline)
        print(f"{case.name}: {time.monotonic() - start:.1f} s; floor: {case.floor(**case.full).count}", flush=True)
        if options.out:
            table.write(options.out, facts, rows)
    print(table.text_of(rows))
    if options.dry_run:
        print("dry run: times of the simulator say nothing of a GPU")
    return 0


def versions() -> dict[str, str]:
    """Of what runs our kernels."""
    from importlib import metadata
    found = {}
    for name in ("numba-cuda", "numba", "numpy", "nvidia-nvvm"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    sys.exit(main())
