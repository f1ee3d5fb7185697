"""`f.view()`: the user's source beside what was generated for it, as one page of HTML that needs no network."""

from __future__ import annotations

import ast
import html
import json
import linecache
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING

from ..transforms.language.cells import cell, in_cells
from ..transforms.language.core import Function
from .lines import Lines, SourceLine, located, printers, short
from .times import TimedLine, Times
from .variables import Variable, variables_of

if TYPE_CHECKING:
    from .inspected import Inspected

WORD, NUMBER = re.compile(r"\b[^\W\d]\w*"), re.compile(r"_\d+$")
KINDS = {"_bar": "the adjoint of", "_dot": "the tangent of", "_tape": "what is saved of", "_old": "what was overwritten of"}


class View:
    """A page that shows a derivative beside the function that it is of. `html`: the page; a notebook shows it by itself, a
    prompt the program that the page begins with."""

    def __init__(self, title: str, content: dict):
        first = content["stages"][content["first"]]["lines"]
        own = [line for part in content["own"] for line in part["lines"]]
        self.title, self.text = title, "\n".join(line.get("text", "") for line in first) + "\n"
        self.height = min(36.0, 11.5 + 1.35 * max(len(first), len(own) + 2))         # in a notebook, in sizes of a letter
        data = in_cells(json.dumps(content, ensure_ascii=False))
        data = data.replace("</", "<\\/")                              # no end of the script that holds it
        page = (files(__package__) / "view.html").read_text(encoding="utf-8")
        self.html = page.replace("{{title}}", html.escape(title)).replace("{{data}}", data)

    def save(self, path) -> None:
        """Write the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:{self.height:.0f}em;border:0"></iframe>'

    def _repr_pretty_(self, printer, cycle: bool) -> None:
        printer.text(in_cells(self.text))

    def __repr__(self) -> str:
        return f"<page of the {self.title}: .save(path) writes it>"


def view(compiled: Inspected, bill: Iterable = (), begin: str = "source", times: Times | None = None) -> View:
    """The page of the latest call of a compiled object.

    bill: the sizes of its tape, for some arguments. begin: the program to begin with; raises KeyError for one that there is
    not. times: those of the lines, if they were measured.
    """
    lines, stages, tape, variables = compiled.lines, compiled.stages, compiled.tape, variables_of(compiled)
    held = {item.name: item for item in bill if item.bytes is not None}
    why = {saved.name: saved.reason for saved in tape}
    programs: list[tuple[str, float | None, list]] = []
    first = 0
    for name, stage in stages.items():
        made = lines_of_program(stage.program)
        if not programs or [one.text for one in made] != [one.text for one in programs[-1][2]]:     # what changed something
            programs.append((name, round(1e3 * stage.seconds, 2), made))
        if name == begin:
            first = len(programs) - 1
    programs.append(("source", None, list(lines)))
    if begin == "source":
        first = len(programs) - 1
    elif begin not in stages:
        raise KeyError(f"no stage {begin!r}; there are {', '.join(stages)}, source")
    places = sorted({place for _, _, made in programs for line in made for place in line.places})
    own = list(dict.fromkeys(file for file, _ in places))
    bytes_at: dict[str, int] = {}
    for item in held.values():
        if item.holds.startswith("saved"):
            bytes_at[item.where] = bytes_at.get(item.where, 0) + item.bytes
    shown_programs: list[dict] = [{"name": name, "ms": ms, "lines": [shown(one, own, held, why) for one in made]}
                                  for name, ms, made in programs]
    for segment in times.segments if times is not None else ():
        for k in range(segment.first - 1, segment.last):            # of the source, the last program
            shown_programs[-1]["lines"][k]["segment"] = [segment.first, segment.last, segment.seconds, segment.count]
    return View(f"{compiled.kind} of {compiled.__name__}", {
        "stages": shown_programs, "first": first,
        "own": [functions_at(file, {n for f, n in places if f == file}, bytes_at, variables, times or ()) for file in own],
        "reasons": compiled._reasons(), "total": sum(bytes_at.values()), "names": generated_names(lines, variables),
        **({} if times is None else {"call": times.call, "calls": times.calls})})


def generated_names(lines: Lines, variables: Iterable[Variable]) -> dict[str, str]:
    """What is said of the names in a generated text: of what they are, with what is known of the user's variable."""
    known: dict[str, list[str]] = {}
    for one in variables:
        known.setdefault(one.name, []).append(str(one))
    found = {}
    code = [line.text for line in lines if not line.text.lstrip().startswith("#")]
    for name in sorted({word for text in code for word in WORD.findall(text)}):
        for base, kind in readings(name):
            if base in known:
                head = f"`{name}`: {kind} `{base}`" if name != base else ""
                found[name] = "\n".join(filter(None, [head, *known[base]]))
                break
    return found


def readings(name: str) -> Iterator[tuple[str, str]]:
    """The variables that a generated name may be of, and what of them."""
    yield name, ""
    bare = NUMBER.sub("", name)
    for suffix, kind in KINDS.items():
        if bare.endswith(suffix):
            yield bare.removesuffix(suffix), kind
            yield NUMBER.sub("", bare.removesuffix(suffix)), kind
    yield bare, "a value of"


def shown(line: SourceLine, own: list[str], held: dict, why: dict) -> dict:
    """A generated line as the page has it: places are "file:line" by the number of the file; what is empty is left out."""
    item = held.get(line.tape) if line.bytes else None
    whole = {"text": line.text, "sweep": line.sweep, "places": [f"{own.index(file)}:{n}" for file, n in line.places],
             "tape": line.tape, "formula": line.bytes, "bytes": item.bytes if item else None, "why": why.get(line.tape, "")}
    return {key: value for key, value in whole.items() if value}


def lines_of_program(program: Function) -> list[SourceLine]:
    found: list[SourceLine] = []
    for printer in printers((program,)):
        if found:
            found.append(SourceLine(len(found) + 1, ""))
        found += located(printer, len(found) + 1, {})
    return found


def functions_at(file: str, numbers: set[int], bytes_at: dict[str, int], variables: Iterable[Variable] = (),
                 times: Iterable[TimedLine] = ()) -> dict:
    """The functions of a file that hold some of its lines, as they are written there, with what is known of their variables
    and of the lines' times."""
    text = linecache.getlines(file)
    spans = []
    try:
        tree = ast.parse("".join(text))
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        spans = [(min([n.lineno, *(d.lineno for d in getattr(n, "decorator_list", ()))]), n.end_lineno or n.lineno)
                 for n in ast.walk(tree) if isinstance(n, kinds)]
    except SyntaxError:                             # a cell with magic commands: the lines alone
        pass
    spans += [(n, n) for n in numbers]
    wanted: set[int] = set()
    for first, last in spans:
        if any(first <= n <= last for n in numbers):
            wanted.update(range(first, last + 1))
    names: dict[tuple[int, int], dict[str, str]] = {}
    for one in variables:
        if one.file == file:
            around = [s for s in spans if s[0] <= one.span[0] and one.span[1] <= s[1]]
            span = min(around, key=lambda s: s[1] - s[0], default=one.span)
            known = names.setdefault(span, {})
            known[one.name] = f"{known[one.name]}\n{one}" if one.name in known else str(one)
    taken = {one.line: {**one.sweeps, "shared": one.shared} for one in times if one.file == file}
    return {"name": cell(file) or short(file), "names": [[*span, known] for span, known in names.items()], "lines": [
        {"number": n, "text": text[n - 1].rstrip("\n") if n <= len(text) else "",
         "bytes": bytes_at.get(f"{short(file)}:{n}"), "time": taken.get(n)}
        for n in sorted(wanted)]}


__all__ = ["View", "view"]
