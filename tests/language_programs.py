"""Programs for `test_language.py`, one for each construct of the language."""

import itertools
import math
from dataclasses import dataclass
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
from numba import njit, prange


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
