"""Programs, tables and errors as HTML for notebooks: one piece that needs nothing else, on light ground and on dark."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence

from .cells import in_cells

TOKEN = re.compile(r"""(?P<note>\#[^\n]*)
    | (?P<text>\b[rbfRBF]{0,2}(?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    | (?P<number>\b\d(?:[eE][+-]|[\w.])*)
    | (?P<word>\b[^\W\d]\w*)""", re.VERBOSE)

LIGHT = ("--ad-ground:#fff;--ad-ink:#1d2733;--ad-faint:#65717d;--ad-rule:#d9dfe5;--ad-word:#8250df;--ad-text:#0a6640;"
         "--ad-number:#0550ae;--ad-warn:#b3261e;--ad-forward:#2f7d4f;--ad-reverse:#a33c5d;--ad-bar:#f3c98b")
DARK = ("--ad-ground:#14181d;--ad-ink:#d7dee6;--ad-faint:#93a0ac;--ad-rule:#303942;--ad-word:#c9a5ff;--ad-text:#7fd1a0;"
        "--ad-number:#82b7ff;--ad-warn:#ff8a80;--ad-forward:#6cc08d;--ad-reverse:#e57f9f;--ad-bar:#6b4a1c")


def themed(selectors: str, declarations: str) -> str:
    return ",".join(f"{one} .autodiff" for one in selectors.split()) + "{" + declarations + "}"


# What the system prefers, unless the page says what it is itself: JupyterLab, Visual Studio Code, Sphinx's themes. The class
# stands twice, so that the page's own rules for tables come second.
ME = ".autodiff.autodiff"
RULES = {
    "": "background:var(--ad-ground);color:var(--ad-ink);font:13px/1.5 system-ui,sans-serif;padding:6px 10px;overflow:auto;"
        "max-height:44em;text-align:left",
    "pre|code|td": "font:12.5px/1.5 ui-monospace,'SFMono-Regular',Menlo,Consolas,monospace;background:none;color:inherit",
    "pre": "margin:0;padding:0;border:0;white-space:pre;overflow:visible",
    "table": "border-collapse:collapse;margin:2px 0;border:0;font-size:inherit",
    "tr": "background:none",
    "th|td": "text-align:left;padding:1px 16px 1px 0;border:0;background:none;white-space:pre;vertical-align:top;"
             "max-width:none",
    "th": "color:var(--ad-faint);font-weight:600",
    "td.n|th.n": "text-align:right",
    ".note|summary": "color:var(--ad-faint)",
    "summary": "cursor:pointer",
    ".word": "color:var(--ad-word)",
    ".text": "color:var(--ad-text)",
    ".number": "color:var(--ad-number)",
    ".warn": "color:var(--ad-warn)",
    ".forward": "color:var(--ad-forward)",
    ".reverse|.tangents": "color:var(--ad-reverse)",
}
STYLE = "".join((
    ".autodiff{", LIGHT, "}@media (prefers-color-scheme:dark){.autodiff{", DARK, "}}",
    themed("body[data-jp-theme-light=true] body.vscode-light html[data-theme=light]", LIGHT),
    themed("body[data-jp-theme-light=false] body.vscode-dark html[data-theme=dark]", DARK),
    *(",".join(f"{ME} {one}".rstrip() for one in names.split("|")) + "{" + rule + "}" for names, rule in RULES.items())))


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(value) -> str:
    """A value as HTML shows it."""
    if isinstance(value, Html):
        return value
    return str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def piece(*parts) -> str:
    """What a notebook shows: parts one below the other, in their own style; places in cells have the cells' names."""
    return f'<div class="autodiff"><style>{STYLE}</style>{in_cells("".join(map(escaped, parts)))}</div>'


def element(tag: str, content="", kind: str = "") -> Html:
    """An element around a value; kind: its class, or classes."""
    return Html(f"<{tag}{f' class={chr(34)}{kind}{chr(34)}' if kind else ''}>{escaped(content)}</{tag}>")


def code(text: str) -> Html:
    """A program with its words, texts, numbers and comments coloured; any text will do."""
    made, end = [], 0
    for found in TOKEN.finditer(text):
        kind = found.lastgroup or ""
        if kind == "word" and not keyword.iskeyword(found[0]):
            continue
        made += [escaped(text[end:found.start()]), element("span", found[0], kind)]
        end = found.end()
    return Html("".join([*made, escaped(text[end:])]))


def program(text: str) -> Html:
    """A program as a block."""
    return Html(f"<pre>{code(text)}</pre>")


def bar(value, part: float) -> Html:
    """A number on a bar that fills this part of its cell."""
    return Html(f'<div style="background:linear-gradient(to left,var(--ad-bar) {100 * part:.0f}%,transparent 0)">'
                f"{escaped(value)}</div>")


def table(heads: Sequence[str], rows: Iterable[Sequence], numbers: Sequence[int] = ()) -> Html:
    """A table; numbers: the columns that stand to the right."""
    def row(tag: str, cells: Sequence) -> str:
        return f"<tr>{''.join(element(tag, cell, 'n' * (k in numbers)) for k, cell in enumerate(cells))}</tr>"
    return Html(f"<table>{row('th', heads) if heads else ''}{''.join(row('td', cells) for cells in rows)}</table>")


def folded(head, content) -> Html:
    """Content that a click shows."""
    return Html(f"<details><summary>{escaped(head)}</summary>{escaped(content)}</details>")


__all__ = ["Html", "bar", "code", "element", "escaped", "folded", "piece", "program", "table"]
