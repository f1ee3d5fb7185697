"""Values of every kind, however they are made, put through what one does with values: truth, items, arithmetic, errors."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import itertools
import linecache
import math
import numbers
import random
import re
import types
import warnings

import numpy as np
import scipy

from autodiff import AutodiffError, InternalError, value_and_grad

from .checks import Outcome, TookTooLong, limited

MADE = """np.std(x)|np.var(x)|np.median(x)|np.quantile(x, .5)|np.percentile(x, .5)|np.average(x)|np.linalg.norm(x)
np.linalg.norm(A)|np.linalg.norm(A, 1)|np.linalg.norm(A, 2)|np.linalg.norm(A,'nuc')|np.linalg.cond(A)|np.angle(x[0])
np.trapezoid(x)|np.interp(.3, x, x)|np.polyval([1., 2.], x[0])|np.allclose(x, x)|np.array_equal(x, x)|np.choose(1, x)
np.take(x, 1)|np.nanmean(x)|np.nanstd(x)|np.nansum(x)|np.nanmax(x)|np.nanmedian(x)|np.nanvar(x)|np.nanquantile(x, .4)
np.nanprod(x)|np.nanargmax(x)|np.linalg.det(A)|np.linalg.slogdet(A)[0]|np.linalg.slogdet(A)[1]|np.trace(A)
np.unwrap(x)|np.ptp(x)|np.count_nonzero(x)|np.convolve(x, x)[0]|np.correlate(x, x)[0]|np.correlate(x, x)|np.cov(x)
np.corrcoef(x, x)[0, 1]|np.inner(x, x)|np.vdot(x, x)|np.dot(x, x)|np.kron(2., x[0])|np.outer(x, x)[0, 0]
np.cross([1., x[0]], [2., 3.])|np.searchsorted(x, .3)|np.argmin(x)|np.nanargmin(x)|np.bincount([1, 0]).sum()
np.select([x[0]>0], [x[0]])|np.where(x[0]>0, x[0], 0)|np.piecewise(x[0], [x[0]>0], [2.])|np.clip(x[0], 0, 1)
np.round(x[0])|np.real_if_close(x[0])|np.nan_to_num(x[0])|np.sinc(x[0])|np.fix(x[0])|np.deg2rad(x[0])
np.unravel_index(1, (2, 2))[0]|np.ravel_multi_index((1, 1), (2, 2))|np.apply_along_axis(np.sum, 0, x)
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
iter([x[0]])|itertools.product(x, x)|itertools.chain(x, x)|itertools.combinations([1, 2, 3], 2)
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
np.ndim(x)|np.int64(3)|x[0]+np.array(1.0)|np.array(1.0)*2|np.array(1.0)|np.negative(np.array(1.0))|np.array(2)**2
np.sum(np.array(1.0))|np.array([1., 2.]).sum(keepdims=True)|x[0].copy()|np.atleast_1d(x[0])|np.searchsorted(x, 1.)
np.interp(x[0], x, x)|np.interp(x, x, x)|np.polyval([1, 2], x[0])|np.isclose(x[0], 1)|np.isnan(x[0])|np.sign(x[0])
np.logaddexp(x[0], 1.)|x[0]%1|divmod(x[0], 1)|math.fsum(x)|math.hypot(x[0], 1)|math.prod(x)
np.linalg.cond(np.eye(2)*x[0])|np.percentile(x, [5, 50])|np.corrcoef(x, x)|np.diff(x)
np.cross([x[0], 1, 2], [1, 2, 3])|np.outer(x, x)[0]|np.eye(2)[0]|x.argmax()|x.max()|x.mean()|np.max(x, axis=0)
np.sum(np.outer(x, x), axis=0)|np.linalg.multi_dot([x, np.outer(x, x), x])|np.float64(2)|float(2)*np.float64(x[0])
2*x[0]|-x[0]|+x[0]|not x[0]|(x[0]<1)&(x[1]>0)|(x[0]<1)+1|sum([x[0]<1])|int(x[0]<1)|min(1, 2)|pow(x[0], 2)
math.pow(x[0], 2)|complex(1, x[0]).real|abs(complex(1, x[0]))|np.abs(1j*x[0])|(1j*x)[0].real|1j|True|x.size|len(x)
inner|np.s_|np.equal(True, 2.5)|np.maximum(2, 3)|np.add(1, 2)|np.sqrt(4.)|np.less(1, 2)|np.logical_not(True)
np.abs(-2)|np.sign(2.)|np.square(3)|np.power(2, 3)|np.floor(2.5)|np.mod(7, 3)|np.multiply(2, 1.5)|np.where(True, 1, 2)
np.clip(5, 0, 3)|np.round(2.567, 1)|np.sum([1, 2])|np.prod((2, 3))|np.max([1, 2])|np.mean([1, 2])|np.dot(2, 3)
np.arange(3)[1]|np.cumsum([1, 2])[1]|np.minimum(2., 3)|np.hypot(3, 4)|np.exp(1)|np.isnan(1.)|np.int64(2)+1
np.float64(2)*2|np.deg2rad(90)|np.trapezoid([1, 2])|np.interp(.5, [0, 1], [0, 1])|np.linalg.norm([3, 4])
np.diff([1, 3])[0]|np.median([1, 2])|np.std([1, 2])|np.argmax([1, 2])|np.searchsorted([1, 2], 1.5)
np.count_nonzero([1, 0])|np.ptp([1, 4])|np.any([0, 1])|np.all([1, 1])|np.array_equal([1], [1])|np.size([1])
np.polyval([1, 2], 3)|np.outer([1], [2])[0, 0]|np.linspace(0, 1, 3)[1]|np.full(2, 3)[0]|np.zeros(2)[0]|np.eye(2)[0, 0]
np.logspace(0, 1, 2)[0]|np.real(2.)|np.conj(2.)|np.nan_to_num(2.)|np.heaviside(1., 2.)|np.floor_divide(7, 2)
np.true_divide(7, 2)|np.remainder(7, 2)|np.negative(2)|np.positive(2)|np.invert(2)|np.logical_and(1, 2)|np.fmax(1, 2)
np.cbrt(8)|np.rint(2.5)|np.trunc(2.5)|np.ceil(2.5)|np.copysign(1, -2)|np.log1p(1)|np.expm1(1)|np.arctan2(1, 2)
np.radians(90)""".replace("\n", "|").split("|")
ITERATORS = """zip(x, x)|enumerate(x)|map(h, x)|np.ndindex(2)|reversed(range(3))|itertools.product(x, x)
itertools.chain(x, x)|itertools.combinations([1, 2, 3], 2)|itertools.accumulate(x)|filter(None, x)|gen(x)|np.ndenumerate(x)
itertools.repeat(x[0], 2)|itertools.islice(x, 1)""".replace("\n", "|").split("|")
CHANGED = """o = o if x[0] > 0.1 else M; o = list(o); o = o[0]; o = o * 2; o = (o, 1.0)[0]; o = same(o)
o = np.asarray(o); o = [o][0]; o = {"a": o}["a"]; o = o if x[0] < 0.1 else M; o = tuple(o); o = np.array(o)
o = o[:2]; o = o + 1; o = -o; o = [v for v in o]; o = o and M; o = o or M; o = max(o, 1.0); o = o[...]
o = o.copy(); o = np.sin(o); o = float(o); o = int(o); for k in range(2): p = o; o = M; o = p if k else o
o = lambda v, q=o: q; o = functools.partial(same, o); o = o(); o = o(1.0); o = np.sum(o); o = o > 0.5
o = not o; o = abs(o); o = o ** 2; o = o, o; o = o @ o; o = o.T; o = np.add(o, o); o = o.sum(); o = f"{o}"
o = Fields(o).a; o = NT(o, 1).a; o = bool(o); o = o is None; o = o[-1]; o = np.where(o, 2.0, 3.0)
o = round(o); o = o.tolist(); o = o.item(); o = np.float64(o); o = np.ravel(o); o = o[::-1]; o = sorted(o)
o = sum(o); o = o // 2; o = o % 3; o = o.shape; o = o.dtype; o = type(o); o = o.real; o = np.atleast_1d(o)
o = np.squeeze(o); o = o == o; o = o & 1; o = o < M"""
CHANGES = CHANGED.replace("\n", "; ").split("; ")
USES = """t += 2.0 if o else 3.0; t += 2.0 if not o else 3.0; t += len(o); r = o == o; t += np.sum(np.all(r))
t += np.sum(o == 1); t += 2.0 if o is None else 3.0; t += 2.0 if 1 in o else 3.0
t += sum([np.sum(v) for v in o]); t += len(list(o)); a, *r = o; t += np.sum(sum(o)); t += np.sum(o)
t += np.sum(o * 2); t += np.sum(2 * o); t += np.sum(o + o); t += np.sum(-o); t += np.sum(7 // o)
t += np.sum(7 % o); t += np.sum(o ** 2); t += np.sum(2 ** o); t += np.sum(o ** -1); t += np.sum(o & 1)
t += np.sum(o << 2); t += np.sum(~o); t += np.sum(o < 1); t += np.sum(o[0]); t += np.sum(o[-1])
t += np.sum(o[:1]) + len(o[:1]); t += np.sum(o[...]); t += np.sum(o[()]); t += float(o); t += int(o)
t += 2 + bool(o); t += sum([k for k in range(o)]); t += x[o]; r = np.array(o); t += np.sum(r) + r.ndim
r = np.asarray(o); t += np.sum(r) + r.ndim * 10 + r.size; t += np.ndim(o) + np.size(o)
t += sum(o.shape) + 10 * o.ndim; t += o.mean(); t += np.sum(o.copy()); t += o.item()
t += np.sum(o.astype(int)); t += np.sum(o.real); t += 2.0 if o.dtype == float else 3.0; o[0] = 5.0; b = o
b += 2; b = o; b *= 2; t += np.sum(o) + np.sum(b); t += np.sum(max(o)); r = sorted(o)
t += np.sum(r[0]) + len(r); t += sum([k * np.sum(v) for k, v in enumerate(reversed(o))])
t += 2.0 if any(o) else 3.0; t += sum([np.sum(p) * np.sum(q) for p, q in zip(o, x)])
t += 2.0 if np.any(o) else 3.0; t += np.sum(np.where(o, 2.0, 3.0)); r = {o: 1.0}; t += len(r)
t += np.sum(o(x[0])); t += np.sum(max(o, 1)); t += np.concatenate([x, o]).sum(); r = np.stack([o, o])
t += np.sum(abs(o)); r = round(o); t += np.sum(r) + isinstance(r, int); t += np.sum(o @ o); t += np.sum(o.T)
t += len(o.keys()); o.append(2.0); t += len(o); o[0], o[1] = o[1], o[0]; del o[0]
t += 2.0 if isinstance(o, (float, np.ndarray)) else 3.0; t += 2.0 if type(o) is tuple else 3.0
t += 2.0 if hasattr(o, "shape") else 3.0; t += 2.0 if callable(o) else 3.0; t += 2.0 if o == M else 3.0
t += np.sum(o) * np.sum(M); t += 2.0 if str(o) == "a" else 3.0; t += np.isscalar(o) + np.iterable(o)
o.sort(); o.fill(0.5); o += 1; o *= 2; o = o - 1; t += np.sum(np.sin(o)); t += math.sin(o)
t += np.dot(o, o); t += divmod(o, 2)[0]; t += np.float64(o) / 2; t += o / 0.5; t += np.linalg.norm(o)
x[0] = 2.0; x[1] += 1.0; A[0] = 1.0; t += np.mean(o); t += o.max()""".replace(
    "\n", "; ").split("; ")


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


def same(x=None):
    return x


def generator(x):
    yield x[0]


MODULES = collections, functools, itertools, math, numbers, types, scipy
SPACE = dict({m.__name__: m for m in MODULES}, Plain=Plain, Pair=Pair, Fields=Fields, enum=enum, c=Plain(), C=Plain,
             same=same, E=Colour, h=same, gen=generator, DC=Fields, NT=Pair, K=np.int64(3), SL=slice(1, 2), RG=range(4),
             OD=collections.OrderedDict(a=1.0), DD=collections.defaultdict(float, a=1.0), FN=lambda v: v,
             PT=functools.partial(same), VC=np.vectorize(same), MP=types.MappingProxyType({"a": 1.0}))
ARGS = np.array([0.5, 1.1, 1.3]), np.array([[2.0, 0.3], [0.4, 1.0]])


def program(seed: int) -> str:
    r = random.Random(seed)
    lines = [f"o = {r.choice(MADE)}"]
    for _ in range(r.choice((0, 0, 1, 1, 2, 3))):
        lines.append(r.choice(CHANGES))
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        lines.append(r.choice(USES))
    made = "\n    ".join(re.sub(r"\bM\b", lambda _: f"({r.choice(MADE)})", line) for line in lines)
    return ("import numpy as np\n\n\ndef f(x, A):\n    def inner(v):\n        return v\n"
            f"    t = x[1] * 2.0\n    {made}\n    return t + np.sum(x ** 2)\n")


def attempt(seed: int) -> tuple[Outcome, str]:
    """One program: its value, its gradient, or the error that Python raises."""
    text, name = program(seed), f"<values {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space: dict = dict(SPACE)
    try:
        with limited(30.0), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, name, "exec"), space)
            return compared(space["f"]), text
    except TookTooLong as e:
        return Outcome("skipped", str(e)), text
    finally:
        linecache.cache.pop(name, None)


def called(f, x=ARGS[0]):
    try:
        return f(x.copy(), ARGS[1].copy())
    except Exception as e:
        return e


def compared(f) -> Outcome:
    wanted = called(f)
    found = called(lambda x, A: value_and_grad(f, mode="python")(x, A))
    if isinstance(found, InternalError):
        return Outcome("failed", "InternalError", str(found))
    if isinstance(wanted, Exception):
        if isinstance(found, type(wanted)):
            return Outcome("ok")
        pythons = any(f"'{kind}' object" in str(wanted) for kind in ("float", "int"))
        if isinstance(wanted, (AttributeError, TypeError)) and pythons:
            return Outcome("skipped", "a number that is Python's own on one path has NumPy's attributes here")
        if isinstance(found, AutodiffError):
            return Outcome("refused", str(found).splitlines()[0])
        return Outcome("failed", "error", f"{found!r} for {wanted!r}")
    if isinstance(found, AutodiffError):
        return Outcome("refused", str(found).splitlines()[0])
    if isinstance(found, Exception):
        if isinstance(found, (ZeroDivisionError, np.linalg.LinAlgError)):       # of constants; no derivative
            return Outcome("refused", repr(found))
        return Outcome("failed", type(found).__name__, f"{found!r} for {wanted!r}")
    if isinstance(wanted, complex) or np.ndim(wanted):
        return Outcome("skipped", "no real number")
    value, gradient = found
    if not np.isclose(value, wanted, rtol=1e-9, equal_nan=True):
        return Outcome("failed", "value", f"{value} for {wanted}")
    if abs(wanted) > 1e6:
        return Outcome("ok")
    step, slopes = 1e-6, []
    for d in np.eye(3):
        ends = [called(f, ARGS[0] + s * step * d) for s in (1, -1)]
        if any(isinstance(e, Exception) for e in ends):
            return Outcome("ok")
        slopes.append(float(ends[0] - ends[1]) / (2 * step))
    smooth = np.all(np.abs(slopes) < 1e3) and np.all(np.isfinite(gradient))
    if smooth and not np.allclose(gradient, slopes, rtol=1e-4, atol=1e-4):
        return Outcome("failed", "gradient", f"{gradient} for {slopes}")
    return Outcome("ok")
