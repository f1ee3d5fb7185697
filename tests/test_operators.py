"""Every operator with every kind of function, argument and option gives the same directional derivative.

The loss is `scale` times the sum of the cubes of all numbers, so that both derivatives along a direction are known.
"""

import functools
import pickle
import warnings
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
from numba import njit

from autodiff import (
    AutodiffError,
    ShapeMismatch,
    TypeConflict,
    differentiable,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from autodiff.arguments.kinds import flatten

X = np.array([0.3, 0.7, 0.9])
D = np.array([0.5, -1.0, 2.0])


def inner(a, b):
    return sum(float(np.sum(p * q)) for p, q in zip(flatten(a), flatten(b), strict=True) if p is not None)


def form(blocks, dots):
    """The quadratic form of a Hessian in blocks."""
    leaves = [np.asarray(d) for d in flatten(dots)]
    found = [np.asarray(b) for b in flatten(blocks)]
    return sum(float(np.tensordot(np.tensordot(b, q, q.ndim), p, p.ndim)) for b, (p, q) in zip(
        found, ((p, q) for p in leaves for q in leaves), strict=True))


# operator -> (derivative along `dots`, the tangent of the first argument; which order)
OPERATORS = {
    "grad": (lambda f, args, dots, **o: inner(grad(f, **o)(*args), dots), 1),
    "value_and_grad": (lambda f, args, dots, **o: inner(value_and_grad(f, **o)(*args)[1], dots), 1),
    "vjp": (lambda f, args, dots, **o: inner(vjp(f, *args, **o)[1](1.0)[0], dots), 1),
    "jvp": (lambda f, args, dots, **o: jvp(f, args, (dots, *[None] * (len(args) - 1)), **o)[1], 1),
    "linearize": (lambda f, args, dots, **o: linearize(f, *args, **o)[1](dots, *[None] * (len(args) - 1)), 1),
    "forward": (lambda f, args, dots, **o: inner(jacobian(f, direction="forward", **o)(*args), dots), 1),
    "reverse": (lambda f, args, dots, **o: inner(jacobian(f, direction="reverse", **o)(*args), dots), 1),
    "hessian": (lambda f, args, dots, **o: form(hessian(f, **o)(*args), dots), 2),
    "hvp": (lambda f, args, dots, **o: inner(hvp(f, **o)(*args, dots), dots), 2),
}


def wanted(order, dots, at, scale):
    pairs = zip(flatten(at), flatten(dots), strict=True)
    return scale * sum(float(np.sum(3 * x ** 2 * d if order == 1 else 6 * x * d ** 2)) for x, d in pairs)


def cubes(x, scale):
    return np.sum(x ** 3) * scale


def with_default(x, scale=2.0, *, power=3):
    return np.sum(x ** power) * scale


def of_kind(x, kind, axis):
    return np.sum(np.sum(np.stack([x ** 3, x ** 3]), axis=axis)) if kind == "twice" else np.sum(x)


def variadic(x, *factors):
    return np.sum(x ** 3) * factors[0] * factors[1]


def of_number(x, scale):
    return x * x * x * scale


Pair = namedtuple("Pair", "a b")


@dataclass
class Model:
    w: np.ndarray
    b: float


def of_tuple(t, scale):
    return (np.sum(t[0] ** 3) + t[1] ** 3) * scale


def of_dict(t, scale):
    return (np.sum(t["w"] ** 3) + t["n"][0] ** 3) * scale


def of_pair(t, scale):
    return (np.sum(t.a ** 3) + t.b ** 3) * scale


def of_model(t, scale):
    return (np.sum(t.w ** 3) + t.b ** 3) * scale


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    def loss(self, x):
        return cubes(x, self.scale)

    def __call__(self, x):
        return cubes(x, self.scale)


def closure(scale):
    def loss(x):
        return np.sum(x ** 3) * scale
    return loss


FUNCTIONS = {
    "array": (cubes, (X, 2.0), D),
    "number": (of_number, (0.7, 2.0), 0.5),
    "default and keyword-only": (with_default, (X,), D),
    "static": (of_kind, (X, "twice", 0), D),
    "variadic": (variadic, (X, 4.0, 0.5), D),
    "tuple": (of_tuple, ((X, 0.4), 2.0), (D, 0.3)),
    "dict": (of_dict, ({"w": X, "n": [0.4]}, 2.0), {"w": D, "n": [0.3]}),
    "namedtuple": (of_pair, (Pair(X, 0.4), 2.0), Pair(D, 0.3)),
    "dataclass": (of_model, (Model(X, 0.4), 2.0), Model(D, 0.3)),
    "method": (Scaled(2.0).loss, (X,), D),
    "object": (Scaled(2.0), (X,), D),
    "partial": (functools.partial(cubes, scale=2.0), (X,), D),
    "closure": (closure(2.0), (X,), D),
    "lambda": (lambda x: 2.0 * np.sum(x ** 3), (X,), D),
    "njit": (njit(cubes), (X, 2.0), D),
    "differentiable": (differentiable(cubes, mode="python"), (X, 2.0), D),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_functions_and_arguments(operator, kind):
    along, order = OPERATORS[operator]
    function, args, dots = FUNCTIONS[kind]
    for _ in range(2):
        assert along(function, args, dots, mode="python") == pytest.approx(wanted(order, dots, args[0], 2.0), rel=1e-12)


@pytest.mark.parametrize("operator, kind", [*((name, "dict") for name in OPERATORS), ("grad", "method"),
                                            ("hessian", "partial")])
def test_compiled(operator, kind):
    along, order = OPERATORS[operator]
    function, args, dots = FUNCTIONS[kind]
    assert along(function, args, dots) == pytest.approx(wanted(order, dots, args[0], 2.0), rel=1e-12)


@pytest.mark.parametrize("operator", OPERATORS)
def test_float32(operator):
    along, order = OPERATORS[operator]
    found = along(cubes, (X.astype(np.float32), np.float32(2.0)), D.astype(np.float32), mode="python")
    assert found == pytest.approx(wanted(order, D, X, 2.0), rel=1e-5)


OBJECTS = {"grad": grad, "value_and_grad": value_and_grad, "jacobian": jacobian, "hessian": hessian, "hvp": hvp}


def called(made, *args, **kwargs):
    """The derivative of `cubes` by an object made by an operator."""
    return made(*args, D, **kwargs) if made.kind == "Hessian product" else made(*args, **kwargs)


@pytest.mark.parametrize("name", OBJECTS)
def test_objects(name):
    """Pickles, keywords, `.source`, names; the shared compilation of equal objects."""
    made = OBJECTS[name](cubes, mode="python")
    found = called(made, X, 2.0)
    for other in (pickle.loads(pickle.dumps(made)), OBJECTS[name](cubes, wrt="x", mode="python")):
        for a, b in zip(flatten(called(other, X, scale=2.0)), flatten(found), strict=True):
            np.testing.assert_array_equal(a, b)
    assert "cubes" in made.source and "cubes" in repr(made) and made.stages
    np.testing.assert_allclose(made.primal(X, 2.0) if name in ("grad", "jacobian") else cubes(X, 2.0), cubes(X, 2.0))


@pytest.mark.parametrize("name", ["jacobian", "hessian", "hvp"])
@pytest.mark.parametrize("mode", ["python", "numba"])
def test_results_into_given_arrays(name, mode):
    made = OBJECTS[name](cubes, wrt=("x", "scale"), mode=mode)
    last = ((D, 1.0),) if name == "hvp" else ()
    found = made(X, 2.0, *last)
    out = empty_like(found)
    given = made(X, 2.0, *last, out=out)
    for a, b, c in zip(flatten(given), flatten(found), flatten(out), strict=True):
        np.testing.assert_array_equal(a, b)
        assert c is None or a is c
    with pytest.raises(ShapeMismatch, match="another shape than"):
        made(X, 2.0, *last, out=empty_like(found, 1))
    with pytest.raises(ShapeMismatch, match="holds 1 parts"):
        made(X, 2.0, *last, out=np.empty(3))
    with pytest.raises(TypeConflict, match="is a number: give None"):
        number = (*out[-1][:-1], np.empty(())) if name == "hessian" else np.empty(())
        made(X, 2.0, *last, out=(*out[:-1], number))


def empty_like(tree, longer=0):
    if isinstance(tree, tuple):
        return tuple(empty_like(t, longer) for t in tree)
    return np.full((*tree.shape[:-1], tree.shape[-1] + longer), np.nan) if np.ndim(tree) else None


def test_jacobians_that_depend_on_the_run_are_checked_too():
    """A result whose size is known only when the program has run."""
    made = jacobian(lambda x: x[x > 0.5] ** 2, mode="python")
    out = np.empty((2, 3))
    np.testing.assert_array_equal(made(X, out=out), [[0, 1.4, 0], [0, 0, 1.8]])
    with pytest.raises(ShapeMismatch):
        made(X, out=np.empty((3, 3)))


@pytest.mark.parametrize("name", OBJECTS)
def test_threads(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = called(OBJECTS[name](cubes, parallel=True), X, 2.0)
    for a, b in zip(flatten(found), flatten(called(OBJECTS[name](cubes, mode="python"), X, 2.0)), strict=True):
        np.testing.assert_allclose(a, b)


def test_products_of_structures():
    product = hvp(of_model, mode="python")
    found = product(Model(X, 0.4), 2.0, v=Model(D, None))
    np.testing.assert_allclose(found.w, 12 * X * D)
    assert found.b == 0.0 and product.source.count("def ") == 1
    with pytest.raises(ShapeMismatch, match="structure"):
        product(Model(X, 0.4), 2.0, X)
    with pytest.raises(ShapeMismatch, match=r"vector for `t_0` has shape \(2,\), the argument \(3,\)"):
        product(Model(X, 0.4), 2.0, Model(D[:2], None))
    with pytest.raises(TypeError, match="then a vector"):
        product()
    np.testing.assert_allclose(jacobian(hvp(cubes, mode="python"), wrt="v", mode="python")(X, 2.0, D), np.diag(12 * X))


# ---- inside compiled code -------------------------------------------------------------------------------
PRODUCT, PAIR_PRODUCT, PAIR_GRADIENT = hvp(cubes), hvp(of_pair), grad(of_pair)


@njit
def split_sum(x, scale):
    return x ** 2 * scale, np.sum(x)


def test_products_and_tangents_in_compiled_code():
    @njit
    def products(x, v):
        p = Pair(x, 0.4)
        return PRODUCT(x, 2.0, v), PRODUCT(v=v, scale=2.0, x=x), PAIR_PRODUCT(p, 2.0, p).a, PAIR_GRADIENT(p, 2.0)

    first, second, third, pair = products(X, D)
    np.testing.assert_allclose(first, 12 * X * D)
    np.testing.assert_allclose(second, first)
    np.testing.assert_allclose(third, 12 * X ** 2)
    assert type(pair) is Pair and pair.b == pytest.approx(6 * 0.16)

    @njit
    def tangents(x, v):
        total = np.zeros(3)
        for k in range(2):
            (value, s), (dot, s_dot) = jvp(split_sum, (x, 1.0 + k), (v, None))
            total += value + dot + s + s_dot
        return total, jvp(split_sum, (x, 2.0), (None, 1.0))[1][0]

    total, of_scale = tangents(X, D)
    np.testing.assert_allclose(total, 3 * (X ** 2 + 2 * X * D) + 2 * (X.sum() + D.sum()))
    np.testing.assert_allclose(of_scale, X ** 2)
    for compiled in (products, tangents):
        with pytest.raises(ValueError, match="not the shape of its primal"):
            compiled(X, D[:2])


@njit
def several(p, z, n):
    """A structure, a complex array and an integer in; a structure and an integer out."""
    return Pair(p.a * p.b * n, p.b ** 2), np.sum(z ** n), n


@njit
def pulled(pull, bar, z_bar):
    return pull((bar, z_bar))


def test_maps_in_compiled_code():
    @njit
    def both(p, z, n, p_dot, z_dot, bar, z_bar):
        value, pull = vjp(several, p, z, n)
        push = linearize(several, p, z, n)[1]
        value[0].a[0] = 0.0                                     # the caller's own
        return value, pulled(pull, bar, z_bar), push(p_dot, z_dot, None)

    p, z, n = Pair(X, 0.7), X + 1j * D, 3
    p_dot, z_dot, bar, z_bar = Pair(D, 1.0), D - 2j * X, Pair(D, 2.0), 1.0 - 1j
    value, bars, dots = both(p, z, n, p_dot, z_dot, bar, z_bar)
    wanted, pull = vjp(several.py_func, p, z, n, mode="python")
    push = linearize(several.py_func, p, z, n, mode="python")[1]
    assert value[0].a[0] == 0.0 and type(value[0]) is Pair and value[2] == 3
    np.testing.assert_allclose(value[0].a[1:], wanted[0].a[1:])
    for found, expected in ((bars, pull((bar, z_bar))), (dots, push(p_dot, z_dot, None))):
        assert [type(part) for part in found] == [type(part) for part in expected]
        for a, b in zip(flatten(found), flatten(expected), strict=True):
            assert (a is None and b is None) or np.allclose(a, b)
    with pytest.raises(ValueError, match="cotangent has another shape"):
        both(p, z, n, p_dot, z_dot, Pair(D[:2], 2.0), z_bar)
    with pytest.raises(ValueError, match="tangent has another shape"):
        both(p, z, n, Pair(D[:2], 1.0), z_dot, bar, z_bar)


def test_maps_in_compiled_loops():
    """Maps of float32 numbers, made anew in a loop; what they hold is given back."""
    from numba.core.runtime import _nrt_python, rtsys

    @njit
    def halves(x, scale):
        for _ in range(3):
            x = np.sin(x * scale)
        return x

    @njit
    def swept(x):
        total = np.zeros_like(x)
        for _ in range(5):
            y, pull = vjp(halves, x, np.float32(0.5))
            for _ in range(2):
                total += pull(y)[0]
        return total
    x = X.astype(np.float32)
    total = swept(x)
    y, pull = vjp(halves.py_func, x, np.float32(0.5), mode="python")
    assert total.dtype == np.float32
    np.testing.assert_allclose(total, 10 * pull(y)[0], rtol=1e-5)
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    again = swept(x)
    del again
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0


def test_operators_in_compiled_code():
    jitted = njit(cubes)

    @njit
    def applied(x, v):
        g = grad(jitted, wrt=("x", "scale"))
        return g(x, 2.0), hvp(jitted)(x, 2.0, v)
    (x_bar, scale_bar), product = applied(X, D)
    np.testing.assert_allclose(x_bar, 6 * X ** 2)
    assert scale_bar == pytest.approx(np.sum(X ** 3))
    np.testing.assert_allclose(product, 12 * X * D)


def test_bound_arguments_in_compiled_code():
    weighted = functools.partial(lambda w, x, k, s: s * np.sum(w * x ** k), 2.0 * X, s=0.5)
    gradient, product, shared = grad(weighted), hvp(weighted), grad(cubes, parallel=True)

    @njit
    def called(x):
        return gradient(x, 3), product(x, 3, x), shared(x, 2.0)
    found = called(X)
    np.testing.assert_allclose(found[0], 3 * X ** 3)
    np.testing.assert_allclose(found[1], 6 * X ** 3)
    np.testing.assert_allclose(found[2], 6 * X ** 2)


SPARSE = jacobian(lambda x: x ** 2, sparse=True)
MISTAKES = {
    "tuple of as many tangents": lambda x: jvp(split_sum, (x, 1.0), (x,)),
    "lives in compiled code": lambda x: vjp(split_sum, x, 1.0),
    "gradient of split_sum lives": lambda x: grad(split_sum),
    "takes 2 cotangents, one for each float result, not 1": lambda x: vjp(split_sum, x, 1.0)[1](x),
    "has not the rank": lambda x: vjp(split_sum, x, 1.0)[1]((x, x)),
    "takes 2 tangents, one for each primal, not 1": lambda x: linearize(split_sum, x, 1.0)[1](x),
    "an integer has no tangent": lambda x: linearize(split_sum, x, 1)[1](x, 1.0),
    "take its part": lambda x: vjp(split_sum, x, 1.0)[1]((x + 1j, 1.0)),
    "must be written out": lambda x: grad(split_sum, wrt=x.size)(x, 1.0),
    "take the dense one there": lambda x: SPARSE(x),
    "have no names": lambda x: grad(split_sum)(x=x, scale=1.0),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_in_compiled_code(message):
    with pytest.raises(Exception, match=message):
        njit(MISTAKES[message])(X)


# ---- inside differentiated functions --------------------------------------------------------------------
FACTOR = 3.0
WEIGHTS = np.array([1.0, -2.0, 0.5])


def weighted(x):
    return np.sum(WEIGHTS * x ** 3) * FACTOR


def slope(x):
    """Reads the same globals as the function it differentiates."""
    return np.sum(grad(weighted)(x) * WEIGHTS) * FACTOR


def test_globals_read_inside_and_outside_of_a_derivative():
    np.testing.assert_allclose(grad(slope, mode="python")(X), 6 * X * WEIGHTS ** 2 * FACTOR ** 2)
    assert differentiable(slope, mode="python")(X) == pytest.approx(np.sum(3 * X ** 2 * WEIGHTS ** 2) * FACTOR ** 2)


def short_tangent(x):
    return np.sum(jvp(weighted, (x,), (x[1:],))[1])


def short_vector(x):
    return np.sum(hvp(weighted)(x, x[1:]))


def test_tangents_of_another_shape_inside():
    for function in (short_tangent, short_vector):
        with pytest.raises((ValueError, AutodiffError), match="not the shape"):
            grad(function, mode="python")(X)


def test_bound_and_unbound_functions_are_kept_apart():
    """The same function with arguments bound beforehand counts its arguments otherwise."""
    first = functools.partial(product_of_two, 3.0)
    assert grad(product_of_two, mode="python")(3.0, 2.0) == 54.0 and grad(first, mode="python")(2.0) == 27.0
    second = functools.partial(product_of_two, b=2.0)
    assert vjp(product_of_two, 3.0, 2.0, mode="python")[1](1.0) == (54.0, 27.0)
    assert vjp(second, 3.0, mode="python")[1](1.0) == (54.0,)


def product_of_two(a, b):
    return a ** 3 * b
