"""The package `autograd` for tests that were written for it: under its names stand NumPy and SciPy themselves and, for its
operators, those of here, in Python mode: the same text, without compiling.

Its `check_grads` compares with central differences, as `autodiff.check_grads` does. A test that asks for another of its
names, such as those that register its own primitives, is skipped.
"""

from __future__ import annotations

import itertools
import sys
import types

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats

import autodiff as ad
from autodiff.check import GradientMismatch

MODE = "python"


def places(argnum):
    return tuple(argnum) if isinstance(argnum, (list, tuple)) else argnum


def placed(fun, argnum, args, named):
    """A function of one argument of a call."""
    return lambda part: fun(*args[:argnum], part, *args[argnum + 1:], **named)


def grad(fun, argnum=0):
    return ad.grad(lambda *args, **named: np.sum(fun(*args, **named)), wrt=places(argnum), mode=MODE)


def of(operator, **options):
    return lambda fun, argnum=0: operator(fun, wrt=places(argnum), mode=MODE, **options)


value_and_grad, jacobian, hessian, hessian_tensor_product = map(of, (ad.value_and_grad, ad.jacobian, ad.hessian, ad.hvp))
holomorphic_grad, grad_and_aux = of(ad.grad, holomorphic=True), of(ad.grad, has_aux=True)


def tensor_jacobian_product(fun, argnum=0):
    return jacobian(lambda *args: np.tensordot(args[-1], fun(*args[:-1]), np.ndim(args[-1])), argnum)


def deriv(fun, argnum=0):
    return lambda *args: ad.jvp(placed(fun, argnum, args, {}), (args[argnum],), (np.ones_like(args[argnum]),), mode=MODE)[1]


def make_vjp(fun, argnum=0):
    def at(*args, **named):
        value, pullback = ad.vjp(placed(fun, argnum, args, named), args[argnum], mode=MODE)
        return (lambda cotangent: pullback(cotangent)[0]), value
    return at


def make_jvp(fun, argnum=0):
    def at(*args, **named):
        return lambda tangent: ad.jvp(placed(fun, argnum, args, named), (args[argnum],), (tangent,), mode=MODE)
    return at


def make_hvp(fun, argnum=0):
    return make_vjp(ad.grad(fun, wrt=argnum, mode=MODE), argnum)


def half_square(y):
    return np.sum(y ** 2) / 2.0


def make_ggnvp(f, g=half_square, f_argnum=0):
    def at(*args):
        def product(v):
            value, tangent = make_jvp(f, f_argnum)(*args)(v)
            return make_vjp(f, f_argnum)(*args)[0](hessian_tensor_product(g)(value, tangent))
        return product
    return at


def mirrored(a, upper):
    """The Hermitian matrix that one triangle of a matrix is taken for."""
    t, b = (np.triu(a), np.triu(a, 1)) if upper else (np.tril(a), np.tril(a, -1))
    return t + np.conj(np.swapaxes(b, -1, -2))


def of_one_triangle(fun, args):
    """A function that reads one triangle of its first argument, as `eigh` does, as one of Hermitian matrices, whose
    derivative is its own here; None for any other function."""
    a = args[0]
    if isinstance(a, np.ndarray) and a.ndim > 1 and a.shape[-1] == a.shape[-2]:
        for upper in (False, True):
            found, wanted = fun(mirrored(a, upper), *args[1:]), fun(*args)
            if all(map(np.array_equal, found, wanted) if isinstance(found, tuple) else [np.array_equal(found, wanted)]):
                return lambda x, *rest: fun(mirrored(x, upper), *rest)
    return None


def check_grads(fun, argnum=None, modes=("fwd", "rev"), order=2):
    """Every argument, if none is named. The third order is the second of a product with the gradient."""
    def check(*args, **named):
        wanted = None if argnum is None else (argnum,) if isinstance(argnum, int) else tuple(argnum)
        called = (lambda *given: fun(*given, **named)) if named else fun
        try:
            compared(called, args, wanted, modes, min(order, 2))
        except GradientMismatch:
            if (of_hermitian := of_one_triangle(called, args)) is None:
                raise
            compared(of_hermitian, args, wanted, modes, min(order, 2))
        if order == 3:
            k = 0 if wanted is None else wanted[0]
            pulled = lambda v, *given: ad.vjp(called, *given, mode=MODE)[1](v)[k]
            value = np.asarray(called(*args))
            v = np.random.default_rng(0).standard_normal(value.shape) * (1.0 + 1j if np.iscomplexobj(value) else 1.0)
            compared(pulled, (v if v.ndim else v.item(), *args), None, modes, 2)
    return check


def compared(fun, args, wrt, modes, order):
    ad.check_grads(fun, args, wrt=wrt, modes=tuple(modes), order=order, mode=MODE, tolerance=1e-4)


def combo_check(fun, *of_check, **options):
    def check(*choices, **named):
        for args in itertools.product(*choices):
            for values in itertools.product(*named.values()):
                check_grads(fun, *of_check, **options)(*args, **dict(zip(named, values, strict=True)))
    return check


def check_equivalent(x, y):
    assert type(x) is type(y) or np.shape(x) == np.shape(y)
    for a, b in zip(x, y, strict=True) if isinstance(x, tuple) else [(x, y)]:
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


class Absent:
    """A name of that package that is not here: its use ends the test, uncounted."""

    def __init__(self, name: str):
        self.__name__ = name

    def skip(self, *args, **named):
        pytest.skip(f"uses {self.__name__}", allow_module_level=True)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.skip

    __call__ = __autodiff_lower__ = skip


class Shim(types.ModuleType):
    """A module of that package."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")


def install() -> None:
    operators = dict(
        grad=grad, elementwise_grad=grad, value_and_grad=value_and_grad, holomorphic_grad=holomorphic_grad, deriv=deriv,
        jacobian=jacobian, grad_and_aux=grad_and_aux, hessian=hessian, hessian_tensor_product=hessian_tensor_product,
        hessian_vector_product=hessian_tensor_product, tensor_jacobian_product=tensor_jacobian_product, make_vjp=make_vjp,
        vector_jacobian_product=tensor_jacobian_product, make_hvp=make_hvp, make_ggnvp=make_ggnvp, make_jvp=make_jvp)
    kinds = {"dict": dict, "isinstance": isinstance, "list": list, "tuple": tuple}
    test_util = {"check_grads": check_grads, "combo_check": combo_check, "check_equivalent": check_equivalent,
                 "scalar_close": lambda a, b: np.isclose(a, b, 1e-6, 1e-6)}
    parts = {"": operators | kinds, ".builtins": kinds, ".core": {}, ".extend": {}, ".misc": {}, ".scipy": {}, ".util": {},
             ".tracer": {"isbox": lambda x: False}, ".wrap_util": {}, ".test_util": test_util}
    for name, names in parts.items():
        sys.modules["autograd" + name] = module = Shim("autograd" + name)
        module.__path__ = []
        module.__dict__.update(names)
    for name, module in {"numpy": np, "numpy.random": np.random, "numpy.linalg": np.linalg, "numpy.fft": np.fft,
                         "scipy.stats.multivariate_normal": scipy.stats.multivariate_normal,
                         **{f"scipy.{m.__name__.partition('.')[2]}": m for m in (
                             scipy.integrate, scipy.linalg, scipy.signal, scipy.special, scipy.stats)}}.items():
        sys.modules["autograd." + name] = module
        home, _, last = ("autograd." + name).rpartition(".")
        if isinstance(sys.modules.get(home), Shim):
            setattr(sys.modules[home], last, module)
    for name in parts:
        setattr(sys.modules["autograd"], name[1:], sys.modules["autograd" + name])
