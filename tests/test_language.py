"""The language: one small program for each construct, as users write them; in Python mode and compiled."""

import functools
import itertools
import math

import numpy as np
import pytest

from autodiff import ShapeMismatch, TypeConflict, differentiable, grad

from .language_programs import (
    add_at_with_duplicates,
    chained_conditions_and_raise,
    combinations_of_indices,
    conditional_comprehension,
    counted_mean,
    dataclass_with_method_and_property,
    dict_filled_by_a_counted_loop,
    dict_merged,
    downward_with_continue,
    flat_assignment,
    heun_while_time,
    immediate_lambda,
    index_after_break_and_else,
    loop_over_names,
    map_and_filtered_generator,
    match_classes,
    match_literals,
    match_sequences,
    math_products,
    namedtuple_replaced,
    nested_targets_and_swap,
    numpy_scalars_and_int,
    pair_distances,
    parallel_jitted_function,
    partial_application,
    prange_loop,
    quadrature,
    recurrent_state,
    reduce_over_list,
    return_out_of_endless_loop,
    ridge_by_normal_equations,
    rows_and_columns,
    running_product,
    slices_augmented,
    star_arguments,
    sum_of_list_of_values,
    symmetric_fill,
    triangular_nest,
    view_or_negative_then_written,
    where_iterated,
    zip_of_slices,
)
from .support import assert_gradient

X = np.array([0.3, 0.7, 0.9, 1.1])
TABLE = np.array([[0.1, 0.2, 0.0, 0.5], [0.3, 0.1, 0.4, 0.0], [0.2, 0.2, 0.1, 0.3], [0.0, 0.6, 0.2, 0.1]])


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
