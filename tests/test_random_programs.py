"""Gradients of random programs: a fixed range of seeds here, more with `python -m tests.random_programs`."""

import numpy as np
import pytest

from autodiff import value_and_grad

from .random_programs import ListGenerator, outcome
from .support import assert_gradient


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("start", range(0, 300, 25))
def test_random_programs(start):
    failures = [(seed, *outcome(seed)) for seed in range(start, start + 25)]
    wrong = [f for f in failures if f[1] not in ("ok", "skipped")]
    assert not wrong, "\n".join(f"seed {seed}: {result}\n{source}" for seed, result, source in wrong)
    assert sum(f[1] == "ok" for f in failures) > 15


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("start", range(0, 150, 25))
def test_random_programs_with_lists(start):
    """A list joined with another that a second name sees is refused; nothing may be wrong or crash."""
    results = [(seed, *outcome(seed, kind=ListGenerator)) for seed in range(start, start + 25)]
    wrong = [r for r in results if r[1] not in ("ok", "skipped") and not r[1].startswith("refused: `L")]
    assert not wrong, "\n".join(f"seed {seed}: {result}\n{source}" for seed, result, source in wrong)
    assert sum(r[1] == "ok" for r in results) >= 22


# ---- what random programs have found -------------------------------------------------------------------
def sizes_of_a_dropped_loop(x, y, a, b):
    """A reverse loop without statements takes with it the sizes it had computed for later loops."""
    x[-1] = a / (1.5 + y[1] ** 2)
    zeros = np.zeros(len(y))
    if np.tanh(b) - 0.5 * sum(zeros) > 0.2:
        x[1:] += y[:-1]
        x[:] = x * y * y + a
    joined = np.concatenate([zeros[1:], np.array([a])])
    a -= joined[0]
    return np.sum(x * y) + a * b + a / (1.5 + np.tanh(joined[2]) ** 2)


def list_on_one_path_only_longer(x, a):
    """Structures that differ on inner paths are not a name without a value."""
    items = [a, a * a, 0.5]
    if a > 0.2:
        if x[0] > 0.1:
            for i in range(len(x)):
                items += [items[i] * x[i]]
    else:
        items = [v * 0.5 for v in items]
    items += [items[1]]
    return np.tanh(sum(items))


def test_sizes_of_a_dropped_loop():
    args = (np.array([0.3, 0.5, 0.7, 0.2]), np.array([0.4, -0.3, 0.6, 0.1]), 0.4, 0.7)

    def copied(x, y, a, b):
        return sizes_of_a_dropped_loop(x.copy(), y, a, b)
    assert_gradient(copied, args, (0, 1, 2, 3), "python")


@pytest.mark.parametrize("first", [0.3, 0.05])
@pytest.mark.parametrize("a", [0.4, 0.1])
def test_list_on_one_path_only_longer(first, a):
    args = (np.array([first, 0.5, 0.7]), a)
    assert_gradient(list_on_one_path_only_longer, args, (0, 1), "python")
    value, _ = value_and_grad(list_on_one_path_only_longer)(*args)
    np.testing.assert_allclose(value, list_on_one_path_only_longer(*args))
