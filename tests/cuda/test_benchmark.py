"""The benchmark of the CUDA target runs without a GPU: its dry run, and what it counts."""

import json

import numpy as np
import pytest

import autodiff

from ..benchmarks.gpu import __main__ as command
from ..benchmarks.gpu import cases, counting, frameworks, running, table
from ..benchmarks.gpu.measuring import nominal
from .support import needs_compiler, run_for_device


def test_dry_run(tmp_path, capsys):
    out = tmp_path / "rows.json"
    assert command.main(["--dry-run", "--peers", "", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "FAIL" not in printed and "forward+backward ms" in printed
    rows = json.loads(out.read_text())["rows"]
    assert [r["case"] for r in rows] == list(cases.CASES)
    assert all(r["error"] < 1e-5 and r["forward_ms"] > 0.0 and r["both_ms"] > 0.0 for r in rows)


def test_what_fails_is_a_row():
    class Broken(frameworks.Framework):
        name = "broken"

        def prepare(self, case, args):
            raise MemoryError("no room\nfor this")

    class Wrong(frameworks.Ours):
        name = "wrong"

        def numbers(self, result):
            return [2.0 * x for x in super().numbers(result)]
    tools = [frameworks.Ours(simulated=True), Broken(), Wrong(simulated=True)]
    rows = running.run(cases.CASES["elementwise chain"], tools, nominal(), tiny=True, rounds=1, deadline=1e12)
    assert not rows[0].failure and rows[1].failure == "FAIL: MemoryError: no room"
    assert rows[0].error < 1e-6 and rows[2].error == pytest.approx(1.0) and rows[2].difference == pytest.approx(1.0)
    assert "FAIL: MemoryError: no room" in table.text_of(rows)


def test_counts():
    """Bytes and operations of programs whose counts are plain."""
    def loss(x, w):
        s = 0.0
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                s += w[j] * x[i, j] * x[i, j]
        return s
    x, w = np.ones((3000, 7000)), np.ones(7000)
    gradient = autodiff.grad(loss, target="cuda").specialize(x, w)
    work = counting.counted(gradient, (x, w))
    found = counting.total_of(work)
    assert (found.read, found.written) == (x.nbytes + w.nbytes, x.nbytes)       # its gradient alone: s is not asked for
    assert found.flops == 3 * x.size and found.threads == x.size and found.turns == 0

    def pairs(x):
        s = 0.0
        for i in range(x.shape[0]):
            for j in range(x.shape[0]):
                s += np.tanh(x[i] - x[j])
        return s
    x = np.ones(500)
    value = autodiff.differentiable(pairs, target="cuda").specialize(x)
    found = counting.total_of(counting.counted(value, (x,)))
    assert found.functions == 500 * 500 and found.read < 100 * x.nbytes

    def growing(x):
        y = np.zeros_like(x)
        for i in range(x.shape[0]):
            for j in range(i):
                y[i] += np.exp(x[j])
        return np.sum(y)
    value = autodiff.differentiable(growing, target="cuda").specialize(x)
    assert counting.total_of(counting.counted(value, (x,))).functions == pytest.approx(500 * 499 / 2, rel=0.01)

    def by_data(x, n):
        y = np.zeros_like(x)
        for i in range(x.shape[0]):
            for j in range(n[i]):
                y[i] += np.exp(x[j])
        return np.sum(y)
    n = np.zeros(500, int)
    with pytest.raises(NotImplementedError):
        counting.counted(autodiff.differentiable(by_data, target="cuda").specialize(x, n), (x, n))


def test_the_chain_moves_what_it_must():
    case = cases.CASES["elementwise chain"]
    args = case.make(counting.NoNumbers(), **case.full)
    gradient = autodiff.value_and_grad(case.function, wrt=case.wrt, target="cuda").specialize(*args)
    found = counting.total_of(counting.counted(gradient, args))
    assert found.bytes == pytest.approx(case.floor(**case.full).bytes[1], rel=0.01)


@needs_compiler
def test_static_report():
    printed = run_for_device("-m", "tests.benchmarks.gpu", "--static", "--only", "chain")
    assert "| elementwise chain | 1 |" in printed and "value_and_grad_kernel_1" in printed
