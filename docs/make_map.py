"""Runs the examples in docs/*.md and writes what they print: `python docs/make_map.py [--check] [--plain] [FILE.md]`.

A page's ```python blocks are one program, `example.py`, run from top to bottom. A code block under a line
`<!-- output -->` holds what the blocks above it printed; it is replaced, so the pages cannot go stale.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import os
import re
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PAGES = ("arguments.md", "bridges.md", "coming_from.md", "complex.md", "derivatives.md", "faq.md", "gpu.md", "graph.md",
         "library.md", "map.md", "random.md", "rules.md", "scipy.md", "solvers.md", "sparse.md", "tape.md", "tutorial.md",
         "view.md", "vmap.md")
PLAIN = ("coming_from.md", "complex.md", "derivatives.md", "faq.md", "sparse.md", "tape.md",    # the tests run these without
         "tutorial.md", "vmap.md")                                                              # Numba, .ci/run with it
BLOCK = re.compile(r"(?P<mark><!-- output -->\n)?```(?P<kind>[\w -]*)\n(?P<text>.*?)^```$",
                   re.DOTALL | re.MULTILINE)
MEASURED = re.compile(r"-?\d+\.\d{6,}(?:e[+-]\d+)?")       # a number whose last digits differ between processors


def alike(page: str, other: str) -> bool:
    """Whether two pages differ in no more than the last digits of numbers, which BLAS decides by the processor."""
    numbers = [list(map(float, MEASURED.findall(text))) for text in (page, other)]
    return MEASURED.sub("#", page) == MEASURED.sub("#", other) and all(
        math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in zip(*numbers, strict=True))


def refreshed(page: str) -> str:
    """The page with every output block replaced by what its program prints."""
    blocks = list(BLOCK.finditer(page))
    program = [b["text"] for b in blocks if b["kind"] == "python" and not b["mark"]]
    pieces, position, line = [], 0, 0
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "example.py")
        Path(path).write_text("".join(program), encoding="utf-8")      # functions are read from their file
        space = {"__name__": "example", "__file__": path}
        for block in blocks:
            if block["mark"]:
                pieces += [page[position:block.start("text")], printed.getvalue().strip("\n") + "\n"]
                position = block.end("text")
                printed = io.StringIO()
            elif block["kind"] == "python":
                code = compile("\n" * line + block["text"], path, "exec", dont_inherit=True)
                line += block["text"].count("\n")
                with contextlib.redirect_stdout(printed):
                    exec(code, space)
    return "".join(pieces) + page[position:]


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help=f"default: {', '.join(PAGES)}")
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 if a page is stale")
    parser.add_argument("--plain", action="store_true", help=f"these pages: {', '.join(PLAIN)}")
    chosen = parser.parse_args(arguments)
    stale = 0
    for name in chosen.pages or (PLAIN if chosen.plain else PAGES):
        file = FOLDER / name
        old = file.read_text(encoding="utf-8")
        new = refreshed(old)
        if not alike(new, old):
            stale += 1
            print(f"{name} {'is stale: run python docs/make_map.py' if chosen.check else 'rewritten'}")
            if not chosen.check:
                file.write_text(new, encoding="utf-8")
    return 1 if stale and chosen.check else 0


if __name__ == "__main__":
    sys.exit(main())
