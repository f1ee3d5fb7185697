"""`f.why("y")` for variables: whether they have adjoints, and what the reverse sweep has of their values."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ..rules import REGISTRY
from ..transforms.differentiate.activity import closure, flows
from ..transforms.differentiate.explain import explain, influences, reason_of
from ..transforms.differentiate.explain_values import AGAIN, BRANCH, READ, TAPED, THERE, Found, values_of
from ..transforms.language import core, markup
from ..transforms.language.cells import in_cells
from ..transforms.language.core import Arr, Function, Loc, Var, is_float
from ..transforms.language.units import expanded
from .lines import names_in
from .tapes import SavedQuantity, describe_entry

ANONYMOUS = re.compile(r"t\d*")                     # what the compiler's own numbers are called
ORDER = (THERE, AGAIN, READ, BRANCH, TAPED)         # what costs more comes later
HOW = {THERE: "it is still there", AGAIN: "it is computed again from what is",
       BRANCH: "the branch that decides it is run again", READ: "it is read again from memory, which still holds it"}
ALIAS = "no adjoint of its own, as nothing is computed for it alone when the program runs: it is a view or another name, " \
        "a size, a constant, or not needed"
LOOPS = (core.For, core.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
MANY = 6                                            # places that are told


@dataclass(frozen=True)
class Variable:
    """A variable where it is bound. has_adjoint: whether a derivative flows through it; adjoint: why, or why not. taped:
    whether its values, or what is overwritten of them, are saved; value: what the reverse sweep has of them, and why. span:
    the lines of the function."""

    name: str
    function: str
    file: str
    span: tuple[int, int]
    line: int
    has_adjoint: bool
    adjoint: str
    taped: bool
    value: str

    def __str__(self) -> str:
        where = f"{Loc(self.file, self.line).short()}, " if self.line else ""
        return f"`{self.name}` ({where}in {self.function}): {self.adjoint}; {self.value}"


class Variables(tuple):
    """What is known of variables, a `Variable` for each place where one is bound; prints as text."""

    def named(self, name: str) -> Variables:
        return Variables(one for one in self if one.name == name)

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return markup.piece(*(markup.element("div", in_cells(str(one))) for one in self))


class Survey:
    """The variables of a specialisation, looked at once for all.

    wanted: the parameters that it differentiates in; seeds: what its reverse sweep starts from, see `reverse`.
    """

    def __init__(self, made, wanted, seeds: str):
        generated = made.generated
        stages = list(generated.stages.values())
        prepared = stages[list(generated.stages).index("reverse") - 1].program
        self.values = values_of(prepared, generated.lowered.facts, wanted, REGISTRY, seeds, generated.segments)
        whole = expanded(self.values.function)
        self.program = replace(whole, returns=whole.returns[:1]) if seeds == "one" else whole
        self.wanted = [w for w in wanted if is_float(w)]
        pairs = flows(whole, REGISTRY.passes_through, REGISTRY.inactive_calls)
        self.varied = closure(self.wanted, pairs)
        self.useful = closure([r for r in self.program.returns if isinstance(r, (Var, Arr)) and is_float(r)],
                              [(t, s) for s, t in pairs])
        self.influences = list(influences(self.program))
        self.touched = closure(self.wanted, [(s, t) for _, s, t, _ in self.influences])
        name_of = names_in(made)
        self.saved: dict = {}
        for entry in generated.tape:
            what = entry[0].what
            self.saved.setdefault(what if isinstance(what, Var) else getattr(what, "array", None), []).append(
                describe_entry(name_of, *entry))
        self.loaded: dict[Arr, list[Var]] = {}
        for s in core.walk(self.program.body):
            if isinstance(s, core.Load):
                self.loaded.setdefault(s.array, []).append(s.var)
        self.objects = list(bound(self.program))
        self.name = generated.lowered.function.name

    def variables(self) -> Iterator[Variable]:
        files: dict[str, set[int]] = {}
        for _, loc, _ in self.objects:
            files.setdefault(loc.file, set()).add(loc.line)
        for file, lines in files.items():
            for node, names in functions_of(file, lines):
                heads = set().union(*(one.heads for one in names.values()))
                for name, where in names.items():
                    if name.strip("_"):
                        yield from self.of(file, node, name, where, heads)

    def of(self, file: str, node, name: str, where: Bound, heads: set[int]) -> Iterator[Variable]:
        """What is known of a name that a function binds. heads: the lines of loops and branches."""
        called = getattr(node, "name", "<lambda>")
        given, span = name in parameters(node), (node.lineno, node.end_lineno)
        params = [p for p in self.program.params if p.hint == name and given and called in (self.name, "<lambda>")]
        own = [(x, loc, how) for x, loc, how in self.objects if loc.file == file and span[0] <= loc.line <= span[1]]

        def is_named(x, loc: Loc, how: str) -> bool:
            """Numbers and buffers of the compiler's own may have this name too, in other lines."""
            if x.hint != name or how == "reads":
                return False
            if how == "counts":
                return where.counts and loc.line in where.lines
            if isinstance(x, Arr) or how == "carries":
                return loc.line in where.lines | where.parts | (heads if isinstance(x, Arr) else where.heads)
            return loc.line in where.lines | where.parts and not (ANONYMOUS.fullmatch(name) and loc.line in heads)
        named = [(x, loc) for x, loc, how in own if is_named(x, loc, how)]
        at: dict[int, list] = {0: params} if params else {}
        for x, loc in sorted(named, key=lambda pair: isinstance(pair[0], Arr)):
            at.setdefault(loc.line, []).append(x)
        made_of = set()
        for line in where.alone - set(at):              # what it is made of: numbers, or the arrays in a dict or list
            parts = [x for x, loc, _ in own if loc.line == line and (is_float(x) or self.is_taped(x))]
            if parts:
                at[line] = parts
                made_of.add(line)
        if not at:
            told = "it is a name for what the function is called with" if given else ALIAS
            line = min(where.lines, default=0)
            yield Variable(name, called, file, span, line, False, told, False, "nothing of it is saved")
        for line, objects in sorted(at.items()):
            has, adjoint = self.adjoint(objects)
            taped, value = self.value(objects)
            if line in made_of:
                adjoint = f"what is computed for it: {adjoint}"
            yield Variable(name, called, file, span, line, has, adjoint, taped, value)

    def is_taped(self, x) -> bool:
        return x in self.values.found and self.values.found[x].how == TAPED

    def adjoint(self, objects: list) -> tuple[bool, str]:
        """(whether one of these has an adjoint, why or why not)."""
        floats = [x for x in objects if is_float(x)]
        of = ", ".join(f"`{w.hint}`" for w in self.wanted)
        if any(x in self.varied and x in self.useful for x in floats):
            return True, f"it has an adjoint, as it depends on {of} and the result depends on it"
        if not floats:
            return False, f"no adjoint, as it is {'a truth value' if objects[0].dtype == 'bool' else 'an integer'}"
        if varied := [x for x in floats if x in self.varied]:
            answer = explain(self.program, varied, REGISTRY)
            step = next((f" ({s.loc.short()}{': ' + s.what if s.what else ''})" for s in answer.steps), "")
            return False, f"no adjoint, as {answer.reason}{step}"
        if any(x in self.touched for x in floats):
            return False, f"no adjoint, as only values come to it from {of}{self.cut(floats)}"
        return False, f"no adjoint, as it does not depend on {of}"

    def cut(self, objects: list) -> str:
        """Where the derivative ends on the way to these."""
        before = closure(objects, [(t, s) for _, s, t, _ in self.influences])
        for stmt, sources, targets, why in self.influences:
            if set(sources) & self.varied and set(targets) & before and not set(targets) & self.varied:
                return f": {why or reason_of(stmt, REGISTRY)} ({(stmt.loc.origin or stmt.loc).short()})"
        return ""

    def value(self, objects: list) -> tuple[bool, str]:
        """(whether something of these is on the tape, what the reverse sweep has of their values and why)."""
        arrays = [x for x in objects if isinstance(x, Arr)]
        if arrays:
            taped, told = self.contents(arrays)
            some, of_numbers = self.value([x for x in objects if not isinstance(x, Arr)])      # of a dict or a record
            return (True, f"{of_numbers}; of its arrays, {told}") if some else (taped, told)
        found = [(x, self.values.found[x]) for x in objects if x in self.values.found]
        if not found:
            inside = all(x not in self.known for x in objects)
            return False, "it stands in a function that is called, whose pullback computes it again" if inside else \
                "the reverse sweep does not read it"
        x, worst = max(found, key=lambda pair: ORDER.index(pair[1].how))
        read = read_by(loc for _, f in found for loc in f.by)
        if worst.how != TAPED:
            return False, f"{read}, and {HOW[worst.how]}"
        kept = [s for y, f in found if f.how == TAPED for s in self.saved.get(y, ())]
        return bool(kept), f"{read}: {tape(kept)}, as {worst.cause}{at(worst)}"

    def contents(self, arrays: list[Arr]) -> tuple[bool, str]:
        """The same of buffers."""
        kept = [s for a in arrays for s in self.saved.get(a, ())]
        saves = [pair for a in arrays for pair in self.values.saves.get(a, ())]
        reads = [loc for a in arrays for loc in self.values.reads.get(a, ())]
        if any(a in self.values.kept for a in arrays):
            return bool(kept), f"{read_by(reads)}: {tape(kept)}, as each iteration makes its own"
        if saves and kept:
            readers = [reader for _, reader in saves if reader is not None]
            return True, f"what {places(loc for loc, _ in saves)} overwrites of it is saved, {tape(kept)}, as " \
                         f"{read_by(readers or reads)}"
        taken = [f for a in arrays for x in self.loaded.get(a, ()) if (f := self.values.found.get(x)) and f.how == TAPED]
        kept = [s for a in arrays for x in self.loaded.get(a, ()) for s in self.saved.get(x, ())]
        if taken and kept:
            return True, f"what is read from it is saved, {tape(kept)}, as {taken[0].cause}{at(taken[0])}"
        if reads:
            return False, f"{read_by(reads)}, and it still holds what it held"
        return False, "the reverse sweep does not read it"

    @property
    def known(self) -> set:
        """The variables of the program that is differentiated, without those of functions that are called."""
        return {*self.values.function.params, *(x for x, _, _ in bound(self.values.function))}


def bound(function: Function) -> Iterator[tuple[Var | Arr, Loc, str]]:
    """(variable or buffer, the place that binds it, how) of a program: it "makes" it, only "reads" it there from memory, or
    "carries" it on, through a loop or out of a branch, or "counts" with it as a loop does."""
    for stmt in core.walk(function.body):
        loc = stmt.loc.origin or stmt.loc
        if not loc.line:
            continue
        if isinstance(stmt, core.Alloc):
            yield stmt.array, loc, "makes"
        counts = [getattr(stmt, name, None) for name in ("index", "counter", "trip")] if isinstance(stmt, LOOPS) else []
        for v in (*core.defined(stmt), *core.bound_inside(stmt)):
            yield v, loc, "counts" if v in counts else "reads" if isinstance(stmt, core.Load) else \
                "carries" if isinstance(stmt, (*LOOPS, core.If)) else "makes"


@dataclass
class Bound:
    """Where a function binds a name: lines of the statements that do, of those of them that bind no other, of those that
    write to a part of it, and of the heads of loops and branches around these. counts: whether a `range` counts with it."""

    lines: set[int] = field(default_factory=set)
    alone: set[int] = field(default_factory=set)
    parts: set[int] = field(default_factory=set)
    heads: set[int] = field(default_factory=set)
    counts: bool = False


def functions_of(file: str, lines: set[int]) -> Iterator[tuple[ast.AST, dict[str, Bound]]]:
    """The functions of a file that hold some lines, each with the names that it binds."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:                                 # a cell with magic commands
        return
    for node in ast.walk(tree):
        if not isinstance(node, FUNCTIONS) or not any(node.lineno <= n <= (node.end_lineno or 0) for n in lines):
            continue
        names = {p: Bound() for p in parameters(node)}
        waiting: list[tuple[ast.AST, frozenset]] = [
            (one, frozenset()) for one in (node.body if isinstance(node.body, list) else [node.body])]
        for one, heads in waiting:                      # grows
            if isinstance(one, ast.stmt) and not isinstance(one, FUNCTIONS):
                bind(one, heads, names)
            if isinstance(one, (ast.For, ast.While, ast.If)):
                heads = heads | {one.lineno}
            if not isinstance(one, FUNCTIONS):
                waiting += ((child, heads) for child in ast.iter_child_nodes(one))
        yield node, names


def bind(stmt: ast.stmt, heads: frozenset, names: dict[str, Bound]) -> None:
    """Note what a statement itself binds."""
    compound = isinstance(getattr(stmt, "body", None), list)
    own = {stmt.lineno} if compound else set(range(stmt.lineno, (stmt.end_lineno or stmt.lineno) + 1))
    within = [n for part in ast.iter_child_nodes(stmt) if not isinstance(part, ast.stmt) for n in ast.walk(part)]
    bound = {n.id for n in within if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for name in bound:
        known = names.setdefault(name, Bound())
        known.lines |= own
        known.heads |= heads
        known.alone |= own if len(bound) == 1 else set()
        known.counts |= isinstance(stmt, ast.For) and any(
            isinstance(n, ast.Name) and n.id == "range" for n in ast.walk(stmt.iter))
    for n in within:
        if isinstance(n, (ast.Subscript, ast.Attribute)) and isinstance(n.ctx, ast.Store):
            root: ast.AST = n
            while isinstance(root, (ast.Subscript, ast.Attribute)):
                root = root.value
            if isinstance(root, ast.Name):
                known = names.setdefault(root.id, Bound())
                known.parts |= own
                known.heads |= heads


def parameters(node) -> list[str]:
    given = node.args
    more = [p for p in (given.vararg, given.kwarg) if p is not None]
    return [p.arg for p in (*given.posonlyargs, *given.args, *given.kwonlyargs, *more)]


def read_by(locs: Iterable[Loc]) -> str:
    return f"the reverse sweep reads it for {places(locs)}"


def places(locs: Iterable[Loc]) -> str:
    """The lines of places, in the order of the file."""
    found = sorted({((loc.origin or loc).file, (loc.origin or loc).line) for loc in locs if (loc.origin or loc).line})
    told = [Loc(file, line).short() for file, line in found]
    return ", ".join(told[:MANY]) + (f" and {len(told) - MANY} more" if len(told) > MANY else "") if told else "a size"


def tape(kept: list[SavedQuantity]) -> str:
    if not kept:
        return "a later pass does without a tape for it"
    return "on the tape, " + ", ".join(f"`{s.name}` of {s.bytes} bytes" for s in {s.name: s for s in kept}.values())


def at(found: Found) -> str:
    loc = found.at and (found.at.origin or found.at)
    return f" ({loc.short()})" if loc is not None and loc.line else ""


def variables_of(compiled) -> Variables:
    """The variables of the user's functions in the latest call of a compiled object, if it has a reverse sweep."""
    made = compiled._inspect()
    generated = made.generated
    if compiled._seeds is None or generated.device or "reverse" not in generated.stages or "raises" in made.extra:
        return Variables()
    wanted = made.extra["wanted" if "wanted" in made.extra else "leaves"]
    return Variables(dict.fromkeys(Survey(made, wanted, compiled._seeds).variables()))


__all__ = ["Variable", "Variables", "variables_of"]
