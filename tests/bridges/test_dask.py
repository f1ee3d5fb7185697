"""Losses over Dask arrays: the numbers and the bits of `sharded`, refusals, and workers that are lost."""

import contextlib
import os
import signal
import warnings

import numpy as np
import pytest

da = pytest.importorskip("dask.array")

import autodiff  # noqa: E402 (only where Dask is)
from autodiff import ShapeMismatch, TypeConflict, grad, sharded  # noqa: E402
from autodiff.dask import value_and_grad  # noqa: E402


def squares(w, X, y):
    return np.sum((X @ w - y) ** 2)


def mean_square(w, X, y):
    return np.mean((X @ w - y) ** 2)


RNG = np.random.default_rng(0)
X, Y, W = RNG.normal(size=(41, 3)), RNG.normal(size=41), np.array([0.3, -1.0, 0.7])


def cut(lengths):
    ends = np.cumsum(lengths)[:-1]
    return da.from_array(X, (lengths, 3)), da.from_array(Y, (lengths,)), list(zip(np.split(X, ends), np.split(Y, ends)))


@pytest.mark.parametrize("lengths", [(41,), (20, 21), (1, 0, 9, 4, 4, 4, 4, 4, 4, 7)])
@pytest.mark.parametrize("loss, reduce", [(squares, "sum"), (mean_square, "mean")])
def test_the_bits_are_those_of_shards(lengths, loss, reduce):
    dX, dY, shards = cut(lengths)
    options = {"reduce": reduce, "fan_in": 3, "mode": "python"}
    blocks, local = value_and_grad(loss, (dX, dY), **options), sharded(loss, shards, **options)
    value, gradient = blocks(W)
    expected = local.value_and_grad(W)
    assert value == expected[0] and np.array_equal(gradient, expected[1])
    np.testing.assert_allclose(gradient, grad(loss, mode="python")(W, X, Y), rtol=1e-10)
    assert np.array_equal(blocks.hvp(W, X[0]), local.hvp(W, X[0])) and blocks.value(W) == local(W)
    later = blocks.delayed(W)
    assert np.array_equal(later.compute(scheduler="synchronous")[1], gradient)


def test_minimize():
    optimize = pytest.importorskip("scipy.optimize")
    dX, dY, _ = cut((20, 21))
    loss = value_and_grad(mean_square, (dX, dY), reduce="mean", mode="python")
    found = optimize.minimize(loss, np.zeros(3), jac=True)
    np.testing.assert_allclose(found.x, np.linalg.lstsq(X, Y, rcond=None)[0], rtol=1e-4)


def test_blocks_whose_lengths_are_not_known():
    dX, dY, _ = cut((20, 21))
    kept = dX[:, 0] > -10.0                         # lengths are nan
    value, gradient = value_and_grad(squares, (dX[kept], dY[kept]), mode="python")(W)
    np.testing.assert_allclose(gradient, grad(squares, mode="python")(W, X, Y), rtol=1e-10)


def test_refusals():
    dX, dY, _ = cut((20, 21))
    with pytest.raises(ShapeMismatch, match=r"cut at other places.*\(20, 21\), \(41,\)"):
        value_and_grad(squares, (dX, dY.rechunk(41)))
    with pytest.raises(ShapeMismatch, match="other axes than the first"):
        value_and_grad(squares, (dX.rechunk((20, 2)), dY))
    with pytest.raises(TypeConflict, match=r"data\[1\] is a ndarray"):
        value_and_grad(squares, (dX, Y))
    with pytest.raises(ShapeMismatch, match="no axes"):
        value_and_grad(squares, (dX.sum(),))


def test_lengths_that_are_not_known_before_are_compared_in_the_blocks():
    """Else NumPy would spread a block of one row over the other's."""
    dX, dY = da.from_array(X[:8], (4, 3)), da.from_array(Y[:2], 1)
    with pytest.raises(ShapeMismatch, match="(?s)arrays of 1 and 4 rows.*in shard [01].*compute_chunk_sizes"):
        value_and_grad(squares, (dX[dX[:, 0] > -10.0], dY[dY > -10.0]), mode="python")(W)


def test_blocks_that_a_target_is_computed_from_are_read_once():
    read = []

    def reading(x):
        read.append(len(x))
        return np.tanh(x)
    dX = da.from_array(X, (20, 3)).map_blocks(reading, dtype=float, meta=np.empty((0, 0)))
    loss = value_and_grad(squares, (dX, dX @ W + 1.0), mode="python")
    np.testing.assert_allclose(loss(W)[0], 41.0, rtol=1e-10)
    assert sorted(read) == [1, 20, 20]


def test_parameters_that_are_still_to_be_computed():
    import dask
    dX, dY, _ = cut((20, 21))
    loss = value_and_grad(squares, (dX, dY), mode="python")
    expected = loss(W)[1]
    for later in (dask.delayed(W), da.from_array(W)):
        assert np.array_equal(loss.delayed(later).compute()[1], expected)
    nested = value_and_grad(lambda p, X, y: squares(p["w"], X, y), (dX, dY), mode="python")
    assert np.array_equal(nested.delayed({"w": dask.delayed(W)}).compute()[1]["w"], expected)


def test_the_loss_is_sent_once_for_all_blocks():
    """As the function of each task it would travel with each: 5 ms a block on a cluster."""
    cloudpickle = pytest.importorskip("cloudpickle")
    dX, dY, _ = cut((10, 10, 10, 11))
    graph = value_and_grad(squares, (dX, dY), mode="python").delayed(W).__dask_graph__()
    assert sum(b"squares" in cloudpickle.dumps(node) for node in dict(graph).values()) == 1


def test_errors_of_a_block():
    dX, dY, _ = cut((20, 21))
    with pytest.raises(ValueError, match=r"(?s)matmul.*in shard [01]"):
        value_and_grad(squares, (dX, dY), mode="python")(np.ones(4))
    with pytest.raises(TypeConflict, match=r"(?s)MaskedArray.*in shard [01]"):
        masked = da.ma.masked_greater(dX, 1.0)
        value_and_grad(squares, (masked, dY), mode="python")(W)


def test_a_missing_dask_is_told_with_what_installs_it():
    import subprocess
    import sys
    code = "import sys; sys.modules['dask'] = None; import autodiff; autodiff.sharded; autodiff.dask"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ModuleNotFoundError" in ended.stderr and "pip install 'numba-autodiff[dask]'" in ended.stderr


def test_dask_is_imported_only_when_it_is_asked_for():
    import subprocess
    import sys
    code = "import sys, autodiff; autodiff.sharded; assert 'dask' not in sys.modules; autodiff.dask.value_and_grad"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    assert autodiff.dask.value_and_grad is value_and_grad


def slow_squares(w, X, y):
    s = 0.0
    for i in range(X.shape[0]):
        r = -y[i]
        for j in range(X.shape[1]):
            r += X[i, j] * w[j]
        s += r * r
    return s


def test_a_worker_that_is_lost(tmp_path):
    """Data beyond a worker's memory limit, from files, and a worker killed while it computes: the same bits as without."""
    distributed = pytest.importorskip("distributed")
    rows, count = 40_000, 48                        # blocks of 10 MB, 491 MB in all

    def block(k):
        if k >= count // 3:                         # the first worker to come here ends
            with contextlib.suppress(FileNotFoundError):
                os.remove(tmp_path / "kill")
                os.kill(os.getpid(), signal.SIGKILL)
        return np.random.default_rng(k).normal(size=(rows, 32))

    import dask
    blocks = [da.from_delayed(dask.delayed(block, pure=True)(k), (rows, 32), float) for k in range(count)]
    data = da.concatenate(blocks)
    targets = da.from_array(np.zeros(rows * count), rows)
    w = np.linspace(-1.0, 1.0, 32)
    expected = sharded(slow_squares, [(block(k), np.zeros(rows)) for k in range(count)]).value_and_grad(w)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None,
                                  worker_dashboard_address=None) as cluster, distributed.Client(cluster):
        (tmp_path / "kill").write_text("")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")         # the targets are sent whole
            value, gradient = value_and_grad(slow_squares, (data, targets))(w)
            few = value_and_grad(slow_squares, (data[:rows].persist(), targets[:rows].persist()))      # which only it holds
        assert few(w)[0] == few.value(w)
    assert not (tmp_path / "kill").exists()
    assert value == expected[0] and np.array_equal(gradient, expected[1])
