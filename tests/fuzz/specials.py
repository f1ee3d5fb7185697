"""Functions of `scipy.special` at points of all kinds: SciPy's values, derivatives by mpmath where it is installed, else by
differences of SciPy's values."""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

import numpy as np
from scipy import special

from autodiff import value_and_grad

from ..support import module_of
from .checks import Outcome, TookTooLong, limited

try:
    import mpmath
except ImportError:
    mpmath = None

# A function, its arguments (r: differentiated; o: a real order; n: an integer order or parameter; v: a vector), and its
# value in terms of `mp`, mpmath's functions of many digits.
TABLE = {
    "gamma": ("r", "mp.gamma(a)"), "gammaln": ("r", "mp.log(abs(mp.gamma(a)))"), "loggamma": ("r", "mp.loggamma(a)"),
    "rgamma": ("r", "mp.rgamma(a)"), "psi": ("r", "mp.psi(0, a)"), "digamma": ("r", "mp.psi(0, a)"),
    "zeta": ("or", "mp.zeta(a, b)"), "polygamma": ("nr", "mp.psi(int(a), b)"), "beta": ("rr", "mp.beta(a, b)"),
    "betaln": ("rr", "mp.log(abs(mp.beta(a, b)))"), "binom": ("rr", "mp.binomial(a, b)"), "poch": ("rr", "mp.rf(a, b)"),
    "multigammaln": ("rn", ""), "gammainc": ("or", "mp.gammainc(a, 0, b, regularized=True)"),
    "gammaincc": ("or", "mp.gammainc(a, b, mp.inf, regularized=True)"), "gammaincinv": ("or", ""),
    "gammainccinv": ("or", ""), "betainc": ("oor", "mp.betainc(a, b, 0, c, regularized=True)"),
    "betaincc": ("oor", "mp.betainc(a, b, c, 1, regularized=True)"), "betaincinv": ("oor", ""), "stdtr": ("or", ""),
    "stdtrit": ("or", ""),
    "chdtr": ("or", ""), "chdtrc": ("or", ""), "fdtr": ("oor", ""), "fdtrc": ("oor", ""), "gdtr": ("ror", ""),
    "gdtrc": ("ror", ""), "pdtr": ("nr", ""), "pdtrc": ("nr", ""), "jv": ("or", "mp.besselj(a, b)"),
    "jn": ("or", "mp.besselj(a, b)"), "jve": ("or", "mp.besselj(a, b)"), "yv": ("or", "mp.bessely(a, b)"),
    "yve": ("or", "mp.bessely(a, b)"), "yn": ("nr", "mp.bessely(a, b)"), "iv": ("or", "mp.besseli(a, b)"),
    "ive": ("or", "mp.besseli(a, b) * mp.exp(-abs(b))"), "kv": ("or", "mp.besselk(a, b)"),
    "kve": ("or", "mp.besselk(a, b) * mp.exp(b)"), "kn": ("nr", "mp.besselk(a, b)"), "j0": ("r", "mp.besselj(0, a)"),
    "j1": ("r", "mp.besselj(1, a)"), "y0": ("r", "mp.bessely(0, a)"), "y1": ("r", "mp.bessely(1, a)"),
    "i0": ("r", "mp.besseli(0, a)"), "i1": ("r", "mp.besseli(1, a)"), "i0e": ("r", "mp.besseli(0, a) * mp.exp(-abs(a))"),
    "i1e": ("r", "mp.besseli(1, a) * mp.exp(-abs(a))"), "k0": ("r", "mp.besselk(0, a)"), "k1": ("r", "mp.besselk(1, a)"),
    "k0e": ("r", "mp.besselk(0, a) * mp.exp(a)"), "k1e": ("r", "mp.besselk(1, a) * mp.exp(a)"),
    "spherical_jn": ("nr", ""), "erf": ("r", "mp.erf(a)"), "erfc": ("r", "mp.erfc(a)"), "erfinv": ("r", "mp.erfinv(a)"),
    "erfcinv": ("r", ""), "erfi": ("r", "mp.erfi(a)"), "erfcx": ("r", "mp.exp(a * a) * mp.erfc(a)"),
    "dawsn": ("r", "mp.exp(-a * a) * mp.erfi(a) * mp.sqrt(mp.pi) / 2"), "ndtr": ("r", "mp.ncdf(a)"),
    "log_ndtr": ("r", "mp.log(mp.ncdf(a))"), "ndtri": ("r", ""), "ndtri_exp": ("r", ""), "owens_t": ("rr", ""),
    "expi": ("r", "mp.ei(a)"), "exp1": ("r", "mp.e1(a)"), "expn": ("nr", "mp.expint(a, b)"),
    "spence": ("r", "mp.polylog(2, 1 - a)"), "hyp0f1": ("or", "mp.hyp0f1(a, b)"), "hyp1f1": ("oor", "mp.hyp1f1(a, b, c)"),
    "hyperu": ("oor", "mp.hyperu(a, b, c)"), "hyp2f1": ("ooor", "mp.hyp2f1(a, b, c, d)"),
    "exprel": ("r", "mp.expm1(a) / a"), "ellipk": ("r", "mp.ellipk(a)"), "ellipkm1": ("r", "mp.ellipk(1 - a)"),
    "ellipe": ("r", "mp.ellipe(a)"), "ellipkinc": ("rr", "mp.ellipf(a, b)"), "ellipeinc": ("rr", "mp.ellipe(a, b)"),
    "boxcox": ("rr", "(a ** b - 1) / b if b else mp.log(a)"),
    "boxcox1p": ("rr", "((1 + a) ** b - 1) / b if b else mp.log1p(a)"), "huber": ("rr", ""),
    "pseudo_huber": ("rr", "a * a * (mp.sqrt(1 + (b / a) ** 2) - 1)"), "expit": ("r", "1 / (1 + mp.exp(-a))"),
    "logit": ("r", "mp.log(a / (1 - a))"), "log_expit": ("r", "-mp.log1p(mp.exp(-a))"), "xlogy": ("rr", "a * mp.log(b)"),
    "xlog1py": ("rr", "a * mp.log1p(b)"), "entr": ("r", "-a * mp.log(a)"), "rel_entr": ("rr", "a * mp.log(a / b)"),
    "kl_div": ("rr", "a * mp.log(a / b) - a + b"), "exp10": ("r", "mp.power(10, a)"), "exp2": ("r", "mp.power(2, a)"),
    "expm1": ("r", "mp.expm1(a)"), "log1p": ("r", "mp.log1p(a)"), "cbrt": ("r", "mp.sign(a) * mp.cbrt(abs(a))"),
    "sinc": ("r", "mp.sincpi(a)"), "logsumexp": ("v", ""), "softmax": ("v", ""), "log_softmax": ("v", ""),
}
TABLE = {name: row for name, row in TABLE.items() if hasattr(special, name)}
EDGES = (0.0, -0.0, math.nan, math.inf, -math.inf, 1.0, -1.0, 2.0, -2.0, -3.0, 0.5, -0.5, -1.5, -2.5, 5.0, 20.0, 171.5,
         -171.5, 1e-9, -1e-9, 1e-300, -1e-300, 5e-324, 1e8, -1e8, 1e155, -1e155, 1e300, -1e300, 0.25, 0.999999, 1.000001,
         700.0, -700.0, 40.0, -40.0)
ORDERS = (0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 2.5, -0.5, -1.0, -2.0, 7.3, 0.01, 30.0)


def point(r: random.Random, kind: str) -> Any:
    if kind == "n":
        return r.choice((0, 1, 2, 3, 4, 5, 9))
    if kind == "o":
        return r.choice(ORDERS) if r.random() < 0.7 else r.uniform(0.0, 6.0)
    if kind == "v":
        return np.array([point(r, "r") if r.random() < 0.3 else r.gauss(0.0, 3.0) for _ in range(4)])
    pick = r.random()
    if pick < 0.35:
        return r.choice(EDGES)
    if pick < 0.6:
        return r.uniform(0.0, 1.0)
    size = r.uniform(0.0, 6.0) if pick < 0.9 else 10.0 ** r.uniform(-12.0, 4.0)
    return size if r.random() < 0.5 else -size


MADE: dict = {}


def derivative_of(name: str):
    """The text of a function that calls `special.name`, and its value_and_grad."""
    if name not in MADE:
        kinds = TABLE[name][0]
        letters = "abcd"[:len(kinds)]
        if kinds == "v":
            text = f"def f(a, w):\n    return np.sum(w * special.{name}(a))\n"
        else:
            text = f"def f({', '.join(letters)}):\n    return special.{name}({', '.join(letters)})\n"
        file = f"<special function {name}>"
        space = module_of(file, text, {"np": np, "special": special, "__name__": "special_functions"})
        wrt = tuple(k for k, kind in enumerate(kinds) if kind in "rv")
        MADE[name] = text, space["f"], value_and_grad(space["f"], wrt=wrt, mode="python"), wrt
    return MADE[name]


def attempt(seed: int) -> tuple[Outcome, str]:
    r = random.Random(seed)
    name = list(TABLE)[seed % len(TABLE)]           # all in turn
    args = [point(r, kind) for kind in TABLE[name][0]]
    if name.startswith("hyp") and abs(args[-1]) > 50.0:             # SciPy may compute for minutes there, in C
        args[-1] = r.uniform(-5.0, 5.0)
    if name == "hyp2f1" and args[2] <= 0.0 and args[2] == round(args[2]):       # versions of SciPy take other limits there
        args[2] += 0.5
    return at(name, args, r.random() < 0.5)


def at(name: str, args: list, of_numpy: bool = False) -> tuple[Outcome, str]:
    """What comes of one function at one point, given as Python's numbers or NumPy's."""
    kinds, _ = TABLE[name]
    text, function, derivative, wrt = derivative_of(name)
    if of_numpy:
        args = [np.float64(a) if isinstance(a, float) else a for a in args]
    if kinds == "v":
        args = [*args, np.array([1.0, 0.5, -0.3, 2.0])]
    script = (f"import numpy as np\nfrom numpy import array, inf, nan\nfrom scipy import special\n"
              f"from autodiff import value_and_grad\n\n\n{text}\n\nprint(f(*{args!r}))\n"
              f"print(value_and_grad(f, wrt={wrt}, mode='python')(*{args!r}))\n")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with limited(10):
                expected = function(*args)
        except (TookTooLong, ValueError) as e:
            return Outcome("skipped", str(e)), script
        try:
            with limited(10):
                value, gradients = derivative(*args)
        except Exception as e:
            return Outcome("failed", f"{name}: {type(e).__name__}", repr(e)), script
        try:
            with limited(10):
                return judge(name, function, args, float(expected), float(value), gradients, wrt), script
        except (TookTooLong, ValueError) as e:              # ValueError: multigammaln outside its domain
            return Outcome("skipped", str(e)), script


def judge(name: str, function, args, expected: float, value: float, gradients, wrt) -> Outcome:
    """SciPy's value, or a truer one; the derivatives, where the truth is known."""
    if not near(value, expected, 1e-9):
        truth = exact(name, args)
        if truth is None or near(expected, truth, 1e-9) or not near(value, truth, 1e-9):
            return Outcome("failed", f"value of {name}", f"{value!r}, SciPy {expected!r}, truth {truth!r}")
    checked = 0
    for k, gradient in zip(wrt, gradients):
        if not all(np.all(np.isfinite(a)) for a in args) or not math.isfinite(expected):
            continue
        if TABLE[name][0] == "v":
            for j in range(args[0].size):
                moved = lambda t: function(args[0] + t * (np.arange(4) == j), args[1])
                truth = difference(moved, 0.0, float(args[0][j]))
                checked += truth is not None
                if truth is not None and not close(float(gradient[j]), *truth):
                    return Outcome("failed", f"gradient of {name}", f"{gradient[j]!r}, differences {truth}")
            continue
        truth = slope(name, args, k)
        if truth is None:
            truth = difference(lambda t: function(*args[:k], t, *args[k + 1:]), float(args[k]), float(args[k]))
        checked += truth is not None
        noise = 1e-12 * abs(expected) / max(abs(float(args[k])), 1e-30)
        if truth is not None and not close(float(gradient), truth[0], truth[1] + noise):
            return Outcome("failed", f"gradient of {name}", f"argument {k}: {float(gradient)!r}, truth {truth}")
    return Outcome("ok", "", "", ("gradient",) * bool(checked))


def near(found: float, expected: float, tolerance: float) -> bool:
    if math.isnan(expected) or math.isinf(expected):
        return found == expected or math.isnan(found) and math.isnan(expected)
    return abs(found - expected) <= tolerance * abs(expected) + 1e-300


def close(found: float, truth: float, error: float) -> bool:
    """`error`: how far the truth itself may be off. What overflows is infinite."""
    if abs(truth) > 1e307:
        return abs(found) > 1e306 and (found > 0) == (truth > 0)
    return abs(found - truth) <= error + 1e-6 * abs(truth) + 1e-300


def of_digits(name: str, args):
    """The function of mpmath with its first arguments, or None."""
    text = TABLE[name][1]
    if mpmath is None or not text:
        return None
    code = compile(text, f"mpmath's {name}", "eval")
    return lambda *numbers: eval(code, {"mp": mpmath.mp, **dict(zip("abcd", numbers))})


def exact(name: str, args) -> float | None:
    function = of_digits(name, args)
    if function is None or not all(np.isfinite(a) for a in args):
        return None
    try:
        with mpmath.workdps(40):
            found = function(*[mpmath.mpf(float(a)) for a in args])
        return float(found) if mpmath.im(found) == 0 else None
    except (TookTooLong, KeyboardInterrupt):
        raise
    except Exception:
        return None


def slope(name: str, args, k: int) -> tuple[float, float] | None:
    """The derivative with many digits, and how much it changes within the rounding of the argument."""
    function = of_digits(name, args)
    if function is None:
        return None
    at = [mpmath.mpf(float(a)) for a in args]
    if not all(1e-30 < abs(a) < 1e30 for a in at):
        return None
    try:
        def derivative(t, digits):
            h = abs(t) * mpmath.mpf(10) ** -(digits // 3)
            with mpmath.workdps(digits):
                return (function(*at[:k], t + h, *at[k + 1:]) - function(*at[:k], t - h, *at[k + 1:])) / (2 * h)
        found, again = derivative(at[k], 60), derivative(at[k], 90)
        if mpmath.im(found) != 0 or not mpmath.isfinite(found) or not abs(found - again) <= 1e-9 * abs(again):
            return None
        other = derivative(at[k] * (1 + mpmath.mpf(2) ** -52), 60)
        return float(found), 20.0 * float(abs(other - found))
    except (TookTooLong, KeyboardInterrupt):
        raise
    except Exception:
        return None


def difference(function, start: float, scale: float) -> tuple[float, float] | None:
    """Central differences of several steps, where they agree: the best, and by how much the others differ."""
    found = []
    if abs(start) > 1e8:
        return None
    for h in (1e-3, 3e-4, 1e-4, 3e-5, 1e-5):
        step = h * max(abs(scale), 1e-3 if scale else 1.0)
        with np.errstate(all="ignore"):
            up, down, up2, down2 = (float(function(start + s * step)) for s in (1, -1, 2, -2))
            centre = float(function(start))
        if not all(map(math.isfinite, (up, down, up2, down2))):
            return None
        if not abs((up - centre) - (centre - down)) <= 0.1 * max(abs(up - down), 1e-12 * abs(centre)):
            return None                                                 # a kink, a pole or a flat place
        found.append((8.0 * (up - down) - (up2 - down2)) / (12.0 * step))
    spread = sorted(abs(p - q) for p, q in zip(found, found[1:]))[0]
    best = min(zip(found, found[1:]), key=lambda pair: abs(pair[0] - pair[1]))[0]
    if not spread <= 1e-4 * abs(best):
        return None
    return best, 50.0 * spread + 1e-6 * abs(best) + 1e-9 * abs(centre) / max(abs(scale), 1e-3)
