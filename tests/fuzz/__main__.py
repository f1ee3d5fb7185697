"""`python -m tests.fuzz --minutes 3 --seed 1`: random programs until the time is up; failures are shrunk and printed."""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

from .checks import outcome
from .programs import program
from .shrink import script, shrink


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0, help="how long (default 3)")
    parser.add_argument("--seed", type=int, default=0, help="programs are seed * 1000000, and so on")
    parser.add_argument("--most", type=int, default=10 ** 6, metavar="N", help="programs, where the time is not up before")
    parser.add_argument("--only", type=int, metavar="N", help="this one program, printed with what is found")
    parser.add_argument("--draws", action="store_true", help="programs that draw from a random generator")
    parser.add_argument("--compiled", type=int, default=40, metavar="N", help="compile every N-th program (default 40)")
    parser.add_argument("--second", type=int, default=4, metavar="N", help="second order for every N-th (default 4)")
    parser.add_argument("--shrink", type=float, default=90.0, metavar="S", help="seconds for each failure (default 90)")
    parser.add_argument("--out", type=Path, help="a folder for the failing programs, as files")
    parser.add_argument("--verbose", action="store_true", help="print each number before the program runs")
    options = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    if options.only is not None:
        one = program(options.only, options.draws)
        print(script(one, "program", ""))
        print(outcome(one, 2, compiled=True))
        return 0
    end, seed = time.monotonic() + 60.0 * options.minutes, options.seed * 1_000_000
    verdicts: Counter = Counter()
    checks: Counter = Counter()
    refusals: Counter = Counter()
    failed: Counter = Counter()
    while time.monotonic() < end and sum(verdicts.values()) < options.most:
        if options.verbose:
            print(seed, end=" ", flush=True)
        one, number = program(seed, options.draws), seed - options.seed * 1_000_000
        level, compiled = 2 if number % options.second == 0 else 1, number % options.compiled == 0
        found = outcome(one, level, compiled)
        verdicts[found.verdict] += 1
        checks.update(set(found.checks))
        if found.verdict == "refused":
            refusals[reason(found.kind)] += 1
        if found.verdict == "failed":
            failed[found.kind] += 1
            report(one, found, level, compiled, options, failed[found.kind])
        seed += 1
    print(f"{sum(verdicts.values())} programs: " + ", ".join(f"{n} {v}" for v, n in sorted(verdicts.items())))
    print("checks passed: " + ", ".join(f"{n} {c}" for c, n in checks.most_common()))
    for table, title in ((refusals, "refused"), (failed, "failed")):
        for text, n in table.most_common(12):
            print(f"{title} {n}: {text}")
    return 1 if failed else 0


def report(one, found, level, compiled, options, times) -> None:
    """Print a failure, as small as it gets; only the first ones of a kind are shrunk."""
    if times <= 5:
        one = shrink(one, lambda p: outcome(p, level, compiled).kind == found.kind, options.shrink)
        found = outcome(one, level, compiled)
    text = script(one, found.kind, found.text)
    print("-" * 100, text, found.text, sep="\n", flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"failure_{one.seed}.py").write_text(text)


def reason(text: str) -> str:
    """A message without the names in it."""
    pieces = text.split("`")
    return "`…`".join(pieces[::2])


if __name__ == "__main__":
    sys.exit(main())
