"""The benchmarks run (tiny sizes) and are right: hand-written primals and adjoints against ours. No speed is asserted."""

import types

import numpy as np
import pytest

from autodiff import grad

from .benchmarks import __main__ as command
from .benchmarks import report
from .benchmarks.compare import Timing, distance
from .benchmarks.suite import BENCHMARKS
from .benchmarks.tools import copies, make, numbers
from .support import assert_gradient

NAMES = sorted(BENCHMARKS)
WITH_SIZES = {"ba3", "d20", "d64", "10k", "256", "800"}         # the same program again


def interpreted(function):
    """What Numba would compile as Python runs it, and what it calls."""
    plain = getattr(function, "py_func", function)
    known = {k: interpreted(v) for k in plain.__code__.co_names if hasattr(v := plain.__globals__.get(k), "py_func")}
    return types.FunctionType(plain.__code__, {**plain.__globals__, **known}, plain.__name__, plain.__defaults__,
                              plain.__closure__)


@pytest.mark.parametrize("name", [n for n in NAMES if not BENCHMARKS[n].runs and not WITH_SIZES & set(n.split())])
def test_gradient(name):
    """Ours against differences; the hand-written adjoint against ours."""
    program = BENCHMARKS[name]
    args = program.arguments(tiny=True)
    value, gradients = assert_gradient(program.function, args, program.wrt, "python")
    fresh = copies(program, args)
    for function in program.primals:
        np.testing.assert_allclose(interpreted(function)(*fresh()), value, rtol=1e-11)
    if program.adjoint is not None:
        assert distance(numbers(interpreted(program.adjoint)(*args)), numbers((value, *gradients))) < 1e-11


@pytest.mark.parametrize("name", [n for n in NAMES if n.endswith("gradients per example")])
def test_gradients_per_example(name):
    """Their sum, over examples that share what is differentiated by, against the gradient of the sum."""
    program = BENCHMARKS[name]
    args = program.arguments(tiny=True)
    found = make(program, "ours", True).result
    wanted = grad(lambda *args: np.sum(program.function(*args)), wrt=program.wrt, mode="python")(*args)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a if a.shape == b.shape else a.sum(axis=0), b, rtol=1e-11, atol=1e-14)


def test_bundle_adjustment():
    """The blocks of the Jacobian by two gradients and by hand, against differences."""
    program = BENCHMARKS["bundle adjustment ba1, Jacobian"]
    args = program.arguments(tiny=True)
    found = numbers(make(program, "ours", True).result)
    assert distance(found, numbers(make(program, "by hand", True).result)) < 1e-11
    for k, position in enumerate(program.wrt):
        step = 1e-6 * np.random.default_rng(2).standard_normal(args[position].shape)
        up, down = (list(args), list(args))
        up[position], down[position] = args[position] + step, args[position] - step
        slopes = (program.function(*up) - program.function(*down)) / 2.0
        for row in range(2):
            told = found[3 * row + k] * step
            np.testing.assert_allclose(told.sum(axis=1) if told.ndim == 2 else told, slopes[:, row], rtol=1e-6, atol=1e-11)


def test_command_compares_in_fresh_processes(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\n{report.END}\nafter\n")
    command.main(["--only", "triangular", "--only", "horner", "--tiny", "--rounds", "1", "--write", str(page)])
    captured = capsys.readouterr()
    assert "geometric mean" in captured.out and not captured.err
    text = page.read_text()
    assert "| horner |" in text and text.startswith("before") and text.endswith("after\n")
    assert (tmp_path / "page.svg").exists()


def test_call_costs_run(capsys):
    command.main(["--only", "call", "--only", "tensors", "--only", "threads", "--only", "checkpoints", "--tiny"])
    printed = capsys.readouterr().out
    assert "Numba" in printed and "threads" in printed and "copies" in printed


def test_report_names_what_failed():
    rows = {"p": {"primal": Timing([1.0]), "ours": Timing([2.0]), "jax": Timing(error="no")}}
    assert "failed" in report.table(rows) and report.errors(rows) == "p, jax: no"
