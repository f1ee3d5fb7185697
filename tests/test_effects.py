"""When things happen, and to which object: effects in conditions, loops over what changes, copies, views, listed arrays."""

from dataclasses import dataclass

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, check_grads, grad

from .support import assert_gradient

X = np.array([0.7, -1.3, 2.1, 0.4])


@dataclass
class P:
    a: float
    b: float = 0.0


def upd(p,v):
    p.a = p.a*v
    return p.a


def astype_is_a_copy(x):
    g = x.astype(float)
    g[0] = 0.0
    return np.sum(x*x) + np.sum(g*g)


def flatten_is_a_copy(x):
    g = x.flatten()
    g[1] = x[0]*2
    return np.sum(x*x)+np.sum(g*g)


def list_written_while_run_over(x):
    l = [x[0], x[1]]
    s = 0.0
    for v in l:
        s += v
        l[1] = v*x[2]
    return s


def list_grown_while_run_over(x):
    l=[x[0],x[1]]
    s=0.0
    for v in l:
        if len(l) < 5:
            l.append(v*x[2])
        s += v
    return s


def ahead_of_an_enumeration(x):
    l=[x[0],x[1],x[2]]
    s=0.0
    for i, v in enumerate(l):
        if i+1 < len(l):
            l[i+1] += v*x[3]
        s += v
    return s


def behind_an_enumeration(x):
    l=[x[0],x[1],x[2]]
    for i, v in enumerate(l):
        l[i] = v*v
    return l[0]*l[1]*l[2]


def one_object_twice(x):
    p = P(x[0], x[1])
    for q in [p, p]:
        q.a = q.a*q.b
    return p.a


def effect_not_reached(x):
    p = P(x[0],x[1])
    b = x[2] > 0 or upd(p, x[1]) > 0
    return p.a*(1+b)


def effect_reached(x):
    p = P(x[0],x[1])
    b = x[2] < 0 or upd(p, x[1]) > 0
    return p.a*(1+b)


def effect_in_a_test(x):
    p = P(x[0],x[1])
    n = 0
    while n < 3 and upd(p, x[2]) < 50.0:
        n += 1
    return p.a


def effects_in_a_condition(x):
    p = P(x[0],x[1])
    if upd(p,x[1])>0 and upd(p,x[3])>0:
        return p.a*2
    return p.a


def augmented_attribute(x):
    p=P(x[0],x[1])
    p.a += upd(p, x[1])
    return p.a


def augmented_item(x):
    l=[x[0]]
    def f(v):
        l[0]=v*l[0]
        return l[0]
    l[0] += f(x[2])
    return l[0]


def kept_by_an_inner_function(x):
    def outer(p):
        def inc(k):
            p.a += k
            return p
        return inc
    p = P(x[0],x[1])
    f = outer(p)
    f(x[2])
    f(x[3])
    return p.a


def made_for_an_inner_function(x):
    def mk():
        s = [x[0]]
        def add(v):
            s[0] = s[0]*v
            return s[0]
        return add
    f = mk()
    f(x[1])
    return f(x[2])


def hh(v, l=[0.0]):  # noqa: B006 (this is what is tested)
    l[0] += v
    return l[0]*v


def mutable_default(x):
    return hh(x[0])+hh(x[1])


def numbers_kept(x):
    def adder(k):
        def add(v):
            return v*k
        return add
    f=adder(x[0])
    return f(x[1])*f(x[2])


def one_array_listed_again_and_again(x):
    h = []
    s = x.copy()
    for i in range(3):
        s[i] = s[i]*s[i+1]
        h.append(s)
    return np.sum(h[0]*h[2])


def dict_changed_ahead(x):
    d={"a":x[0],"b":x[1],"c":x[2]}
    s=0.0
    for k,v in d.items():
        d["c"] = d["a"]*v
        s += v
    return s


def list_in_a_while(x):
    l=[x[0]]
    while len(l) < 6:
        l.append(l[-1]*x[len(l)%4]+0.1)
    return l[5]*l[3]


def listed_and_rebound(x):
    h=[]
    u=x.copy()
    for t in range(4):
        u=np.tanh(u*x+0.1)
        h.append(u)
    return np.sum(h[0]*h[3])


def made_and_listed(x):
    h=[]
    for t in range(3):
        u=np.zeros(3)
        u[t]=x[t]**2
        u += x[t]
        h.append(u)
    return np.sum(h[0]*h[2])


def copies_listed(x):
    h=[]
    u=x.copy()
    for t in range(3):
        u[t] = u[t]*2*x[0]
        h.append(u.copy())
    return np.sum(h[0]*h[2])


def read_from_the_list(x):
    h=[x]
    for t in range(3):
        h.append(h[-1]*x)
    return np.sum(h[3])


def listed_then_written(x):
    h=[]
    u=x.copy()
    for t in range(3):
        h.append(u)
        u[t]=5*x[0]
    return np.sum(h[0]*h[2])


FOLLOWED = [astype_is_a_copy, flatten_is_a_copy, list_written_while_run_over, list_grown_while_run_over,
    behind_an_enumeration, one_object_twice, effect_not_reached, effect_reached, effect_in_a_test,
    effects_in_a_condition, augmented_attribute, augmented_item, numbers_kept, list_in_a_while, listed_and_rebound,
    made_and_listed, copies_listed, read_from_the_list]
REFUSED = [(ahead_of_an_enumeration, "further on"), (kept_by_an_inner_function, "inner function keeps"),
    (made_for_an_inner_function, "inner function keeps"), (mutable_default, "exists outside"),
    (one_array_listed_again_and_again, "append a copy"), (dict_changed_ahead, "further on"), (listed_then_written,
    "append a copy")]
SCALE = {"k": 2.0, "list": [1.0]}


@pytest.mark.parametrize("program", FOLLOWED, ids=lambda p: p.__name__)
def test_as_python_does(program):
    x = X[:3] if program in (listed_and_rebound, made_and_listed, copies_listed, read_from_the_list) else X
    assert_gradient(program, (x,), (0,), "python")


@pytest.mark.parametrize("program, message", REFUSED)
def test_refused(program, message):
    with pytest.raises(UnsupportedSyntax, match=message):
        grad(program, mode="python")(X)


def test_second_order_of_a_growing_list():
    assert check_grads(list_in_a_while, (X,), order=2, modes=("fwd", "rev"), mode="python").worst < 1e-5


def test_numbers_in_global_containers_may_change():
    derivative = grad(lambda x: np.sum(x * SCALE["k"]) + SCALE["list"][-1] * x[0], mode="python")
    assert derivative(X)[0] == 3.0
    SCALE["k"] = 9.0
    SCALE["list"].append(4.0)
    assert derivative(X)[0] == 13.0
    SCALE.update(k=2.0, list=[1.0])


def test_views_of_one_array_as_arguments():
    def f(x, y):
        y[0] = x[1] * 2
        return np.sum(x * y)
    with pytest.raises(UnsupportedSyntax, match="share memory"):
        grad(f, mode="python")(X, X[::-1])
