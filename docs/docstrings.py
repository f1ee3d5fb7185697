"""The docstrings of the package as reStructuredText, for the reference of the site; `conf.py` hands them over.

They are plain English: paragraphs, `code` between single backticks, and parameters as `name: what it is`, with further
lines indented. Each parameter becomes an item of a list, `code` a literal, and nothing else is markup.
"""

from __future__ import annotations

import re

PARAMETER = re.compile(r"(?P<names>\*{0,2}[a-z]\w*(?:, \*{0,2}[a-z]\w*)*): (?P<text>\S.*)")
SECOND = re.compile(r"(?<=\.) (?=[a-z]\w*(?:, [a-z]\w*)*: )")             # before a second parameter on the line of a first
LINKED = {"check_grads", "checkpoint", "entry", "grad", "hessian", "hvp", "jacobian", "jvp", "linearize", "on_gradient",
          "sharded", "stop_gradient", "value_and_grad", "vjp"}          # names that mean one thing everywhere
OWN_PARAGRAPH = ("Returns ", "Raises ", "Source: ", "Sources: ")


def literal(text: str) -> str:
    """A line with its `code` as literals, and all that could be markup escaped.

    >>> literal("a `x` of **kw and y_")
    'a ``x`` of \\\\*\\\\*kw and y\\\\_'
    """
    pieces = re.split(r"(``?)(.+?)\1", text)                            # text, backticks, code, text, ...
    for k in range(0, len(pieces), 3):
        pieces[k] = re.sub(r"([\\*|`]|_\b)", r"\\\1", pieces[k])
        if k + 2 < len(pieces):
            before = "\\ " if pieces[k][-1:].isalnum() else ""              # markup ends only at the end of a word
            after = "\\ " if pieces[k + 3][:1].isalnum() else ""
            code = pieces[k + 2]
            made = f":py:obj:`~autodiff.{code}`" if code in LINKED else f"``{code}``"
            pieces[k + 1:k + 3] = ["", before + made + after]
    return "".join(pieces)


def as_rst(lines: list[str]) -> list[str]:
    """The lines of a docstring, without common indentation, as lines of reStructuredText."""
    made: list[str] = []
    inside = example = False                                            # of a parameter, of a `>>>` block
    for line in lines:
        bare = line.strip()
        example = bool(bare) and (example or bare.startswith(">>>"))
        if example or not bare:
            if example and made and made[-1] and not made[-1].startswith((">>>", "...")) and bare.startswith(">>>"):
                made.append("")
            made.append(line)
            inside = inside and bool(line[:1].isspace())
            continue
        indented = line[:1].isspace()
        found = None if indented else PARAMETER.fullmatch(bare)
        if found or inside and indented:
            first, *others = SECOND.split(bare)
            if not found:
                made.append(f"    {literal(first)}")
            for part in map(PARAMETER.fullmatch, others if not found else [first, *others]):
                made += ["", f"``{part['names']}``", f"    {literal(part['text'])}"]
            inside = True
        elif inside and not made[-1].endswith((".", ":")):              # the sentence goes on
            made.append(f"    {literal(bare)}")
        else:
            if inside or bare.startswith(OWN_PARAGRAPH):
                made.append("")
            inside = False
            made.append(literal(bare))
    return made
