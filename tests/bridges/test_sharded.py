"""Losses over shards: the same numbers as over all data, the same bits in any order and by any map."""

import dataclasses
import functools
import multiprocessing
import pickle
import random
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest

from autodiff import AutodiffError, NonDifferentiable, ShapeMismatch, TypeConflict, UnsupportedSyntax, grad, hvp, sharded
from autodiff.bridges.sharded import in_order, lengths, located, tree_sum
from autodiff.bridges.structures import with_parts
from autodiff.errors import MissingKey

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
    assert list(in_order([(2, "c"), (0, "a"), (1, "b"), (3, "d")], 4)) == ["a", "b", "c", "d"]
    assert with_parts({"a": [1.0, None]}, lambda a, b: a * b, {"a": [3.0, None]}) == {"a": [3.0, None]}


def test_threads_and_processes_give_the_same_bits():
    def mean_square(w, X, y):                       # goes to the process as text: pytest's modules cannot be imported there
        return np.mean((X @ w - y) ** 2)

    shards, w = shards_of(3, (3, 1, 5, 4, 2)), np.array([0.3, -1.0, 0.7])
    value, gradient = sharded(mean_square, shards, reduce="mean", fan_in=2).value_and_grad(w)
    with ThreadPoolExecutor(3) as pool:
        found = sharded(mean_square, shards, map=pool.map, reduce="mean", fan_in=2).value_and_grad(w)
    assert found[0] == value and np.array_equal(found[1], gradient)
    for _ in range(60):         # new threads have memory in other places, where arrays may be neighbours or not
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
    with pytest.raises(AutodiffError, match="(?s)open.*\n  in shard 0\n.*in reads"):
        python(reads, [np.ones(2)]).grad(1.0)

    def by_name(w, d):
        return w * d["a"]
    with pytest.raises(MissingKey, match="(?s)'a'.*in shard 1"):
        python(by_name, [{"a": 1.0}, {"b": 1.0}]).grad(1.0)
    with pytest.raises(FileNotFoundError) as caught:
        python(squares, ["nowhere"], load=np.load).grad(np.ones(3))
    assert caught.value.filename == "nowhere" and caught.value.__notes__ == ["  in shard 0"]


@pytest.mark.parametrize("error", [
    ValueError("a text"), KeyError("key"), OSError(2, "no such file", "name"), ZeroDivisionError(),
    ShapeMismatch("shapes", None, "others"), np.linalg.LinAlgError("singular"), StopIteration(3)])
def test_any_error_keeps_its_class_and_text_and_names_the_shard_in_other_processes_too(error):
    text = str(error)
    found = pickle.loads(pickle.dumps(located(error, 7)))
    assert type(found) is type(error) and str(found).startswith(text[:6])
    told = "\n".join([str(found), *getattr(found, "__notes__", ())])
    assert told.count("in shard 7") == 1 and (text in told or isinstance(error, AutodiffError))


def test_a_map_that_leaves_out_a_shard_or_gives_it_twice_is_no_sum():
    shards, w = shards_of(7, (2, 3, 1)), np.ones(3)
    maps = {"3 shards: that of shard 2 is missing": lambda f, items: map(f, items[:-1]),
            "3 shards: that of shard 0 is missing": lambda f, items: map(f, items[1:]),
            "3 shards: that of shard 1 is missing": lambda f, items: map(f, items[::2]),
            "shard 0 twice": lambda f, items: map(f, [*items, items[0]]),
            "shard 2 twice": lambda f, items: map(f, [items[2], items[2], *items])}
    for message, mapping in maps.items():
        with pytest.raises(ValueError, match=message):
            python(squares, shards, map=mapping).value_and_grad(w)
    with ThreadPoolExecutor(1) as pool, pytest.raises(TypeError, match="gave a Future.*client.gather"):
        python(squares, shards, map=lambda f, items: [pool.submit(f, item) for item in items]).grad(w)
    with pytest.raises(TypeError, match="gave a NoneType"):
        python(squares, shards, map=lambda f, items: [None for _ in items]).grad(w)


@dataclasses.dataclass
class Batch:
    X: np.ndarray
    y: np.ndarray


class Pair(NamedTuple):
    X: np.ndarray
    y: np.ndarray


FORMS = {"dict": (lambda X, y: {"X": X, "y": y}, lambda w, d: mean_square(w, d["X"], d["y"])),
         "dataclass": (Batch, lambda w, d: mean_square(w, d.X, d.y)),
         "tuple of a dict": (lambda X, y: ({"X": X, "scale": 1.0}, y), lambda w, d, y: mean_square(w, d["X"], y)),
         "tuple of a namedtuple": (lambda X, y: (Pair(X, y),), lambda w, d: mean_square(w, d.X, d.y)),
         "list of numbers": (lambda X, y: (X, y.tolist()), lambda w, X, y: mean_square(w, X, np.array(y)))}


@pytest.mark.parametrize("form", FORMS)
def test_a_mean_counts_the_rows_of_arrays_wherever_they_stand_in_a_shard(form):
    made, loss = FORMS[form]
    plain, w = shards_of(8, (1, 6, 2)), np.array([0.3, -1.0, 0.7])
    found = python(loss, [made(X, y) for X, y in plain], reduce="mean").grad(w)
    np.testing.assert_allclose(found, grad(mean_square, mode="python")(w, *joined(plain)), rtol=1e-10)


def test_a_mean_of_shards_whose_rows_are_not_known_is_refused():
    X = np.ones((4, 3))
    assert lengths(({"a": X, "b": 2.0}, [X, X], Pair(X, 1.0))) == {4}
    assert lengths((1.0, "text", None, np.float64(2))) == set()
    scaled = python(lambda w, X, scale: np.mean(X @ w) * np.sum(scale), [(X, np.ones(2))], reduce="mean")
    with pytest.raises(ShapeMismatch, match="(?s)arrays of 2 and 4 rows.*in shard 0.*reduce="):
        scaled.grad(np.ones(3))
    with pytest.raises(ShapeMismatch, match="(?s)no array.*in shard 1"):
        python(lambda w, x: w * np.mean(x), [np.ones(2), 1.0], reduce="mean").grad(1.0)
    with pytest.raises(TypeConflict, match="list of lists"):
        python(lambda w, x: w * x[0][0], [([[1.0, 2.0]],)], reduce="mean").grad(1.0)
    summed = python(lambda w, X, scale: np.sum(X @ w) * np.sum(scale), [(X, np.ones(2))])     # a sum needs no rows
    np.testing.assert_array_equal(summed.grad(np.ones(3)), np.full(3, 8.0))


def test_parameters_hold_what_has_no_derivative_and_arrays_may_be_read_only():
    def loss(p, X):
        return np.sum(np.tanh(X @ p["w"])) if p["kind"] == "tanh" else np.sum(X @ p["w"])

    X, w = np.random.default_rng(9).normal(size=(5, 3)), np.ones(3)
    halves = [X[:2], X[2:]]
    for array in (*halves, w):
        array.flags.writeable = False
    for kind in ("tanh", "linear"):
        p = {"w": w, "kind": kind}
        found, expected = python(loss, halves).grad(p), grad(loss, mode="python")(p, X)
        assert found["kind"] is None
        np.testing.assert_allclose(found["w"], expected["w"], rtol=1e-12)
    with pytest.raises(NonDifferentiable, match="(?s)int64.*in shard 0"):
        python(squares, shards_of(9, (2,))).grad(np.ones(3, np.int64))


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def loss(self, X, w, y):
        return self.factor * squares(w, X, y)

    __call__ = loss


@pytest.mark.parametrize("loss", [Scaled(2.0).loss, Scaled(2.0), functools.partial(Scaled.loss, Scaled(2.0)),
                                  functools.partial(lambda factor, X, w, y: factor * squares(w, X, y), 2.0),
                                  functools.partial(lambda X, w, y, factor=1.0: factor * squares(w, X, y), factor=2.0),
                                  lambda *given: 2.0 * squares(given[1], given[0], given[2])])
def test_methods_and_partial_applications(loss):
    shards, w = shards_of(12, (3, 3, 3)), np.array([0.3, -1.0, 0.7])      # square shards: a wrong place would go unnoticed
    expected = 2.0 * grad(squares, mode="python")(w, *joined(shards))
    for wrt in (1, "w") if "given" not in getattr(getattr(loss, "__code__", None), "co_varnames", ()) else (1,):
        np.testing.assert_allclose(python(loss, shards, wrt=wrt).grad(w), expected, rtol=1e-10)
        np.testing.assert_allclose(python(loss, shards, wrt=wrt)(w), 2.0 * squares(w, *joined(shards)), rtol=1e-10)


def test_a_loss_over_shards_gives_a_number_and_is_not_differentiated_again():
    with pytest.raises(NonDifferentiable, match=r"shape \(2,\)"):
        python(lambda w, X, y: X @ w, shards_of(13, (2, 2)))(np.ones(3))
    total = python(squares, shards_of(13, (2, 2)))
    with pytest.raises(UnsupportedSyntax, match="(?s)`squares`, is not differentiated again.*total.w.*call its grad"):
        grad(lambda w: 2.0 * total(w), mode="python")(np.ones(3))
    with pytest.raises(UnsupportedSyntax, match="`squares`, is not differentiated again"):
        grad(total, mode="python")(np.ones(3))


def test_shards_from_a_generator_are_there_for_every_call():
    shards, w = shards_of(10, (2, 3)), np.ones(3)
    total = python(squares, (shard for shard in shards))
    assert total(w) == total(w) == python(squares, shards).value(w) and repr(total) == "<sum of squares over 2 shards>"
    assert total._value.options == total._joint.options


def test_joblib():
    joblib = pytest.importorskip("joblib")
    shards, w = shards_of(11, (5, 2, 1)), np.array([0.3, -1.0, 0.7])

    def mapped(function, items):
        return joblib.Parallel(2, backend="threading", return_as="generator_unordered")(
            joblib.delayed(function)(item) for item in items)
    found, expected = python(squares, shards, map=mapped).value_and_grad(w), python(squares, shards).value_and_grad(w)
    assert found[0] == expected[0] and np.array_equal(found[1], expected[1])


def test_options_that_do_not_fit():
    shards = shards_of(5, (2,))
    with pytest.raises(ValueError, match="reduce='max'"):
        sharded(squares, shards, reduce="max")
    with pytest.raises(ValueError, match="fan_in=1"):
        sharded(squares, shards, fan_in=1)
    for option in ("has_aux", "holomorphic", "target", "shard"):
        with pytest.raises(TypeError, match=f"takes no `{option}`; its options are mode"):
            sharded(squares, shards, **{option: True})
    with pytest.raises(TypeError, match="map=3"):
        sharded(squares, shards, map=3)
    with pytest.raises(TypeError, match="the shards are a dict"):
        sharded(squares, {"a": shards[0]})
    for wrt in ("v", 3, -1, (0, 1), True):
        with pytest.raises(TypeError, match="v|wrt="):
            sharded(squares, shards, wrt=wrt)
    for place in (5, "data", "scale"):
        with pytest.raises(TypeError, match="keywords only|no argument|wrt="):
            sharded(lambda X, w, *, scale: scale, shards, wrt=place)
    with pytest.raises(TypeError, match="(?s)parameters behind 2 arrays, not 1.*in shard 0"):
        python(lambda X, y=0.0, w=1.0: w + y, [np.ones(2)], wrt="w")(1.0)
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


@pytest.mark.parametrize("rows", [(2, 3), (2, 2), (1, 1)])
def test_a_loss_that_is_no_number_is_told_whatever_the_shards(rows):
    shards = [(np.ones((n, 2)),) for n in rows]
    for reduce in ("sum", "mean"):
        with pytest.raises(NonDifferentiable, match=r"an array of shape .*\n  in shard 0"):
            sharded(lambda w, X: X @ w, shards, mode="python", reduce=reduce)(np.ones(2))
