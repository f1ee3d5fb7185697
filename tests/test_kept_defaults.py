"""Lists, dicts and objects that inner functions keep as defaults: each function that is made has its own, Python's rule."""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, value_and_grad

from .support import Collected

X = np.array([1.1, 2.3, 3.2, 4.4])
program = PROGRAMS = Collected()


@dataclass
class Box:
    v: float


class Total:
    def __init__(self):
        self.n = 0.0

    def __call__(self, v):
        self.n += v
        return self.n

    def add(self, v):
        self.n += v
        return self.n


@program
def list_from_outside(x):
    fs = []
    for k in range(2):
        acc = [x[k]]

        def g(acc=acc):
            return acc[0]

        fs.append(g)
    return fs[0]() * 10 + fs[1]()


@program
def dict_in_the_signature(x):
    fs = []
    for k in range(2):

        def g(acc={"a": x[k]}):  # noqa: B006
            return acc["a"]

        fs.append(g)
    return fs[0]() * 10 + fs[1]()


@program
def dataclass_by_keyword_of_lambdas_in_a_dict(x):
    fs = {}
    for k in range(2):
        box = Box(x[k])
        fs[k] = lambda *, box=box: box.v
    return fs[0]() * 10 + fs[1]()


@program
def empty_lists_appended_to(x):
    fs = []
    for _ in range(2):

        def g(v, acc=[]):  # noqa: B006
            acc.append(v)
            return sum(acc)

        fs.append(g)
    return fs[0](x[0]) * 3 + fs[1](x[1]) + fs[0](x[2]) * fs[1](x[3])


@program
def lambdas_of_a_comprehension(x):
    fs = [(lambda v, acc=[]: (acc.append(v), sum(acc))[1]) for _ in range(2)]
    return fs[0](x[0]) + fs[1](x[1]) * fs[0](x[2])


@program
def lambdas_of_a_comprehension_that_read_its_variable(x):
    acc = [x[0]]
    fs = [lambda v, acc=acc, own=[1.0]: (acc.append(v * k), own.append(v), sum(own))[2] for k in range(3)]
    t = fs[0](x[0]) * fs[1](x[1]) * fs[1](x[2])
    return t * sum(acc) * len(acc)


@program
def a_list_beside_functions_in_a_comprehension(x):
    acc = [x[0]]
    pairs = [(acc, lambda v: v * k) for k in range(3)]
    pairs[0][0].append(x[1])
    return sum(acc) * pairs[0][1](x[2]) * sum(pairs[1][0])


@program
def inner_loop_in_a_loop_of_the_run(x):
    t = 0.0
    for i in range(len(x)):
        fs = []
        for k in range(2):

            def g(acc=[x[k], x[i]]):  # noqa: B006
                acc[0] *= 2
                return acc[0] + acc[1]

            fs.append(g)
        t += fs[0]() * fs[1]() * fs[0]()
    return t


@program
def called_after_the_loop(x):
    for k in range(len(x)):

        def g(v, acc=[]):  # noqa: B006
            acc.append(v)
            return sum(acc)

        x = x * g(x[k])
    return g(x[0])


@program
def one_list_under_two_names(x):
    acc = [x[0]]

    def g(v, acc=acc):
        acc.append(v)
        return sum(acc)

    t = g(x[1])
    acc.append(x[2])
    return g(x[3]) * t + len(acc) + acc[1] * acc[-1]


@program
def an_argument_calls_it_first(x):
    def g(v, acc=[]):  # noqa: B006
        acc.append(v)
        return sum(acc)

    return g(g(x[0]) * x[1]) + g(x[2])


@program
def a_default_that_is_such_a_function(x):
    def g(v, acc=[]):  # noqa: B006
        acc.append(v)
        return sum(acc)

    def h(v, f=g):
        return f(v) * 2

    return h(x[0]) + g(x[1]) + h(x[2])


@program
def changed_in_branches_of_a_loop(x):
    def g(v, acc={"t": []}):  # noqa: B006
        acc["t"].append(v)
        return sum(acc["t"])

    f = g
    t = 0.0
    for i in range(len(x)):
        if x[i] > 2:
            t += g(x[i]) * f(x[i])
    return t * g(x[0])


@program
def given_to_map_over_a_list(x):
    return sum(map(lambda v, acc=[]: (acc.append(v), sum(acc))[1], [x[0], x[1], x[2]]))


@program
def given_to_map_over_an_array(x):
    m = map(lambda v, acc=[]: (acc.append(v), sum(acc))[1], x)
    y = x[0] * 2
    return sum(m) * y


@program
def given_to_map_in_a_loop(x):
    t = 0.0
    for k in range(len(x)):
        t += sum(map(lambda v, acc=[1.0]: (acc.append(v), sum(acc))[1], x)) * x[k]
    return t


@program
def maps_in_a_list(x):
    ms = []
    for _ in range(3):
        ms.append(map(lambda v, acc=[1.0]: (acc.append(v), sum(acc))[1], x))
    return sum(ms[0]) * sum(ms[1])


@program
def its_name_is_bound_anew_before_map_runs(x):
    def g(v, acc=[]):  # noqa: B006
        acc.append(v)
        return sum(acc)

    m = map(g, x)
    g = 3.0
    return sum(m) * g


@program
def given_to_reduce_and_max(x):
    a = functools.reduce(lambda a, b, acc=[1.0]: (acc.append(b), a * sum(acc))[1], [x[0], x[1], x[2]])
    return a * max([x[0], x[1], x[2]], key=lambda v, acc=[0.0]: (acc.append(v), -sum(acc))[1])


@program
def objects_without_a_name_given_to_map(x):
    return sum(map(Total().add, [x[0], x[1]])) * sum(map(Total(), [x[0], x[1], x[2]])) + sum(map(Total(), x))


@program
def a_closure_that_changes_a_list_given_to_sum(x):
    acc = [0.0]

    def g(v):
        acc[0] += v
        return acc[0]

    return sum(map(g, x)) * acc[0]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_program(f):
    value, gradient = value_and_grad(f, mode="python", debug=True)(X)
    assert value == pytest.approx(f(X), rel=1e-12)
    differences = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(4)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)


def test_a_vectorized_function_that_changes_its_default_is_refused():
    def f(x):
        return np.sum(np.vectorize(lambda v, acc=[0.0]: (acc.append(v), sum(acc))[1])(x))

    with pytest.raises(UnsupportedSyntax, match="vectorized function that changes"):
        value_and_grad(f, mode="python")(X)
