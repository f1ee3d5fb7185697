"""Special functions of numbers for generated code: SciPy's own, in plain Python and inside compiled code.

Compiled code calls the functions that `scipy.special.cython_special` exports, under symbols that this module defines when
it is imported, so that machine code kept on disk finds them again. All is computed in float64; with float32 arguments alone
the result is rounded to float32. Outside its domain a function gives nan or infinity, as SciPy's ufuncs do.
"""

from __future__ import annotations

import re
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, overload, register_jitable, type_callable
from scipy import special
from scipy.special import cython_special

from .. import capsules

ARITY = {
    **dict.fromkeys(("gamma", "gammaln", "psi", "rgamma", "erfinv", "erfcinv", "log_ndtr", "ndtri", "ndtri_exp", "j0", "j1",
                     "y0", "y1", "i0", "i1", "i0e", "i1e", "k0", "k1", "k0e", "k1e", "exprel", "ellipk", "ellipkm1",
                     "ellipe", "expi", "exp1", "dawsn", "erfcx", "erfi", "spence"), 1),
    **dict.fromkeys(("beta", "betaln", "binom", "poch", "gammainc", "gammaincc", "gammaincinv", "gammainccinv", "jv", "jve",
                     "yv", "yve", "iv", "ive", "kv", "kve", "yn", "kn", "expn", "hyp0f1", "ellipkinc", "ellipeinc", "stdtr",
                     "stdtrit", "owens_t"), 2),
    **dict.fromkeys(("betainc", "betaincc", "betaincinv", "hyp1f1", "hyperu", "lpmv"), 3),
    "hyp2f1": 4,
}


def _address(name: str, arity: int) -> int:
    """Where the float64 variant of a function of `cython_special` lies."""
    wanted = f"double ({'double, ' * arity}int __pyx_skip_dispatch)".encode()
    for key, capsule in cython_special.__pyx_capi__.items():
        if re.sub(r"^__pyx_fuse_\d+", "", key) == name and capsules.name_of(capsule) == wanted:
            return capsules.pointer(capsule, capsules.name_of(capsule))
    raise ImportError(f"this version of SciPy exports no {name} of float64 numbers")


def _define(name: str, arity: int) -> Any:
    """A function that is SciPy's ufunc in plain Python and the exported function in compiled code."""
    plain, symbol = getattr(special, name), f"autodiff_scipy_special_{name}"
    llvm.add_symbol(symbol, _address(name, arity))

    def function(*numbers):
        return plain(*numbers)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`scipy.special.{name}` of {arity} numbers."

    @type_callable(function)
    def _typed(context):
        return _TYPERS[arity]

    @lower_builtin(function, *[types.Any] * arity)
    def _lowered(context, builder, signature, args):
        double, flag = ir.DoubleType(), ir.IntType(32)
        exported = cgutils.get_or_insert_function(builder.module, ir.FunctionType(double, [double] * arity + [flag]), symbol)
        wide = [context.cast(builder, a, t, types.float64) for a, t in zip(args, signature.args, strict=True)]
        found = builder.call(exported, [*wide, flag(0)])
        return context.cast(builder, found, types.float64, signature.return_type)
    return function


def _result(given):
    """float32 if all the numbers are, else float64; None for what is no real number."""
    if not all(isinstance(t, (types.Float, types.Integer, types.Boolean)) for t in given):
        return None
    return types.float32 if all(types.unliteral(t) == types.float32 for t in given) else types.float64


_TYPERS: Any = {1: lambda a: _result((a,)), 2: lambda a, b: _result((a, b)), 3: lambda a, b, c: _result((a, b, c)),
                4: lambda a, b, c, d: _result((a, b, c, d))}
for _name, _arity in ARITY.items():
    globals()[_name] = _define(_name, _arity)


def zeta(s: float, q: float) -> float:
    """The Hurwitz zeta function, the sum of (q + k)^-s over k = 0, 1, ...; s > 1, q > 0 (elsewhere as SciPy's).

    Compiled: the first terms and the Euler-Maclaurin series (M. Abramowitz and I. Stegun, Handbook of Mathematical
    Functions, 1964, 23.1.30), as in the Cephes library that SciPy uses.
    """
    if s > 1.0 and s == np.floor(s) and q < 0.0 and q != np.floor(q):
        return _far_below(s, q, special.zeta)
    return special.zeta(s, q)


def _far_below(s, q, above):
    """zeta(s, q) of an integer s and q < 0: the sum over all integers, which depends on the distance of q from the nearest
    alone (it is exact), but for the terms below q. (Terms from q up to 0 may be too many to be added.)"""
    rest = q - np.floor(q + 0.5)
    return rest ** -s + above(s, 1.0 + rest) + (1.0 - 2.0 * (s % 2.0)) * (above(s, 1.0 - rest) - above(s, 1.0 - q))


_below = register_jitable(error_model="numpy")(_far_below)


@overload(zeta, jit_options={"error_model": "numpy"})
def _zeta(s, q):
    kind = np.float32 if _result((s, q)) == types.float32 else np.float64

    def compiled(s, q):
        s, q = np.float64(s), np.float64(q)
        if s == 1.0:
            return kind(np.inf)
        if not s > 1.0 or q != q:
            return kind(np.nan)
        if q <= 0.0:
            if q == np.floor(q):
                return kind(np.inf)
            return kind(_below(s, q, _series) if s == np.floor(s) else np.nan)
        return kind(_series(s, q))
    return compiled


@register_jitable(error_model="numpy")
def _series(s, q):
    """The Hurwitz zeta function for s > 1, q > 0."""
    total, z = 0.0, q
    while z < 15.0:
        total += z ** -s
        z += 1.0
    power = z ** -s
    if power == 0.0:                                # its factors below may overflow
        return total
    total += z * power / (s - 1.0) + 0.5 * power
    w, term = 1.0 / (z * z), s * power / z
    for k in range(8):
        total += term * _BERNOULLI[k]
        term *= (s + 2.0 * k + 1.0) * (s + 2.0 * k + 2.0) * w
    return total


# B_2j / (2j)! for j = 1 to 8
_BERNOULLI = (1.0 / 12.0, -1.0 / 720.0, 1.0 / 30240.0, -1.0 / 1209600.0, 1.0 / 47900160.0, -691.0 / 1307674368000.0,
              1.0 / 74724249600.0, -3617.0 / 10670622842880000.0)


def spherical_jn(n: int, z: float) -> float:
    """The spherical Bessel function j_n(z) of real z, n = 0, 1, ...

    Compiled: from Bessel's function of order n + 1/2 (DLMF 10.47.3), whose value at 0 is its limit.
    """
    return special.spherical_jn(n, z)


def spherical_yn(n: int, z: float) -> float:
    """y_n(z), as `spherical_jn` (DLMF 10.47.4)."""
    return special.spherical_yn(n, z)


def spherical_in(n: int, z: float) -> float:
    """i_n(z), as `spherical_jn` (DLMF 10.47.7)."""
    return special.spherical_in(n, z)


def spherical_kn(n: int, z: float) -> float:
    """k_n(z), as `spherical_jn` (DLMF 10.47.9, and 10.47.17 for z < 0)."""
    return special.spherical_kn(n, z)


def _compile_spherical(function, bessel, first, later, end, turned):
    """Give `function` its compiled form, from `bessel` of order n + 1/2: its values at 0 of order 0 and of later ones, its
    limit at infinity, and the parity of the orders that change the sign with that of z."""
    @overload(function, jit_options={"error_model": "numpy"})
    def _spherical(n, z):
        kind = np.float32 if types.unliteral(z) == types.float32 else np.float64
        odd, modified = function is spherical_kn, globals()["iv"]

        def compiled(n, z):
            x = abs(np.float64(z))
            if n < 0 or x != x:
                return kind(np.nan)
            if x == 0.0:
                return kind(first if n == 0 else later)
            root = np.sqrt(0.5 * np.pi / x)
            found = root * bessel(n + 0.5, x) if x < np.inf else end
            if z < 0 and n % 2 == turned:
                found = -found
            if odd and z < 0:
                found -= np.pi * root * modified(n + 0.5, x) if x < np.inf else np.inf
            return kind(found)
        return compiled


_compile_spherical(spherical_jn, globals()["jv"], 1.0, 0.0, 0.0, 1)
_compile_spherical(spherical_yn, globals()["yv"], -np.inf, -np.inf, 0.0, 0)
_compile_spherical(spherical_in, globals()["iv"], 1.0, 0.0, np.inf, 1)
_compile_spherical(spherical_kn, globals()["kv"], np.inf, np.inf, 0.0, 0)
