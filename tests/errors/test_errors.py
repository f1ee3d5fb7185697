"""Every mistake is an AutodiffError at the user's line, before anything runs; the texts are golden files."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import autodiff
from autodiff import AutodiffError, grad

from . import programs

GOLDEN = Path(__file__).parent / "golden"


def message(name):
    function, call = programs.CASES[name]
    with pytest.raises(AutodiffError) as raised:
        call(function)
    text = f"{type(raised.value).__name__}: {raised.value}"
    text = re.sub(r'File ".*[/\\]', 'File "', text)
    first = function.__code__.co_firstlineno
    text = re.sub(r"line (\d+)", lambda m: f"line +{int(m.group(1)) - first}", text)
    return text.rstrip() + "\n"


@pytest.mark.parametrize("name", sorted(programs.CASES))
def test_message(name, request):
    found = message(name)
    file = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(found)
    assert found == in_words_of_this_python(file.read_text())
    assert "InternalError" not in found


def in_words_of_this_python(text: str) -> str:
    if sys.version_info < (3, 11):
        return re.sub(r"cannot access local variable (.*) where it is not associated with a value",
                      r"local variable \1 referenced before assignment", text)
    return text


def test_carets_point_into_the_line():
    for name in programs.CASES:
        lines = message(name).split("\n")
        for k, line in enumerate(lines):
            if line.strip().startswith("^"):
                assert len(line.rstrip()) <= max(len(lines[k - 1]), 5), name


def test_nothing_runs_before_the_error(capsys):
    def noisy(x):
        print("running")
        with open("nothing"):
            return np.sum(x)
    with pytest.raises(AutodiffError):
        grad(noisy, mode="python")(np.ones(3))
    assert "running" not in capsys.readouterr().out


def test_run_time_checks_keep_numpys_classes():
    def both(x, y):
        return np.sum(x + y)
    with pytest.raises(ValueError, match="broadcast"):
        grad(both, mode="python")(np.ones(3), np.ones(4))

    def checked(x):
        if x[0] < 0.0:
            raise ValueError(f"negative start {x.shape[0]}")
        return np.sum(x)
    with pytest.raises(ValueError, match="negative start"):
        grad(checked, mode="python")(-np.ones(3))

    def asserted(x):
        assert x[0] > 0.0, "must be positive"
        return np.sum(x)
    with pytest.raises(AssertionError, match="must be positive"):
        grad(asserted)(-np.ones(3))


def test_functions_without_source():
    with pytest.raises(AutodiffError):
        grad(len, mode="python")(np.ones(3))
    namespace = {}
    exec("def hidden(x):\n    return x * x\n", namespace)
    with pytest.raises(autodiff.SourceUnavailable):
        grad(namespace["hidden"], mode="python")(2.0)
