"""What runs a table of passes: each program is verified (in debug), timed and kept as a stage."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .language import core
from .language.core import Arr, Function
from .language.errors import InternalError
from .language.substitution import substitute
from .language.verify import verify
from .printing.emit import emit, names_of


@dataclass(frozen=True)
class Pass:
    """A function from a program to one that computes the same.

    then: what must run after it. given: keywords for `run`. rows: whether it is also given the table of buffers that stand
    for others, and writes there which rows it keeps of a tape.
    """

    run: Callable
    then: Callable | None = None
    given: dict = field(default_factory=dict)
    rows: bool = False

    @property
    def name(self) -> str:
        return self.run.__name__.replace("_", " ")

    def __call__(self, program: Function, rows: dict | None) -> Function:
        made = self.run(program, rows, **self.given) if self.rows else self.run(program, **self.given)
        return made if self.then is None else self.then(made)


@dataclass
class Stage:
    """A program after a pass; prints as Python. seconds: what the pass took, with what runs after it."""

    name: str
    program: Function
    seconds: float = 0.0
    shapes: dict[Arr, tuple] = field(init=False, repr=False)

    def __post_init__(self):
        self.shapes = {s.array: s.array.shape for s in core.walk(self.program.body) if isinstance(s, core.Alloc)}

    def __str__(self) -> str:
        then = {a: Arr(a.hint, a.dtype, shape, a.why) for a, shape in self.shapes.items() if shape != a.shape}
        program = self.program
        if then:                            # later passes have written other sizes there
            returns = tuple(then.get(r, r) for r in program.returns)
            program = replace(program, body=substitute(program.body, dict(then), fresh=False), returns=returns)
        names = names_of((program,))
        units = (replace(unit.function, name=name) for unit, name in names.items())
        return "\n\n".join(emit(p, names)[0] for p in (*units, program))

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return f"```python\n{self}```"


class Stages(dict):
    """Stages by name, in order: `stages["fuse"]` prints as Python, the whole as a table, `stages.diff(a, b)` as a diff."""

    def record(self, name: str, program: Function, seconds: float = 0.0) -> Function:
        """Keep a program; under `name 2`, `name 3` ... if the name is taken."""
        number, key = 1, name
        while key in self:
            number += 1
            key = f"{name} {number}"
        self[key] = Stage(key, program, seconds)
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


def run(table: tuple[Pass, ...], program: Function, stages: Stages, debug: bool = False, rows: dict | None = None,
        name: str = "") -> Function:
    """The program after all passes of a table, each a stage; name: what the stages' names begin with.

    InternalError in debug, naming the pass, if a program is not valid.
    """
    for one in table:
        program = stages.timed(f"{name}{one.name}", one, program, rows)
        if debug:
            try:
                verify(program)
            except InternalError as e:
                raise InternalError(f"after the pass `{one.name}`: {e.problem}", e.loc, e.hint) from e
    return program


__all__ = ["Pass", "Stage", "Stages", "run"]
