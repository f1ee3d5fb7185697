"""Device functions that exchange values within warps, which the simulator cannot run, on threads that stand for a block."""

import numpy as np
import pytest

from autodiff.runtime.cuda import atomics, reductions

from .support import cuda
from .warps import Block

GENERATOR = np.random.default_rng(8)


@pytest.mark.parametrize("n", [1, 2, 5, 31, 32, 33, 64, 96, 128])
def test_reductions_by_shuffles(n):
    values = GENERATOR.integers(-9, 10, n).astype(float)
    for op, reference in (("sum", np.sum), ("max", np.max)):
        reduce = reductions._by_warps(reductions._in_warp(reductions.COMBINE[op]), None)
        assert Block(n).run(reduce, values)[0] == reference(values)


def test_nan_reaches_the_result_of_a_block():
    values = np.ones(70)
    values[66] = np.nan
    for op in reductions.COMBINE:
        reduce = reductions._by_warps(reductions._in_warp(reductions.COMBINE[op]), None)
        assert np.isnan(Block(70).run(reduce, values)[0])


@pytest.mark.parametrize("n", [1, 7, 32, 40])
@pytest.mark.parametrize("places", [1, 2, 5, 100])
def test_additions_are_collected_within_warps(n, places):
    keys = GENERATOR.integers(0, places, n) if places < 100 else np.arange(n)
    values = GENERATOR.integers(-9, 10, n)
    results = Block(n).run(atomics._among_peers, keys, values)
    total = np.zeros(100, int)
    for key, (first, value) in zip(keys, results):
        if first:
            total[key] += value
    expected = np.bincount(keys, values, 100)
    np.testing.assert_array_equal(total, expected)
    for start in range(0, n, 32):                                   # one of each key in each warp does it
        part = slice(start, start + 32)
        assert sum(first for first, _ in results[part]) == len(set(keys[part]))


def test_the_warps_themselves_notice_a_missing_lane():
    block = Block(4)

    def function(value):
        return block.cuda.shfl_down_sync(0b0111, value, 1)
    with pytest.raises(AssertionError, match="outside of the mask"):
        block.run(function, np.arange(4))


def test_additions_at_places():
    def kernel(x, y):
        i = cuda.grid(1)
        atomics.add_at(x, i % 3, 1.0)
        atomics.add_at(y, (i % 2, 1), 2.0)
    x, y = cuda.to_device(np.zeros(3)), cuda.to_device(np.zeros((2, 2)))
    cuda.jit(kernel)[2, 6](x, y)
    assert list(x.copy_to_host()) == [4, 4, 4] and y.copy_to_host().tolist() == [[0, 12], [0, 12]]
