"""Python lists, tuples and dicts as small arrays: values and gradients, in Python mode and compiled."""

import numpy as np
import pytest

from autodiff import grad, value_and_grad

from .support import assert_gradient

C = [0.1, 0.2, 0.3]
T = (1.0, 2.0, 3.0)
K = [2, 0, 1]
G = [0.5, 1.5]


def local_coefficients(x):
    c = [0.1, 0.2, 0.3]
    s = 0.0
    for i in range(len(x)):
        s += c[i % 3] * x[i] ** 2
    return s


def global_coefficients(x):
    s = 0.0
    for i in range(len(x)):
        s += C[i % 3] * x[i] ** 2
    return s


def global_tuple_and_indices(x):
    s = 0.0
    for i in range(len(x)):
        s += T[i % 3] * x[K[i % 3]] ** 2
    return s


def zeros_of_run_time_length(x):
    n = len(x)
    dp = [0.0] * (n + 1)
    for i in range(n):
        dp[i + 1] = dp[i] * 0.5 + x[i] ** 2
    return dp[n]


def nested_lists(x):
    n = len(x)
    M = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            M[i][j] = x[i] * x[j] + (M[i - 1][j] if i > 0 else 0.0)
    return M[n - 1][n - 1]


def append_reading_earlier_items(x):
    h = [x[0]]
    for i in range(1, len(x)):
        h.append(h[-1] * x[i] + h[i - 1])
    return h[-1] + sum(h)


def stack_popped(x):
    st = []
    s = 0.0
    for v in x:
        st.append(v)
    while len(st) > 0:
        s = s * 0.5 + st.pop() ** 2
    return s


def dict_filled_in_a_loop(x):
    d = {}
    for i in range(4):
        d[i] = x[i] ** 2
    return sum(d.values())


def append_under_a_condition(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0.5:
            out.append(x[i] ** 2)
    return sum(out) / len(out)


def list_of_an_array(x):
    L = list(x)
    L[1] = L[0] * 2
    return L[1] * L[2]


def starred_unpacking(x):
    a, b, *rest = x
    return a * b + sum(rest)


def starred_rows_are_views(x):
    B = np.outer(x, x)
    a, *c = B
    *d, e = list(B)
    a[0] = x[1]
    c[0][1] = 0.0
    B[2, 2] = 5.0 * x[0]
    d[0][1] = x[3]
    return np.sum(B) + np.sum(c[1]) + np.sum(d[2]) + e[0]


def pair_indexed_by_argmax(x):
    L = [x[0], x[1]]
    i = int(np.argmax(x)) % 2
    return L[i] ** 2


def list_of_pairs(x):
    pts = [(x[0], x[1]), (x[2], x[3])]
    s = 0.0
    for p, q in pts:
        s += p * q
    return s


def rows_appended(x):
    rows = []
    for i in range(len(x)):
        rows.append(x * x[i])
    return np.array(rows).sum() + np.stack(rows)[0, 1] + np.vstack(rows)[1, 0]


def repeated_value(x):
    n = len(x)
    dp = [x[0]] * n
    for i in range(1, n):
        dp[i] = max(dp[i - 1], x[i]) * 1.1
    return sum(dp)


def comprehension_of_zeros(x):
    q = [0.0 for _ in range(len(x))]
    for i in range(len(x)):
        q[i] += x[i] ** 3
    return np.sum(q)


def extend_insert_delete(x):
    L = []
    L += [x[0] * 2]
    L.extend([x[1], x[2]])
    L.insert(0, x[3])
    del L[0]
    return sum((v * v for v in L))


def while_true_with_else(x):
    s = 0.0
    i = 0
    while True:
        if i >= len(x):
            break
        s += x[i] ** 2
        i += 1
    else:
        s = 0
    return s


def list_bound_anew(x):
    a = [1.0]
    for _ in range(3):
        a = [p * x[0] + q for p, q in zip(a + [0.0], [0.0] + a)]
    return sum(a)


def integer_zeros_get_floats(x):
    n = len(x)
    dp = [0] * (n + 1)
    for i in range(n):
        dp[i + 1] = dp[i] * 0.5 + x[i] ** 2
    return dp[n]


def joined_integer_lists(x):
    n = len(x)
    a = [0] * n
    b = a + a
    b[n] = x[0]
    return b[n] * len(b)


def slice_is_a_copy(x):
    n = len(x)
    a = [x[0]] * n
    b = a[:]
    b[0] = x[1]
    return a[0] * b[0] + b[1]


def two_rows_of_dynamic_programming(x):
    n = len(x)
    prev = [0.0] * (n + 1)
    for i in range(n):
        cur = [0.0] * (n + 1)
        for j in range(1, n + 1):
            cur[j] = max(prev[j], cur[j - 1]) + x[i] * x[j - 1]
        prev = cur
    return prev[n]


def integer_rows_that_swap(x):
    n = len(x)
    prev = [0] * (n + 1)
    cur = [0] * (n + 1)
    for i in range(n):
        for j in range(1, n + 1):
            cur[j] = min(prev[j] + x[i], cur[j - 1] + x[j - 1] ** 2)
        prev, cur = (cur, prev)
    return prev[n] * 2.0


def depth_first_tree(x):
    st = [0]
    s = 0.0
    vis = 0
    while st:
        k = st.pop()
        s += x[k] ** 2 * G[k % 2]
        vis += 1
        if 2 * k + 1 < len(x):
            st.append(2 * k + 1)
        if 2 * k + 2 < len(x):
            st.append(2 * k + 2)
    return s


def augmented_by_a_pair(x):
    L = []
    for i in range(len(x)):
        L += [x[i], x[i] ** 2]
    return sum(L) * L[1]


def dict_items(x):
    d = {}
    d['a'] = x[0]
    d['b'] = x[1]
    d['a'] += d['b']
    del d['b']
    return d['a'] ** 2


def comprehension_of_integers_gets_floats(x):
    L = [i for i in range(len(x))]
    L[0] = x[0]
    L[1] = L[0] * x[1]
    return sum(L) * L[1]


def integers_appended(x):
    fib = [1, 1]
    while len(fib) < 6:
        fib.append(fib[-1] + fib[-2])
    return sum((f * v for f, v in zip(fib, x)))


def starred_first(x):
    *a, b = x
    a, c = (a[:-1], a[-1])
    return sum(a) * b + c * c


def factorials_appended(x):
    fact = [1]
    for i in range(1, len(x)):
        fact.append(fact[i - 1] * i)
    s = 0.0
    for i in range(len(x)):
        s += x[0] ** i / fact[i]
    return s


def nested_constants_literal_loop(x):
    A = [[1.0, 2.0], [3.0, 4.0]]
    s = 0.0
    for i in range(2):
        for j in range(2):
            s += A[i][j] * x[i] * x[j]
    return s


def nested_constants(x):
    A = [[1.0, 2.0], [3.0, 4.0]]
    s = 0.0
    n = len(x) // 2
    for i in range(n):
        for j in range(n):
            s += A[i][j] * x[i] * x[j]
    return s


def dict_of_weights(x):
    names = ['a', 'b']
    w = {'a': 1.0, 'b': 2.0}
    s = 0.0
    for k in names:
        s += w[k] * x[0]
    return s


def recurrence_by_append(x):
    h = [x[0], x[1]]
    for i in range(2, len(x) + 3):
        h.append(0.5 * h[i - 1] + h[i - 2] * x[i % len(x)])
    return h[-1] + h[len(x)]


def list_cell(x):
    best = [-1000000000.0]
    for v in x:
        if v > best[0]:
            best[0] = v
    return best[0] ** 2


def while_over_list(x):
    heap = list(x)
    pass
    i = 0
    tot = 0.0
    while i < len(heap):
        tot += heap[i] * i
        i += 1
    return tot


def list_of_tuples(x):
    q = [(0, x[0])]
    s = 0.0
    for k, v in q:
        s += k + v
    return s


def short_list_augmented(x):
    m = [0.0] * 3
    for i in range(len(x)):
        m[i % 3] += x[i]
    return m[0] * m[1] + m[2]


def swap_of_items(x):
    a = [0.0] * len(x)
    for i, v in enumerate(x):
        a[i] = v * v
    a[0], a[1] = (a[1], a[0])
    return a[0] * 3 + sum(a[1:]) + max(a) + min(a)


PROGRAMS = [
    local_coefficients,
    global_coefficients,
    global_tuple_and_indices,
    zeros_of_run_time_length,
    nested_lists,
    append_reading_earlier_items,
    stack_popped,
    dict_filled_in_a_loop,
    append_under_a_condition,
    list_of_an_array,
    starred_unpacking,
    starred_rows_are_views,
    pair_indexed_by_argmax,
    list_of_pairs,
    rows_appended,
    repeated_value,
    comprehension_of_zeros,
    extend_insert_delete,
    while_true_with_else,
    list_bound_anew,
    integer_zeros_get_floats,
    joined_integer_lists,
    slice_is_a_copy,
    two_rows_of_dynamic_programming,
    integer_rows_that_swap,
    depth_first_tree,
    augmented_by_a_pair,
    dict_items,
    comprehension_of_integers_gets_floats,
    integers_appended,
    starred_first,
    factorials_appended,
    nested_constants_literal_loop,
    nested_constants,
    dict_of_weights,
    recurrence_by_append,
    list_cell,
    while_over_list,
    list_of_tuples,
    short_list_augmented,
    swap_of_items,
]

X = np.array([0.3, 0.7, 0.9, 1.1])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_python_mode(program):
    assert_gradient(program, (X,), (0,), "python")


@pytest.mark.parametrize("program", PROGRAMS[::3], ids=lambda p: p.__name__)
def test_compiled(program):
    assert_gradient(program, (X,), (0,), "numba")


def stack_of_squares(x):
    st = [x[0]]
    s = 0.0
    for v in x[1:]:
        while st and st[-1] < v:
            s += 2.0 * (v - st.pop()) ** 2
        st.append(v * v)
    return s + sum(a ** 3 for a in st)


def test_second_order_of_a_growing_list():
    """The length of a list is not the size of an argument: it must stay behind the list in the outer program."""
    assert_gradient(lambda x: (grad(stack_of_squares)(x) ** 2).sum(), (X,), (0,), "python")


def test_lists_of_one_name_in_two_functions():
    """A list that is made in a function grows, whatever list of this name the caller has from outside."""
    def grown(x, given):
        times = [x]
        for i in range(3):
            times.append(x * i)
        while sum(times) < 9.0:
            times.append(x)
        return sum(times) + given[0] * x

    def caller(x, times=[0.5]):  # noqa: B006
        return grown(x, times) + times[0]

    value, gradient = value_and_grad(caller, mode="python")(2.0)
    assert value == caller(2.0) == 11.5
    assert gradient == 5.5
