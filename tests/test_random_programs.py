"""Gradients of random programs: a fixed range of seeds here, more with `python -m tests.random_programs`."""

import pytest

from .random_programs import outcome


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("start", range(0, 300, 25))
def test_random_programs(start):
    failures = [(seed, *outcome(seed)) for seed in range(start, start + 25)]
    wrong = [f for f in failures if f[1] not in ("ok", "skipped")]
    assert not wrong, "\n".join(f"seed {seed}: {result}\n{source}" for seed, result, source in wrong)
    assert sum(f[1] == "ok" for f in failures) > 15
