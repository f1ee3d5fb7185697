"""Functions of integer arrays of every dtype, of large and small values: values and dtypes as NumPy gives them."""

from __future__ import annotations

import copy
import math
import random
import warnings

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.signal
import scipy.spatial
import scipy.special

from autodiff import AutodiffError, differentiable

from ..support import module_of
from .checks import Outcome

# a, b (4,), m (3, 3) of one dtype; i (4,) small integers
EXPRESSIONS = """
np.linalg.norm(a)
np.linalg.norm(a, 1)
np.linalg.norm(a, 0)
np.linalg.norm(a, np.inf)
np.linalg.norm(a, -np.inf)
np.linalg.norm(a, 3)
np.linalg.norm(a, 2)
np.linalg.norm(m)
np.linalg.norm(m, 1)
np.linalg.norm(m, np.inf)
np.linalg.norm(m, -1)
np.linalg.norm(m, 2)
np.linalg.norm(m, 'nuc')
np.linalg.norm(m, axis=0)
np.linalg.norm(m, 1, axis=1)
np.linalg.norm(m, keepdims=True)
np.linalg.norm(m, np.inf, axis=0)
np.linalg.vector_norm(m)
np.linalg.vector_norm(a, ord=1)
np.linalg.matrix_norm(m)
np.linalg.det(m)
np.linalg.matrix_power(m, 2)
np.linalg.matrix_power(m, 3)
np.linalg.matrix_power(m, 0)
np.linalg.multi_dot([m, m, m])
np.linalg.svdvals(m)
np.linalg.slogdet(m)[1]
np.linalg.qr(m)[1]
np.linalg.cross(a[:3], b[:3])
np.linalg.outer(a, b)
np.linalg.trace(m)
np.linalg.tensordot(m, m)
np.linalg.vecdot(a, b)
np.linalg.matmul(m, m)
np.kron(a, b)
np.cross(a[:3], b[:3])
np.outer(a, b)
np.inner(a, b)
np.inner(m, m)
np.dot(a, b)
np.dot(m, m)
np.vdot(a, b)
np.vecdot(a, b)
np.matmul(m, m)
m @ m
a @ b
m @ a[:3]
np.tensordot(m, m, 1)
np.einsum('ij,jk', m, m)
np.einsum('i,i->i', a, b)
np.einsum('ij->', m)
np.einsum('ii', m)
np.trace(m)
m.trace()
np.rot90(m)
np.var(a)
np.var(m, axis=0)
np.var(a, ddof=1)
np.std(a)
np.std(m, axis=1)
a.var()
a.std()
np.mean(a)
np.mean(m, axis=0)
a.mean()
np.average(a)
np.average(a, weights=b)
np.average(m, axis=0)
np.cov(a)
np.cov(a, b)
np.cov(m)
np.corrcoef(a, b)
np.corrcoef(m)
np.median(a)
np.median(m, axis=0)
np.percentile(a, 30)
np.quantile(a, 0.3)
np.quantile(a * 1.0, 0.5, method='midpoint')
np.quantile(a, 0.3, method='nearest')
np.quantile(a, 0.3, method='lower')
np.quantile(m, [0.3, 0.6], axis=0)
np.trapezoid(a)
np.trapezoid(a, b)
np.trapezoid(a, dx=2)
np.trapezoid(m, axis=0)
np.vander(a)
np.vander(a, 3)
np.vander(a, 3, increasing=True)
np.interp(a, np.sort(b), a)
np.interp(3, np.sort(b), a)
np.gradient(a)
np.gradient(a, 2)
np.gradient(m)[0]
np.gradient(m, axis=1)
np.convolve(a, b)
np.convolve(a, b, 'same')
np.convolve(a, b, 'valid')
np.correlate(a, b)
np.correlate(a, b, 'full')
np.cumsum(a)
np.cumsum(m, axis=0)
np.cumprod(a)
a.cumsum()
a.cumprod()
np.cumulative_sum(a)
np.cumulative_prod(a)
np.sum(a)
np.sum(m, axis=0)
a.sum()
np.prod(a)
np.prod(m, axis=1)
a.prod()
np.sum(a, dtype=a.dtype)
np.sum(a, dtype=np.float32)
sum(a)
sum(a, 0)
sum(a, 0.0)
sum(a, a[0])
sum(m)
sum([a, b])
sum([a[0], b[0]])
sum((a[0], 1))
sum(v for v in a)
sum([v for v in a])
sum(v*v for v in a)
sum(a*b)
sum(list(a))
max(a)
min(a)
np.max(a)
np.min(m, axis=0)
np.ptp(a)
np.ptp(m, axis=0)
np.max(a, initial=3)
np.nansum(a)
np.nanmean(a)
np.nanmean(m, axis=0)
np.nanvar(a)
np.nanstd(a)
np.nanmax(a)
np.nanmin(m, axis=0)
np.nanprod(a)
np.nancumsum(a)
np.nanmedian(a)
np.nanquantile(a, 0.3)
np.nanpercentile(a, 30)
np.nanargmax(a)
np.nan_to_num(a)
np.polyval(a, 3)
np.polyval(a, 0.5)
np.polyval(a, b)
np.polyval([1, 2, 3], a)
np.polyval([1., 2, 3], a)
np.polyval(a, a[0])
np.polyder(a)
np.polyder(a, 2)
np.polyint(a)
np.polyadd(a, b[:3])
np.polysub(a, b[:3])
np.polyfit(a, b, 1)
np.polynomial.polynomial.polyval(a, b)
np.polynomial.polynomial.polyval(2, b)
np.polynomial.chebyshev.chebval(a, b)
np.polynomial.legendre.legval(a, b)
np.polynomial.hermite.hermval(a, b)
np.polynomial.hermite_e.hermeval(a, b)
np.polynomial.laguerre.lagval(a, b)
np.diff(a)
np.diff(a, 2)
np.diff(a, prepend=b[0])
np.diff(a, prepend=0)
np.ediff1d(a)
np.ediff1d(a, to_end=b[0])
np.unwrap(a)
np.hypot(a, b)
np.arctan2(a, b)
np.sqrt(a)
np.sin(a)
np.exp(a)
np.power(a, b)
a ** 2
a ** b
a ** 2.0
a ** 0.5
2 ** a
2.0 ** a
a / b
a // b
a % b
a * b + a
a - b
-a
+a
abs(a)
np.abs(a)
np.sign(a)
np.square(a)
np.reciprocal(a)
np.floor(a)
np.round(a)
np.round(a, -1)
np.rint(a)
np.trunc(a)
np.fmod(a, b)
np.remainder(a, b)
np.mod(a, b)
np.divmod(a, b)[0]
divmod(a[0], b[0])[1]
np.modf(a)[0]
np.ldexp(a, 2)
np.copysign(a, b)
np.heaviside(a, b)
np.logaddexp(a, b)
np.float_power(a, b)
np.maximum(a, b)
np.fmax(a, b)
np.clip(a, 3, 100)
np.clip(a, b[0], None)
a.clip(1)
np.where(a > b, a, b)
np.where(a > b, a, 0)
np.where(a > b, a, 0.5)
np.where(a > b, a, 300)
np.select([a > b], [a], default=0)
np.select([a > b, a < b], [a, b])
np.choose(i, [a, b, a])
np.piecewise(a, [a > b, a <= b], [lambda q: q * 2, lambda q: q])
np.compress([True, False, True], a)
np.extract(a > b, a)
np.delete(a, 1)
np.insert(a, 1, 7)
np.insert(a, 1, b[0])
np.append(a, b)
np.append(a, 1)
np.append(a, 1.5)
np.concatenate([a, b])
np.stack([a, b])
np.hstack([a, 1.0])
np.pad(a, 1)
np.pad(a, 1, constant_values=300)
np.pad(a, 1, mode='edge')
np.pad(a, 2, mode='mean')
np.pad(a, 2, mode='linear_ramp')
np.tile(a, 2)
np.repeat(a, 2)
np.roll(a, 1)
np.flip(a)
np.sort(a)
np.argsort(a)
np.argmax(a)
np.unique(a)
np.union1d(a, b)
np.diag(a)
np.tril(m)
np.full(3, a[0])
np.full_like(a, 2.7)
np.zeros_like(a)
np.ones_like(a)
np.linspace(a[0], b[0], 5)
np.linspace(0, a, 3)
np.logspace(0, 1, 5) * a
np.geomspace(1, a[0], 5)
np.meshgrid(a, b)[0]
np.count_nonzero(a)
np.any(a)
np.all(a)
np.array_equal(a, b)
np.array([a[0], b[0]])
np.array([a[0], 1])
np.array([a[0], 1.5])
np.array([a, b])
np.add.reduce(a)
np.multiply.reduce(a)
np.add.accumulate(a)
np.multiply.outer(a, b)
np.maximum.accumulate(a)
np.add(a, 1)
np.add(a, b, dtype=float)
np.true_divide(a, b)
np.floor_divide(a, b)
np.apply_along_axis(lambda r: r.sum(), 0, m)
np.apply_along_axis(lambda r: r * r, 1, m)
np.take_along_axis(a, np.argsort(a), 0)
np.searchsorted(np.sort(a), b)
np.digitize(a, np.sort(b))
np.fft.fft(a).real
np.fft.rfft(a).real
np.real(a)
np.angle(a)
np.degrees(a)
np.sinc(a)
np.isclose(a, b)
np.allclose(a, b)
np.deg2rad(a)
np.log1p(a)
np.cbrt(a)
np.exp2(a)
np.bitwise_and(a, b)
a & b
a | b
a ^ b
~a
a << 1
a >> 1
a[0] * b[0]
a[0] + 1
a[0] ** 2
a[0] ** b[0]
a[0] / b[0]
a[0] - b[0]
-a[0]
abs(a[0])
float(a[0])
int(a[0])
round(a[0])
a[0] * 1.5
a[0] * 2
math.sqrt(abs(a[0]))
math.hypot(a[0], b[0])
math.prod(a)
math.prod([a[0], b[0]])
math.fsum(a)
math.dist(a, b)
math.floor(a[0])
math.pow(a[0], 2)
math.gcd(a[0], b[0])
math.exp(a[0] / 100)
pow(a[0], 2)
a.astype(np.float32) * b
a.dot(b)
a.round()
a.item(0)
scipy.special.logsumexp(a)
scipy.special.softmax(a)
scipy.special.log_softmax(a)
scipy.special.expit(a)
scipy.special.logit(a)
scipy.special.gamma(a)
scipy.special.gammaln(a)
scipy.special.erf(a)
scipy.special.xlogy(a, b)
scipy.special.entr(a)
scipy.special.rel_entr(a, b)
scipy.special.comb(a, 2)
scipy.special.factorial(a)
scipy.special.binom(a, b)
scipy.special.j0(a)
scipy.special.jv(1, a)
scipy.special.beta(a, b)
scipy.special.digamma(a)
scipy.special.poch(a, 2)
scipy.special.huber(3, a)
scipy.special.eval_legendre(2, a)
scipy.special.eval_chebyt(2, a)
scipy.special.log1p(a)
scipy.linalg.toeplitz(a)
scipy.linalg.block_diag(m, m)
scipy.linalg.circulant(a)
scipy.linalg.hankel(a)
scipy.linalg.khatri_rao(m, m)
scipy.integrate.cumulative_trapezoid(a)
scipy.signal.convolve(a, b)
scipy.signal.lfilter([1., 2], [1., .5], a)
scipy.signal.detrend(a)
scipy.spatial.distance.cdist(m, m)
scipy.spatial.distance.euclidean(a, b)
scipy.spatial.distance.pdist(m)
""".strip().splitlines()
DTYPES = "?bBhHiIqLf"
TOLERANCE = {"float32": 2e-3, "complex64": 2e-3}
NAMES = {"np": np, "math": math, "scipy": scipy}
USE = "import math, numpy as np, scipy.integrate, scipy.linalg, scipy.signal, scipy.spatial, scipy.special\n"


def attempt(seed: int) -> tuple[Outcome, str]:
    """One of the functions at arguments of one of the dtypes."""
    chosen = random.Random(seed)
    return compared(chosen.choice(EXPRESSIONS), chosen.choice(DTYPES), chosen.choice(("large", "signed", "small")), seed)


def compared(expression: str, dtype: str, sizes: str, seed: int) -> tuple[Outcome, str]:
    text = f"def f(a, b, m, i):\n    return {expression}\n"
    name = f"<integers {expression}>"
    space = module_of(name, text, dict(NAMES))
    args = arguments(dtype, sizes, seed)
    script = f"{USE}from numpy import array\nfrom autodiff import differentiable\n{text}args = {args!r}\nprint(f(*args))\n" \
             "print(differentiable(f, mode='python')(*args))\n"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            wanted = space["f"](*copy.deepcopy(args))
        except Exception as e:
            return Outcome("skipped", f"NumPy raises {type(e).__name__}"), script
        try:
            got = differentiable(space["f"], mode="python")(*copy.deepcopy(args))
        except AutodiffError as e:
            return Outcome("refused", type(e).__name__, str(e)), script
        except Exception as e:
            return Outcome("failed", "error", f"{e!r} for {wanted!r}"), script
        if not same(wanted, got):
            return Outcome("failed", "value", f"{wanted!r} in NumPy, here {got!r}"), script
    return Outcome("ok"), script


def arguments(dtype: str, sizes: str, seed: int):
    draw = np.random.default_rng(seed)

    def numbers(*shape):
        if dtype == "?":
            return draw.random(shape) < 0.6
        if dtype == "f":
            return (draw.random(shape) * 200 + 1).astype("f")
        most = min(np.iinfo(dtype).max, 2 ** 40)
        low, high = {"large": (1, most), "signed": (-most // 2 if np.iinfo(dtype).min else 1, most), "small": (1, 6)}[sizes]
        return draw.integers(low, high, shape).astype(dtype)
    return numbers(4), numbers(4), numbers(3, 3), np.array([0, 1, 2, 1])


def same(wanted, got) -> bool:
    """Equal values of one dtype; a number of NumPy's with 64 bits or of Python's own are alike."""
    if isinstance(wanted, (list, tuple)):
        return len(wanted) == len(got) and all(map(same, wanted, got))
    w, g = np.asarray(wanted), np.asarray(got)
    if w.dtype != g.dtype or w.shape != g.shape:
        return False
    if w.dtype.kind in "iub":
        return np.array_equal(w, g)
    rough = TOLERANCE.get(w.dtype.name, 1e-6)
    size = max(1.0, np.max(np.abs(w[np.isfinite(w)]), initial=0.0))
    return np.allclose(w, g, rtol=rough, atol=rough * size, equal_nan=True)


__all__ = ["DTYPES", "EXPRESSIONS", "attempt", "compared"]
