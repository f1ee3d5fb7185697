"""Objects that programs read from outside or are given: what they do with them is what Python does, wherever they stand."""

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import itertools
import math
import operator
import pathlib
import types
import warnings

import numpy as np
import pytest

from autodiff import AutodiffError, value_and_grad

from .support import from_text

# an object and expressions of it, `O`; after ;; those that are refused where it is an argument
USES = r"""
slice(1,3)
    x[O].sum() ; (x[O]*2)[0] ; len(range(*O.indices(5)))*x[0] ; O.start*x[0]
range(1,3)
    sum(x[i] for i in O) ; O[0]*x[0] ; len(O)*x[0] ; (2 in O)*x[0] ; x[list(O)].sum() ; O.stop*x[0] ; x[O].sum()
    ; list(O)[-1]*x[0] ; max(O)*x[0] ; np.array(O).sum()*x[0] ; sum(O)*x[1] ; O.index(2)*x[0] ; reversed(O) and
    x[0]
fractions.Fraction(1,2)
    float(O)*x[0] ; O.numerator*x[0] ; (O>0)*x[0]
decimal.Decimal('0.5')
    float(O)*x[0] ; (O>0)*x[0]
Col.RED
    x[0]*(2 if O is Col.RED else 3) ; x[0]*(2 if O==Col.RED else 3) ; x[0]*(2 if O.value=='r' else 3) ; x[0]*(2
    if O.name=='RED' else 3) ; x[0]*{Col.RED:2.,Col.BLUE:3.}[O] ; x[0]*(O in (Col.RED,)) ; x[0]*len(list(Col)) ;
    x[0]*(Col('r') is O) ; x[0]*(Col['RED'] is O)
Lev.HIGH
    x[O-1]*O ; x[0]*(O>Lev.LOW) ; x[0]*O**2 ; x[:O].sum() ; x[0]*{1:2.,3:4.}[O] ; x[0]*(O==3) ; x[0]*int(O) ;
    x[0]*O.value ; np.zeros(O).sum()+x[0]
Flg.A|Flg.B
    x[0]*bool(O & Flg.A) ; x[0]*(2 if Flg.A in O else 1) ; x[0]*(2 if O & Flg.B else 1)
St.X
    x[0]*(2 if O=='x' else 3) ; x[0]*(2 if O.upper()=='X' else 3)
'abc'
    x[0]*len(O) ; x[0]*(2 if O=='abc' else 1) ; x[0]*('b' in O) ; x[0]*O.startswith('a') ; x[0]*O.index('b') ;
    x[0]*{'abc':2.}[O] ; x[0]*(2 if O[0]=='a' else 1) ; sum(x[k] for k,c in enumerate(O)) ;
    x[0]*(O.split('b')[0]=='a') ; x[0]*(O+'d'=='abcd') ; x[0]*(O>'abb') ; x[0]*(f'{O}1'=='abc1') ;
    x[0]*(O.upper() in ('ABC',)) ; getattr(np,'s'+'um')(x)*len(O) ; x[0]*(O*2=='abcabc') ; x[0]*len(O[1:]) ;
    x[0]*(max(O)=='c') ; x[0]*(sorted(O)[0]=='a') ; x[0]*(O.replace('a','b')=='bbc') ; x[0]*int(O.isdigit()) ;
    x[0]*(tuple(O)[1]=='b') ; x[0]*('%s' % O=='abc') ; x[0]*('-'.join((O,O))=='abc-abc')
b'ab'
    x[0]*len(O) ; x[0]*O[0] ; x[0]*(O==b'ab')
np.dtype('f8')
    np.zeros(3,O).sum()+x[0] ; x.astype(O).sum() ; x[0]*O.itemsize ; x[0]*(O==float) ; x[0]*(x.dtype==O) ;
    x[0]*(O.kind=='f') ; x[0]*np.finfo(O).eps ; x[0]*(O is np.dtype(float)) ;
    x[0]*issubclass(O.type,np.floating)
np.float64
    O(x[0]) ; np.zeros(2,dtype=O).sum()+x[0] ; x[0]*isinstance(x[0],O) ; x[0]*np.finfo(O).eps ; O(2)*x[0]
float
    O(x[0]) ; np.zeros(2,dtype=O).sum()+x[0] ; x[0]*isinstance(x[0],O)
{1,2}
    x[0]*len(O) ; x[0]*(1 in O) ; x[0]*sum(O) ; x[0]*(O=={1,2}) ; x[sorted(O)].sum() ; x[0]*len(O|{3}) ;
    x[0]*len(O & {1}) ; x[0]*max(O) ; sum(x[i] for i in sorted(O)) ; x[list(O)].sum() ; x[0]*O.issubset({1,2,3})
    ; x[0]*(O<={1,2,5}) ; sum(x[i] for i in O)
frozenset((1,2))
    x[0]*len(O) ; x[0]*(1 in O) ; x[0]*sum(O)
collections.deque([1.,2.])
     ;; x[0]*O[0] ; x[0]*len(O) ; x[0]*O[-1] ; x[0]*(1. in O)
collections.OrderedDict(a=1.,b=2.)
    x[0]*O['a'] ; x[0]*sum(O.values()) ; x[0]*len(O) ; sum(x[i]*v for i,(k,v) in enumerate(O.items())) ;
    x[0]*('a' in O) ; x[0]*O.get('c',3.) ; x[0]*list(O.values())[1] ; x[0]*sum(O[k] for k in O)
collections.defaultdict(float,a=1.)
    x[0]*O['a'] ; x[0]*O.get('b',2.) ; x[0]*sum(O.values()) ; x[0]*len(O) ; x[0]*('b' in O)
collections.Counter('aab')
    x[0]*O['a'] ; x[0]*sum(O.values()) ; x[0]*len(O) ; x[0]*O['q'] ; x[0]*(O['q']+O['a']+('q' in O)+len(O))
collections.ChainMap({'a':1.},{'b':2.})
     ;; x[0]*O['b']
types.MappingProxyType({'a':1.})
     ;; x[0]*O['a'] ; x[0]*len(O) ; x[0]*('a' in O) ; x[0]*sum(O.values()) ; x[0]*O.get('a') ; sum(x[0]*v for
    k,v in O.items())
NT(1.,2)
    x[0]*O.a ; x[O.b] ; x[0]*sum(O) ; x[0]*O[0] ; x[0]*O._replace(a=3.).a ; x[0]*len(O) ; x[0]*O._asdict()['a']
    ; x[0]*(O==(1.,2)) ; O.a*x[0]+(lambda a,b:a*b)(*O) ; x[0]*getattr(O,'a') ; x[0]*(O._fields[0]=='a') ;
    x[0]*max(O) ; x[0]*(O<NT(2.,0)) ; x[0]*(isinstance(O,tuple))
FD(1.5)
    x[0]*O.a ; x[O.n] ; x[0]*dataclasses.replace(O,a=2.).a ; x[0]*dataclasses.asdict(O)['a'] ; x[0]*(O==FD(1.5))
    ; x[0]*len(dataclasses.fields(O)) ; x[0]*dataclasses.astuple(O)[0] ; x[0]*sum(getattr(O,f.name) for f in
    dataclasses.fields(O))
types.SimpleNamespace(a=1.5,w=np.arange(3.))
    x[0]*O.a ; x[0]*O.w.sum() ; x[0]*getattr(O,'b',2.) ; x[0]*hasattr(O,'a')
P()
    x[0]*O.k ; x[0]*O.w.sum() ; O(x) ; x[0]*len(O) ; x[0]*O[1] ; x[0]*(2 in O) ; x[0]*(2 if O else 3) ;
    x[0]*(O==3) ; x[0]*isinstance(O,P) ; x[0]*O.__dict__['k'] ; x[0]*type(O)().k ; x[0]*sum(O[i] for i in
    range(len(O))) ; x[0]*(O is not None) ; x[0]*(O!=3) ; x[0]*({O:2.}[O]) ; x[0]*callable(O) ;
    x[0]*hasattr(O,'w')
Cfg(a=1.5,n=2)
    x[0]*O['a'] ; x[0]*len(O) ; x[0]*sum(O.values()) ;; x[0]*O.a ; x[O.n]
functools.partial(helper,k=3)
    O(x) ; O(x,k=4) ; x[0]*O.keywords['k'] ; O.func(x) ; x[0]*callable(O)
helper
    O(x) ; O(x,k=4) ; O(x,3) ; x[0]*O.__defaults__[0] ; x[0]*(O.__name__=='helper') ; x[0]*callable(O) ; x[0]*(O
    is helper)
(lambda v: v.sum())
    x[0]*callable(O) ;; O(x)
np.sin
    O(x).sum() ; O(x[0]) ; x[0]*(O is np.sin) ; x[0]*(O.__name__=='sin') ; x[0]*O.nin ; functools.reduce(lambda
    a,f:f(a),(O,O),x[0])
operator.mul
    O(x[0],x[1]) ; functools.reduce(O,x) ; functools.reduce(O,[x[0],x[1],x[2]]) ; sum(map(O,x,x))
operator.itemgetter(1)
    O(x) ; sum(map(O,[(1.,x[0]),(2.,x[1])]))
math
    O.sin(x[0]) ; O.pi*x[0] ; getattr(O,'sin')(x[0])
array.array('d',[1.,2.])
     ;; x[0]*O[0] ; x[0]*len(O)
memoryview(np.arange(3.))
     ;; x[0]*O[1]
datetime.timedelta(seconds=3)
    x[0]*O.total_seconds() ; x[0]*O.days ; x[0]*(O>datetime.timedelta(0))
datetime.date(2020,1,2)
    x[0]*O.year ; x[0]*O.toordinal()
pathlib.Path('a/b.txt')
    x[0]*(O.suffix=='.txt') ; x[0]*(O.name=='b.txt') ; x[0]*len(O.parts)
None
    x[0]*(O is None) ; x[0]*(2 if O else 3) ; (x if O is None else O)[0] ; x[O].sum() ; x.sum(axis=O)
Ellipsis
    x[O].sum() ; x[0]*(O is ...) ; x[..., O].sum() if 0 else x[0]
np.newaxis
    x[O].sum() ; x[:,O].sum()
1j
    (O*x[0]).imag ; abs(O*x[0]) ; O.imag*x[0] ; x[0]*(O*O).real
True
    x[0]*O ; x[0]*(O+1) ; x[int(O)] ; x[0]*(not O) ; x[0]*(O is True) ; x[O].sum() if 0 else x[0]
3
    x[O] ; x[0]*O ; x[0]**O ; np.zeros(O).sum()+x[0] ; x[:O].sum() ; x[0]*(O/2) ; x[0]*(O//2) ; x[0]*(O<<1) ;
    np.sum(x,axis=O-3) ; x[0]*O.real ; x[0]*float(O) ; x.reshape(O-1,-1).sum() ; x[0]*10**O ; x[0]*(O**-1) ;
    x[0]*divmod(7,O)[0] ; x[0]*(O in (1,3)) ; x[0]*({3:2.}[O]) ; x[0]*math.comb(5,O) ; x[0]*(O).conjugate() ;
    x[0]*O.__class__(2) ; x[0]*math.factorial(O) ; x[0]*O.bit_length() ;; x[0]*pow(O,2,5) ; x[0]*int(str(O)) ;
    x[0]*bin(O).count('1')
2.5
    x[0]*O ; x[0]*O.is_integer() ; x[0]*round(O) ; x[0]*math.floor(O) ; x[0]*int(O) ; x[0]*abs(-O) ; x[0]**O ;
    x[int(O)] ; x[0]*(O%1) ; x[0]*float.fromhex('0x1p1') ;; x[0]*O.as_integer_ratio()[0] ;
    x[0]*O.hex().count('0')
np.float32(2.5)
    x[0]*O ; x[0]*O.item() ; x[0]*float(O)
np.int64(2)
    x[O] ; x[0]*O ; x[0]*O.item() ; np.zeros(O).sum()+x[0] ; x[0]*(O/4)
np.array(2)
    x[O] ; x[0]*O ; x[0]*O.item() ; np.zeros(O).sum()+x[0] ; x[:O].sum()
np.bool_(True)
    x[0]*O ; x[0]*(2 if O else 3) ; x[0]*(O & True)
np.arange(3.)
    x[0]*O.sum() ; (x[:3]*O).sum() ; x[0]*O[1] ; x[0]*len(O) ; x[0]*O.shape[0] ; x[0]*O.max() ;
    x[O.astype(int)].sum() ; x[0]*(1. in O) ; x[0]*O.tolist()[1] ; x[0]*(O>0).sum() ; x[0]*np.interp(.5,O,O)
np.poly1d([1.,2.])
    O(x[0]) ; x[0]*O.order ; x[0]*O.coeffs[0]
np.polynomial.Polynomial([1.,2.])
    O(x[0]) ; x[0]*O.coef[0]
[1.,2.,3.]
    x[0]*O[1] ; x[0]*sum(O) ; x[0]*len(O) ; np.dot(x[:3],O) ; x[0]*max(O) ; sum(a*b for a,b in zip(x,O)) ;
    x[0]*(2. in O) ; x[0]*O.index(2.) ; x[0]*sorted(O)[0] ; x[0]*O[-1] ; x[0]*O[::-1][0] ; (x[:3]*O).sum() ;
    x[0]*(O==[1.,2.,3.]) ; x[0]*len(O+O) ; np.interp(x[0],O,O) ; x[0]*O.count(1.) ; x[0]*sum(O[1:]) ;
    np.polyval(O,x[0]) ; x[0]*[v*2 for v in O][1] ; x[0]*np.mean(O) ; x[0]*(O*2)[4] ; x[0]*(tuple(O)[0]) ;
    x[0]*any(v>2 for v in O)
(1,'a',None,2.)
    x[O[0]] ; x[0]*O[3] ; x[0]*(O[1]=='a') ; x[0]*(O[2] is None) ; x[0]*len(O) ; x[0]*('a' in O)
{'a':1.,'b':np.arange(3.),'c':{'d':2}}
    x[0]*O['a'] ; x[0]*O['b'].sum() ; x[O['c']['d']] ; x[0]*len(O) ; x[0]*('a' in O) ; x[0]*O.get('z',5.) ;
    sum(x[i]*1. for i,k in enumerate(O)) ; x[0]*list(O)[0].count('a') ; x[0]*{**O,'a':3.}['a'] ;
    x[0]*(O|{'a':3.})['a'] ; helper(x,k=O['a']) ; x[0]*O.copy()['a'] ; x[0]*sorted(O)[0].count('a') ;
    x[0]*dict(O)['a'] ; x[0]*len(O.keys())
{(0,1):2.,(1,0):3.}
    x[0]*O[0,1] ; x[0]*O[(1,0)] ; sum(x[i]*x[j]*v for (i,j),v in O.items()) ; x[0]*O.get((5,5),1.)
{0:2.,1:3.}
    x[0]*O[1] ; sum(x[k]*v for k,v in O.items()) ; sum(O[i]*x[i] for i in range(2)) ; x[0]*max(O.values()) ;
    x[0]*min(O,key=O.get) ; x[0]*max(O,key=lambda k:O[k])
[[1.,2.],[3.,4.]]
    x[0]*O[0][1] ; x[0]*sum(map(sum,O)) ; np.array(O).sum()*x[0] ; x[0]*sum(r[0] for r in O) ;
    (np.array(O)@x[:2]).sum() ; x[0]*len(O[0]) ; x[0]*sum(v for r in O for v in r) ; x[0]*list(zip(*O))[0][1]
['a','b']
    x[0]*len(O) ; x[0]*('a' in O) ; sum(x[i] for i,k in enumerate(O)) ; x[O.index('b')] ;
    x[0]*{'a':1.,'b':2.}[O[1]] ; sum({'a':1.,'b':2.}[k]*x[0] for k in O)
[np.sin,np.cos]
    sum(f(x[0]) for f in O) ; O[0](x[0]) ; x[0]*len(O)
[np.arange(2.),np.arange(3.)]
    x[0]*sum(v.sum() for v in O) ; x[0]*O[1].sum() ; x[0]*len(O) ; np.concatenate(O).sum()*x[0]
{'f':np.sin,'g':helper}
    O['f'](x[0]) ; O['g'](x) ; sum(O['f'](v) for v in x)
"""


class Col(enum.Enum):
    RED = "r"
    BLUE = "b"


class Lev(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Flg(enum.Flag):
    A = 1
    B = 2


class St(str, enum.Enum):
    X = "x"


NT = collections.namedtuple("NT", "a b")


@dataclasses.dataclass(frozen=True)
class FD:
    a: float
    n: int = 2


class P:
    def __init__(self):
        self.k, self._w = 2.0, np.arange(3.0)

    @property
    def w(self):
        return self._w

    def __call__(self, x):
        return x.sum() * self.k

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self._w[i]

    def __contains__(self, v):
        return v == 2

    def __bool__(self):
        return False

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


class Cfg(dict):
    __getattr__ = dict.__getitem__


class Box:
    pass


def helper(x, k=2):
    return x.sum() * k


MODULES = (array, collections, dataclasses, datetime, decimal, enum, fractions, functools, itertools, math, operator,
           pathlib, types)
SPACE = dict({m.__name__: m for m in MODULES}, np=np, Col=Col, Lev=Lev, Flg=Flg, St=St, NT=NT, FD=FD, P=P, Cfg=Cfg, Box=Box,
             helper=helper)
PLACES = {"global": "O = {o}\ndef f(x):\n    return {e}\n", "argument": "def f(x, O):\n    return {e}\n",
          "closure": "def make(O):\n    def f(x):\n        return {e}\n    return f\nf = make({o})\n",
          "attribute": "B = Box()\nB.O = {o}\ndef f(x):\n    O = B.O\n    return {e}\n",
          "default": "def f(x, O={o}):\n    return {e}\n"}
POINT = np.array([0.5, 1.1, 1.3, 0.7])


def blocks():
    found: dict = {}
    for line in USES.strip().splitlines():
        if line.startswith("    "):
            found[list(found)[-1]].append(line.strip())
        else:
            found[line] = []
    return {name: " ".join(lines) for name, lines in found.items()}


def made(place: str, o: str, e: str):
    lines = "".join(f"{name} = SPACE[{name!r}]\n" for name in SPACE)
    return from_text(f"<{place} {o}: {e}>", "from tests.test_outside_objects import SPACE\n" + lines +
                     PLACES[place].format(o=o, e=e))


@pytest.mark.parametrize("name", blocks())
def test_as_in_python(name):
    everywhere, _, not_given = blocks()[name].partition(";;")
    uses = [(e.strip(), True) for e in everywhere.split(" ; ")] + [(e.strip(), False) for e in not_given.split(" ; ")]
    for use, given in uses:
        for place in PLACES if use else ():
            f, rest = made(place, name, use), (eval(name, SPACE),) if place == "argument" else ()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = f(POINT.copy(), *rest)
                if place == "argument" and not given:
                    with pytest.raises(AutodiffError):
                        value_and_grad(f, mode="python")(POINT.copy(), *rest)
                    continue
                assert np.isclose(value_and_grad(f, mode="python")(POINT.copy(), *rest)[0], expected), (place, use)


def test_sets_that_change():
    f = from_text("<sets>", "S = {1, 2}\n\n\ndef f(x):\n    return sum((x[i] * (k + 1) for k, i in enumerate(S)), 0.5)\n")
    g = value_and_grad(f, mode="python")
    for s in ({1, 2}, {2, 3}, set(), {3}, {3, 1, 2}):
        f.__globals__["S"] = s
        assert np.isclose(g(POINT.copy())[0], f(POINT.copy()))


def test_namespaces_that_change():
    def f(x, config):
        return x.sum() * config.scale + config.shift.sum()
    g, config = value_and_grad(f, mode="python"), types.SimpleNamespace(scale=2.0, shift=np.ones(2))
    for scale, shift in ((2.0, 1.0), (3.0, 1.0), (3.0, 5.0)):
        config.scale, config.shift = scale, np.full(2, shift)
        assert np.isclose(g(POINT, config)[0], f(POINT, config))
    assert np.isclose(g(POINT, types.SimpleNamespace(scale=7.0, shift=np.zeros(3)))[0], 7.0 * POINT.sum())
