"""NumPy as users write it: each expression of `x` in value and gradient."""


import numpy as np
import pytest

from autodiff import vjp

from .numpy_expressions import CUBE, ELEMENTWISE, MATRIX, SQUARE
from .support import direction_like, module_of

STATEMENTS = [
    """\
def f(x):
    y=x.copy(); y[1:]+=x[:-1]; return y
""",
    """\
def f(x):
    y=np.zeros_like(x)
    y[x>0.5]=x[x>0.5]*2; return y
""",
    """\
def f(x):
    x[0]=x[1]*2; x*=3; return x
""",
    """\
def f(x):
    v=x[1:]; v[0]=v[1]**2; v*=2; return x
""",
    """\
def f(x):
    y=x.copy(); y[::2]=1.0; y[-1]=x[0]*y[1]; return y
""",
    """\
def f(x):
    y=np.zeros(3); np.add.at(y,np.array([0,0,2,1,0]),x); return y
""",
    """\
def f(x):
    y=np.zeros(3); idx=np.array([0,0,2,1,0]); y[idx]=x; return y
""",
    """\
def f(x):
    y=np.zeros(3); idx=np.array([0,0,2,1,0]); y[idx]+=x; return y
""",
    """\
def f(x):
    a,b=x[0],x[1]; a,b=b,a*b; return a-b
""",
    """\
def f(x):
    s=0.0
    for i in range(len(x)-1,-1,-1): s=s*0.5+x[i]
    return s
""",
    """\
def f(x):
    s=0.0
    for i in range(0,len(x),2): s+=x[i]**2
    return s
""",
    """\
def f(x):
    s=0.0
    for i,v in enumerate(x): s+=i*v*v
    return s
""",
    """\
def f(x):
    s=0.0
    for a,b in zip(x,x[1:]): s+=a*b
    return s
""",
    """\
def f(x):
    s=0.0
    for v in reversed(x): s=s*v+1
    return s
""",
    """\
def f(x):
    s=1.0
    for k in (1,2,3): s*=x[k]
    return s
""",
    """\
def f(x):
    i=0; s=0.0
    while i<len(x) and s<1.2:
        s+=x[i]; i+=1
    return s*s
""",
    """\
def f(x):
    for i in range(len(x)):
        if x[i]>0.9: return x[i]*2
    else:
        return x[0]*x[1]
""",
    """\
def f(x):
    s=0.0
    for i in range(len(x)):
        for j in range(i):
            if x[j]>x[i]: break
            if x[j]<0.25: continue
            s+=x[i]*x[j]
    return s
""",
    """\
def f(x):
    s=0.0
    for i in range(3):
        t=np.sin(x)*i
        s=s+t.sum()
    return s
""",
    """\
def f(x):
    out=[]
    for i in range(len(x)): out.append(x[i]*2)
    return np.array(out)
""",
    """\
def f(x):
    h=x; 
    for k in range(3): h=np.tanh(h*1.1)+x
    return h
""",
    """\
def f(x):
    def g(a,b=2.0): return a*b+x[0]
    return g(x[1])+g(x[2],b=3.0)
""",
    """\
def f(x):
    sq=lambda t: t*t
    return sq(x).sum()+sq(x[0])
""",
    """\
def f(x):
    d={'a':x[0],'b':x[1:]}
    return d['a']*d['b'].sum()
""",
    """\
def f(x):
    if x[0]>10: y=x*2
    elif x[1]>0.1: y=x*3
    else: y=x
    return y
""",
    """\
def f(x):
    y=x[0] if x[1]>0.3 else x[2]**2
    return y*x[3]
""",
    """\
def f(x):
    assert x[0]>0, f"bad {x[0]}"
    print("hi")
    if x[0]<0: raise ValueError("no")
    return x*2
""",
    """\
def f(x):
    a=x*2; b=a; b[0]=5.0; return a*x
""",
    """\
def f(x):
    a=x; a=a+1; return a*x
""",
    """\
def f(x):
    A=np.outer(x,x)
    for i in range(5): A[i,i]+=2.0
    return np.linalg.inv(A)
""",
    """\
def f(x):
    m=0.0
    for v in x: m=max(m,v)
    return m
""",
    """\
def f(x):
    n=len(x); u=np.zeros((4,n)); u[0]=x
    for t in range(3):
        for i in range(n): u[t+1,i]=u[t,i]+0.1*(u[t,(i+1)%n]-u[t,i-1])
    return u[3]
""",
    """\
def f(x):
    u=x.copy()
    for t in range(4):
        un=u.copy()
        u[1:-1]=un[1:-1]+0.1*(un[2:]-2*un[1:-1]+un[:-2])*un[1:-1]
    return u
""",
    """\
def f(x):
    u,un=x.copy(),np.zeros_like(x)
    for t in range(3):
        un[1:-1]=u[1:-1]**2+u[2:]
        u,un=un,u
    return u+un
""",
    """\
def f(x):
    y=x
    for i in range(2):
        y=y+np.roll(y,1)*y
    return y
""",
    """\
def f(x):
    best=x[0]; arg=0
    for i in range(1,len(x)):
        if x[i]>best: best=x[i]; arg=i
    return best*arg
""",
    """\
def f(x):
    s=0.0
    k=0
    for i in range(len(x)):
        if x[i]>0.4:
            k+=1
            s+=x[i]/k
    return s
""",
    """\
def f(x):
    p=np.ones(3)
    for i in range(len(x)):
        p=p*x[i]
        p/=p.sum()
    return p*x[:3]
""",
    """\
def f(x):
    z=np.empty(len(x))
    z[0]=x[0]
    for i in range(1,len(x)): z[i]=z[i-1]*x[i]+np.exp(-z[i-1])
    return z
""",
    """\
def f(x):
    s=0.0; c=0.0
    for v in x:
        y=v-c; t=s+y; c=(t-s)-y; s=t
    return s
""",
    """\
def f(x):
    q=0.0
    for i in range(len(x)):
        t=x[i]
        while t>0.3: t=t*0.7
        q+=t*t
    return q
""",
    """\
def f(x):
    res=np.zeros(2)
    for i in range(len(x)):
        w=np.array([x[i],x[i]**2])
        res+=w*x[0]
    return res
""",
    """\
def f(x):
    h=np.zeros(3); c=np.zeros(3)
    for t in range(len(x)):
        g=np.tanh(h*0.5+x[t]); c=c*g+0.1; h=g*np.tanh(c)
    return h
""",
    """\
def f(x):
    y=(x[0],x[1:]); return y
""",
    """\
def f(x):
    return {'s':x.sum(),'v':x*2}
""",
    """\
def f(x):
    return [x[0]*1.0, x[1]**2]
""",
    """\
def f(x):
    s=x[0]
    for i in range(1,5):
        s,t=s*x[i],s+x[i]
        s=s+t
    return s
""",
    """\
def f(x):
    rows=[x*i for i in range(3)]
    return np.array(rows).sum(axis=0)
""",
    """\
def f(x):
    total=0
    for i in range(len(x)): total+=x[i]
    return total
""",
    """\
def f(x):
    return np.array([np.sin(v)*w for v in x for w in (1.0,2.0)])
""",
    """\
def f(x):
    return sum(v for v in x if v>0.4)
""",
    """\
def f(x):
    mat=np.zeros((2,2)); mat[0,:]=x[:2]; mat[:,1]+=x[3]; return mat@mat
""",
    """\
def f(x):
    u=x.copy()
    for i in range(len(u)):
        u[i]=u[i]/u[0] if i else u[i]*2
    return u
""",
    """\
def f(x):
    hist=[]
    v=x[0]
    while v>0.1:
        v=v*0.6
        hist.append(v)
    return np.sum(np.array(hist)**2)
""",
]


def inputs(kind):
    """Fresh positive arrays, the same at every call."""
    r = np.random.default_rng(5)
    cube, matrix, vector = r.random((2, 3, 4)) + 0.2, r.random((3, 4)) + 0.2, r.random(5) + 0.2
    return {"cube": cube, "matrix": matrix, "vector": vector, "square": r.random((3, 3)) + 3.0 * np.eye(3)}[kind]


def function_of(source, name):
    """Compile a function from text that inspect can find again."""
    namespace = module_of(name, source, {"np": np})
    return namespace["f"]


def leaves(tree):
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in leaves(item)]
    if isinstance(tree, dict):
        return [leaf for item in tree.values() for leaf in leaves(item)]
    return [tree]


def weights_like(tree):
    if isinstance(tree, (list, tuple)):
        return type(tree)(weights_like(t) for t in tree)
    if isinstance(tree, dict):
        return {k: weights_like(t) for k, t in tree.items()}
    w = np.random.default_rng(7).standard_normal(np.shape(tree))
    return w if np.shape(tree) else float(w)


def check(source, name, kind, mode):
    function = function_of(source, name)
    x = inputs(kind)
    expected = function(x.copy())
    given = x.copy()
    out, pullback = vjp(function, given, mode=mode, debug=True)
    for found, wanted in zip(leaves(out), leaves(expected), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(given, x)
    weights = weights_like(expected)
    bar = pullback(weights)[0]
    assert bar.shape == x.shape and bar.dtype == x.dtype

    def loss(z):
        return sum(float(np.sum(np.asarray(p) * np.asarray(q)))
                   for p, q in zip(leaves(function(z)), leaves(weights), strict=True))
    d = direction_like(x, 9)
    slope = float(np.sum(bar * d))
    error = min(abs((loss(x + h * d) - loss(x - h * d)) / (2 * h) - slope) / max(1e-3, abs(slope))
                for h in (1e-4, 1e-5, 1e-6))
    assert error < 1e-5


def cases():
    for kind, table in (("matrix", MATRIX), ("cube", CUBE), ("square", SQUARE)):
        for k, expression in enumerate(table):
            yield pytest.param(f"def f(x):\n    return {expression}\n", f"<{kind} {k}>", kind, id=f"{kind}-{expression}")
    for name in ELEMENTWISE:
        yield pytest.param(f"def f(x):\n    return np.{name}(x)\n", f"<np.{name}>", "matrix", id=f"np.{name}")
    for k, source in enumerate(STATEMENTS):
        yield pytest.param(source, f"<statements {k}>", "vector", id=f"statements-{k}")


ALL = list(cases())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("source", "name", "kind"), ALL)
def test_python_mode(source, name, kind):
    check(source, name, kind, "python")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("source", "name", "kind"), ALL[1::12])
def test_compiled(source, name, kind):
    check(source, name, kind, "numba")
