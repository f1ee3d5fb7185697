"""Losses over shards: the same numbers as over all data, the same bits in any order and by any map."""

import dataclasses
import functools
import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest

from autodiff import AutodiffError, grad, hvp, sharded
from autodiff.bridges.sharded import changed, in_order, tree_sum

python = functools.partial(sharded, mode="python")


def squares(w, X, y):
    return np.sum((X @ w - y) ** 2)


def mean_square(w, X, y):
    return np.mean((X @ w - y) ** 2)


class Layer(NamedTuple):
    W: np.ndarray
    b: np.ndarray


@dataclasses.dataclass
class Model:
    layers: list
    scale: float


def network(X, model, y):
    for layer in model.layers:
        X = np.tanh(X @ layer.W + layer.b)
    return model.scale * np.sum((X[:, 0] - y) ** 2)


def shards_of(seed, lengths, columns=3):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(n, columns)), rng.normal(size=n)) for n in lengths]


def joined(shards):
    return tuple(np.concatenate(arrays) for arrays in zip(*shards))


def shuffled(seed):
    """A map that gives its results in another order."""
    def go(function, items):
        items = list(items)
        random.Random(seed).shuffle(items)
        return map(function, items)
    return go


@pytest.mark.parametrize("seed", range(6))
def test_random_shards_against_all_data(seed):
    chosen = random.Random(seed)
    lengths = [chosen.choice((0, 1, 2, 3, 7)) for _ in range(chosen.randint(1, 12))] + [chosen.randint(1, 4)]
    shards, w, v = shards_of(seed, lengths), np.array([0.3, -1.0, 0.7]), np.array([1.0, 0.5, -2.0])
    fan_in = chosen.randint(2, 5)
    for loss, reduce in ((squares, "sum"), (mean_square, "mean")):
        total = python(loss, shards, reduce=reduce, fan_in=fan_in)
        value, gradient = total.value_and_grad(w)
        all_data = joined(shards)
        assert np.isclose(value, loss(w, *all_data), rtol=1e-12)
        np.testing.assert_allclose(gradient, grad(loss, mode="python")(w, *all_data), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(total.hvp(w, v), hvp(loss, mode="python")(w, *all_data, v), rtol=1e-10, atol=1e-12)
        assert np.isclose(total(w), value, rtol=1e-12) and np.array_equal(total.grad(w), gradient)
        for order in range(3):
            again = python(loss, shards, map=shuffled(order), reduce=reduce, fan_in=fan_in).value_and_grad(w)
            assert again[0] == value and np.array_equal(again[1], gradient)


def test_parameters_of_any_structure_in_any_place():
    rng = np.random.default_rng(1)
    model = Model([Layer(rng.normal(size=(3, 2)), np.zeros(2)), Layer(rng.normal(size=(2, 1)), np.ones(1))], 0.5)
    shards = [(X, y) for X, y in shards_of(2, (4, 5, 2))]
    total = python(network, shards, wrt="model")
    (X, y), expected = joined(shards), None
    expected = grad(network, wrt="model", mode="python")(X, model, y)
    found = total.grad(model)
    assert isinstance(found, Model) and isinstance(found.layers[0], Layer) and np.isclose(found.scale, expected.scale)
    for a, b in zip(found.layers, expected.layers):
        np.testing.assert_allclose(a.W, b.W, rtol=1e-10)
        np.testing.assert_allclose(a.b, b.b, rtol=1e-10)


def test_one_array_is_a_shard_and_load_reads_it(tmp_path):
    def spread(w, x):
        return np.sum(np.exp(-w * x))

    arrays = [np.linspace(0.1, k + 1.0, 3) for k in range(4)]
    for k, array in enumerate(arrays):
        np.save(tmp_path / f"{k}.npy", array)
    expected = python(spread, arrays).value_and_grad(0.3)
    names = [str(tmp_path / f"{k}.npy") for k in range(4)]
    assert python(spread, names, load=np.load).value_and_grad(0.3) == expected
    mapped = python(spread, names, load=functools.partial(np.load, mmap_mode="r")).value_and_grad(0.3)     # read-only memory
    assert mapped == expected


@pytest.mark.parametrize("count", [*range(1, 12), 27, 28])
@pytest.mark.parametrize("fan_in", [2, 3, 8])
def test_the_tree_is_that_of_the_levels(count, fan_in):
    """Numbers of all sizes: another order of additions has other bits."""
    rng = np.random.default_rng(count)
    numbers = (rng.normal(size=count) * 10.0 ** rng.integers(-8, 8, count)).tolist()
    by_levels = list(numbers)
    while len(by_levels) > 1:
        by_levels = [functools.reduce(lambda a, b: a + b, by_levels[k:k + fan_in]) for k in range(0, len(by_levels), fan_in)]
    assert tree_sum(iter(numbers), fan_in) == by_levels[0]


def test_results_that_come_in_any_order():
    assert list(in_order([(2, "c"), (0, "a"), (1, "b"), (3, "d")])) == ["a", "b", "c", "d"]
    assert changed({"a": [1.0, None]}, lambda a, b: a * b, {"a": [3.0, None]}) == {"a": [3.0, None]}


def test_threads_and_processes_give_the_same_bits():
    def mean_square(w, X, y):                       # goes to the process as text: pytest's modules cannot be imported there
        return np.mean((X @ w - y) ** 2)

    shards, w = shards_of(3, (3, 1, 5, 4, 2)), np.array([0.3, -1.0, 0.7])
    value, gradient = sharded(mean_square, shards, reduce="mean", fan_in=2).value_and_grad(w)
    with ThreadPoolExecutor(3) as pool:
        found = sharded(mean_square, shards, map=pool.map, reduce="mean", fan_in=2).value_and_grad(w)
    assert found[0] == value and np.array_equal(found[1], gradient)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = sharded(mean_square, shards, map=pool.map, reduce="mean", fan_in=2).value_and_grad(w)
    assert found[0] == value and np.array_equal(found[1], gradient)


def test_errors_name_the_shard():
    shards = [*shards_of(4, (3, 2)), (np.ones((3, 3)), np.ones(2))]
    with pytest.raises(ValueError, match=r"(?s)could not be broadcast.*in shard 2"):
        python(squares, shards).grad(np.ones(3))

    def failing(w, x):
        if x[0] > 2.0:
            raise OverflowError(f"{x[0]} is too much")
        return w * np.sum(x)
    with pytest.raises(OverflowError, match=r"(?s)3\.0 is too much.*in shard 1"):
        python(failing, [np.ones(2), np.full(2, 3.0)]).value_and_grad(1.0)

    def reads(w, x):
        return w * open(x)
    with pytest.raises(AutodiffError):
        python(reads, [np.ones(2)]).grad(1.0)


def test_options_that_do_not_fit():
    shards = shards_of(5, (2,))
    with pytest.raises(ValueError, match="reduce='max'"):
        sharded(squares, shards, reduce="max")
    with pytest.raises(ValueError, match="fan_in=1"):
        sharded(squares, shards, fan_in=1)
    for wrt in ("v", 3, -1, (0, 1), True):
        with pytest.raises(TypeError, match="v|wrt="):
            sharded(squares, shards, wrt=wrt)
    with pytest.raises(ValueError, match="no shards"):
        python(squares, []).grad(np.ones(3))
    with pytest.raises(ValueError, match="no rows"):
        python(mean_square, shards_of(6, (0, 0)), reduce="mean").grad(np.ones(3))


def test_calls_let_other_threads_run_but_for_those_that_draw_or_print():
    """A pool of threads gains nothing from calls that hold the lock; draws of one generator have an order."""
    def draws(x, rng):
        return x * rng.normal()

    def prints(x):
        print("x is", x)
        return x * x

    made = [grad(squares), grad(draws), grad(prints)]
    made[0].specialize(np.ones(3), np.ones((2, 3)), np.ones(2))
    made[1].specialize(1.0, np.random.default_rng(0))
    made[2].specialize(1.0)
    assert [m._inspect().call.targetoptions.get("nogil", False) for m in made] == [True, False, False]
