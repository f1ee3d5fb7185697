"""Whether the functions of a file or package differentiate, and what stands in the way. None of them is run."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import types
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..calling.compiled import Compiled
from ..operators.pullbacks import Vjp
from ..options import Options
from ..transforms.language.errors import (
    AutodiffError,
    InternalError,
    MissingItem,
    MissingModule,
    NonDifferentiable,
    ShapeMismatch,
    TypeConflict,
)
from ..transforms.source.definitions import plain_function
from .called import arguments_in
from .docstrings import returned
from .guesses import guesses
from .kinds import has_floats
from .limits import TookTooLong, limited
from .scripts import Script

YES, NO, OPEN, FAULT = "differentiates", "refused", "not judged", "fault"
NOTHING = "nothing to differentiate"
OF_KINDS = (ShapeMismatch, TypeConflict, MissingItem)           # refusals that a wrong guess of the arguments explains
SKIPPED = ("test", "tests", "conftest", "setup", "__main__")


@dataclass(frozen=True)
class Finding:
    """What was found of one function. verdict: YES, NO, OPEN (the arguments could not be guessed), NOTHING (it returns no
    floats) or FAULT (a mistake of autodiff). values: the arguments that were tried. arguments: those that it
    differentiates in, with the kinds that were assumed. problem, place, hint: of a refusal."""

    name: str
    file: str
    line: int
    verdict: str
    arguments: tuple[str, ...] = ()
    values: tuple = ()
    problem: str = ""
    place: str = ""
    hint: str = ""

    def __str__(self) -> str:
        head = f"{self.file}:{self.line}  {self.name}: {self.verdict}"
        if self.verdict == NOTHING:
            return head
        if self.verdict == YES:
            return f"{head} in {', '.join(self.arguments)}"
        place, hint = f" ({self.place})" * bool(self.place), f"; {self.hint}" * bool(self.hint)
        return f"{head}: {self.problem}{place}{hint}"


def modules_of(what: str) -> Iterator[types.ModuleType]:
    """The module of a Python file, of which what its functions need is run, or the modules of an installed package, by its
    name; those of tests are left out.

    Raises Mistake where there is no such file, ModuleNotFoundError where there is no such package. What fails while it is
    imported is told on the standard error, and left out.
    """
    if what.endswith(".py"):
        yield Script(what).run(strict=False)
        return
    package = importlib.import_module(what)
    yield package
    for found in pkgutil.walk_packages(getattr(package, "__path__", ()), what + ".", onerror=lambda name: None):
        if any(part.startswith(SKIPPED) for part in found.name.split(".")[1:]):
            continue
        try:
            yield importlib.import_module(found.name)
        except (Exception, SystemExit) as e:
            print(f"autodiff: {found.name} cannot be imported: {type(e).__name__}: {e}", file=sys.stderr)


def functions_of(module: types.ModuleType) -> Iterator[tuple[str, object]]:
    """(name, function) of the functions that a module defines, and of static and class methods of its classes."""
    for name, value in list(vars(module).items()):
        function = value.function if isinstance(value, Compiled) else value
        plain = plain_function(function) if callable(function) and not isinstance(function, type) else None
        if isinstance(plain, types.FunctionType) and plain.__module__ == module.__name__ and plain.__name__.isidentifier():
            yield name, plain
        elif isinstance(value, type) and value.__module__ == module.__name__:
            for part, method in list(vars(value).items()):
                if isinstance(method, staticmethod) and isinstance(method.__func__, types.FunctionType):
                    yield f"{name}.{part}", method.__func__


def judged(name: str, function, seconds: float = 30.0, first: tuple | None = None) -> Finding:
    """One function, tried with arguments that it may be meant for. seconds: of computing, at most. first: arguments to be
    tried before those that are guessed."""
    code = function.__code__
    file, line = code.co_filename, code.co_firstlineno
    if inspect.isgeneratorfunction(function):
        return Finding(name, file, line, NOTHING, problem="it is a generator")
    tries, why = guesses(function)
    tries = tries if first is None else [first, *tries]
    if not tries:
        return Finding(name, file, line, OPEN, problem=why)
    refusal: Exception | None = None
    for values in tries:
        try:
            with limited(seconds), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                Vjp(function, options=Options("python")).specialize(*values)
            return Finding(name, file, line, YES, kinds_of(function, values), values)
        except (InternalError, TookTooLong, RecursionError) as e:
            return Finding(name, file, line, FAULT, problem=str(e).split("\n")[0] or type(e).__name__)
        except AutodiffError as e:
            if isinstance(e, NonDifferentiable) and "returns nothing" in e.problem:
                return Finding(name, file, line, NOTHING, problem=e.problem)
            if refusal is None or explained(refusal) and not explained(e):
                refusal = e
        except Exception as e:
            return Finding(name, file, line, FAULT, problem=f"{type(e).__name__}: {e}".split("\n")[0])
    assert isinstance(refusal, AutodiffError)
    if not explained(refusal) and (made := returned(function)):
        return Finding(name, file, line, OPEN, problem=f"it returns no number or array, by its text: {made}")
    missing = isinstance(refusal, MissingModule) or refusal.problem.startswith("ModuleNotFoundError")
    verdict = OPEN if explained(refusal) or missing else NO
    place = refusal.loc.short() if refusal.loc is not None and refusal.loc.line else ""
    return Finding(name, file, line, verdict, problem=refusal.problem, place=place, hint=refusal.hint)


def explained(refusal: Exception) -> bool:
    """Whether arguments of other kinds might do."""
    return isinstance(refusal, OF_KINDS) or "truth value of an array" in str(refusal)


def kinds_of(function, values) -> tuple[str, ...]:
    names = inspect.signature(function).parameters
    told = []
    for name, value in zip(names, values, strict=False):
        if isinstance(value, np.ndarray):
            told.append(f"{name} (an array of rank {value.ndim})")
        elif isinstance(value, float):
            told.append(f"{name} (a number)")
        elif has_floats(value):
            told.append(f"{name} (a {type(value).__name__})")
    return tuple(told)


def report(findings: Iterable[Finding], everything: bool = False) -> str:
    """How many differentiate, and what stands in the way of the others, the most frequent first. everything: a line for
    each function too."""
    findings = list(findings)
    counts = Counter(f.verdict for f in findings)
    lines = [str(f) for f in findings] if everything else []
    lines.append(f"{len(findings)} functions: " + ", ".join(f"{counts[v]} {v}" for v in (YES, NO, NOTHING, OPEN, FAULT)
                                                        if counts[v]))
    for verdict, title in ((NO, "what stands in the way"), (OPEN, "not judged, since the arguments are not known"),
                           (FAULT, "mistakes of autodiff; please report them")):
        reasons = Counter(without_names(f.problem) for f in findings if f.verdict == verdict)
        lines += [f"{title}:"] * bool(reasons)
        for reason, count in reasons.most_common(20):
            example = next(f for f in findings if f.verdict == verdict and without_names(f.problem) == reason)
            lines.append(f"  {count:4}  {reason}   e.g. {example.name} ({example.place or Path(example.file).name})")
    return "\n".join(lines)


def without_names(text: str) -> str:
    """A message with the names left out, for counting."""
    return "`…`".join(text.split("`")[::2])


def survey(what: str, seconds: float = 30.0) -> Iterator[Finding]:
    """The findings of all functions of a file, with the arguments of calls in it, or of an installed package."""
    if what.endswith(".py"):
        script = Script(what)
        for name, function in functions_of(script.run(strict=False)):
            yield judged(name, function, seconds, called_with(script, name, function))
        return
    for module in modules_of(what):
        for name, function in functions_of(module):
            yield judged(name, function, seconds)


def called_with(script: Script, name: str, function) -> tuple | None:
    """The arguments of a call in the file, by their places; None if no call tells them, if some go by keyword only, or if
    there are no floats among them."""
    if (found := arguments_in(script, name)) is None or not any(map(has_floats, (*found[0], *found[1].values()))):
        return None
    try:
        bound = inspect.signature(function).bind(*found[0], **found[1])
    except TypeError:
        return None
    return None if bound.kwargs else bound.args


__all__ = ["Finding", "judged", "report", "survey"]
