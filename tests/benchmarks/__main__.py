"""Timings of programs by several tools: `python -m tests.benchmarks [--only TEXT] [--peers jax,torch,autograd]`.

Every program runs in a fresh process for each tool, float64, one core unless `--threads` says otherwise; the processes
take turns, so that what disturbs the machine disturbs all. Figures are medians; `±` is half the distance of the quartiles.
"""

from __future__ import annotations

import argparse
import os
import sys

from . import report, tools
from .calls import CALLS
from .compare import compare
from .suite import BENCHMARKS


def parse(arguments):
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="TEXT",
                        help=f"programs whose names contain this text, or one of {', '.join(CALLS)}; may be repeated")
    parser.add_argument("--peers", default="", help="of jax, torch, autograd those that are installed (extra `bench`)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tiny", action="store_true", help="sizes at which only errors can be found")
    parser.add_argument("--adbench", metavar="FOLDER", help="ADBench's data folder (with gmm/, ba/, lstm/, hand/)")
    parser.add_argument("--write", metavar="PAGE", help="put the table between the marks of this page, the chart beside it")
    return parser.parse_args(arguments)


def main(arguments=None) -> None:
    options = parse(arguments)
    if options.adbench:
        os.environ["ADBENCH_DATA"] = os.path.abspath(options.adbench)
    asked = options.only or [""]
    peers = [p for p in options.peers.split(",") if p]
    if set(peers) - set(tools.PEERS):
        raise SystemExit(f"--peers: choose among {', '.join(tools.PEERS)}")
    rows: dict = {}
    for name, program in BENCHMARKS.items():
        if any(text.lower() in name.lower() for text in asked):
            rows[name] = compare(program, (*tools.OWN, *peers), options.tiny, options.rounds, options.threads)
            print("  ".join(report.row(name, rows[name])), flush=True)
            if wrong := report.errors({name: rows[name]}):
                print(wrong, file=sys.stderr)
    if len(rows) > 1:
        print("  ".join(report.means(rows)))
    if options.write:
        chart = os.path.splitext(options.write)[0] + ".svg"
        report.draw(chart, rows)
        command = "python -m tests.benchmarks " + " ".join(sys.argv[1:] if arguments is None else arguments)
        report.write(options.write, rows, command, os.path.basename(chart))
    for name, run in CALLS.items():
        if name in asked or not options.only:
            run(options.tiny)


if __name__ == "__main__":
    main()
