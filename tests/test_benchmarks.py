"""The benchmarks run (tiny sizes); their gradients are right. No speed is asserted."""

import numpy as np
import pytest

from .benchmarks import programs
from .benchmarks.__main__ import BENCHMARKS, main
from .support import assert_gradient


@pytest.mark.parametrize("name", sorted(set(BENCHMARKS) - {"first"}))
def test_runs(name, capsys):
    main(["--quick", "--only", name])
    assert capsys.readouterr().out


def test_gradients():
    r = np.random.default_rng(0)
    assert_gradient(programs.stencil, (r.random((5, 6)), r.random((5, 6)), 2), (0, 1), "python")
    assert_gradient(programs.lu, (r.random((4, 4)) + 4.0 * np.eye(4),), (0,), "python")
    assert_gradient(programs.chain, (r.random(5) + 0.5, r.random(5)), (0, 1), "python")
    assert_gradient(programs.rnn, (r.random((3, 3)), r.random((4, 3))), (0, 1), "python")
