"""What runs a table of passes: each program is verified (in debug), timed and kept as a stage."""

from __future__ import annotations

import difflib
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .language import core, markup
from .language.core import Arr, Function
from .language.errors import InternalError
from .language.queries import allocations
from .language.substitution import substitute
from .language.verify import verify
from .printing.emit import emit, names_of

SHOWN = 500_000         # characters of all stages: beyond, a notebook shows only their names


@dataclass(frozen=True)
class Pass:
    """A function from a program to one that computes the same.

    then: what must run after it, and would find nothing to do in what it gives. given: keywords for `run`. rows: whether it
    is also given the table of buffers that stand for others, and writes there which rows it keeps of a tape.
    """

    run: Callable
    then: Callable | None = None
    given: dict = field(default_factory=dict)
    rows: bool = False

    @property
    def name(self) -> str:
        return self.run.__name__.replace("_", " ")

    def __call__(self, program: Function, rows: dict | None, settled: set) -> Function:
        """The program after this pass; itself, if nothing changes.

        settled: functions that left the program alone, which need not run again; a change empties it.
        """
        for function in (self.run, *([self.then] if self.then else [])):
            if function in settled:
                continue
            given = self.given if function is self.run else {}
            made = function(program, rows, **given) if self.rows and function is self.run else function(program, **given)
            alone = unchanged(program, made)
            if not alone:
                settled.clear()
                program = made
            if alone or function is self.then:
                settled.add(function)
        return program


def unchanged(before: Function, after: Function) -> bool:
    """Whether a pass gave back the program that it was given, or one of the same statements."""
    def told(p):
        return p.name, p.copied, p.notes, p.params, p.returns, p.tape
    return before is after or told(before) == told(after) and core.same(before.body, after.body)


@dataclass
class Stage:
    """A program after a pass; prints as Python. seconds: what the pass took, with what runs after it."""

    name: str
    program: Function
    seconds: float = 0.0
    shapes: dict[Arr, tuple] | None = field(default=None, repr=False)

    def __post_init__(self):
        if self.shapes is None:
            self.shapes = {a: a.shape for a in allocations(core.walk(self.program.body))}

    def __str__(self) -> str:
        shapes = self.shapes or {}
        then = {a: Arr(a.hint, a.dtype, shape, a.why) for a, shape in shapes.items() if shape != a.shape}
        program = self.program
        if then:                            # later passes have written other sizes there
            returns = tuple(then.get(r, r) for r in program.returns)
            program = replace(program, body=substitute(program.body, dict(then), fresh=False), returns=returns)
        names = names_of((program,))
        units = (replace(unit.function, name=name) for unit, name in names.items())
        return "\n\n".join(emit(p, names)[0] for p in (*units, program))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return markup.piece(markup.program(str(self)))


class Stages(dict):
    """Stages by name, in order: `stages["fuse"]` prints as Python, the whole as a table, `stages.diff(a, b)` as a diff."""

    def record(self, name: str, program: Function, seconds: float = 0.0) -> Function:
        """Keep a program; under `name 2`, `name 3` ... if the name is taken."""
        number, key = 1, name
        while key in self:
            number += 1
            key = f"{name} {number}"
        last = next(reversed(self.values()), None)
        self[key] = Stage(key, program, seconds, last.shapes if last and last.program is program else None)
        return program

    def timed(self, name: str, make: Callable, *args):
        """What `make` gives for these arguments, whose program, itself or the first of several results, is a stage."""
        began = time.perf_counter()
        made = make(*args)
        self.record(name, made[0] if isinstance(made, tuple) else made, time.perf_counter() - began)
        return made

    def __missing__(self, name):
        raise KeyError(f"no stage {name!r}; there are {', '.join(self)}")

    def diff(self, before: str, after: str) -> str:
        """What is different between two stages: a unified diff of their texts."""
        old, new = (str(self[name]).splitlines(True) for name in (before, after))
        return "".join(difflib.unified_diff(old, new, before, after))

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:{width}}  {1e3 * s.seconds:8.2f} ms" for name, s in self.items())

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """A line for each stage that changed the program; a click shows it, if all of them together are not too much."""
        texts = {name: str(stage) for name, stage in self.items()}
        size, shown = sum(map(len, texts.values())), []
        for text, alike in itertools.groupby(texts, key=texts.__getitem__):     # one that changed it, then others
            name, *others = alike
            head = f"{name}: {1e3 * self[name].seconds:.2f} ms, {text.count(chr(10))} lines"
            shown.append(markup.element("div", head) if size > SHOWN else markup.folded(head, markup.program(text)))
            if others:
                spent = 1e3 * sum(self[other].seconds for other in others)
                shown.append(markup.element("div", f"    nothing changed by {', '.join(others)}: {spent:.2f} ms", "note"))
        return markup.piece(*shown)


def run(table: tuple[Pass, ...], program: Function, stages: Stages, debug: bool = False, rows: dict | None = None,
        name: str = "") -> Function:
    """The program after all passes of a table, each a stage; name: what the stages' names begin with.

    InternalError in debug, naming the pass, if a program is not valid.
    """
    settled: set = set()                # functions of the table: each is always given the same keywords
    seen = None
    for one in table:
        program = stages.timed(f"{name}{one.name}", one, program, rows, settled)
        if debug and program is not seen:
            seen = program
            try:
                verify(program)
            except InternalError as e:
                raise InternalError(f"after the pass `{one.name}`: {e.problem}", e.loc, e.hint) from e
    return program


__all__ = ["Pass", "Stage", "Stages", "run"]
