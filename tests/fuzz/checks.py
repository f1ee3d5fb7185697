"""What must hold of a program: its value and derivatives in every form, against NumPy and against each other."""

from __future__ import annotations

import copy
import linecache
import random
import sys
import types
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff import AutodiffError, InternalError, hvp, jvp, value_and_grad, vjp
from autodiff.survey.limits import TookTooLong, limited

from .programs import Program

STEPS = (1e-4, 1e-5, 1e-6, 1e-7)
SECONDS = 60                                    # of computing, for one program


class Failure(Exception):
    """kind: which check failed; the text says how."""

    def __init__(self, kind: str, text: str):
        super().__init__(f"{kind}: {text}")
        self.kind = kind


@dataclass
class Outcome:
    """verdict: "ok", "skipped", "refused" or "failed"; kind: the check that failed, or the reason; checks: those passed."""

    verdict: str
    kind: str = ""
    text: str = ""
    checks: tuple[str, ...] = ()


def ran(kind: str, seed: int, text: str) -> Outcome:
    """What a script finds, as a module of its own: it asserts what must hold, and counts `checked` and `refused`."""
    name = f"<{kind} {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    module = sys.modules[f"{kind}_{seed}"] = types.ModuleType(f"{kind}_{seed}")
    space: dict[str, Any] = vars(module)
    try:
        with limited(60.0):
            exec(compile(text, name, "exec"), space)
    except TookTooLong as e:
        return Outcome("skipped", str(e))
    except AssertionError as e:
        return Outcome("failed", str(e).split(":")[0], str(e))
    except Exception as e:
        return Outcome("failed", type(e).__name__, repr(e))
    finally:
        del sys.modules[module.__name__]
        for key in [k for k in linecache.cache if k.endswith(f"of {seed}>") or k == name]:
            del linecache.cache[key]
    if not space["checked"]:
        return Outcome("refused", next(iter(space["refused"]), "Python raises"))
    return Outcome("ok")


class Check:
    """One program at its arguments: the function as NumPy runs it, and a loss that weighs its results."""

    def __init__(self, program: Program, chosen: random.Random):
        self.program, self.random = program, chosen
        self.passed: list[str] = []
        self.module = program.module()
        self.f = self.module["f"]
        self.args = program.values()
        self.wrt = tuple(k for k, a in enumerate(self.args) if np.asarray(a).dtype.kind == "f")
        draw = np.random.default_rng(program.seed).uniform
        self.directions = [np.round(draw(-1, 1, np.shape(a)), 3) if k in self.wrt else None for k, a in enumerate(self.args)]
        self.directions = [float(d) if d is not None and not np.shape(d) else d for d in self.directions]

    def copies(self) -> list:
        return copy.deepcopy(self.args)

    def drawn(self, given) -> None:
        """The random generators among arguments are as the function leaves them."""
        if states(given) != self.states:
            raise Failure("state", "the random generator is in another state than after the function")

    def weights(self, results):
        """Cotangents: other ones for each element."""
        return tuple(np.linspace(0.5, 1.5, r.size).reshape(r.shape) if isinstance(r, np.ndarray) else 0.8 for r in results)

    def loss(self, *args) -> float:
        out = self.f(*args)
        return float(sum(np.sum(w * r) for w, r in zip(self.bars, as_tuple(out))))

    # -- the stages -------------------------------------------------------------------------------------------
    def run(self, level: int = 1, compiled: bool = False) -> None:
        """All checks; level 2 also those of second order. Raises Failure."""
        with np.errstate(all="ignore"):
            given = self.copies()
            self.expected, self.states = self.f(*given), states(given)
            self.bars = self.weights(as_tuple(self.expected))
            self.first_order("python")
            self.forward("python")
            if level > 1:
                self.second_order("python")
            if compiled:
                self.compiled()

    def first_order(self, mode: str) -> None:
        """Split form against NumPy and differences; joint form, where the result is one number, against split form."""
        given = self.copies()
        value, pull = vjp(self.f, *given, mode=mode, debug=True)
        self.drawn(given)
        for name, before, after in zip(self.program.names, self.args, given):
            if not isinstance(before, np.random.Generator) and not np.array_equal(before, after):
                raise Failure("argument changed", f"`{name}` is {after}, was {before}")
        self.same("value", as_tuple(value), as_tuple(self.expected), 1e-9)
        self.gradients = list(pull(self.bars if isinstance(self.expected, tuple) else self.bars[0]))
        self.same("second pullback", [g for g in pull(self.bars if isinstance(self.expected, tuple) else self.bars[0])
                                      if g is not None], [g for g in self.gradients if g is not None], 1e-12)
        for k in self.wrt:
            if np.shape(self.gradients[k]) != np.shape(self.args[k]):
                raise Failure("shape", f"gradient of `{self.program.names[k]}`: {np.shape(self.gradients[k])}")
        self.passed.append("split")
        if not isinstance(self.expected, tuple) and not np.shape(self.expected):
            given = self.copies()
            value, joint = value_and_grad(self.f, wrt=self.wrt, mode=mode, debug=True)(*given)
            self.drawn(given)
            self.same("value", [value], [self.expected], 1e-9)
            self.same("joint against split", joint, [self.gradients[k] / 0.8 for k in self.wrt], 1e-7)
            self.passed.append("joint")
        for k in self.wrt:
            steps = {k: self.directions[k]}
            slope = float(np.sum(self.gradients[k] * self.directions[k]))
            self.slope("gradient", f"of `{self.program.names[k]}`", slope, lambda *args: [self.loss(*args)], steps)

    def forward(self, mode: str) -> None:
        """Tangents against gradients."""
        given = self.copies()
        _, dots = jvp(self.f, tuple(given), tuple(self.directions), mode=mode, debug=True)
        self.drawn(given)
        pushed = sum(float(np.sum(w * d)) for w, d in zip(self.bars, as_tuple(dots)))
        pulled = sum(float(np.sum(self.gradients[k] * self.directions[k])) for k in self.wrt)
        scale = 1e-3 + sum(float(np.sum(np.abs(self.gradients[k] * self.directions[k]))) for k in self.wrt)
        if np.isfinite(pulled) and not abs(pushed - pulled) <= 1e-7 * scale:
            raise Failure("forward against reverse", f"tangent {pushed}, gradient {pulled}")
        self.passed.append("forward")

    def second_order(self, mode: str) -> None:
        """A product of the Hessian with a direction against differences of the gradient."""
        if isinstance(self.expected, tuple) or np.shape(self.expected):
            return
        k = self.random.choice(self.wrt)
        gradient = value_and_grad(self.f, wrt=k, mode=mode)
        given = self.copies()
        found = hvp(self.f, wrt=k, mode=mode, debug=True)(*given, self.directions[k])
        self.drawn(given)
        weight = np.round(np.random.default_rng(7).uniform(0.5, 1.5, np.shape(self.args[k])), 3)
        self.slope("second order", f"in `{self.program.names[k]}`", float(np.sum(found * weight)),
                   lambda *args: [float(np.sum(gradient(*args)[1] * weight)), gradient(*args)[0]], {k: self.directions[k]})
        self.passed.append("second order")

    def compiled(self) -> None:
        """Compiled by Numba: the same numbers as in Python mode."""
        pick = self.random.randrange(4)
        if pick == 0 and not isinstance(self.expected, tuple) and not np.shape(self.expected):
            value, joint = value_and_grad(self.f, wrt=self.wrt)(*self.copies())
            self.same("compiled value", [value], [self.expected], 1e-8)
            self.same("compiled gradient", joint, [self.gradients[k] / 0.8 for k in self.wrt], 1e-7)
        elif pick == 1:
            _, dots = jvp(self.f, tuple(self.copies()), tuple(self.directions))
            _, expected = jvp(self.f, tuple(self.copies()), tuple(self.directions), mode="python")
            self.same("compiled tangent", as_tuple(dots), as_tuple(expected), 1e-7)
        else:
            value, pull = vjp(self.f, *self.copies())
            self.same("compiled value", as_tuple(value), as_tuple(self.expected), 1e-8)
            bars = pull(self.bars if isinstance(self.expected, tuple) else self.bars[0])
            self.same("compiled gradient", [bars[k] for k in self.wrt], [self.gradients[k] for k in self.wrt], 1e-7)
        self.passed.append("compiled")

    # -- comparisons ------------------------------------------------------------------------------------------
    def same(self, kind: str, found, expected, tolerance: float) -> None:
        for one, other in zip(found, expected, strict=True):
            if np.shape(one) != np.shape(other):
                raise Failure(kind, f"shape {np.shape(one)} instead of {np.shape(other)}")
            if np.asarray(one).dtype != np.asarray(other).dtype and isinstance(other, np.ndarray):
                raise Failure(kind, f"dtype {np.asarray(one).dtype} instead of {np.asarray(other).dtype}")
            if not np.allclose(one, other, rtol=tolerance, atol=tolerance * 0.01, equal_nan=True):
                raise Failure(kind, f"{one} instead of {other}")

    def slope(self, kind: str, what: str, found: float, function, steps: dict) -> None:
        """Compare with differences, where the function is smooth: one-sided ones agree, and all steps.

        `function` gives a list whose first number is compared; where one of them jumps the point is left out.
        """
        centre = function(*self.copies())
        slopes, kinked = [], False
        for h in STEPS:
            up, down = (function(*self.moved(steps, s)) for s in (h, -h))
            slopes.append((up[0] - down[0]) / (2.0 * h))
            right, left = (up[0] - centre[0]) / h, (centre[0] - down[0]) / h
            kinked |= h < 2e-6 and not abs(right - left) <= 1e-3 * max(1.0, abs(slopes[-1]))
            kinked |= any(abs(p - q) > 1e3 * h * max(1.0, abs(q)) for p, q in zip((*up[1:], *down[1:]), 2 * centre[1:]))
        spread = max(slopes) - min(slopes)
        if kinked or not spread < 1e-3 * max(1.0, abs(slopes[0])):
            return
        if not min(abs(s - found) for s in slopes) <= 1e-4 * max(1e-2, abs(found)):
            raise Failure(kind, f"{what}: {found}, differences {slopes}")
        self.passed.append(kind)

    def moved(self, steps: dict, h: float) -> list:
        args = self.copies()
        for k, d in steps.items():
            args[k] = args[k] + h * d
        return args


def states(args) -> list[str]:
    """The states of the random generators among arguments."""
    return [repr(a.bit_generator.state) for a in args if isinstance(a, np.random.Generator)]


def as_tuple(value) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def runs(program: Program) -> bool:
    """Whether NumPy runs the program, without overflow, to finite numbers."""
    try:
        with np.errstate(all="raise", under="ignore"), limited(5):
            results = as_tuple(program.module()["f"](*program.values()))
            return all(isinstance(r, (float, np.ndarray)) and np.asarray(r).dtype.kind == "f" and np.all(np.isfinite(r))
                       and np.all(np.abs(r) < 1e4) for r in results)
    except Exception:
        return False


def outcome(program: Program, level: int = 1, compiled: bool = False) -> Outcome:
    """What the checks say of a program."""
    if not runs(program):
        return Outcome("skipped", "does not run in NumPy")
    check = None
    try:
        with limited(SECONDS):
            check = Check(program, random.Random(program.seed))
            check.run(level, compiled)
    except Failure as e:
        return Outcome("failed", e.kind, str(e))
    except InternalError as e:
        return Outcome("failed", f"{type(e).__name__}: {e.problem[:40]}", str(e))
    except AutodiffError as e:
        return Outcome("refused", e.problem, str(e), tuple(check.passed if check else ()))
    except Exception as e:
        return Outcome("failed", type(e).__name__, f"{type(e).__name__}: {e}")
    return Outcome("ok", checks=tuple(check.passed))
