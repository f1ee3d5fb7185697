"""`f.view()`: the user's source beside what was generated for it, as one page of HTML that needs no network."""

from __future__ import annotations

import ast
import html
import json
import linecache
from collections.abc import Iterable
from importlib.resources import files

from ..transforms.language.cells import cell, in_cells
from ..transforms.language.core import Function
from .lines import Lines, SourceLine, located, printers, short


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


def view(title: str, lines: Lines, stages, reasons: dict[str, str], tape: Iterable, bill: Iterable = (),
         begin: str = "source") -> View:
    """The page of a derivative.

    lines: of its source. stages: the programs on the way, by name. reasons: for arguments, where their gradients come from.
    tape: what is saved. bill: its sizes, for some arguments. begin: the program to begin with; raises
    KeyError for one that there is not.
    """
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
    shown_programs = [{"name": name, "ms": ms, "lines": [shown(one, own, held, why) for one in made]}
                      for name, ms, made in programs]
    return View(title, {
        "stages": shown_programs, "first": first,
        "own": [functions_at(file, {n for f, n in places if f == file}, bytes_at) for file in own],
        "reasons": reasons, "total": sum(bytes_at.values())})


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


def functions_at(file: str, numbers: set[int], bytes_at: dict[str, int]) -> dict:
    """The functions of a file that hold some of its lines, as they are written there."""
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
    return {"name": cell(file) or short(file), "lines": [
        {"number": n, "text": text[n - 1].rstrip("\n") if n <= len(text) else "",
         "bytes": bytes_at.get(f"{short(file)}:{n}")}
        for n in sorted(wanted)]}


__all__ = ["View", "view"]
