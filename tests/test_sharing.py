"""Objects that several names see: changed by helpers and methods, in loops and branches, under second names."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, differentiable, grad, value_and_grad, vjp

from .support import assert_gradient

X = np.array([0.3, 0.7, 1.1])


@dataclass
class P:
    s: float = 0.0
    def add(self, v):
        self.s += v*v


def addto(a, v):
    a.s += v*v


def addd(a, v):
    a["s"] += v*v


def push(L, v):
    L.append(v*v)


def addall(a, x):
    for v in x:
        a.s += v*v


def by_a_method(x):
    a = P()
    for v in x:
        a.add(v)
    return a.s


def by_a_function(x):
    a = P(0.0)
    for v in x:
        addto(a, v)
    return a.s


def in_a_while_and_a_branch(x):
    a = P(0.0)
    i = 0
    while i < len(x):
        if x[i] > 0.4:
            addto(a, x[i])
        i += 1
    return a.s


def of_a_dict(x):
    a = {"s": 0.0}
    for v in x:
        addd(a, v)
    return a["s"]


def by_a_closure(x):
    L=[0.0]
    def g(v):
        L[0] += v*v
    for v in x:
        g(v)
    return L[0]


def by_a_closure_with_the_loop(x):
    L=[0.0]
    def g():
        for v in x:
            L[0] += v*v
    g()
    return L[0]


def of_a_list_of_records(x):
    L=[P(0.0),P(1.0)]
    for v in x:
        for p in L:
            p.s += v*v
    return L[0].s*L[1].s


def of_a_list_of_lists(x):
    L=[[0.0],[1.0]]
    for v in x:
        for l in L:
            l[0] += v*v
    return L[0][0]*L[1][0]


def appended_by_a_function(x):
    L=[]
    for v in x:
        push(L, v)
    return sum(L)


def appended_and_indexed(x):
    L=[]
    for v in x:
        push(L, v)
    return L[0]*L[1]*L[2]


def a_second_name(x):
    a=P(0.0)
    b=a
    for v in x:
        a.s += v*v
    return b.s


def a_second_name_of_a_list(x):
    L=[1.0]
    M=L
    for v in x:
        L.append(v*v)
    return M[-1]*len(M)


def loops_in_functions(x):
    a=P(0.)
    addall(a, x)
    addall(a, 2*x)
    return a.s


def rebound_beside_a_second_name(x):
    a=P(0.)
    b=a
    t=0.0
    for v in x:
        t += b.s*v
        a = P(a.s+v*v)
    return a.s+b.s+t


def changed_in_a_branch(x):
    a=P(0.)
    b=a
    if x[0]>0.1:
        a.s += x[0]
    a.s += x[1]**2
    return b.s*a.s


def one_of_two(x):
    a=P(0.)
    b=P(1.)
    if x[0]>0.1:
        a = b
    a.s += x[1]**2
    return b.s*a.s


def inside_a_list_too(x):
    p=P(0.)
    L=[p, P(1.)]
    for v in x:
        p.s += v*v
        L[1].s += p.s
    return L[0].s*L[1].s+p.s


def changed_and_rebound(x):
    a=P(0.)
    b=a
    for v in x:
        a.s += v*v
        a = P(v)
    return a.s+b.s


def tuples_do_not_change(x):
    t=(1.0,)
    u=t
    for i in range(2):
        t += (x[i],)
    return len(u)*sum(t)


def swapped(x):
    a, b = P(0.), P(1.)
    for v in x:
        a, b = b, a
        a.s += v*v
    return a.s + 2*b.s


def a_bound_method(x):
    add=P(0.)
    f = add.add
    for v in x:
        f(v)
    return add.s


def nested_loops_with_break(x):
    acc = P(0.)
    for v in x:
        for k in range(3):
            acc.add(v*k)
            if acc.s > 3:
                break
    return acc.s


FOLLOWED = [by_a_method, by_a_function, in_a_while_and_a_branch, of_a_dict, by_a_closure, by_a_closure_with_the_loop,
    of_a_list_of_records, of_a_list_of_lists, appended_by_a_function, appended_and_indexed, a_second_name,
    a_second_name_of_a_list, loops_in_functions, rebound_beside_a_second_name, changed_in_a_branch, inside_a_list_too,
    tuples_do_not_change, swapped, a_bound_method, nested_loops_with_break]


@pytest.mark.parametrize("program", FOLLOWED, ids=lambda p: p.__name__)
def test_changes_are_seen(program):
    assert_gradient(program, (X,), (0,), "python")


@pytest.mark.parametrize("program, message", [(one_of_two, "one of two"), (changed_and_rebound, "changed in place")])
def test_what_cannot_be_followed_is_refused(program, message):
    with pytest.raises(UnsupportedSyntax, match=message):
        grad(program, mode="python")(X)


def test_compiled():
    for program in FOLLOWED[:6]:
        assert_gradient(program, (X,), (0,), "numba")


# ---- classes with __init__ ------------------------------------------------------------------------------
@dataclass
class Derived:
    a: float
    b: float = field(init=False)

    def __post_init__(self):
        self.b = self.a ** 2
        self.a *= 2.0


class Filter:
    gain = 2.0

    def __init__(self, c, n=3):
        self.c = c
        self.state = np.zeros(n)
        self.count = 0

    def step(self, v):
        self.state = np.roll(self.state, 1)
        self.state[0] = v
        self.count += 1
        return self.gain * np.sum(self.c * self.state)

    @property
    def total(self):
        return np.sum(self.state) * self.count


class Layer:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def __call__(self, h):
        return np.tanh(self.w * h + self.b)


class Network:
    def __init__(self, ws):
        self.layers = [Layer(w, 0.1) for w in ws]

    def forward(self, h):
        for layer in self.layers:
            h = layer(h)
        return h


class Counter:
    def __init__(self):
        self.s = 0.0

    def __call__(self, v):
        self.s += v * v
        return self.s


def post_init(x):
    q = Derived(x[0])
    return q.a * q.b


def filtered(x):
    f, s = Filter(x), 0.0
    for v in x:
        s += f.step(v) ** 2
    return s + f.total


def network(x):
    return Network([x[0], x[1], 0.5]).forward(x[2])


def callable_object(x):
    a, t = Counter(), 0.0
    for i in range(len(x)):
        t += a(x[i])
    return t


@pytest.mark.parametrize("program", [post_init, filtered, network, callable_object])
def test_objects_of_classes(program):
    assert_gradient(program, (X,), (0,), "python")


def test_objects_are_returned_as_they_were_left():
    (f, q), _ = vjp(lambda x: (Filter(x), Derived(x[1])), X, mode="python")
    assert type(f) is Filter and f.count == 0 and type(q) is Derived and (q.a, q.b) == (1.4, pytest.approx(0.49))


def flipped(x):
    table = np.outer(x, x).reshape(3, 3, 1)
    part = np.flip(table)[1:]
    part[0] = x[1] ** 3
    return np.sum(table * table)


def divided(x):
    table = (x * x[1]).reshape(3, 1)
    part = np.split(table, [1])[1][0:]
    part[0] = x[1] ** 3
    return np.sum(table * table)


def enlarged(x):
    table = (x * x[1]).reshape(1, 3)
    part = np.expand_dims(table, 0)[0]
    part[0, 1:] = x[1] ** 3
    return np.sum(table * table)


@pytest.mark.parametrize("program", [flipped, divided, enlarged])
def test_views_of_expressions_are_views(program):
    assert_gradient(program, (X,), (0,), "python")


@pytest.mark.parametrize("rows", [2, 3])
def test_a_view_of_what_ravel_copies_sees_its_changes(rows):
    def f(x, m):
        column = m[:rows, :1].ravel()
        first = column[:1]
        column += x[0]
        return np.sum(first) * x[1]
    x, m = np.array([0.5, 2.0]), np.arange(12.0).reshape(3, 4)
    value, gradient = value_and_grad(f, mode="python")(x, m)
    assert value == f(x.copy(), m.copy()) == 1.0
    assert np.allclose(gradient, [2.0, 0.5])


def chosen_from_a_dict(x):
    held = {"a": x * 2.0}
    z = held["a"] if x[0] > 1.0 else x
    held["a"][0] = 2.0
    return np.sum(z)


def chosen_and_written(x):
    held = [x * 2.0, x + 1.0]
    if x[0] > 1.0:
        z = held[0]
    else:
        z = held[1]
    z[0] = 2.0
    return np.sum(held[0]) + np.sum(held[1])


def chosen_views(x):
    held = (x * 2.0)[1:], x[1:] + 1.0
    z = held[0] if x[0] > 1.0 else held[1]
    held[0][0] = 2.0
    return np.sum(z)


def given_by_a_function(x):
    held = x * 2.0, x + 1.0
    z = first_or_second(held, x[0] > 1.0)
    held[0][0] = 2.0
    return np.sum(z)


def first_or_second(items, first):
    if first:
        return items[0]
    return items[1]


def chosen_in_a_loop(x):
    held = x * 2.0, x + 1.0
    z = x
    for i in range(3):
        if x[i] > 1.0:
            z = held[0]
    held[0][0] = 2.0
    return np.sum(z)


def chosen_under_a_try(x):
    held = [x * 2.0]
    z = x + 1.0
    try:
        if x[0] < 1.0:
            raise ValueError
        z = held[0]
    except ValueError:
        pass
    held[0][0] = 9.0
    return np.sum(z)


@pytest.mark.parametrize("f", [chosen_from_a_dict, chosen_and_written, chosen_views, given_by_a_function, chosen_in_a_loop,
                               chosen_under_a_try], ids=lambda f: f.__name__)
def test_expressions_in_containers_that_a_branch_chooses_are_not_written(f):
    with pytest.raises(UnsupportedSyntax, match="may be the same memory|may see the first one"):
        differentiable(f, mode="python")(np.array([1.5, 0.7, 2.0]))


def test_expressions_in_containers_that_a_branch_chooses_are_read():
    def f(x):
        held = [x * 2.0, x + 1.0]
        z = held[0] if x[0] > 1.0 else held[1]
        return np.sum(z * z) + np.sum(held[0])

    for x in (np.array([1.5, 0.7, 2.0]), np.array([0.5, 0.7, 2.0])):
        value, gradient = value_and_grad(f, mode="python")(x)
        assert value == pytest.approx(f(x))
        np.testing.assert_allclose(gradient, [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)], rtol=1e-6)
