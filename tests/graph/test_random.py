"""Some of the random programs of `tests/fuzz/graph.py`."""

from __future__ import annotations

import pytest

from ..fuzz.graph import attempt


@pytest.mark.parametrize("start", range(0, 120, 40))
def test_random_programs(start):
    verdicts = []
    for seed in range(start, start + 40):
        found, text = attempt(seed)
        assert found.verdict != "failed", f"{text}\n{found.kind}: {found.text}"
        verdicts.append(found.verdict)
    assert verdicts.count("ok") > 25
