"""Random chains of steps of control flow and functions: Python's numbers, errors and written arguments, or a refusal."""

import copy
import math
import warnings

import numpy as np
import pytest

from autodiff import AutodiffError, InternalError, vjp
from autodiff.survey.limits import TookTooLong, limited

from .flow_programs import HEAD, Writer
from .support import from_text

X = (np.array([0.4, -0.3, 1.1, 0.7]), np.array([-0.6, 0.9, 0.2, -1.2]))
POINTS = ((X[0], 0.8, 2), (X[1], -0.7, 3), (X[0], 1.3, 0), (X[1], 0.3, 1), (X[1], 2.1, 4))
WEIGHTS = np.array([0.5, -0.8, 1.2, 0.9])
MATHEMATICS = "domain", "division", "modulo", "cannot convert float", "positive input", "nonnegative"


def outcome(call):
    try:
        with limited(5):
            return call(), None
    except TookTooLong:
        raise
    except Exception as e:
        return None, e


def same(one, other) -> bool:
    return np.allclose(one, other, rtol=1e-9, atol=1e-11)


def loss(f, point, h=0.0) -> float:
    x, p = point[0] + h * WEIGHTS[::-1], point[1] + h * 0.7
    value = f(x, p, point[2])
    return float(value + WEIGHTS @ x)


def judged(f, point, derive=vjp) -> tuple:
    """("ok", "refused" or "wrong", why) of one function at one point."""
    theirs, mine = copy.deepcopy(point), copy.deepcopy(point)
    expected, raised = outcome(lambda: f(*theirs))
    if raised is None and not (np.all(np.isfinite([expected, *theirs[0]])) and max(map(abs, (expected, *theirs[0]))) < 1e5):
        return "ok", "large"
    found, error = outcome(lambda: derive(f, *mine, outputs=("x",), mode="python", debug=True))
    if isinstance(error, AutodiffError) and not isinstance(error, InternalError) and not (
            raised is not None and isinstance(error, type(raised))):
        return "refused", str(error).split("\n")[0]
    if raised is not None:
        if any(word in str(raised) for word in MATHEMATICS) and type(error) is not type(raised):
            return "ok", "mathematics in loops"
        if error is None:
            return "wrong", f"no {raised!r}, but {found[0]}"
        fits = isinstance(error, type(raised)) and str(error.args) == str(raised.args) if type(raised).__module__ != (
            "builtins") else isinstance(error, type(raised))
        return ("ok", "raises") if fits else ("wrong", f"{error!r} for {raised!r}")
    if error is not None:
        return "wrong", f"{error!r} for {expected}"
    (value, x), pull = found
    if not (same(value, expected) and same(x, theirs[0])):
        return "wrong", f"{value}, {x} for {expected}, {theirs[0]}"
    return slope(f, point, pull)


def slope(f, point, pull) -> tuple:
    """The gradient against central differences, where these agree with each other."""
    bars = pull((1.0, WEIGHTS))
    found = float(bars[0] @ WEIGHTS[::-1] + bars[1] * 0.7)
    try:
        centre = loss(f, point)
        central = [(loss(f, point, h) - loss(f, point, -h)) / (2 * h) for h in (1e-4, 1e-5, 1e-6)]
        sided = [(loss(f, point, h) - centre) / h for h in (1e-6, -1e-6)]
    except Exception:
        return "ok", "kink"
    near = 1e-3 * max(1.0, abs(central[1]))
    if not (math.isfinite(found) or math.isfinite(sum(central))):
        return "ok", "kink"
    if max(central) - min(central) > near or abs(sided[0] - sided[1]) > near:
        return "ok", "kink"
    return ("ok", "slope") if abs(found - central[1]) < near else ("wrong", f"gradient {found}, differences {central}")


def compared(seed: int, most: int = 2) -> list:
    """What comes out for one program at each point, with the program's text."""
    text = Writer(seed, most).text()
    f = from_text(f"<flow {seed}>", text)
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for point in POINTS:
            try:
                found.append(judged(f, point))
            except TookTooLong:
                found.append(("ok", "time"))
    return found


@pytest.mark.parametrize("start", [0, 10, 23])
def test_random_chains(start, programs=10):
    found = {seed: compared(seed) for seed in range(start, start + programs)}
    wrong = {seed: f"{Writer(seed, 2).text()}\n{results}" for seed, results in found.items() if "wrong" in dict(results)}
    assert not wrong, "\n\n".join(wrong.values())
    assert sum("refused" not in dict(results) for results in found.values()) >= 7


def shifted(f, *args, **options):
    (value, x), pull = vjp(f, *args, **options)
    return (value + 1e-6, x), pull


def unwritten(f, x, *args, **options):
    (value, _), pull = vjp(f, x, *args, **options)
    return (value, x), pull


def steeper(f, *args, **options):
    found, pull = vjp(f, *args, **options)
    return found, lambda bars: [bar if bar is None else 2.0 * bar for bar in pull(bars)]


def quiet(f, *args, **options):
    return (0.0, args[0]), lambda bars: [0.0 * args[0], 0.0]


def other_error(f, *args, **options):
    raise ZeroDivisionError


@pytest.mark.parametrize("derive, line", [
    (shifted, "return p"), (unwritten, "x[0] = p; return p"), (steeper, "return p * x[0]"), (quiet, "raise Trouble(p)"),
    (other_error, "raise Trouble(p)"), (other_error, "return p"), (quiet, "return p * x[9]")])
def test_what_is_wrong_is_found(derive, line):
    f = from_text(f"<flow {line}>", f"{HEAD}    {line}\n")
    assert judged(f, POINTS[0])[0] == "ok"
    assert judged(f, POINTS[0], derive)[0] == "wrong"
