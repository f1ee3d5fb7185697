"""What the docstrings of passes show before and after, run: each pass makes the one of the other."""

import ast
import sys

import pytest

from autodiff.transforms.language.facts import Facts
from autodiff.transforms.language.motion import facts_of
from autodiff.transforms.language.verify import verify
from autodiff.transforms.optimise.simplify import simplify
from autodiff.transforms.passes import CPU, before
from autodiff.transforms.stages import Pass, Stages, run

from .pictures import Reader, body_of, pictures

FIRST = {}                      # of the passes of a file, the one that runs first
for row in (*before(Facts()), *CPU):
    FIRST.setdefault(row.run.__module__, row)
SHOWN = [(name, k, *pair) for name in FIRST for k, pair in enumerate(pictures(sys.modules[name].__doc__))]


@pytest.mark.parametrize("name, k, text, after", SHOWN, ids=[f"{name.rsplit('.', 1)[-1]}-{k}" for name, k, *_ in SHOWN])
def test_the_pass_does_what_its_docstring_shows(name, k, text, after):
    program, row = Reader(text).program, FIRST[name]
    verify(program)
    given = {"facts": facts_of(program)} if "facts" in row.given else {}
    made = run((Pass(row.run, simplify, given, row.rows),), program, Stages(), True, {})
    assert body_of(made, "return" in text) == ast.unparse(ast.parse(after))
    assert body_of(program, "return" in text) != body_of(made, "return" in text)


def test_each_file_of_passes_shows_what_it_does():
    assert set(FIRST) == {name for name, *_ in SHOWN}
