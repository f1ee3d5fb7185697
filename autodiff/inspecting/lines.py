"""`f.lines`: where every line of the generated source comes from, which sweep it is of, and what it puts on the tape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..transforms.language import markup
from ..transforms.language.core import Alloc, Arr, Call, Ref, Resize, Store, array_of, walk
from ..transforms.language.units import with_called
from ..transforms.printing.emit import Printer, names_of, printed
from .tapes import describe_entry

SECTION = re.compile(r"( *)# ---- (.*) ----$")
SWEEPS = (("reverse", "reverse"), ("tangents", "tangents"))
COMMENT = re.compile(r" *# (\S+):(\d+)    ")


@dataclass(frozen=True)
class SourceLine:
    """A line of the generated source.

    number: from 1. text: the line. function: the generated function that it stands in ("" outside). sweep: "forward",
    "reverse" or "tangents" ("" outside). places: the (file, line) of the user's that it computes, that of its own statement
    first. tape: the name of the buffer of the tape that it makes or fills ("" if none). bytes: a formula of the size of that
    buffer, where the line makes it.
    """

    number: int
    text: str
    function: str = ""
    sweep: str = ""
    places: tuple[tuple[str, int], ...] = ()
    tape: str = ""
    bytes: str = ""

    def __str__(self) -> str:
        where = f"{short(self.places[0][0])}:{self.places[0][1]}" if self.places else ""
        taped = f"    # tape: {self.bytes} bytes" if self.bytes else ""
        return f"{self.number:4} {self.sweep:8} {where:20} {self.text}{taped}"


class Lines(tuple):
    """The lines of a generated module, `SourceLine`s; prints as a table."""

    def of(self, line: int, file: str = "") -> Lines:
        """Those that compute a line of the user's. file: its file, or the end of its path, if there are several."""
        return Lines(one for one in self if any(n == line and name.endswith(file) for name, n in one.places))

    def __str__(self) -> str:
        return "\n".join(str(line).rstrip() for line in self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return markup.piece(markup.table(("", "sweep", "from", "generated line", "tape"), (
            (one.number, markup.element("span", one.sweep, one.sweep), ", ".join(f"{short(f)}:{n}" for f, n in one.places),
             markup.program(one.text), f"{one.bytes} bytes" if one.bytes else "") for one in self), numbers=(0,)))


def short(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1]


def printers(programs) -> list[Printer]:
    """What printed each function of a module, in the order in which they stand there."""
    units = names_of(programs)
    functions = [*(replace(unit.function, name=name) for unit, name in units.items()), *programs]
    return [printed(function, units) for function in functions]


def names_in(made) -> Callable:
    """The function that gives what a buffer or number of a specialisation is called in its source, None without a name."""
    if made.generated.device:
        return lambda x: None
    found = [p.names for p in printers(made.generated.programs)]

    def name(x):
        return next((known for names in found if (known := names.given_to(x)) is not None), None)
    return name


def lines_of(made) -> Lines:
    """The lines of the source of a specialisation."""
    generated = made.generated
    name_of = names_in(made)
    entries = {entry[0].array: describe_entry(name_of, *entry) for entry in generated.tape}
    threads = generated.threads
    text = generated.text if threads is None else threads.text
    if generated.device:                            # other printers: what the comments say
        return by_comments(text, generated.programs)
    found: dict[int, SourceLine] = {}
    start = 0
    for printer in printers(generated.programs if threads is None else threads.programs):
        body = "\n".join(printer.lines) + "\n"
        start = text.index(body, start)
        first = text.count("\n", 0, start) + 1
        for line in located(printer, first, entries):
            found[line.number] = line
        start += len(body)
    return Lines(found.get(k, SourceLine(k, line)) for k, line in enumerate(text.split("\n")[:-1], 1))


def located(printer: Printer, first: int, entries) -> Iterator[SourceLine]:
    """The lines of a function that begins at a line of its module."""
    sweeps: list[tuple[int, str]] = [(0, "forward")]
    for k, line in enumerate(printer.lines):
        depth = len(line) - len(line.lstrip())
        section = SECTION.match(line)
        while depth < sweeps[-1][0]:
            sweeps.pop()
        if section:
            sweeps.append((depth, next((name for word, name in SWEEPS if word in section[2]), sweeps[-1][1])))
        saved = () if line.lstrip().startswith("#") else [entries[a] for a in made_by(line.stmt) if a in entries]
        size = saved[0].bytes if saved and isinstance(line.stmt, (Alloc, Call)) else ""
        yield SourceLine(first + k, str(line), printer.function.name, sweeps[-1][1] if k else "",
                         tuple((loc.file, loc.line) for loc in line.locs), saved[0].name if saved else "", size)


def made_by(stmt) -> list[Arr]:
    """The buffers that a statement makes or writes."""
    if isinstance(stmt, (Alloc, Store, Resize)):
        return [stmt.array]
    return [array_of(o) for o in stmt.outs if isinstance(o, (Arr, Ref))] if isinstance(stmt, Call) else []


def by_comments(text: str, programs) -> Lines:
    """The lines of a text by the comments in it: each holds for what follows, to the next one."""
    files = {short(s.loc.file): s.loc.file for p in with_called(programs) for s in walk(p.body) if s.loc.line}
    lines: list[SourceLine] = []
    places: tuple[tuple[str, int], ...] = ()
    function = sweep = ""
    for k, line in enumerate(text.split("\n")[:-1], 1):
        if line.startswith("def "):
            function, sweep, places = re.match(r"def (\w+)", line)[1], "forward", ()       # type: ignore[index]
        elif section := SECTION.match(line):
            sweep, places = next((name for word, name in SWEEPS if word in section[2]), sweep), ()
        elif comment := COMMENT.match(line):
            places = ((files.get(str(comment[1]), str(comment[1])), int(comment[2])),)
        elif line and not line.startswith(" "):
            function, sweep, places = "", "", ()
        lines.append(SourceLine(k, line, function, sweep, places if line.strip() else ()))
    return Lines(lines)


__all__ = ["Lines", "SourceLine", "lines_of", "names_in"]
