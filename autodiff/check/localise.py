"""The first statement of a program whose derivative is wrong, for `check_grads`.

The function runs once with tangents and twice moved along them; each value on the way is then known with its tangent and
with its central difference. In the order of execution, the first value where the two disagree is computed by a
statement whose own derivative is wrong: what it reads still agreed.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np

from .. import pipeline
from ..arguments.kinds import as_passed
from ..operators.pushforwards import Pushforward, matched
from ..options import Options
from ..rules import REGISTRY
from ..transforms.differentiate.forward import Forward, forward, live_in
from ..transforms.differentiate.tangents import Scalars
from ..transforms.language import core
from ..transforms.language.core import Loc, Print, is_float, sub_blocks, with_blocks
from ..transforms.language.errors import AutodiffError
from ..transforms.language.queries import calls_in
from ..transforms.language.units import expanded
from ..transforms.stages import Stages

STEPS = (1e-4, 1e-5, 1e-6)


@dataclass(frozen=True)
class Suspect:
    """A place of the source, and what is wrong there."""

    loc: Loc
    what: str

    def __str__(self) -> str:
        if not self.loc.line:                   # the place is not the user's
            return self.what.replace(" used there", " used")
        return f'first wrong at File "{self.loc.file}", line {self.loc.line}\n    {self.loc.text.strip()}\n{self.what}'


def first_wrong(function, args, tangents, tolerance: float) -> list[Suspect]:
    """The first statement whose tangent disagrees with differences along `tangents` (None: fixed arguments).

    Where all agree, or forward mode lacks a rule, the mistake is one of reverse mode alone: then the calls of functions
    with a `@pullback` rule, which are all that is particular to it. Empty if nothing was found.
    """
    needs, chosen = matched(function, tuple(args), tuple(tangents), "check_grads")
    operator = Pushforward(function, needs, options=Options("python"))
    names, values = operator._bind(copy.deepcopy(args), {})
    lowered = operator._lower(names, values, frozenset())
    program = expanded(pipeline.prepare(lowered, Stages(), False))
    try:
        found = compare(traced(program, lowered, needs), operator, lowered, (names, values), chosen, tolerance)
    except AutodiffError:                       # no pushforward: forward mode cannot tell
        found = None
    if found is not None:
        return [found]
    calls = [s for s in calls_in(program.body) if s.op.startswith("rule:")]
    return [Suspect(loc, f"the pullback rule of `{name}` is used there") for loc, name in dict.fromkeys(
        (s.loc, s.op.rpartition(".")[2]) for s in calls)]


def traced(program, lowered, needs):
    """(the pushforward as text, its name, the statements numbered): it reports every value with its tangent."""
    statements: list = []

    def probed(block) -> tuple:
        out = []
        for s in block:
            out.append(with_blocks(s, probed))
            for v in () if sub_blocks(s) else core.defined(s):
                if is_float(v):
                    out.append(Print((str(len(statements)), v), s.loc))
                    statements.append(s)
        return tuple(out)

    program = replace(program, body=probed(program.body))
    floats = [p for p in lowered.leaves if is_float(p)]
    wanted = [floats[k] for k in needs]
    tangents = Scalars()
    sweep = Forward(lowered.facts, live_in(program, wanted, REGISTRY), REGISTRY, tangents)
    made = forward(program, lowered.facts, wanted, REGISTRY, True, f"{program.name}_traced", sweep)

    def completed(block) -> tuple:
        out = []
        for s in block:
            if isinstance(s, Print) and len(s.parts) == 2 and s.parts[1] in sweep.live:
                s = replace(s, parts=(*s.parts, *tangents.of(s.parts[1])))
            out.append(with_blocks(s, completed))
        return tuple(s for s in out if not (isinstance(s, Print) and len(s.parts) == 2))
    made = replace(made, body=completed(made.body))
    return pipeline.module_text([made], "A traced pushforward."), made.name, statements


def compare(trace, operator, lowered, bound, tangents, tolerance) -> Suspect | None:
    text, name, statements = trace
    space: dict = {}
    exec(compile(text, "<traced>", "exec"), space)
    log: list = []
    space["print"] = lambda *parts: log.append((int(parts[0]), *map(float, parts[1:])))
    names, values = bound
    made = operator._find(names, values)
    passed = operator._leaves(made, names, values)
    count = len(lowered.leaves)
    floats = [k for k, p in enumerate(lowered.leaves) if is_float(p)]
    places = [floats[k] for k in operator.needs]
    dots = [as_passed(np.asarray(t) if np.shape(t) else t, lowered.leaves[k])
            for k, t in zip(places, tangents, strict=True)]

    def run(h: float) -> list:
        moved = [copy.deepcopy(x) for x in passed]
        for k, dot in zip(places, dots, strict=True):           # complex numbers are pairs here
            moved[k] = moved[k] + h * dot
        log.clear()
        with np.errstate(all="ignore"):
            space[name](*moved[:count], *dots, *moved[count:])
        return list(log)

    centre = run(0.0)
    sides = [(h, run(h), run(-h)) for h in STEPS]
    for k, (number, value, dot) in enumerate(centre):
        slopes = []
        for h, up, down in sides:
            if k >= len(up) or k >= len(down) or up[k][0] != number or down[k][0] != number:
                return None                     # another branch is taken from here on
            slopes.append((up[k][1] - down[k][1]) / (2.0 * h))
        scale = max(abs(dot), abs(slopes[1]))
        noise = 1e-9 * max(1.0, abs(value))
        if np.isfinite(slopes).all() and not min(abs(s - dot) for s in slopes) <= tolerance * scale + noise:
            stmt = statements[number]
            rule = "the derivative rule used there" if getattr(stmt, "op", "") == "link" else "its derivative"
            where = stmt.loc.origin or stmt.loc
            return Suspect(where, f"{rule} gives {dot:.6g} along a random direction, differences {slopes[1]:.6g}")
    return None


__all__ = ["Suspect", "first_wrong"]
