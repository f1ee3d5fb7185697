"""Generated texts that were read line by line: they stay as they are, until a change of them is meant and read.

`python -m tests.golden_programs` writes them anew.
"""

import ast
import re

import pytest

from .golden_programs import FOLDER, GOLDENS


@pytest.mark.parametrize("name", GOLDENS)
def test_the_text_is_the_one_that_was_read(name):
    assert GOLDENS[name].text() == (FOLDER / f"{name}.py").read_text(encoding="utf-8")


def test_no_other_texts_are_kept():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(GOLDENS)


@pytest.mark.parametrize("name", GOLDENS)
def test_every_function_says_what_it_returns(name):
    for function in (n for n in ast.parse(GOLDENS[name].text()).body if isinstance(n, ast.FunctionDef)):
        returned = function.body[-1].value
        count = len(returned.elts) if isinstance(returned, ast.Tuple) else 1
        said = ast.get_docstring(function)
        assert said.startswith("Returns ") and len(re.findall(r"\([^()]*\)|\ba \w", said)) == count, said
