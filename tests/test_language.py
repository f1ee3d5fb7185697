"""The language: one small program for each construct, as users write them; in Python mode and compiled."""

import functools
import itertools
import math
from dataclasses import dataclass
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit, prange

from autodiff import ShapeMismatch, TypeConflict, UnsupportedSyntax, differentiable, grad

from .support import assert_gradient

X = np.array([0.3, 0.7, 0.9, 1.1])
TABLE = np.array([[0.1, 0.2, 0.0, 0.5], [0.3, 0.1, 0.4, 0.0], [0.2, 0.2, 0.1, 0.3], [0.0, 0.6, 0.2, 0.1]])


@dataclass
class P:
    m: float
    k: np.ndarray

    def energy(self):
        return 0.5 * self.m * np.sum(self.k ** 2)

    @property
    def total(self):
        return self.k.sum() * self.m


class Q(NamedTuple):
    a: float
    b: float = 2.0

    def s(self):
        return self.a * self.b


def match_literals(x):
    s = 0.0
    for i in range(len(x)):
        match i % 3:
            case 0:
                s += x[i] ** 2
            case 1 | 5:
                s += np.sin(x[i])
            case k if k > 10:
                s = 0.0
            case _:
                s *= 1.1
    return s


def match_sequences(x):
    s = 0.0
    for pair in ((0, 1), (1, 2, 3), (2,), (3, 0)):
        match pair:
            case (0, k):
                s += x[k] ** 2
            case (a, b) if a > b:
                s += x[a] * x[b]
            case (first, *rest):
                s += x[first] * (1 + len(rest))
    return s


def match_classes(x):
    s = 0.0
    for thing in (Q(x[0]), P(2.0, x), None):
        match thing:
            case Q(a=a, b=b):
                s += a * b
            case P(m=2.0, k=k):
                s += k @ k
            case None:
                s += 1.0
    return s


def dict_filled_by_a_counted_loop(x, n=4):
    kept = {}
    state = x
    for k in range(n):
        state = state * np.roll(state, 1)
        if k % 2 == 0:
            kept[k] = state[0]
    return kept[0] + kept[2] * state[1]


def math_products(x):
    return math.prod(x) + math.prod([x[0], 2.0, x[1]], start=3.0)


def dataclass_with_method_and_property(x):
    p = P(x[0], x[1:])
    return p.energy() + p.total


def namedtuple_replaced(x):
    q = Q(x[0])
    q = q._replace(b=x[1])
    return q.s() + q.a


def prange_loop(x):
    s = 0.0
    for i in prange(len(x)):
        s += x[i] ** 3
    return s


@njit(parallel=True)
def par(x):
    s = 0.0
    for i in prange(x.shape[0]):
        s += math.exp(x[i])
    return s


def parallel_jitted_function(x):
    return par(x) * 2


def reduce_over_list(x):
    return reduce(lambda a, b: a * b + 1, [v for v in x], 1.0)


def map_and_filtered_generator(x):
    return sum(map(lambda v: v * v, x)) + sum((v for v in x if v > 0.5))


def zip_of_slices(x):
    s = 0.0
    for i, (a, b) in enumerate(zip(x[:-1], x[1:])):
        s += i * a * b
    return s


def downward_with_continue(x):
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        if i == 1:
            continue
        s = s * x[i] + 1
    return s


def index_after_break_and_else(x):
    for i in range(len(x)):
        if x[i] > 0.8:
            break
    else:
        return x[0]
    return x[i] ** 2


def nested_targets_and_swap(x):
    (a, b), c = ((x[0], x[1]), x[2])
    a, b = (b, a)
    return a * 2 + b * 3 + c


def slices_augmented(x):
    y = x.copy()
    y[1:] += y[:-1]
    y[::2] *= 2
    y[-1] /= 3
    y **= 2
    return y.sum()


def flat_assignment(x):
    y = np.zeros((2, 2))
    y.flat[:] = x
    return y[0, 1] * y[1, 0]


def return_out_of_endless_loop(x):
    s = 0
    while True:
        s += x[0]
        if s > 2:
            return s * x[1]


def partial_application(x):
    f = partial(lambda a, b, c: a * b + c, 2.0, c=x[1])
    return f(x[0])


def star_arguments(x):

    def inner(*args, **kw):
        return sum(args) * kw.get('w', 1.0)
    return inner(*x[:2], w=x[2])


def quadrature(x):
    u = np.linspace(0, 1, 5)
    return np.trapezoid(np.exp(-x[0] * u), u)


def dict_merged(x):
    m = {'w': x[:2], 'b': x[2]}
    m2 = {**m, 'b': m['b'] * 2}
    return (m2['w'] * m2['b']).sum()


def chained_conditions_and_raise(x):
    if not (0 < x[0] < 1 and x[1] != 0 or x[2] > 5):
        raise ValueError(f'bad {x[0]:.2f}')
    return x[0] / x[1]


def combinations_of_indices(x):
    r = 0.0
    for a, b in itertools.combinations(range(3), 2):
        r += x[a] * x[b]
    return r


def triangular_nest(x):
    r = 0.0
    for i in range(3):
        for j in range(i):
            for k in range(j, i):
                r += x[i] * x[j] * x[k]
    return r


def conditional_comprehension(x):
    y = [x[i] if i % 2 else -x[i] for i in range(len(x))]
    return np.dot(y, y) + max(y)


def view_or_negative_then_written(x):
    z = x if x[0] > 0 else -x
    z = z * 1.0
    z[0] = 9.0
    return (z * x).sum()


def rows_and_columns(x):
    a = np.array([[x[0], x[1]], [x[2], x[3]]])
    w, v = (a[0], a[:, 1])
    return w @ v + np.trace(a) + a.T[0] @ v


def pair_distances(x):
    pos = x.reshape(2, 2)
    d = pos[:, None, :] - pos[None, :, :]
    r = np.sqrt((d ** 2).sum(-1) + 0.1)
    return (1 / r)[np.triu_indices(2, 1)].sum()


def immediate_lambda(x):
    s = x[0]
    s = s + 1 if s > 0 else s - 1
    s *= (lambda q: q + s)(2.0)
    return s


def heun_while_time(x):
    t = 0.0
    dt = 0.1
    y = x[0]
    while t < 1.0 - 1e-12:
        k1 = y * x[1]
        k2 = (y + dt * k1) * x[1]
        y += dt / 2 * (k1 + k2)
        t += dt
    return y


def counted_mean(x):
    c = 0
    s = 0.0
    for v in x:
        if v > 0.5:
            c += 1
            s += v
    return s / c if c else 0.0


def numpy_scalars_and_int(x):
    s = np.float64(0)
    s += np.float32(2) * x[0]
    n = int(x[3] * 3)
    for i in range(n):
        s = s * x[1] + i
    return s


def ridge_by_normal_equations(x):
    A = np.vander(x, 3)
    q = np.linalg.solve(A.T @ A + np.eye(3), A.T @ x)
    return q @ q


def recurrent_state(x):
    h = np.zeros(3)
    for xi in x:
        h = np.tanh(h * 0.5 + xi * np.arange(3.0))
    return h.sum()


def running_product(x):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = x[i] * out[i - 1] if i else x[i]
    return out[-1]


def loop_over_names(x):
    for k in ('a', 'b'):
        if k == 'a':
            y = x * 2
        else:
            y = y + x
    return y.sum()


def sum_of_list_of_values(x):
    return np.sum([np.sin(v) for v in x]) + np.prod(list(x))


def add_at_with_duplicates(x):
    g = np.zeros(3)
    idx = np.array([0, 2, 0, 1])
    np.add.at(g, idx, x)
    return (g ** 2).sum()


def symmetric_fill(x):
    n = len(x)
    D = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            D[i, j] = D[j, i] = (x[i] - x[j]) ** 2
    return np.exp(-D).sum()


def where_iterated(x):
    u = x
    for _ in range(3):
        u = np.where(u > 0.5, u * 0.9, u ** 2 + 0.1)
    return u.sum()


def python_numeric_builtins(x):
    return float(np.sum(x)) * float(x[0]) + abs(min(x)) + pow(x[1], 3) + round(x[2], 1) * 0 + divmod(x[3], 0.4)[1]


def rows_then_elements(x):
    s = 0.0
    for row in x.reshape(2, 2):
        for v in row:
            s += v * row.sum()
    return s


def alias_augmented(x):
    a = x[:2]
    b = a
    a += 1
    return (a * b).sum() * 0 + (a * x[2:]).sum()


def write_through_view(x):
    y = x.copy()
    v = y[1:3]
    v[:] = 0.5
    v += x[0]
    return y.sum() * y[1]


def while_with_two_conditions(x):
    i = 0
    while i < len(x) and x[i] < 1.0:
        i += 1
    return x[i - 1] * 2 if i else 0.0


def closure_factory(x):

    def outer(k):

        def inner(v):
            return v * k
        return inner
    f = outer(x[0])
    return f(x[1]) + outer(2.0)(x[2])


def ndindex(x):
    s = 0.0
    for i, j in np.ndindex(2, len(x)):
        s += (i + 1) * x[j] ** 2
    return s


def product_of_ranges(x):
    s = 0.0
    for i, j in itertools.product(range(len(x)), range(len(x))):
        s += x[i] * x[j] * (i < j)
    return s


def ndenumerate(x):
    s = 0.0
    for (i, j), v in np.ndenumerate(x.reshape(2, 2)):
        s += v ** 2 * (i + 2 * j)
    return s


def imports_in_the_function(x):
    import math as m

    from numpy import linalg, sin
    return m.sqrt(x[0]) + sin(x).sum() + linalg.norm(x)


def value_left_by_break(x):
    for i in range(len(x)):
        y = x[i] ** 2
        if y > 0.6:
            break
    else:
        y = 0.0
    return y * (i + 1)


def loop_variable_after_loop(x):
    for v in x:
        pass
    return v ** 2


def while_with_else(x):
    k = 0
    while k < 4:
        z = x[k]
        if z > 0.8:
            break
        k += 1
    else:
        z = 1.0
    return z * z


def reduce_without_start(x):
    return functools.reduce(lambda a, b: a * b + 1, x) + functools.reduce(max, list(x))


def map_over_arrays(x):
    return max(map(math.sin, x)) + sum(map(lambda a, b: a * b, x, x[::-1]))


def permutations(x):
    s = 0.0
    for a, b in itertools.combinations([x[0], x[1], x[2]], 2):
        s += a * b
    for p in itertools.permutations((1.0, 2.0)):
        s += p[0] * x[3]
    return s


def errstate_around_where(x):
    with np.errstate(divide='ignore', invalid='ignore'):
        y = np.where(x > 0.5, np.log(x), 0.0)
        if x[0] > 2:
            return y[0]
    return y.sum()


def tolist(x):
    items = x.tolist()
    rows = x.reshape(2, 2).tolist()
    return items[0] * rows[1][1] + sum(items + items)


def partial_of_numpy(x):
    f = functools.partial(np.sum, axis=0)
    return f(x.reshape(2, 2))[0]


def enumerate_start_and_reversed(x):
    tot = 0.0
    for i, v in enumerate(x, start=1):
        tot += i * v
    for a, b, c in zip(x, x[1:], x[2:]):
        tot += a * b * c
    for i, v in reversed(list(enumerate(x[:2]))):
        tot += i * v * v
    return tot


def dict_comprehension(x):
    a = {k: v for k, v in zip(('p', 'q'), x)}
    s = 0.0
    for k, v in a.items():
        s += v * (2 if k == 'p' else 3)
    return s + len(a)


def simplex_projection(x):
    y = np.sort(x)[::-1]
    c = np.cumsum(y) - 1
    k = np.arange(1, len(x) + 1)
    rho = np.count_nonzero(y - c / k > 0)
    th = c[rho - 1] / rho
    return (np.maximum(x - th, 0) ** 2).sum()


def softmax_entropy(x):
    w = np.exp(x - np.max(x))
    w /= w.sum()
    return -(w * np.log(w)).sum()


def masked_writes(x):
    A = np.zeros((3, 3))
    A[np.arange(3), np.arange(3)] = x[:3]
    A[0, 1:] = x[2:]
    B = A.copy()
    B[B > 0.8] = 0.1
    return (A @ B).sum()


def nested_continue(x):
    n = len(x)
    y = np.zeros(n)
    for i in range(0, n, 2):
        for j in range(n - 1, i, -1):
            if (i + j) % 3 == 0:
                continue
            y[j] += x[i] * y[j - 1] + x[j]
    return y @ x


def history_list(x):
    acc = x[0]
    hist = []
    for t in range(5):
        acc = acc * np.cos(acc) + x[t % 4]
        hist.append(acc)
    h = np.array(hist)
    return h[-1] + h[1:3].prod() + np.mean(hist) + len(hist)


def slices_of_one_broadcast(x):
    """A slice i:i + 1 whose bounds nothing proves is one element beside a longer axis."""
    order = np.array([2, 0, 1])
    table = np.outer(x, x[:3])
    s = np.zeros((4, 2))
    for k in range(len(order)):
        s += table[:, k:k + 1] * np.outer(x, x[1:3]) + x[order[k]:order[k] + 1]
    return np.sum(s * s) + np.sum(x[order[0]:order[0] + 1])


def global_array_first_in_a_loop(x):
    """The loop's state is an array, so that its body is lowered more than once."""
    y = x * 1.0
    for t in range(3):
        y = np.tanh(TABLE @ y + x)
    return y @ y


PROGRAMS = [
    global_array_first_in_a_loop,
    slices_of_one_broadcast,
    match_literals,
    match_sequences,
    match_classes,
    dict_filled_by_a_counted_loop,
    math_products,
    dataclass_with_method_and_property,
    namedtuple_replaced,
    prange_loop,
    parallel_jitted_function,
    reduce_over_list,
    map_and_filtered_generator,
    zip_of_slices,
    downward_with_continue,
    index_after_break_and_else,
    nested_targets_and_swap,
    slices_augmented,
    flat_assignment,
    return_out_of_endless_loop,
    partial_application,
    star_arguments,
    quadrature,
    dict_merged,
    chained_conditions_and_raise,
    combinations_of_indices,
    triangular_nest,
    conditional_comprehension,
    view_or_negative_then_written,
    rows_and_columns,
    pair_distances,
    immediate_lambda,
    heun_while_time,
    counted_mean,
    numpy_scalars_and_int,
    ridge_by_normal_equations,
    recurrent_state,
    running_product,
    loop_over_names,
    sum_of_list_of_values,
    add_at_with_duplicates,
    symmetric_fill,
    where_iterated,
    python_numeric_builtins,
    rows_then_elements,
    alias_augmented,
    write_through_view,
    while_with_two_conditions,
    closure_factory,
    ndindex,
    product_of_ranges,
    ndenumerate,
    imports_in_the_function,
    value_left_by_break,
    loop_variable_after_loop,
    while_with_else,
    reduce_without_start,
    map_over_arrays,
    permutations,
    errstate_around_where,
    tolist,
    partial_of_numpy,
    enumerate_start_and_reversed,
    dict_comprehension,
    simplex_projection,
    softmax_entropy,
    masked_writes,
    nested_continue,
    history_list,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_python_mode(program):
    assert_gradient(program, (X,), (0,), "python")


@pytest.mark.parametrize("program", PROGRAMS[::5], ids=lambda p: p.__name__)
def test_compiled(program):
    assert_gradient(program, (X,), (0,), "numba")


# ---- arrays that a caller gives away ---------------------------------------------------------------------
def swapping(a, b, n):
    for _ in range(n):
        b[:] = np.sin(a) * b[::-1] + 0.3
        a, b = b, a
    return np.sum(a ** 2)


def given_through_a_tuple(x):
    both = (x, np.ones(3))
    return swapping(*both, 3)


def one_array_under_two_names(x):
    y = x
    return swapping(x, y, 3)


def given_anew_in_a_loop(x):
    total = 0.0
    for k in range(2):
        y = np.ones(3) * (k + 1)
        total += swapping(x.copy(), y, 3)
    return total


def read_afterwards(x):
    y = np.ones(3)
    return swapping(x, y, 3) + y[0]


def read_by_a_view(x):
    y = np.ones(3)
    end = y[1:]
    total = swapping(x, y, 3)
    return total + end[0]


def read_by_an_inner_function(x):
    y = np.ones(3)

    def later():
        return y[1] * x[0]
    return swapped_then(later, x, y)


def swapped_then(later, a, b):
    return swapping(a, b, 2) + later()


def read_in_the_next_iteration(x):
    y = np.ones(3)
    total = 0.0
    for _ in range(2):
        total = total + swapping(x.copy(), y, 3)
    return total


@pytest.mark.parametrize("function", [given_through_a_tuple, one_array_under_two_names, given_anew_in_a_loop])
def test_arrays_given_away_may_be_swapped(function):
    assert_gradient(function, (np.array([0.3, 0.7, -0.9]),), (0,), "python")


@pytest.mark.parametrize("function", [read_afterwards, read_by_a_view, read_by_an_inner_function,
                                      read_in_the_next_iteration])
def test_arrays_read_later_may_not_be_swapped(function):
    with pytest.raises(UnsupportedSyntax, match="a second name may see"):
        grad(function, mode="python")(np.array([0.3, 0.7, -0.9]))


# ---- in-place operations where a mask holds --------------------------------------------------------------
def masked_powers(x):
    y = x.copy()
    y[y < 0.5] **= 3
    y[x > 0.8] -= 0.5
    rows = np.outer(x, y)
    rows[x > 0.0] *= 2
    rows[rows > 0.3] /= 1.5
    return np.sum(rows * y)


def counted_where(x):
    counts = np.zeros(3, dtype=int)
    counts[x > 0.5] += 2
    doubles = np.zeros(3)
    doubles[[0, 0]] += x[1]
    return np.sum(x * counts) + np.sum(doubles ** 2)


@pytest.mark.parametrize("function", [masked_powers, counted_where])
def test_in_place_where_a_mask_holds(function):
    assert_gradient(function, (np.array([0.3, 0.7, -0.9]),), (0,), "python")


def test_integers_take_no_floats_where_a_mask_holds():
    def halves(x):
        counts = np.zeros(3, dtype=int)
        counts[x > 0.5] += 0.5
        return np.sum(x * counts)
    with pytest.raises(TypeConflict, match="cannot cast"):
        grad(halves, mode="python")(np.ones(3))


# ---- numbers of Python's own beside single precision -----------------------------------------------------
def test_results_of_math_are_weak():
    x = np.ones(3, np.float32)
    for function in (lambda x: math.log(10.0) * x, lambda x: math.sqrt(WIDE[1]) * x, lambda x: math.hypot(3.0, x[0]) * x,
                     lambda x: np.log(10.0) * x):
        assert differentiable(function, mode="python")(x).dtype == function(x).dtype


WIDE = np.array([2.0, 3.0])

# ---- axes that an array does not have --------------------------------------------------------------------
WRONG_AXES = {
    "moveaxis": lambda x: np.moveaxis(x, 3, 0), "moveaxis twice": lambda x: np.moveaxis(x, (0, 1), (0, 0)),
    "swapaxes": lambda x: np.swapaxes(x, 0, 2), "method": lambda x: x.swapaxes(-3, 0),
    "rollaxis": lambda x: np.rollaxis(x, 2),
    "rollaxis start": lambda x: np.rollaxis(x, 1, -3), "transpose": lambda x: np.transpose(x, (0, 2)),
    "roll": lambda x: np.roll(x, 1, axis=2), "concatenate": lambda x: np.concatenate((x, x), axis=2),
    "stack": lambda x: np.stack((x, x), axis=3), "repeat": lambda x: np.repeat(x, 2, axis=-3),
    "split": lambda x: np.split(x, 1, axis=2)[0], "diff": lambda x: np.diff(x, axis=2),
    "tensordot": lambda x: np.tensordot(x, x, axes=((2,), (0,))), "insert": lambda x: np.insert(x, 0, 1.0, axis=2),
    "median": lambda x: np.median(x, axis=2), "gradient": lambda x: np.gradient(x, axis=2),
}


@pytest.mark.parametrize("name", WRONG_AXES)
def test_axes_out_of_range_are_refused(name):
    function, x = WRONG_AXES[name], np.ones((2, 3))
    with pytest.raises((ValueError, IndexError)):
        function(x)
    with pytest.raises(ShapeMismatch, match="out of bounds|destinations"):
        differentiable(function, mode="python")(x)


@pytest.mark.parametrize("axis", [(0, 2), (-1, 0), ((0, -1), (-1, 0)), (1, -3)])
def test_axes_in_range(axis):
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(differentiable(lambda x: np.moveaxis(x, *axis), mode="python")(x), np.moveaxis(x, *axis))
    if isinstance(axis[0], int):
        for form in (lambda x: np.swapaxes(x, *axis), lambda x: np.rollaxis(x, *axis), lambda x: np.stack((x, x), axis[0])):
            np.testing.assert_array_equal(differentiable(form, mode="python")(x), form(x))


def test_integers_among_starred_arguments_may_have_to_be_known():
    def total(x, *args, **options):
        return np.sum(x, *args, **options)
    compiled = differentiable(total, mode="python")
    x = np.arange(6.0).reshape(2, 3)
    for axis in (0, 1, (0, 1), (1,), (1, 0), 0):
        np.testing.assert_array_equal(compiled(x, axis), np.sum(x, axis))
        np.testing.assert_array_equal(compiled(x, axis=axis), np.sum(x, axis))
        np.testing.assert_array_equal(differentiable(np.max, mode="python")(x, axis=axis), np.max(x, axis))
