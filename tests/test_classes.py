"""Which class a value has: what `isinstance`, `type`, `callable` and `hasattr` answer, and whether `+=` changes it in place,
against Python."""

import collections
import dataclasses
import enum
import functools
import itertools
import math
import numbers
import types
import warnings

import numpy as np
import pytest
import scipy

from autodiff import AutodiffError, value_and_grad

from .support import from_text

MADE = """np.std(x)|np.var(x)|np.median(x)|np.quantile(x, .5)|np.percentile(x, .5)|np.average(x)|np.linalg.norm(x)
np.linalg.norm(A)|np.linalg.norm(A, 1)|np.linalg.norm(A, 2)|np.linalg.norm(A,'nuc')|np.linalg.cond(A)|np.angle(x[0])
np.trapezoid(x)|np.interp(.3, x, x)|np.polyval([1., 2.], x[0])|np.allclose(x, x)|np.array_equal(x, x)|np.choose(1, x)
np.take(x, 1)|np.nanmean(x)|np.nanstd(x)|np.nansum(x)|np.nanmax(x)|np.nanmedian(x)|np.nanvar(x)|np.nanquantile(x, .4)
np.nanprod(x)|np.nanargmax(x)|np.linalg.det(A)|np.linalg.slogdet(A)[0]|np.linalg.slogdet(A)[1]|np.trace(A)
np.unwrap(x)|np.ptp(x)|np.count_nonzero(x)|np.convolve(x, x)[0]|np.correlate(x, x)[0]|np.correlate(x, x)|np.cov(x)
np.corrcoef(x, x)[0, 1]|np.inner(x, x)|np.vdot(x, x)|np.dot(x, x)|np.kron(2., x[0])|np.outer(x, x)[0, 0]
np.cross([1., x[0]], [2., 3.])|np.searchsorted(x, .3)|np.argmin(x)|np.nanargmin(x)|np.bincount([1, 0]).sum()
np.polyfit(x, x, 1)[0]|np.select([x[0]>0], [x[0]])|np.where(x[0]>0, x[0], 0)|np.piecewise(x[0], [x[0]>0], [2.])
np.clip(x[0], 0, 1)|np.round(x[0])|np.real_if_close(x[0])|np.nan_to_num(x[0])|np.sinc(x[0])|np.fix(x[0])
np.deg2rad(x[0])|np.unravel_index(1, (2, 2))[0]|np.ravel_multi_index((1, 1), (2, 2))|np.apply_along_axis(np.sum, 0, x)
np.linalg.matrix_power(A, 2)[0, 0]|np.linalg.multi_dot([x, np.eye(3), x])|np.tensordot(x, x, 1)|np.einsum('i,i',x,x)
np.mean(x)|np.prod(x)|np.cumsum(x)[-1]|np.max(x)|np.logaddexp.reduce(x)|np.add.reduce(x)|np.squeeze(x[:1])
np.reshape(x[:1], ())|np.broadcast_to(x[0], ())|np.asarray(x[0])|np.copy(x[0])|np.full((), x[0])|np.zeros_like(x[0])
np.ones_like(x[0])|np.full_like(x[0], 2.)|np.nanpercentile(x, 40)|np.histogram(x, 2)[0][0]|np.isclose(x[0], .5)
np.iscomplexobj(x)|np.isreal(x[0])|np.any(x)|np.all(x)|np.expand_dims(x[0], 0)|np.rot90(A)[0, 0]
np.flip(np.asarray(x[0]))|np.roll(x[0], 1)|np.diagonal(A)[0]|np.linalg.pinv(A)[0, 0]|np.float_power(x[0], 2)
np.ediff1d(x)[0]|np.heaviside(x[0], 1.)|scipy.special.logsumexp(x)|scipy.special.softmax(x)[0]
scipy.stats.norm.pdf(x[0])|scipy.stats.norm.logpdf(.3)|scipy.special.expit(.3)|scipy.special.xlogy(.3, .4)
scipy.special.comb(5, 2)|scipy.stats.norm.cdf(.3, 0., 1.)|scipy.stats.gamma.pdf(.3, 2.)|scipy.stats.zscore(x)[0]
scipy.linalg.norm(x)|scipy.linalg.det(A)|scipy.integrate.trapezoid(x)|scipy.integrate.simpson(x)
scipy.special.binom(5, 2.)|scipy.spatial.distance.euclidean(x, x+1)|scipy.spatial.distance.cosine(x, x+1)
np.polynomial.polynomial.polyval(x[0], x)|np.polynomial.chebyshev.chebval(.3, x)|np.tri(2)[0, 0]|np.vander(x)[0, 0]
np.sum(np.array(2.))|np.linalg.trace(A)|np.linalg.vector_norm(x)|np.linalg.matrix_norm(A)|np.vecdot(x, x)
np.cumulative_sum(x)[0]|np.argsort(x)[0]|np.linalg.eigvalsh(A)[0]|np.linalg.solve(A, x[:2])[0]
np.linalg.tensorsolve(np.eye(2), x[:2])[0]|x.std()|x.var()|A.trace()|x.take(0)|x.dot(x)|x.round()[0]
np.asarray(x[0]).round()|np.asarray(x[0]).sum()|np.asarray(x[0]).clip(0, 1)|np.asarray(x[0])*2|np.asarray(x[0]).copy()
np.asarray(x[0]).reshape(())|np.asarray(x[0]).T|np.sin(np.asarray(x[0]))|abs(np.asarray(x[0]))|np.asarray(x[0])[()]
np.asarray(x[0])[...]|x[0, ...]|x[..., 0]|A[0][..., 1]|np.asarray(x[0]).astype(int)|np.asarray(x[0]).real
np.real(x[0])|np.imag(x[0])|np.conj(x[0])|np.transpose(np.asarray(x[0]))|np.moveaxis(A, 0, 1)[0, 0]
np.linalg.diagonal(A)[0]|np.nancumsum(x)[0]|np.linalg.svdvals(A)[0]|np.square(x[0])|np.divmod(x[0], .3)[0]
np.modf(x[0])[0]|np.frexp(x[0])[0]|np.maximum.reduce(x)|np.asarray(x[0])+np.asarray(x[1])|+np.asarray(x[0])
-np.asarray(x[0])|np.asarray(x[0])**2|np.asarray(x[0])>0|np.array(2.) if x[0]>0 else np.array(3.)|np.array(2.)
np.array(x[0])|np.ascontiguousarray(x[0])|np.ravel(x[0])|np.split(x, 3)[0]|np.compress([True], x)[0]
np.extract([True, False, False], x)[0]|np.insert(x, 0, 1)[0]|np.delete(x, 0)[0]
np.take_along_axis(x, np.array([1]), 0)[0]|np.partition(x, 1)[1]|np.sort(x)[0]|np.unique(x)[0]|np.bitwise_or(1, 2)
np.gcd(4, 6)|np.lcm(4, 6)|np.logical_and(True, x[0]>0)|np.left_shift(1, 2)|np.invert(3)|range(3)|range(len(x))
slice(1, 2)|(lambda v: v)|h|functools.partial(h, 1)|functools.partial(lambda v: v)|np.vectorize(h)|c.m|c.s|c.k|C|x.sum
f'{x[0]}'|'a'|np.float64(x[0])|x[0]|float(x[0])|x|x[:1]|list(x)|[x[0]]|(x[0], )|{'a':x[0]}|None|x.copy()|x > 0|x[0]>0
bool(x[0]>0)|zip(x, x)|enumerate(x)|map(h, x)|iter(x)|x.shape|x.dtype|E.A|np.newaxis|...|complex(x[0])|x.flat|{1, 2}
{}.keys()|{'a':x[0]}.items()|{'a':x[0]}.values()|np.ndindex(2)|np.sum|math.sin|math|len|dict(a=1)|int|x.T|x.real
x[0].real|c|b'a'|frozenset((1, ))|collections.OrderedDict(a=x[0])|collections.OrderedDict(a=x[0]).copy()
collections.defaultdict(float)|collections.Counter([1, 1])|collections.deque([x[0]])|OD|DD|reversed(range(3))
iter([x[0]])|itertools.count()|itertools.product(x, x)|itertools.chain(x, x)|itertools.combinations([1, 2, 3], 2)
itertools.accumulate(x)|filter(None, x)|gen(x)|np.ndenumerate(x)|c.m.__func__|[v for v in x]|{v for v in (1, 2)}
{k:x[0] for k in (1, 2)}|np.array(2.0)|x[0:1].reshape(())|x[...][0]|np.array([1, 2])[0]|type(x)|NT(1, x[0])|DC(x[0])
itertools.repeat(x[0], 2)|itertools.islice(x, 1)|sorted(x)|OD.keys()|SL|RG|FN|PT|VC|MP|tuple(x)|tuple(x)[:1]
x.tolist()|x.tolist()[0]|x[0].item()|x[:1].item()|divmod(3, 2)|np.unique(x)|np.linalg.qr(np.outer(x, x))
np.linalg.svd(np.outer(x, x))|np.where(x>0)|np.divmod(x, 2)|np.broadcast_arrays(x, x)|np.meshgrid(x, x)
np.gradient(np.outer(x, x))|x.nonzero()|np.histogram(x, 2)|np.unravel_index(1, (2, 2))|np.modf(x)|np.frexp(x)
np.ix_([0], [1])|x.itemsize|np.finfo(float)|np.finfo(float).eps|np.iinfo(int).max|np.pi|np.inf|np.argmax(x)
np.argsort(x)|np.sum(x)|x@x|np.trace(np.outer(x, x))|x.sum()|len(x)*x[0]|x[0]**2|abs(x[0])|round(x[0])|round(x[0], 1)
int(x[0])|x[0]//1|math.floor(x[0])|np.floor(x[0])|max(x)|max(1., 2)|sum(x)|sum([])|np.where(x[0]>0, x[0], 1.)
math.sqrt(x[0])|np.sqrt(x[0])|x.any()|np.any(x>0)|all(x>0)|np.all(x>0)|x[0]==1|x.ndim|np.shape(x)|np.size(x)
np.ndim(x)|np.float32(x[0])|np.int64(3)|x[0]+np.array(1.0)|np.array(1.0)*2|np.array(1.0)|np.negative(np.array(1.0))
np.array(2)**2|np.sum(np.array(1.0))|np.array([1., 2.]).sum(keepdims=True)|x[0].copy()|np.atleast_1d(x[0])
np.searchsorted(x, 1.)|np.interp(x[0], x, x)|np.interp(x, x, x)|np.polyval([1, 2], x[0])|np.isclose(x[0], 1)
np.isnan(x[0])|np.sign(x[0])|np.logaddexp(x[0], 1.)|x[0]%1|divmod(x[0], 1)|math.fsum(x)|math.hypot(x[0], 1)
math.prod(x)|np.linalg.cond(np.eye(2)*x[0])|np.percentile(x, [5, 50])|np.corrcoef(x, x)|np.diff(x)
np.cross([x[0], 1, 2], [1, 2, 3])|np.outer(x, x)[0]|np.eye(2)[0]|x.argmax()|x.max()|x.mean()|np.max(x, axis=0)
np.sum(np.outer(x, x), axis=0)|np.linalg.multi_dot([x, np.outer(x, x), x])|np.float64(2)|float(2)*np.float64(x[0])
2*x[0]|-x[0]|+x[0]|not x[0]|(x[0]<1)&(x[1]>0)|(x[0]<1)+1|sum([x[0]<1])|int(x[0]<1)|min(1, 2)|pow(x[0], 2)
math.pow(x[0], 2)|complex(1, x[0]).real|abs(complex(1, x[0]))|np.abs(1j*x[0])|(1j*x)[0].real|1j|True|x.size|len(x)
inner|np.s_""".replace("\n", "|").split("|")
ITERATORS = """zip(x, x)|enumerate(x)|map(h, x)|np.ndindex(2)|reversed(range(3))|itertools.count()|itertools.product(x, x)
itertools.chain(x, x)|itertools.combinations([1, 2, 3], 2)|itertools.accumulate(x)|filter(None, x)|gen(x)|np.ndenumerate(x)
itertools.repeat(x[0], 2)|itertools.islice(x, 1)""".replace("\n", "|").split("|")
BY_PATH = """(x[0] if x[0] > 0 else 1.0) + 1; (x[0] if x[0] < 0 else 1.0) + 1; -(x[0] if x[0] < 0 else 1.0)
2 * max(x[0], 1.0); (x[0] if x[0] < 0 else 1.0) > 0; (True if x[0] < 0 else x[0] > 0) & True
(x[0] > 0 > x[1]) ^ (0.5 < 0.2); abs(max(0.1, x[0])); (2 if x[0] > 0 else np.int64(1)) * 3
x[0] if x[0] > 0 else 1.0; x[0] and 1.0; (x[0] if x[0] > 0 else 1.0) * x[1]
np.sin(x[0] if x[0] > 0 else 1.0); math.sin(x[0] if x[0] > 0 else 1.0); float(x[0] if x[0] > 0 else 1.0)""".replace(
    "\n", "; ").split("; ")
CLASSES = """object str int float complex bool list tuple dict set frozenset slice range type np.ndarray np.generic
np.number np.integer np.inexact np.floating np.float64 np.float32 np.int64 np.bool_ np.ufunc np.vectorize
np.random.Generator np.flatiter types.FunctionType types.MethodType types.BuiltinFunctionType
types.ModuleType types.GeneratorType functools.partial zip enumerate map filter reversed itertools.chain
collections.OrderedDict collections.defaultdict collections.deque collections.abc.Callable
collections.abc.Iterable collections.abc.Sequence collections.abc.Mapping collections.abc.Iterator
collections.abc.Hashable collections.abc.Set numbers.Number numbers.Real enum.Enum Plain Pair Fields""".split()
NAMES = "shape dtype append keys item real __call__ __iter__ __len__ start send T upper mro".split()


class Plain:
    def m(self, x):
        return x

    @staticmethod
    def s(x):
        return x

    @classmethod
    def k(cls, x):
        return x


class Colour(enum.Enum):
    RED = 1
    A = 2


@dataclasses.dataclass
class Fields:
    a: float


Pair = collections.namedtuple("Pair", "a b")


def helper(x):
    return x


def generator(x):
    yield x[0]


MODULES = (collections, functools, itertools, math, numbers, types, scipy)
SPACE = dict({m.__name__: m for m in MODULES}, Plain=Plain, Pair=Pair, Fields=Fields, enum=enum, c=Plain(), C=Plain,
             E=Colour, h=helper, gen=generator, DC=Fields, NT=Pair, K=np.int64(3),
             OD=collections.OrderedDict(a=1.0), DD=collections.defaultdict(float, a=1.0), SL=slice(1, 2), RG=range(4),
             FN=lambda v: v, PT=functools.partial(helper), VC=np.vectorize(helper), MP=types.MappingProxyType({"a": 1.0}))
ARGS = np.array([0.5, 1.0, 1.2]), np.array([[2.0, 0.3], [0.4, 1.0]])


def program(made: str, lines: str):
    f = from_text(f"<class of {made}>", "import numpy as np\n\n\ndef f(x, A):\n    def inner(v):\n        return v\n"
                  f"    o = {made}\n{lines}")
    f.__globals__.update(SPACE)
    return f


def same_answers(made: str, questions) -> None:
    if made in ITERATORS:                   # whose name can be read once
        for question in questions:
            compared(made, [question])
    else:
        compared(made, questions)


def compared(made: str, questions) -> None:
    lines = "".join(f"    number += {2 ** k} if {question} else 0\n" for k, question in enumerate(questions))
    f = program(made, f"    number = 0\n{lines}    return number * x[1]\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, found = f(*ARGS), value_and_grad(f, mode="python")(*ARGS)[0]
    assert [q for k, q in enumerate(questions) if int(found) >> k & 1 != int(expected) >> k & 1] == []


@pytest.mark.parametrize("made", MADE)
def test_instances(made):
    for k in range(0, len(CLASSES), 29):
        same_answers(made, [f"isinstance(o, {c})" for c in CLASSES[k:k + 29]])


@pytest.mark.parametrize("made", MADE)
def test_other_questions(made):
    same_answers(made, ["callable(o)", *(f"hasattr(o, {name!r})" for name in NAMES)])
    same_answers(made, [f"type(o) is {c}" for c in "float int bool np.float64 np.ndarray tuple list dict".split()])


@pytest.mark.parametrize("made", BY_PATH)
def test_by_path(made):
    """What differs by path is refused, never answered wrongly."""
    for question in ("isinstance(o, np.generic)", "type(o) is float", "isinstance(o, bool)", "isinstance(o, int)"):
        try:
            same_answers(made, [question])
        except AutodiffError as e:
            assert "by the way the program goes" in str(e)


@pytest.mark.parametrize("made", [m for m in MADE if m.startswith(("np.", "x.", "scipy.", "max", "sum", "A."))])
def test_in_place(made):
    """Numbers are replaced by `+=`, arrays of rank 0 are changed."""
    f = program(made, "    b = o\n    o += 1\n    return np.sum(b) * x[1]\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = f(*(a.copy() for a in ARGS))
        except (TypeError, ValueError, AttributeError):
            return
        try:
            found = value_and_grad(f, mode="python")(*ARGS)[0]
        except AutodiffError as e:
            assert "rank 0 on one path" in str(e)
        else:
            assert np.isclose(found, expected)
