"""Clocks, and texts of a run-time length, where only logs and prints see them."""

import logging
import time

import numpy as np
import pytest

from autodiff import AutodiffError, grad

LOG = logging.getLogger(__name__)
X = np.array([0.3, 0.5, 0.7])


def timed(x):
    start = time.time()
    y = np.sum(x ** 2)
    LOG.info("took %.2f s for %s", time.time() - start, ", ".join(f"{v:.3g}" for v in x))
    LOG.debug(f"{time.time() - start:.3f} s, {round(1e3 * (time.time() - start), 2)} ms")
    LOG.debug("at " + "; ".join([f"{k}: {v}" for k, v in enumerate(x)]) + " {:.1f}".format(time.monotonic()))
    return y


def each_timed(x):
    before, s = time.perf_counter(), 0.0
    for k in range(len(x)):
        now = time.perf_counter()
        s += x[k] ** 2
        LOG.info("step %d: %.1f ms, %.1f", k, 1e3 * (time.perf_counter() - now), now - before)
        before = now
    print("all", before - time.perf_counter())
    return s


@pytest.mark.parametrize("function", [timed, each_timed])
def test_logs_are_left_out(function, capsys):
    np.testing.assert_array_equal(grad(function, mode="python")(X), 2.0 * X)
    assert "<the reading of a clock>" in capsys.readouterr().out or function is timed


def stored(x):
    x[0] = time.time()
    return np.sum(x)


def waits(x):
    start = time.time()
    while time.time() - start < 1e-3:
        x = x * 1.0
    return np.sum(x)


def in_a_list(x):
    parts = [time.time(), x[0]]
    return parts[0] * parts[1]


def log_that_fails(x):
    LOG.info("%s", ", ".join(f"{v:.3g}" for v in x[5].rows))
    return np.sum(x)


USES = [stored, waits, in_a_list, log_that_fails, lambda x: x[0] * time.time(), lambda x: min(time.time(), x[0]),
        lambda x: x[0] if time.time() > 5.0 else x[1], lambda x: np.sum(x) * np.sin(time.perf_counter() - 1.0)]


@pytest.mark.parametrize("function", USES)
def test_what_is_computed_from_clocks_is_refused(function):
    with pytest.raises(AutodiffError):
        grad(function, mode="python")(X)
