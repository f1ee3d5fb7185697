"""The benchmarks run (tiny sizes) and are right: hand-written primals and adjoints against ours. No speed is asserted."""

import numpy as np
import pytest

import autodiff

from .benchmarks import __main__ as command
from .benchmarks import report
from .benchmarks.compare import Timing, distance
from .benchmarks.suite import BENCHMARKS
from .benchmarks.tools import copies, make, numbers
from .support import assert_gradient

NAMES = sorted(BENCHMARKS)
WITH_SIZES = {"ba3", "d20", "d64", "10k", "256", "800"}         # the same program again


@pytest.mark.parametrize("name", [n for n in NAMES if not BENCHMARKS[n].runs and not WITH_SIZES & set(n.split())])
def test_gradient(name):
    """Ours against differences; the hand-written adjoint against ours."""
    program = BENCHMARKS[name]
    args = program.arguments(tiny=True)
    assert_gradient(program.function, args, program.wrt, "python")
    value, gradients = autodiff.value_and_grad(program.function, wrt=program.wrt, mode="python")(*args)
    fresh = copies(program, args)
    for function in program.primals:
        np.testing.assert_allclose(function(*fresh()), value, rtol=1e-11)
    if program.adjoint is not None:
        assert distance(numbers(program.adjoint(*args)), numbers((value, *gradients))) < 1e-11


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
    command.main(["--only", "triangular", "--only", "RNN", "--tiny", "--rounds", "2", "--write", str(page)])
    captured = capsys.readouterr()
    assert "geometric mean" in captured.out and not captured.err
    text = page.read_text()
    assert "| RNN |" in text and text.startswith("before") and text.endswith("after\n")
    assert (tmp_path / "page.svg").exists()


def test_call_costs_run(capsys):
    command.main(["--only", "call", "--only", "tensors", "--only", "threads", "--only", "checkpoints", "--tiny"])
    printed = capsys.readouterr().out
    assert "Numba" in printed and "threads" in printed and "copies" in printed


def test_report_names_what_failed():
    rows = {"p": {"primal": Timing([1.0]), "ours": Timing([2.0]), "jax": Timing(error="no")}}
    assert "failed" in report.table(rows) and report.errors(rows) == "p, jax: no"
