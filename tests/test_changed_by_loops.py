"""Functions, slices and lists that a loop or a call changes: as in Python, or refused; never what they were before."""

import numpy as np
import pytest

from autodiff import AutodiffError, UnsupportedSyntax, differentiable, grad, vjp

from .fuzz import hands

X = np.array([0.7, -1.3, 2.1, 0.4, -0.9])

# ruff: noqa: E701, E702


def f1(x):
    f=lambda v:v
    for i in range(3): f=lambda v: v*x[1]
    return f(x[0])


def f2(x):
    f=lambda v:v
    for i in range(len(x)): f=lambda v: v*x[1]
    return f(x[0])


def f3(x):
    s=slice(0,1)
    for i in range(len(x)): s=slice(1,3)
    return np.sum(x[s])


def f4(x):
    s=0.0
    for i in range(len(x)):
        def g(v): return v*x[i]
        s+=g(2.0)
    return s+g(1.0)


def f5(x):
    s=0.0
    f=np.sin
    for i in range(len(x)):
        s+=f(x[i])
        f=np.cos
    return s


def f6(x):
    s=0.0
    for i in range(len(x)):
        f=lambda v,i=i: v*i
        s+=f(x[i])
    return s


def f7(x):
    f=lambda v:v
    g=lambda v:2*v
    for i in range(len(x)):
        f,g=g,f
    return f(x[0])


def f8(x):
    r=range(2)
    s=0.0
    for i in range(len(x)):
        for j in r: s+=x[j]*i
        r=range(3)
    return s


def f9(x):
    s=0.0
    n=len(x)
    sl=slice(0,n)
    for i in range(len(x)):
        s+=np.sum(x[sl])
    return s


def f10(x):
    s=0.0
    for i in range(len(x)):
        sl=slice(0,i)
        s+=np.sum(x[sl])
    return s


def g1(x):
    q=[]
    for v in x: q.append(v)
    q[1:3]=[q[0]]
    return len(q)*x[0]


def g2(x):
    q=[]
    for v in x: q.append(v)
    q[1:1]=[x[0]]
    return len(q)*x[0]


def g3(x):
    q=[]
    for v in x: q.append(v)
    q[1:3]=[x[0],x[1]]
    return sum(q)


def g4(x):
    q=[]
    for v in x: q.append(v)
    for v in q:
        if len(q)<12: q.append(v*2)
    return sum(q)


def g5(x):
    q=[]
    for v in x: q.append(v)
    s=0.0
    for v in q:
        q.pop(); s+=v
    return s


def g6(x):
    q=[]
    for v in x: q.append(v)
    for v in list(q):
        q.append(v*2)
    return sum(q)


def g7(x):
    q=[]
    for v in x: q.append(v)
    for i in range(len(q)):
        q.append(q[i]*2)
    return sum(q)


def g8(x):
    q=[]
    for v in x: q.append(v)
    s=0.0
    for a in q:
        q=[a*2,a*3]; s+=a
    return s+sum(q)


def g9(x):
    q=[]
    for v in x: q.append(v)
    s=0.0
    for a in q:
        for b in x:
            q.insert(0,b)
            if len(q)>20: q.pop(); q.pop()
        s+=a
        if len(q)>18: break
    return s


def g10(x):
    q=[]
    for v in x: q.append(v)
    p=[]
    for i,a in enumerate(q):
        p.append(a*i)
        q[i]=2*a
    return sum(p)+sum(q)


def g11(x):
    q=[]
    for v in x: q.append(v)
    q[::2]=[x[0]]
    return sum(q)


def g12(x):
    q=[]
    for v in x: q.append(v)
    while len(q)>1:
        q.append(q.pop()+q.pop())
    return q[0]


def s1(x):
    L=[x[0],x[1],x[2]]
    L.append(L.pop()*L.pop())
    return L[0]+L[1]


def s2(x):
    L=[x[0],x[1],x[2]]
    L.insert(0,L.pop())
    return L[0]+2*L[1]


def s3(x):
    d={"a":x[0]}
    d.update(b=d.pop("a")*2)
    return d["b"]*len(d)


def s4(x):
    L=[x[0],x[1],x[2]]
    L.extend([L.pop(),L.pop(0)])
    return L[0]+2*L[1]+4*L[2]


def s5(x):
    q=[]
    for v in x: q.append(v)
    while len(q)>1:
        q.append(q.pop()*q.pop())
    return q[0]


def s6(x):
    q=[]
    for v in x: q.append((v,v*v))
    while len(q)>1:
        q.append((q.pop()[0],q.pop()[1]))
    return q[0][0]+2*q[0][1]


def s7(x):
    q=[]
    for v in x: q.append(v)
    q[q.pop(0)>0 and 1 or 2]=q.pop()
    return sum(q)+2*q[0]+3*q[1]


def s8(x):
    q=[]
    for v in x: q.append(v)
    return q[0]*10+q.pop(0)*100+q[0]


def a1(x):
    q=[]
    for i in range(len(x)):
        y=x+i; q.append(y); y+=1
    return sum(v[1] for v in q)


def a2(x):
    q=[]
    for i in range(len(x)):
        y=x+i; q.append(y); y[0]=3.0
    return sum(v[0] for v in q)


def a3(x):
    q=[]
    for i in range(len(x)):
        y=x+i; q.append(y)
    y[:]=0
    return sum(v[0] for v in q)


def a4(x):
    q=[]
    for i in range(len(x)):
        y=x+i; q.append((y,i))
        np.add(y,1,out=y)
    return sum(v[0][1] for v in q)


def a5(x):
    q=[]
    for i in range(len(x)):
        y=np.outer(x,x)+i; q.append(y.T)
        y[1]=0
    return sum(np.sum(v) for v in q)


def a6(x):
    q=[]
    for i in range(len(x)): q.append(x*i)
    for i in range(len(x)):
        y=x+i; q[i]=y; y[1]=2.0
    return sum(np.sum(v) for v in q)


def a7(x):
    q=[]
    for i in range(len(x)):
        y=x+i; q.append(y)
        z=y*2
        z[0]=1
        q.append(z*1.0)
    return sum(np.sum(v) for v in q)


def a8(x):
    q=[]
    y=x*1.0
    for i in range(len(x)):
        y=y*2; q.append(y)
    return sum(np.sum(v) for v in q)+y[0]


def a9(x):
    def put(q,y): q.append(y)
    q=[]
    for i in range(len(x)):
        y=x+i; put(q,y); y*=2
    return sum(np.sum(v) for v in q)


def a10(x):
    q=[]
    for i in range(len(x)):
        y=x+i; q+=[y]; y*=2
    return sum(np.sum(v) for v in q)


def a11(x):
    q=[]
    for i in range(len(x)):
        y=x+i; q.append(y)
        if x[i]>0: y[y>1]=0
    return sum(np.sum(v) for v in q)


RIGHT = ("f1", "f5", "f6", "f9", "f10", "g3", "g6", "g7", "g10", "g12", "s1", "s2", "s3", "s4", "s5", "s6", "s8", "a7", "a8")


@pytest.mark.parametrize("name", [
    "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "g1", "g2", "g3", "g4", "g5", "g6", "g7", "g8", "g9",
    "g10", "g11", "g12", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "a1", "a2", "a3", "a4", "a5", "a6", "a7",
    "a8", "a9", "a10", "a11",
])
def test_as_python_or_refused(name):
    function = globals()[name]
    try:
        found = differentiable(function, mode="python")(X)
    except (AutodiffError, ValueError):
        assert name not in RIGHT
    else:
        assert found == pytest.approx(function(X))


def written_through_a_view_that_changes_hands(x, y):
    w = y[:3]
    for _ in range(1):
        w[1] *= 0.5
        x, w = w, x
    return y


def read_through_a_view_that_changes_hands(x, y):
    w = y[:3]
    s = 0.0
    for _ in range(3):
        y[1] *= 0.5
        s = w[1]
        x, w = w, x
    return s


def lengths_that_change_hands(x, y):
    v = x[1:]
    u = x
    x = v
    w = u[:3]
    for _ in y[:2]:
        u, w, x = w, x, u
    return np.sum(x[:3] ** 2) + 3.0 * np.sum(u[:3] ** 2) + 5.0 * np.sum(w[:3] ** 2) + 7.0 * np.sum(v[:3] ** 2)


@pytest.mark.parametrize("program", [written_through_a_view_that_changes_hands, read_through_a_view_that_changes_hands])
def test_views_that_change_hands_and_are_written_are_refused(program):
    with pytest.raises(UnsupportedSyntax, match="while a second name may see the first one"):
        vjp(program, X[:3].copy(), X[1:4].copy(), mode="python")


@pytest.mark.parametrize("n", [1, 2, 4])
def test_arrays_of_other_lengths_change_hands(n):
    x, y = np.linspace(0.3, 1.5, 4), np.ones(n)
    value, pull = vjp(lengths_that_change_hands, x, y[:3], mode="python")
    assert np.isclose(value, lengths_that_change_hands(x, y[:3]))
    moved = x + 1e-6j * np.array([1.0, -2.0, 0.5, 3.0])
    assert np.isclose(pull(1.0)[0] @ moved.imag, lengths_that_change_hands(moved, y[:3]).imag)


@pytest.mark.parametrize("seed", [*range(30), 71001366, 72001501])
def test_names_that_change_hands(seed):
    found, text = hands.attempt(seed)
    assert found.verdict != "failed", f"{text}\n{found}"


def test_items_that_read_what_the_others_were():
    """Each item at the end of an iteration is made of what the others held before it: none can be written first."""
    def coupled(ws, k, steps):
        for _ in range(steps):
            for i in range(len(ws)):
                ws[i] = ws[i] + k * ws[i - 1] * ws[i]
        return np.sum(ws[0]) + np.sum(ws[2] ** 2)
    ws = list(np.random.default_rng(0).uniform(0.2, 1.0, (3, 2)))
    found = grad(coupled, wrt=("ws", "k"), mode="python")(ws, 0.2, 3)
    step = 1e-30j
    for i in range(3):
        moved = [w + step * (i == j) for j, w in enumerate(ws)]
        np.testing.assert_allclose(np.sum(found[0][i]), coupled(moved, 0.2, 3).imag / 1e-30, rtol=1e-12)
    np.testing.assert_allclose(found[1], coupled(list(ws), 0.2 + step, 3).imag / 1e-30, rtol=1e-12)


@pytest.mark.parametrize("steps", [1, 3])
def test_items_of_the_list_that_a_range_counts(steps):
    """`range(len(ws))` has read `ws` when the loop begins: its items may be bound to others in the loop."""
    def attracted(ws, k, steps):
        for t in range(steps):
            for i in range(len(ws)):
                for j in range(len(ws)):
                    if i != j:
                        ws[i] = ws[i] + k * (ws[j] - ws[i]) * ws[j]
        for j in range(len(ws) - 1, -1, -1):
            ws[1] = ws[1] * ws[j]
        return np.sum(ws[0] * ws[1] + ws[2])
    ws = list(np.random.default_rng(0).uniform(0.2, 1.0, (3, 2)))
    found = grad(attracted, mode="python")(ws, 0.2, steps)
    for i in range(3):
        moved = [w + 1e-30j * (i == j) for j, w in enumerate(ws)]
        np.testing.assert_allclose(np.sum(found[i]), attracted(moved, 0.2, steps).imag / 1e-30, rtol=1e-12)
