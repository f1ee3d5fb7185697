"""Runs of a specialisation: again where a check fails that was made once for all, with the same draws and nothing printed
twice."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numba
import numpy as np

from ..arguments.foreign import Taken, check_tensors
from ..arguments.kinds import flatten
from ..transforms.language.errors import UnsupportedSyntax
from ..transforms.language.queries import checks_in
from ..transforms.language.units import with_called
from ..transforms.lower.checks import CAREFUL, EACH_AND_POWERS
from .building import run as call
from .failures import placed
from .long_tapes import LongTape, ShortTape
from .printed import noted_output
from .specialisations import Specialisation

SILENT = nullcontext()
# the mark of an error -> the option, and its value, by which another program sees to what it is about
ANSWERS = {"each": ("boundscheck", "each"), "power": ("boundscheck", EACH_AND_POWERS), "segments": ("segments", "always")}


def guarded(compiled, run, names, values) -> tuple[Specialisation, Any]:
    """`run` of the specialisation for these arguments, and of the careful one where its checks fail."""
    made = compiled._find(names, values)
    if type(values) is Taken and values.tensors:
        check_tensors(made)
    if "raises" in made.extra:                  # the function's own program, whatever operator this is
        def run(made):
            return call(made.call, made.leaves(names, values))
    states = states_of(made, values) if made.drawn else []
    tried: dict[str, str] = {}
    with noted_output() if made.prints else SILENT as output:
        while True:
            try:
                raw = run(made)
                break
            except (IndexError, ValueError) as e:
                if isinstance(e, np.linalg.LinAlgError):
                    raise placed(e, made) from None
                made = another(compiled, e, tried, names, values)
                for bits, state in states:
                    bits.state = state
                if output is not None:
                    output.again()
    compiled._latest = made
    return made, raw


def chosen(compiled, names, values) -> Specialisation:
    """The specialisation that a call with these arguments runs, if no check fails in it."""
    made = compiled._find(names, values)
    if type(made.call) is not ShortTape or any(isinstance(v, numba.types.Type) for v in values):
        return made
    try:
        made.call.check([*made.numbers(names, values), *(value for *_, value in made.hidden)])      # nothing is written here
        return made
    except LongTape as e:
        return another(compiled, e, {}, names, values)


def another(compiled, error: Exception, tried: dict[str, str], names, values) -> Specialisation:
    """The specialisation that answers an error of the one before it."""
    chosen = careful(compiled, error, tried)
    try:
        return chosen._find(names, values)
    except UnsupportedSyntax:
        if not isinstance(error, LongTape):
            raise
        tried["segments"] = "never"             # its loops cannot be taken in segments
        return checking(compiled, **tried)._find(names, values)


def careful(compiled, error: Exception, tried: dict[str, str]):
    """Where a check of sizes fails: the object whose programs check every access, and broadcast axes that are 1 long; where
    an integer has a negative power: that and powers as floats; where a tape is long: loops in segments. tried: the options
    of the ones that did not do, to which it is added."""
    option, value = ANSWERS.get(getattr(error, "again", ""), ("", ""))
    checked = option == "boundscheck" and compiled.options.boundscheck in CAREFUL
    if not option or checked or tried.get(option) in (value, EACH_AND_POWERS):
        raise error
    tried[option] = value
    return checking(compiled, **tried)


def checking(compiled, **changes):
    """The object whose programs are made with other options."""
    key = tuple(sorted(changes.items()))
    with compiled._specialisations.lock:
        if key not in compiled._checked:
            compiled._checked[key] = compiled._like(**changes)
    return compiled._checked[key]


def asks(made: Specialisation, what: str) -> bool:
    """Whether a program has a check that, where it fails, only asks for another program that sees to something."""
    programs = with_called(made.generated.programs)
    return any(check.tells == what for p in programs for check in checks_in(p.body))


def states_of(made: Specialisation, values) -> list:
    """The bit generators that a call draws from, and their states now: should it run again, it draws the same."""
    found = [*flatten(list(values)), *(value if origin is None else origin.now() for _, origin, value in made.hidden)]
    bits = [x.bit_generator for x in found if isinstance(x, np.random.Generator)]
    return [(b, b.state) for b in bits]


__all__ = ["asks", "checking", "chosen", "guarded"]
