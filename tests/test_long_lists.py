"""Long lists of alike items are run over when the program runs; what only lists with known items allow still works."""

import collections
import copy
import dataclasses
import functools
import math
import time

import numpy as np
import pytest

from autodiff import AutodiffError, grad, linearize, value_and_grad, vjp
from autodiff.calling.specialisations import Specialisations
from autodiff.transforms.lower.values import Packed

from .fuzz.lists import attempt

DRAW = np.random.default_rng(0)
XS = DRAW.uniform(0.5, 1.5, 20).tolist()
ROWS = DRAW.uniform(0.5, 1.5, (20, 3)).tolist()
LONG_ROWS = DRAW.uniform(0.5, 1.5, (18, 19)).tolist()
ARRAYS = list(DRAW.uniform(0.5, 1.5, (20, 3)))
LAYERS = [(DRAW.uniform(-0.5, 0.5, (3, 3)), DRAW.uniform(0.5, 1.5, 3)) for _ in range(18)]
INDICES = DRAW.integers(0, 20, 20).tolist()
Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Weighted:
    weight: float
    values: np.ndarray


def squares(xs):
    s = 0.0
    for x in xs:
        s += x * x
    return s


def differences(xs):
    return sum((a - b) ** 2 for a, b in zip(xs[1:], xs[:-1])) + xs[-1] * xs[3]


def python_functions(xs):
    reduced = functools.reduce(lambda a, b: 0.5 * a + b, xs)
    return sum(xs) * max(xs) + min(xs) * len(xs) + sorted(xs)[1] + reduced + math.fsum(xs)


def numpy_functions(xs):
    a = np.array(xs)
    a[0] = 2.0
    return np.dot(xs, xs) + np.sum(np.sin(a)) + xs[0] + np.sum(np.arange(len(xs)) * xs)


def comprehension(xs):
    ys = [x * x for x in xs if x > 0.7]
    return ys[0] * ys[-1] + len(ys)


def search(xs):
    best = None
    for k, x in enumerate(reversed(xs)):
        if best is None or x > best:
            best = x * k
    return best * best


def gathered(xs):
    s = 0.0
    for k in INDICES:
        s += xs[k] * k
    return s


def points(rows):
    s = 0.0
    for x, y, z in rows:
        s += x * y - z
    return s + rows[2][1] + np.sum(np.array(rows)[:, 0] ** 2)


def table(rows):
    s = 0.0
    for i, row in enumerate(rows):
        for x in row[1:]:
            s += x * x * row[0]
        s += max(row) + row[i]
    return s + len(rows[0])


def vectors(arrays):
    s = np.sum(sum(arrays)) + np.sum(np.stack(arrays)[2])
    for a, b in zip(arrays, arrays[1:]):
        s += np.dot(a, b) + a[0]
    return s


def network(layers):
    x = np.ones(3)
    for W, b in layers[:-1]:
        x = np.tanh(W @ x + b)
    W, b = layers[-1]
    return np.sum(W @ x + b)


def records(items):
    s = 0.0
    for item in items:
        s += item.weight * np.sum(item.values)
    return s


def named(items):
    return sum(p.x * p.y for p in items)


def inside_a_dict(p):
    return sum(p["xs"]) * p["k"]


PACKED = [(squares, XS), (differences, XS), (python_functions, XS), (numpy_functions, XS), (comprehension, XS), (search, XS),
          (gathered, XS), (points, ROWS), (table, LONG_ROWS), (vectors, ARRAYS), (network, LAYERS), (network, tuple(LAYERS)),
          (records, [Weighted(float(k), np.arange(2.0) + k) for k in range(18)]),
          (named, [Point(*row[:2]) for row in ROWS]), (inside_a_dict, {"xs": XS, "k": 2.0})]


def changed(xs):
    xs[1] = xs[0] * 2.0
    xs.append(1.0)
    return sum(xs)


def joined(xs):
    ys = xs + xs[:2]
    return sum(ys * 2) * len(ys)


def compared(xs):
    return sum(xs) if xs == list(xs) and xs is xs else 0.0


def unpacked(xs):
    first, *rest = xs
    return first * sum(rest)


def shortened(xs):
    while len(xs) > 2:
        xs = xs[1:]
    return xs[0] * xs[1]


def item_changed(rows):
    row = rows[0]
    row[1] = row[0] * 2.0
    return sum(rows[0]) + rows[1][1]


def arrays_written(arrays):
    for a in arrays:
        a *= 2.0
    return np.sum(arrays[0] * arrays[1])


ONE_BY_ONE = [(changed, XS), (joined, XS), (compared, XS), (unpacked, XS), (shortened, XS), (item_changed, ROWS),
              (arrays_written, ARRAYS)]


def flat(v):
    if isinstance(v, np.ndarray):
        return v.ravel().tolist()
    if isinstance(v, dict):
        return flat(list(v.values()))
    if dataclasses.is_dataclass(v):
        return flat([getattr(v, f.name) for f in dataclasses.fields(v)])
    return [y for x in v for y in flat(x)] if isinstance(v, (list, tuple)) else [v]


def form(v):
    if isinstance(v, np.ndarray):
        return v.dtype, v.shape
    if isinstance(v, dict):
        return {k: form(x) for k, x in v.items()}
    if dataclasses.is_dataclass(v):
        return type(v), [form(getattr(v, f.name)) for f in dataclasses.fields(v)]
    return (type(v), [form(x) for x in v]) if isinstance(v, (list, tuple)) else isinstance(v, float)


def both_ways(f, argument):
    """(the object that packs, its result, that of one that does not)."""
    packs, alone = (value_and_grad(f, mode="python") for _ in range(2))
    alone.packs, alone._specialisations = False, Specialisations()
    return packs, packs(argument), alone(copy.deepcopy(argument)) if f is not table else (0.0, slopes(argument))


def slopes(rows):
    """The gradient of `table`, which takes long with the items one by one."""
    made = np.zeros((18, 19))
    for i, row in enumerate(rows):
        made[i, 1:] += 2.0 * np.array(row[1:]) * row[0]
        made[i, 0] += np.sum(np.square(row[1:]))
        made[i, np.argmax(row)] += 1.0
        made[i, i] += 1.0
    return made


@pytest.mark.parametrize("f, argument", PACKED, ids=lambda v: getattr(v, "__name__", ""))
def test_a_long_list_is_run_over_at_run_time(f, argument):
    before = copy.deepcopy(argument)
    made, (value, gradient), (_, alone) = both_ways(f, argument)
    assert made._latest.packs and flat(argument) == flat(before)
    assert np.isclose(value, f(argument), rtol=1e-12)
    assert form(gradient) == form(argument)
    assert np.allclose(flat(gradient), flat(alone), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("f, argument", ONE_BY_ONE, ids=lambda v: getattr(v, "__name__", ""))
def test_what_needs_the_items_has_them_one_by_one(f, argument):
    made, (value, gradient), (_, alone) = both_ways(f, argument)
    assert not made._latest.packs and np.isclose(value, f(copy.deepcopy(argument)), rtol=1e-12)
    assert np.array_equal(flat(gradient), flat(alone)) and form(gradient) == form(argument)


def test_another_length_is_no_other_program():
    made = grad(squares, mode="python")
    for n in (17, 40, 1000):
        assert made([0.5] * n) == [1.0] * n
    assert len(made._specialisations) == 1
    assert made([0.5] * 16) == [1.0] * 16 and len(made._specialisations) == 2


def test_lists_of_unlike_items_stay_as_they_are():
    made = grad(squares, mode="python")
    assert made([1.0] * 19 + [np.ones(1)[0]])[0] == 2.0
    assert not isinstance(made._latest.generated.lowered.trees["xs"], Packed)
    with pytest.raises(AutodiffError, match="int64"):
        grad(squares, mode="python")([1] * 20)


def test_the_shape_of_items_is_part_of_the_program():
    made = grad(vectors, mode="python")
    for shape in ((20, 3), (20, 1), (18, 3)):
        items = list(DRAW.uniform(0.5, 1.5, shape))
        assert np.allclose(flat(made(items)), flat(both_ways(vectors, items)[2][1]))


def test_integers_of_python_do_not_wrap():
    def total(ns, x):
        return sum(ns) * x
    with pytest.raises(OverflowError):
        grad(total, wrt=1, mode="python")([2 ** 59] * 20, 1.0)
    assert grad(total, wrt=1, mode="python")([2 ** 40] * 20, 1.0) == 20 * 2.0 ** 40


def test_division_of_items_raises_as_in_python():
    def divided(ns, x):
        return x * (1 // ns[17])
    with pytest.raises(ZeroDivisionError):
        grad(divided, wrt=1, mode="python")([0] * 20, 1.0)
    with pytest.raises(IndexError):
        grad(divided, wrt=1, mode="python")([1] * 17, 1.0)


def test_lists_have_no_matrix_product():
    for n in (3, 20):
        with pytest.raises(AutodiffError, match="unsupported operand"):
            grad(lambda xs: xs @ xs, mode="python")([1.0] * n)
    assert grad(lambda xs: np.arange(20.0) @ xs, mode="python")([1.0] * 20)[3] == 3.0


def test_pullbacks_and_linear_maps():
    value, pull = vjp(differences, XS, mode="python")
    gradient = grad(differences, mode="python")(XS)
    assert np.allclose(pull(1.0)[0], gradient)
    batched, = pull.batched(np.array([1.0, 2.0]))
    assert len(batched) == 20 and np.allclose(batched[3], [gradient[3], 2.0 * gradient[3]])
    _, push = linearize(differences, XS, mode="python")
    assert np.isclose(push([1.0] * 20), sum(gradient)) and push(None) == 0.0
    ints, = vjp(lambda ns, x: sum(ns) * x, [1] * 20, 2.0, mode="python")[1](1.0)[:1]
    assert ints == [None] * 20


def test_pullbacks_of_arrays_in_lists():
    _, pull = vjp(lambda layers: network(layers) * np.ones(2), LAYERS, mode="python")
    whole, = pull.batched(np.eye(2))
    one, = pull(np.array([0.0, 1.0]))
    assert np.shape(whole[4][0]) == (2, 3, 3) and np.allclose(whole[4][0][1], one[4][0])


def test_fast_calls_take_lists_of_any_length():
    made = value_and_grad(squares)
    for n in (20, 20, 20, 30, 17):
        value, gradient = made([0.5] * n)
        assert value == n * 0.25 and gradient == [1.0] * n and type(gradient[0]) is float
    assert made._fast and len(made._specialisations) == 1
    assert made([0.5] * 20 + [np.float64(0.5)])[0] == 21 * 0.25


def test_two_hundred_layers_take_no_longer_than_twenty():
    begun = time.process_time()
    layers = [(np.eye(3) * 0.1, np.ones(3))] * 200
    assert len(grad(network, mode="python")(layers)) == 200
    assert time.process_time() - begun < 5.0


WEIGHTS = [0.5] * 20
SIZES = list(range(1, 20))


class Network:
    def __init__(self):
        self.layers = [(0.1 * k * np.eye(2), np.ones(2)) for k in range(20)]

    def __call__(self, x):
        for W, b in self.layers:
            x = np.tanh(W @ x + b)
        return np.sum(x)


def slope(f, x):
    return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6


def test_lists_outside_are_read_at_every_call():
    def weighted(x):
        s = 0.0
        for k, w in enumerate(WEIGHTS):
            s += w * x * x * k
        return s
    made = grad(weighted, mode="python")
    steps = [lambda: None, lambda: WEIGHTS.__setitem__(3, 7.0), lambda: WEIGHTS.append(2.0), lambda: WEIGHTS.reverse(),
             lambda: WEIGHTS.__setitem__(4, 0.0), lambda: WEIGHTS.__setitem__(4, -0.0),
             lambda: WEIGHTS.__setitem__(4, 3), lambda: WEIGHTS.__setitem__(4, np.float64(3.0)), lambda: WEIGHTS.pop(4),
             lambda: WEIGHTS.__delitem__(slice(5, None)), lambda: WEIGHTS.extend([1.0] * 15)]
    for step in steps:
        step()
        assert np.isclose(made(1.5), slope(weighted, 1.5), rtol=1e-6)
        assert made._latest.packs


def test_lists_outside_make_no_program_anew():
    def weighted(x):
        return sum(w * x for w in WEIGHTS)
    WEIGHTS[:] = [0.5] * 20
    made = value_and_grad(weighted)
    for k in range(6):
        WEIGHTS[2] = float(k)
        WEIGHTS.append(1.0)
        assert np.allclose(made(2.0), (2.0 * sum(WEIGHTS), sum(WEIGHTS)))
    assert sum(map(len, made._specialisations.values())) == 1 and made._fast


def test_zero_and_minus_zero_in_a_list_outside():
    def angle(x):
        return sum(x * np.arctan2(w, -1.0) for w in WEIGHTS)
    WEIGHTS[:] = [0.0] * 20
    made = grad(angle)
    for k in range(6):
        WEIGHTS[1] = (-1.0) ** k * 0.0
        assert np.isclose(made(2.0), sum(np.arctan2(w, -1.0) for w in WEIGHTS))
    WEIGHTS[1] = np.float64(-0.0)
    assert np.isclose(made(2.0), sum(np.arctan2(w, -1.0) for w in WEIGHTS))


def test_layers_of_an_object():
    network = Network()
    made = value_and_grad(network, mode="python")
    x = np.array([0.3, -0.2])
    for change in (lambda: None, lambda: network.layers[2][1].fill(0.5), lambda: network.layers.pop(),
                   lambda: network.layers.__setitem__(0, (np.ones((2, 2)), np.zeros(2))), lambda: network.layers.clear()):
        change()
        value, gradient = made(x)
        assert np.isclose(value, network(x)) and np.isclose(gradient[0], slope(lambda v: network(np.array([v, -0.2])), 0.3))
    assert len(made.source.splitlines()) < 60


def test_lists_outside_that_decide_sizes_or_are_written():
    def sized(x):
        return sum(np.sum(np.ones(n) * x) for n in SIZES)

    def written(x):
        SIZES[0] = x
        return x
    assert grad(sized, mode="python")(2.0) == sum(SIZES)
    with pytest.raises(AutodiffError, match="outside"):
        grad(written, mode="python")(2.0)


def test_an_item_of_a_growing_list_is_the_array_that_was_appended():
    def kept(a):
        rows = []
        for row in a:
            rows.append(row)
        rows[0][1] = 5.0
        return np.sum(a[0])
    with pytest.raises(AutodiffError, match="append a copy"):
        grad(kept, mode="python")(np.ones((20, 3)))
    assert grad(kept, mode="python")(ARRAYS)[0].tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed):
    found, text = attempt(seed)
    assert found.verdict != "failed", f"{found.text}\n{text}"
