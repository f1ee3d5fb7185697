"""`python -m tests.fuzz --minutes 3 --seed 1`: random programs until the time is up; failures are shrunk and printed.

`--profile NAME` runs the cases of one file of this folder instead, whose `attempt(seed)` returns an Outcome and a script.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

from .checks import outcome
from .programs import program
from .shrink import script, shrink

PROFILES = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if "\ndef attempt(" in p.read_text(encoding="utf-8"))


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
    parser.add_argument("--profile", choices=PROFILES, help="cases of this kind, instead of programs")
    parser.add_argument("--verbose", action="store_true", help="print each number before the program runs")
    options = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    if options.profile:
        return profile(options)
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
    print("checks passed: " + ", ".join(f"{n} {c}" for c, n in checks.most_common()))
    return summary(verdicts, refusals, failed)


def profile(options) -> int:
    """The cases of one profile."""
    attempt = importlib.import_module(f"{__package__}.{options.profile}").attempt
    if options.only is not None:
        found, text = attempt(options.only)
        print(text, found, sep="\n")
        return int(found.verdict == "failed")
    end, seed = time.monotonic() + 60.0 * options.minutes, options.seed * 1_000_000
    verdicts: Counter = Counter()
    refusals: Counter = Counter()
    failed: Counter = Counter()
    while time.monotonic() < end and sum(verdicts.values()) < options.most:
        if options.verbose:
            print(seed, end=" ", flush=True)
        found, text = attempt(seed)
        verdicts[found.verdict] += 1
        if found.verdict == "refused":
            refusals[reason(found.kind)] += 1
        if found.verdict == "failed":
            failed[found.kind] += 1
            case = f"# --profile {options.profile} --only {seed}"
            print("-" * 100, case, text, found.kind, found.text, sep="\n", flush=True)
        seed += 1
    return summary(verdicts, refusals, failed)


def summary(verdicts, refusals, failed) -> int:
    """Print what was found; the exit status."""
    print(f"{sum(verdicts.values())} programs: " + ", ".join(f"{n} {v}" for v, n in sorted(verdicts.items())))
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
