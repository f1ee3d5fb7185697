"""Why a derivative is zero, or where it comes from: dependence with derivative, and where only the value goes on.

Every statement passes something on. The derivative goes on from the operands of `activity.flows`; from the others only the
value does: through comparisons, rounding, casts to integers, subscripts, trip counts, `stop_gradient`. An argument without
gradient is followed as far as derivatives go, and what cuts them there is what is reported.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..language import core
from ..language.core import Arr, Const, For, Function, If, Let, Load, Loc, Store, Var, While, array_of, is_float, walk
from ..language.queries import is_size
from ..language.units import expanded
from .activity import closure, flows

CUTS = {"floor": "it is rounded", "ceil": "it is rounded", "rint": "it is rounded", "trunc": "it is rounded",
        "sign": "only its sign is used", "stop": "a rule says that it is constant here", "link": "its rule has no such term",
        "floordiv": "the quotient is rounded"}
TURNS, BRANCH = "it only decides how often a loop runs", "it only decides which branch is taken"
INDEX = "it is only used as an index"
COMPARED = "it is only compared: a comparison has no derivative"


@dataclass(frozen=True)
class Step:
    """One line of the user's function, and what happens there (nothing where the derivative simply goes on)."""

    loc: Loc
    what: str = ""

    def __post_init__(self):
        object.__setattr__(self, "loc", self.loc.origin or self.loc)

    def __str__(self) -> str:
        return f"  {self.loc.short()}    {self.loc.text.strip()}" + (f"\n      {self.what}" if self.what else "")


@dataclass(frozen=True)
class Answer:
    """depends: whether there may be a gradient. steps: the lines it flows through, or those that cut it."""

    depends: bool
    reason: str
    steps: tuple[Step, ...]


def explain(function: Function, wanted, registry) -> Answer:
    """How the parameters `wanted` influence the results of a lowered program."""
    function = expanded(function)
    through = flows(function, registry.passes_through, registry.inactive_calls)
    varied = closure([w for w in wanted if is_float(w)], through)
    ends = [r for r in function.returns if isinstance(r, (Var, Arr))]
    useful = closure([r for r in ends if is_float(r)], [(t, s) for s, t in through])
    if varied & useful & set(wanted):
        return Answer(True, "", lines(function, varied & useful, registry))
    values = [(sources, targets) for _, sources, targets, _ in influences(function)]
    needed = closure(ends, [(t, s) for s, t in values])
    if not set(wanted) & {s for sources, _ in values for s in sources}:
        sized = {s for w in wanted if isinstance(w, Arr) for s in w.shape}
        sized |= {stmt.var for stmt in walk(function.body)
                  if is_size(stmt) and stmt.args[0] in wanted}
        read = sized & {s for sources, _ in values for s in sources}
        return Answer(False, "only its size is read" if read else "it is never read", ())
    cuts = []
    for stmt, sources, targets, why in influences(function):
        if set(sources) & varied and set(targets) & needed and not set(targets) & varied:
            cuts.append(Step(stmt.loc, why or reason_of(stmt, registry)))
    if cuts:
        return Answer(False, "only its value goes on, not its derivative", unique(cuts))
    last = [Step(stmt.loc) for stmt, sources, targets, _ in influences(function) if set(sources) & varied]
    return Answer(False, "what is computed from it is not part of the result", unique(last))


def decides_only(function: Function, parameter, registry) -> tuple[Step, ...]:
    """The lines where a parameter is compared, if all that the results have of it is what comparisons decide."""
    answer = explain(function, [parameter], registry)
    return answer.steps if not answer.depends and all(s.what in (COMPARED, TURNS, BRANCH) for s in answer.steps) else ()


def lines(function: Function, active: set, registry) -> tuple[Step, ...]:
    """The lines of the statements that pass on an active value."""
    found: list = []
    reads: list = []
    for stmt in walk(function.body):
        if isinstance(stmt, (For, While, If)):
            continue                        # their lines say nothing that those inside do not
        one = core.Function("", (), (stmt,), ())
        for sources, targets in flows(one, registry.passes_through, registry.inactive_calls):
            if set(sources) & active and set(targets) & active:
                # an element that several lines read is loaded by the first of them, whatever that does with it
                (reads if isinstance(stmt, Load) else found).append(Step(stmt.loc))
    return unique(found or reads)


def unique(steps) -> tuple[Step, ...]:
    """Steps without repetitions, in the order of the source of each file."""
    kept = {(s.loc.file, s.loc.line, s.what): s for s in steps if s.loc.line}
    return tuple(sorted(kept.values(), key=lambda s: (s.loc.file, s.loc.line)))


def influences(function: Function):
    """(statement, sources, targets, why no derivative or "") for all that passes on values, in the order of the text."""
    yield from of_block(function.body, ())


def of_block(block, around: tuple):
    """around: what decides whether the block runs, as pairs (sources, why)."""
    for stmt in block:
        targets = results(stmt)
        for sources, why in around if targets else ():
            yield stmt, sources, targets, why
        match stmt:
            case Let(args=args, op=op) if op != "dim":
                yield stmt, names(args), targets, ""
            case core.Alloc(array=a, fill=fill) if isinstance(fill, Var):
                yield stmt, (fill,), (a,), ""
            case Load(array=a, index=index):
                yield stmt, (a,), targets, ""
                yield stmt, names(index), targets, INDEX
            case Store(array=a, index=index, value=v):
                yield stmt, names((v,)), (a,), ""
                yield stmt, names(index), (a,), INDEX
            case core.Call(args=args, outs=outs):
                read = tuple(array_of(x) for x in args if not isinstance(x, Const))
                yield stmt, read, targets, ""
                yield stmt, names(i for x in (*args, *outs) if isinstance(x, core.Ref) for i in x.prefix), targets, INDEX
            case core.Swap(targets=arrays):
                yield stmt, arrays, arrays, ""
            case For(start=a, stop=b, carries=carries, exit=stop, trip=trip, body=body):
                yield from carried(stmt, carries)
                decides = names((a, b, *((stop,) if stop is not None else ())))
                trips = (trip,) if trip is not None else ()
                yield stmt, decides, (stmt.index, *trips, *(c.result for c in carries)), TURNS
                yield from of_block(body, (*around, (decides, TURNS)))
            case While(cond=cond, carries=carries, body=body, counter=counter, trip=trip):
                yield from carried(stmt, carries)
                yield stmt, (cond,), (counter, trip, *(c.result for c in carries)), TURNS
                yield from of_block(body, (*around, ((cond,), TURNS)))
            case If(cond=cond, then=then, orelse=orelse, merges=merges):
                for m in merges:
                    yield stmt, names((m.then, m.orelse)), (m.var,), ""
                    yield stmt, names((cond,)), (m.var,), BRANCH
                for side in (then, orelse):
                    yield from of_block(side, (*around, (names((cond,)), BRANCH)))


def carried(stmt, carries):
    for c in carries:
        yield stmt, names((c.init, c.next)), (c.var, c.result), ""


def names(atoms) -> tuple:
    return tuple(a for a in atoms if isinstance(a, (Var, Arr)))


def results(stmt) -> tuple:
    """What a statement itself writes."""
    match stmt:
        case Store(array=a):
            return (a,)
        case core.Call(outs=outs):
            return tuple(array_of(o) for o in outs)
    return core.defined(stmt)


def reason_of(stmt, registry) -> str:
    match stmt:
        case Let(op="cast"):
            return "it becomes an integer"
        case Let(op=op) if op in CUTS:
            return CUTS[op]
        case Let(op=op) if op in registry.constants:
            return f"the derivative of `{op}` is zero"
        case Let(var=v) if v.dtype == "bool":
            return COMPARED
        case core.Call(op=op):
            return f"`{op}` gives positions, which have no derivative"
    return "its derivative does not go on"


__all__ = ["Answer", "Step", "decides_only", "explain"]
