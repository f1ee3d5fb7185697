"""One case by all frameworks: is it right, and how long does it take."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .cases import Case
from .frameworks import Framework, Prepared
from .measuring import Hardware, interleaved

COMPARED = 50_000_000       # elements: larger results at full size stay on the device


@dataclass
class Row:
    """A case by one framework. Times in ms, round by round; error: the largest relative error among value and gradients,
    against float64 at the reduced size; failure: why there is nothing more."""

    case: str
    framework: str
    error: float = float("nan")
    forward: list[float] = field(default_factory=list)
    both: list[float] = field(default_factory=list)
    floor: tuple[float, float] = (float("nan"), float("nan"))
    difference: float = float("nan")        # at full size, of ours from this one
    failure: str = ""

    @property
    def forward_ms(self) -> float:
        return statistics.median(self.forward) if self.forward else float("nan")

    @property
    def both_ms(self) -> float:
        return statistics.median(self.both) if self.both else float("nan")


def run(case: Case, frameworks: list[Framework], hardware: Hardware, *, tiny: bool, rounds: int,
        deadline: float) -> list[Row]:
    """A row for each framework, the first of which is ours. What fails is a row that says so."""
    sizes = case.tiny if tiny else case.full
    floor = case.floor(**sizes)
    bounds = tuple(1e3 * floor.seconds(both, hardware.bandwidth, hardware.peak) for both in (False, True))
    rows = {f.name: Row(case.name, f.name, floor=bounds) for f in frameworks}
    expected = attempt(list(rows.values()), lambda: reference(case, tiny))
    checked = case.arguments(case.tiny if tiny else case.checked)
    right = []
    for f in frameworks if expected is not None else ():
        if time.monotonic() > deadline or f.name == "torch.compile" and time.monotonic() > deadline - 60:
            rows[f.name].failure = "out of time"
            continue
        error = attempt([rows[f.name]], lambda f=f: distance(f.numbers(f.prepare(case, checked).both()), expected))
        if error is not None:
            rows[f.name].error = error
            right.append(f)
    timed(case, sizes, right, rows, rounds)
    for f in frameworks:
        f.free()
    gc.collect()
    return list(rows.values())


def attempt(rows: list[Row], action: Callable):
    """What the action gives; None if it fails, which the rows then say."""
    try:
        return action()
    except Exception as e:              # whatever it is, the others go on
        text = str(e).strip().splitlines()
        for row in rows:
            row.failure = f"FAIL: {type(e).__name__}: {text[0] if text else ''}"[:150]
        return None


def reference(case: Case, tiny: bool) -> list[np.ndarray]:
    """Value and gradients in float64 on the CPU."""
    import autodiff
    args = [a.astype(np.float64) if isinstance(a, np.ndarray) else float(a) if isinstance(a, np.floating) else a
            for a in case.arguments(case.tiny if tiny else case.checked)]
    value, gradients = autodiff.value_and_grad(case.function, wrt=case.wrt, mode="python" if tiny else "numba")(*args)
    return [np.asarray(value), *map(np.asarray, gradients)]


def distance(found: list, expected: list) -> float:
    """The largest relative distance in the Euclidean norm."""
    if [x.shape for x in found] != [x.shape for x in expected]:
        raise ValueError(f"shapes {[x.shape for x in found]} instead of {[x.shape for x in expected]}")
    return max(float(np.linalg.norm(a - b) / (np.linalg.norm(b) or 1.0)) for a, b in zip(found, expected, strict=True))


def timed(case: Case, sizes: dict, frameworks: list[Framework], rows: dict[str, Row], rounds: int) -> None:
    """Time the frameworks at full size, and compare what they find with the first one's."""
    args = case.arguments(sizes)
    ready: dict[str, tuple[Framework, Prepared]] = {}
    ours: list | None = None
    for f in frameworks:
        row = rows[f.name]
        prepared = attempt([row], lambda f=f: f.prepare(case, args))
        if prepared is None:
            continue
        found = attempt([row], lambda f=f, p=prepared: sample(f, p))
        if found is not None and attempt([row], lambda p=prepared, f=f: f.wait(p.forward()) or True):
            ready[f.name] = f, prepared
            ours = ours or found
            row.difference = distance(found, ours)
    for which in ("forward", "both"):
        calls = {name: (f, getattr(p, which)) for name, (f, p) in ready.items()}
        times = attempt([rows[name] for name in calls], lambda calls=calls: interleaved(calls, rounds))
        for name in times or ():
            setattr(rows[name], which, times[name])


def sample(framework: Framework, prepared: Prepared) -> list[np.ndarray]:
    """The value and the gradients that are not too large, after a first call at full size."""
    value, gradients = prepared.both()
    gradients = gradients if isinstance(gradients, (tuple, list)) else (gradients,)
    few = tuple(g for g in gradients if int(np.prod(tuple(g.shape))) <= COMPARED)
    return framework.numbers((value, few))


__all__ = ["Row", "run"]
