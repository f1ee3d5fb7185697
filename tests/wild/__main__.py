"""`python -m tests.wild PACKAGE ...`: functions of installed packages, as they are, against Python and central differences.

For each function that `python -m autodiff check` says differentiates, at the arguments that it guessed: the value, and the
pullback along a random direction. No package is installed by this; `packages.txt` lists those that were tried last.
"""

from __future__ import annotations

import argparse
import copy
import sys
import warnings
from collections import Counter

import numpy as np

from autodiff import AutodiffError, vjp
from autodiff.survey.findings import (
    FAULT,
    NO,
    OPEN,
    YES,
    functions_of,
    judged,
    modules_of,
    without_names,
)
from autodiff.survey.limits import TookTooLong, limited

TOLERANCE = 1e-4


def flat(result) -> np.ndarray | None:
    """The floats of a result, in order, with their imaginary parts; None where there are none, or what is no number or array
    of them."""
    if isinstance(result, (tuple, list)):
        parts = [flat(r) for r in result]
        return None if any(p is None for p in parts) or not parts else np.concatenate(parts)
    if isinstance(result, dict):
        return flat(list(result.values()))
    if isinstance(result, (bool, int, str, type(None), np.bool_, np.integer)):
        return np.zeros(0)
    made = np.asarray(result)
    parts = np.stack([made.real.ravel(), made.imag.ravel()]) if made.dtype.kind in "fc" else np.zeros((2, 0))
    return parts.astype(float).ravel() if made.dtype.kind in "fcbi" else None


def moved(values, directions, h: float) -> list:
    return [copy.deepcopy(v) if d is None else v + h * d for v, d in zip(values, directions, strict=True)]


def mirrored(v, lower: bool = True):
    """A square matrix with its lower, or its upper, triangle on both sides; anything else as it is."""
    square = isinstance(v, np.ndarray) and v.ndim == 2 and v.shape[0] == v.shape[1]
    kept = v if lower or not square else v.T
    return np.tril(kept) + np.tril(kept, -1).T if square else v


def triangle_alone(function, values, want) -> tuple | None:
    """Arguments whose matrices are symmetric where a function reads one triangle of its matrices alone, as `cholesky` and
    `eigh` do: its derivative is that of symmetric matrices."""
    for lower in (True, False) if any(isinstance(v, np.ndarray) and v.ndim == 2 for v in values) else ():
        others = tuple(mirrored(copy.deepcopy(v), lower) for v in values)
        try:
            if np.array_equal(flat(function(*copy.deepcopy(others))), want, equal_nan=True):
                return others
        except Exception:
            return None
    return None


def compared(function, values, seconds: float, symmetric: bool = False) -> str:
    """right, wrong ..., unlike ..., or why nothing was compared. symmetric: whether matrices are, and stay so."""
    draw = np.random.default_rng(0)
    directions = [draw.uniform(-1, 1, v.shape) if isinstance(v, np.ndarray) else float(draw.uniform(-1, 1)) if isinstance(
        v, float) else None for v in values]
    directions = [mirrored(d) for d in directions] if symmetric else directions

    def python(h):
        return flat(function(*moved(values, directions, h)))
    try:
        with limited(seconds):
            want = python(0.0)
            around = [python(s * h) for h in (1e-5, 1e-6) for s in (1.0, -1.0)]
    except TookTooLong:
        return "slow in Python"
    except Exception as e:
        try:
            with limited(seconds):
                vjp(function, *copy.deepcopy(values), mode="python")
        except type(e):
            return "right (raises)"
        except (AutodiffError, TookTooLong):
            return "Python raises"
        except Exception as mine:
            return f"unlike: Python raises {type(e).__name__}, found {type(mine).__name__}"
        return f"unlike: Python raises {type(e).__name__}: {e}"[:120]
    if want is not None and not symmetric and (others := triangle_alone(function, values, want)) is not None:
        return compared(function, others, seconds, symmetric=True)
    if want is None or any(a is None or a.shape != want.shape for a in around):
        return "no floats"
    try:
        with limited(seconds):
            value, pullback = vjp(function, *copy.deepcopy(values), mode="python")
            seeds = seeds_like(value, iter(range(10 ** 6)))
            bars = pullback(seeds)
    except TookTooLong:
        return "slow"
    except AutodiffError as e:
        return f"refused: {without_names(e.problem)}"
    except Exception as e:
        return f"unlike: raises {type(e).__name__}: {e}".split("\n")[0][:120]
    if flat(value) is None or flat(value).shape != want.shape:
        return "no floats" if not want.size else f"unlike: {value}, in Python of another structure"[:120]
    if not np.allclose(flat(value), want, rtol=1e-8, atol=1e-12, equal_nan=True):
        return f"wrong value: {flat(value)[:3]}, Python {want[:3]}"
    slopes = [(around[k] - around[k + 1]) / (2 * h) for k, h in ((0, 1e-5), (2, 1e-6))]
    weights = flat(seeds)
    central = [float(np.sum(weights * s)) for s in slopes]
    bars = bars if isinstance(bars, tuple) else (bars,)
    found = sum(float(np.sum(b * d)) for b, d in zip(bars, directions, strict=False) if d is not None and b is not None)
    scale = max(1e-8, abs(central[1]), float(np.sum(np.abs(weights * slopes[1]))))
    sides = [float(np.sum(weights * s)) for s in ((around[2] - want) / 1e-6, (want - around[3]) / 1e-6)]
    rounding = 1e-16 * float(np.sum(np.abs(weights * want))) / 1e-5
    noise = abs(central[0] - central[1]) + 10.0 * rounding
    if not np.isfinite(central).all() or noise > 1e-3 * scale or abs(sides[0] - sides[1]) > 1e-2 * scale:
        return "right (value; a kink or noise)"
    if np.isnan(found):
        return "nan: zero times infinity"
    if abs(found - central[0]) <= TOLERANCE * scale + 3.0 * noise:
        return "right"
    for h in (1e-3, 1e-2):                      # a number of many digits, to which small steps are lost (a Julian day)
        wide = float(np.sum(weights * (python(h) - python(-h)))) / (2.0 * h)
        if abs(found - wide) <= TOLERANCE * scale:
            return "right (value; small steps are lost)"
    seen = np.abs(slopes[1]) * 1e-15 > 2.0 * np.spacing(np.abs(want))          # what would change by several digits
    if found == 0.0 and seen.any() and all(np.array_equal(python(h), want) for h in (1e-15, -1e-15)):
        return "right (value; a staircase of digits)"
    return f"wrong gradient: {found}, differences {central}"


def seeds_like(value, count):
    """A cotangent of the structure of a result: 1, 0.5, 0.33, ...; of complex numbers 1 - 0.5j, ..."""
    if hasattr(value, "_fields"):
        return type(value)(*(seeds_like(v, count) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(seeds_like(v, count) for v in value)
    if isinstance(value, dict):
        return {k: seeds_like(v, count) for k, v in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return np.array([seeds_like(v, count) for v in value.ravel()], value.dtype).reshape(value.shape)
    if isinstance(value, (complex, np.complexfloating)):
        return complex(seeds_like(0.0, count), -seeds_like(0.0, count))
    return 1.0 / (1 + next(count)) if isinstance(value, (float, np.floating)) else None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.wild", description=__doc__)
    parser.add_argument("packages", nargs="+", help="packages or files")
    parser.add_argument("--seconds", type=float, default=20.0, help="at most for one function (default 20)")
    parser.add_argument("--only", help="functions whose names hold this text")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    total: Counter = Counter()
    with np.errstate(all="ignore"):
        for package in options.packages:
            counts: Counter = Counter()
            for module in modules_of(package):
                for name, function in functions_of(module):
                    if options.only and options.only not in name:
                        continue
                    finding = judged(name, function, options.seconds)
                    said = compared(function, finding.values, options.seconds) if finding.verdict == YES else finding.verdict
                    if said.startswith(("wrong", "unlike")) or finding.verdict == FAULT:
                        print(f"{finding.file}:{finding.line} {name}: {said} {finding.problem}", flush=True)
                    counts[said.split(":")[0]] += 1
            print(f"{package}: {sum(counts.values())} functions: " + ", ".join(f"{n} {v}" for v, n in counts.most_common()))
            total += counts
    unknown = (OPEN, "nothing to differentiate", "Python raises", "no floats")
    judged_ones = sum(total.values()) - sum(total[v] for v in unknown)
    right = sum(n for v, n in total.items() if v.startswith("right"))
    print(f"right: {right} of {judged_ones} that could be judged; refused {total[NO] + total['refused']}")
    return int(any(v.startswith("wrong") for v in total))


if __name__ == "__main__":
    sys.exit(main())
