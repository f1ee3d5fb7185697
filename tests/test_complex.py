"""Complex numbers: values as NumPy's, gradients dL/dRe + i dL/dIm."""

from __future__ import annotations

import cmath

import numpy as np
import pytest

from autodiff import check_grads, value_and_grad, vjp

from .complex_support import assert_derivatives
from .support import module_of

GENERATOR = np.random.default_rng(2)


def normal(*shape):
    return GENERATOR.standard_normal(shape) + 1j * GENERATOR.standard_normal(shape)


Z, W, X = normal(4), normal(4), GENERATOR.standard_normal(4)
A, B = normal(4, 4), normal(4, 4)
COEFFICIENTS = normal(3)
FACTOR = 2.0 - 1.0j

# -- functions of one number --------------------------------------------------------------------------------------

UNARY = ("exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh "
         "square reciprocal conj negative positive abs angle real imag").split()
# on all sides of the branch cuts, near and far from 0 and the unit circle
POINTS = np.array([1 + 2j, 0.5 - 1j, 0.1 + 2j, -1.3 + 0.2j, 0.3 + 0.1j, -0.8 - 0.9j, 0.999 + 0.03j, -2.5 - 1e-3j,
                   1e-4 + 1e-3j, 3.0 - 25j, 20.0 + 0.4j, -0.6 + 0.8j])


def function_of(text, name):
    return module_of(name, text, {"np": np})["f"]


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_a_number(name):
    function = function_of(f"def f(z):\n    return np.{name}(z)\n", f"<complex {name}>")
    points = POINTS[:-3] if name == "tan" else POINTS
    for z in np.array_split(points, 3):                 # of like magnitudes of the derivatives
        assert_derivatives(function, (z,), tolerance=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_relative_accuracy():
    """Each part to a few ulp of the modulus, where formulas made for real arguments cancel."""
    def f(z):
        return np.log(z), np.sqrt(z), np.tanh(z), np.arctanh(z), np.expm1(z), z / (3.0 - 4.0j) / z
    z = np.array([1.0 + 1e-9j, 1e-12 - 1e-11j, -1.0 + 1e-8j, 1e150 + 1e160j, 1e-170 - 1e-160j, 30.0 + 2j])
    for found, value in zip(vjp(f, z, mode="python")[0], f(z), strict=True):
        finite = np.isfinite(value)
        assert np.max(np.abs(found - value)[finite] / np.abs(value)[finite]) < 4e-15
    small = 1e-12 - 1e-11j                              # NumPy's own log1p takes the logarithm of 1 + z
    assert vjp(lambda z: np.log1p(z), small, mode="python")[0] == pytest.approx(small - small ** 2 / 2, rel=1e-15, abs=0)


def test_branch_cuts():
    """Values on the cuts, from both sides as signed zeros say, are NumPy's."""
    def f(z):
        return np.log(z), np.sqrt(z), np.arcsin(z), np.arccos(z), np.arctanh(z), np.angle(z)
    z = np.array([complex(-2.0, 0.0), complex(-2.0, -0.0), complex(3.0, 0.0), complex(3.0, -0.0)])
    for found, value in zip(vjp(f, z, mode="python")[0], f(z), strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-14)


# -- programs -----------------------------------------------------------------------------------------------------

def quotients(z, w, x):
    return z / w, x / w, z / x, 1 / z, w / (2 - 3j), np.divide(z, w) - z / 2


def mixtures(z, x):
    return (1j * x + 2) * z - x / (1 + z) + z ** 2 - z ** -1 + 3 ** z - -z, 2j * z, z * -1, x + 1j


def powers(z, w):
    return z ** w, z ** 0.5, z ** 3, z ** -2, z ** 1.5, 2.0 ** z, np.power(z, 2 + 1j), abs(z) ** 2


def powers_in_a_loop(z):
    s = 0
    for k in range(4):
        s = s + z ** k
    return s


def becomes_complex_in_a_loop(z):
    s = 0.0
    for i in range(z.shape[0]):
        s += z[i] * z[i]
    return s


def product_and_sum(z):
    s, p = 0j, 1
    for i in range(z.shape[0]):
        s = s + z[i] * p
        p = p * z[i]
    return s, p


def branches(z):
    out = np.zeros_like(z)
    for i in range(len(z)):
        if z[i].real > 0:
            out[i] = z[i] * 1j
        else:
            out[i] = z[i].conjugate()
    return out


def one_side_is_real(z):
    if z[0].real > 100.0:
        y = 1.0
    else:
        y = z[1]
    return y * z, z[0] if z[1].imag > 100 else 2.0 + 0j


def in_place(z, x):
    y = z.copy()
    y[1:] *= z[:-1]
    y[0] += 1j
    y -= x
    y.real *= 2
    y.imag[1:] += x[1:]
    y.real[0] = 7.0
    y.imag = y.imag * y.real
    y[2:] /= z[:2]
    y[::2] = y[1::2] * y[::2]
    part = y.real
    part[3] = x[0]
    return y


def own_part(z):
    y = z.copy()
    y.real = y.imag[::-1] * y.real
    y[:] = y[::-1] * y
    return y


def choices(z):
    return np.where(z.real > 0, z, 1j * z.imag), np.where(z == z[0], 2 * z, z), z != z[1]


def gathered(z):
    y = z[[0, 2, 2]] * z[::-1][:3]
    y[[0, 1]] = z[1:3]
    return y, z[z.real > 0.0].sum()


def scattered(z):
    y = np.zeros(3, dtype=complex)
    np.add.at(y, [0, 2, 0, 1], z)
    return y


def numbers(a, b):
    c = complex(a.real, b.imag) * b
    return c, abs(c), c.conjugate(), c.imag, np.conj(a), complex(2.0, a.real), np.complex128(a.real)


def of_cmath(a, x):
    r, phi = cmath.polar(a)
    return (cmath.exp(1j * x) * cmath.sqrt(x - 5.0) + cmath.log(a, 2.0 - 1j), cmath.rect(r, phi * x), cmath.phase(a) * r,
            cmath.atan(a) / cmath.cosh(a), a if cmath.isnan(a) else a * cmath.pi)


def newton(c):
    z = 1.0
    for _ in range(5):
        z = z - (z * z - c) / (2 * z)
    return z


def escapes(c):
    z, n = 0j, 0
    while abs(z) < 2 and n < 6:
        z = z * z + c
        n += 1
    return z


def appended(z):
    items = []
    for i in range(z.shape[0]):
        items.append(z[i] * 2j)
    return np.array(items), sum(items)


def reductions(z):
    return np.sum(z), np.mean(z), np.prod(z), np.cumsum(z), np.cumprod(z), np.var(z), np.std(z)


def norms(z, a):
    return np.linalg.norm(z), np.linalg.norm(a, axis=1), np.linalg.norm(a), np.linalg.norm(a, 1), np.linalg.norm(z, 3)


def shapes(a):
    return (a.sum(axis=0), a.mean(axis=1), a.T.copy(), a.reshape(-1), np.concatenate((a, 1j * a)), a.ravel()[::2],
            a[..., None] * a[0], np.stack((a, a.conj())), np.array([a[0, 0], 2.0, 1j]), np.diag(a), np.roll(a, 1, 0))


def steps(y, rate):
    for _ in range(5):
        y = y + 0.1 * rate * y
    return y


def real_array_becomes_complex(z):
    y = np.ones(4)
    for _ in range(3):
        y = y * z
    return y


def swapped(z):
    a, b = z.copy(), z * 1j
    for _ in range(3):
        a, b = b, a * b
    return a, b


def contracted(a, b):
    return np.einsum("ij,jk->ik", a, b), np.einsum("ij,ij->i", a, b), np.tensordot(a, b), np.trace(a), np.kron(a[0], b[0])


def products(a, b, z):
    return (a @ b, a @ z, z @ a, z @ z, np.dot(z, z), np.vdot(z, 1j * z), np.inner(z, a), np.outer(z, z), a.real @ b,
            a @ b.imag)


def adjoints(a, b):
    return a.conj().T @ b, a.T @ b, np.vdot(a, b), np.stack((a, b)) @ a


def equations(a, b, z):
    return np.linalg.solve(a, b), np.linalg.solve(a, z), np.linalg.inv(a), np.linalg.det(a), np.linalg.solve(a.real, z)


def decompositions(a, z):
    h = a @ a.conj().T
    w, v = np.linalg.eigh(h)
    sign, log = np.linalg.slogdet(a)
    return (w, (v * np.sqrt(w)) @ v.conj().T, np.abs(v.conj().T @ z), np.linalg.cholesky(h), sign, log,
            np.linalg.eigh(a + a.conj().T, "U")[0])


def stacked_decompositions(a, b):
    s = np.stack((a, b))
    h = s @ s.conj().transpose(0, 2, 1)
    return np.linalg.eigvalsh(h), np.linalg.cholesky(h), np.linalg.slogdet(s)[1], np.linalg.slogdet(s)[0]


def stacks(a, b):
    s = np.stack((a, b))
    return np.linalg.inv(s), np.linalg.det(s), np.linalg.solve(s, s @ s)


def outer_values(z):
    return z * FACTOR + np.polyval(COEFFICIENTS, z)


def real_through_complex(x):
    return (x * np.exp(1j * x)).real.sum(), np.abs(np.sum(np.exp(1j * x))) ** 2, np.angle(x + 1j, deg=True)


def kinds(z, x):
    if np.iscomplexobj(z) and np.isrealobj(x) and z.dtype == np.complex128 and isinstance(z, np.ndarray):
        return z.astype(complex) + np.asarray(x, dtype=complex), np.isreal(z) * x, x.imag, np.isfinite(z) & ~np.isnan(z)
    return z, x, x, x


PROGRAMS = [(quotients, Z, W, X), (mixtures, Z, X), (powers, Z, W), (powers_in_a_loop, Z), (becomes_complex_in_a_loop, Z),
            (product_and_sum, Z), (branches, Z), (one_side_is_real, Z), (in_place, Z, X), (own_part, Z), (choices, Z),
            (gathered, Z), (scattered, Z), (numbers, 1 + 2j, 2 - 1j),
            (of_cmath, 0.7 - 1.2j, 0.3), (newton, 1 + 2j), (escapes, 0.3 + 0.4j), (appended, Z),
            (reductions, Z), (norms, Z, A), (shapes, A), (steps, 1 + 1j, 0.2j - 1), (real_array_becomes_complex, Z),
            (swapped, Z), (contracted, A, B), (products, A, B, Z), (adjoints, A, B), (equations, A, B, Z),
            (decompositions, A, Z), (stacked_decompositions, A, B), (stacks, A, B), (outer_values, Z),
            (real_through_complex, X), (kinds, Z, X)]


def floats_only(function):
    return function


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)
def test_programs(program):
    function, *args = program
    assert_derivatives(function, tuple(args))


def together(z, w, x, a, c):
    """Some of the programs above in one, for compiling once."""
    total = np.sum(np.abs(branches(z) / w) ** 2) + np.abs(newton(c)) + np.sum(x * np.angle(z))
    y = np.linalg.solve(a, z)
    y.real *= 2.0
    return total + np.linalg.norm(y)


def test_compiled():
    args, wrt = (Z, W, X, A, 0.3 + 0.4j), (0, 1, 3, 4)
    value, gradients = value_and_grad(together, wrt=wrt)(*args)
    expected, reference = value_and_grad(together, wrt=wrt, mode="python")(*args)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(value, together(*args), rtol=1e-12)
    for found, exact in zip(gradients, reference, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-9)
    assert check_grads(together, args, mode="python", modes=("rev", "fwd")).worst < 1e-6


def test_parts_of_bools_are_integers():
    """`True.real` is 1, and 1 + 1 is 2 where True + True of NumPy is True."""
    def f(x):
        o = all(x > 0)
        p, q, r = np.asarray(o.real), np.asarray(np.real(o)), np.asarray(np.all(x > 0).real)
        return np.sum(np.add(p, p)) * x[0] + 10 * np.sum(np.add(q, q)) * x[1] + 100 * np.sum(np.add(r, r)) * x[1] + o.imag
    x = np.array([0.5, 0.6])
    value, slope = value_and_grad(f, mode="python")(x)
    assert value == f(x)
    np.testing.assert_array_equal(slope, [2.0, 120.0])


def test_nothing_to_squeeze():
    def f(x):
        return x[0] * (1.0 + 2 * (np.squeeze(x) is x) + 4 * (x.squeeze() is x) + 8 * (x[None].squeeze() is x))
    x = np.array([0.5, 0.6])
    np.testing.assert_array_equal(value_and_grad(f, mode="python")(x)[1], [7.0, 0.0])
    assert f(x) == 3.5
