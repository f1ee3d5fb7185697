"""What is bound beforehand (partial applications, methods, callable objects) has no derivative: every operator
differentiates what the call passes, in whatever order of keywords."""

import itertools
from dataclasses import dataclass
from functools import partial

import numba
import numpy as np
import pytest

from autodiff import (
    Tensor,
    differentiable,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    tensor,
    value_and_grad,
    vjp,
)


def model(k, w, x, shift=0.5):
    return np.sum(w * np.sin(k * x)) + shift * x[0] ** 3


@dataclass
class Wave:
    k: float
    w: np.ndarray

    def __call__(self, x, shift=0.5):
        return model(self.k, self.w, x, shift)

    def energy(self, x, shift=0.5):
        return model(self.k, self.w, x, shift)

    def scaled(self, a, x, shift=0.5):
        return a * model(self.k, self.w, x, shift)


class Holder:
    def __init__(self, k, w):
        self.k, self.w = k, w

    def energy(self, x, shift=0.5):
        return model(self.k, self.w, x, shift)


K, W = 1.5, np.array([0.7, -0.4, 0.2])
X, V = np.array([0.3, -0.6, 0.9]), np.array([0.5, 0.1, -0.8])
WAVE = Wave(K, W)
FORMS = {
    "function": lambda x: model(K, W, x),
    "partial": partial(model, K, W),
    "partial of partial": partial(partial(model, K), W),
    "partial with keywords": partial(model, K, W, shift=0.5),
    "method": WAVE.energy,
    "callable": WAVE,
    "partial of a method": partial(WAVE.scaled, 1.0),
    "function of a class": partial(Wave.energy, WAVE),
    "method of another object": Holder(K, W).energy,
    "partial of compiled": partial(differentiable(model, mode="python"), K, W),
    "compiled partial": differentiable(partial(model, K, W), mode="python"),
}
BOUND = list(FORMS)[1:]


OBJECTS = {"callable"}          # read as a structure inside of a program: operators there refuse it


def slope(x):
    return W * K * np.cos(K * x) + np.array([1.5 * x[0] ** 2, 0.0, 0.0])


def curvature(x):
    return np.diag(-W * K * K * np.sin(K * x) + np.array([3.0 * x[0], 0.0, 0.0]))


def third(x):
    """The derivative of curvature(x) @ V @ V."""
    return (-W * K ** 3 * np.cos(K * x) + np.array([3.0, 0.0, 0.0])) * V * V


FIRST = {
    "grad": lambda f: grad(f, mode="python")(X),
    "value_and_grad": lambda f: value_and_grad(f, mode="python")(X)[1],
    "vjp": lambda f: vjp(f, X, mode="python")[1](1.0)[0],
    "jvp": lambda f: np.array([jvp(f, (X,), (e,), mode="python")[1] for e in np.eye(3)]),
    "linearize": lambda f: np.array([linearize(f, X, mode="python")[1](e) for e in np.eye(3)]),
    "jacobian": lambda f: jacobian(f, direction="forward", mode="python")(X),
    "tensors": lambda f: by_tensors(f, X),
    "vjp inside": lambda f: grad(lambda x: np.sum(vjp(f, x)[1](1.0)[0] * V), mode="python")(X) + slope(X) - curvature(X) @ V,
}
SECOND = {
    "hessian": lambda f: hessian(f, mode="python")(X) @ V,
    "hvp": lambda f: hvp(f, mode="python")(X, V),
    "grad of grad": lambda f: grad(lambda x: np.sum(grad(f)(x) * V), mode="python")(X),
    "grad of jvp": lambda f: grad(lambda x: jvp(f, (x,), (V,))[1], mode="python")(X),
    "grad of linearize": lambda f: grad(lambda x: linearize(f, x)[1](V), mode="python")(X),
    "grad of jacobian": lambda f: grad(lambda x: np.sum(jacobian(f)(x) * V), mode="python")(X),
    "jvp of grad": lambda f: jvp(grad(f), (X,), (V,), mode="python")[1],
    "jacobian of grad": lambda f: jacobian(grad(f), mode="python")(X) @ V,
    "sparse": lambda f: hessian(f, sparse=True, mode="python")(X) @ V,
}


def by_tensors(f, x):
    x = tensor(x, requires_grad=True)
    return grad(differentiable(f, mode="python")(x), x)[0].detach().numpy()


@pytest.mark.parametrize("form", BOUND)
def test_first_derivatives(form):
    for name, found in FIRST.items():
        if form in OBJECTS and "inside" in name:
            continue
        np.testing.assert_allclose(found(FORMS[form]), slope(X), rtol=1e-9, err_msg=name, atol=1e-12)


@pytest.mark.parametrize("form", BOUND)
def test_second_derivatives(form):
    for name, found in SECOND.items():
        if form in OBJECTS and name.startswith("grad of"):
            continue
        np.testing.assert_allclose(found(FORMS[form]), curvature(X) @ V, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("form", ["function", *BOUND])
def test_third_derivatives(form):
    f = FORMS[form]
    product = hvp(f)
    np.testing.assert_allclose(grad(lambda x: np.sum(product(x, V) * V), mode="python")(X), third(X), rtol=1e-9)


@pytest.mark.parametrize("form", [f for f in FORMS if f not in ("function", "partial with keywords")])
def test_all_arguments_but_a_default_bound(form):
    """The derivative with respect to what is left of a function whose other arguments are bound in several steps."""
    f = partial(FORMS[form], X)
    assert grad(f, mode="python")(0.7) == pytest.approx(X[0] ** 3)
    assert jvp(f, (0.7,), (2.0,), mode="python")[1] == pytest.approx(2.0 * X[0] ** 3)
    assert hvp(f, mode="python")(0.7, 1.0) == 0.0


def test_derivatives_with_arguments_bound():
    """A derivative is a function like others: some of its arguments are bound in turn."""
    for wrt, want in (("k", np.sum(W * X * np.cos(K * X))), ("w", np.sin(K * X))):
        bound = partial(grad(model, wrt=wrt), K, W)
        np.testing.assert_allclose(bound(X), want, rtol=1e-12)
    by_w = partial(grad(model, wrt="w"), K, W)
    want = np.diag(K * np.cos(K * X))
    np.testing.assert_allclose(jacobian(by_w, mode="python")(X), want, rtol=1e-9)
    np.testing.assert_allclose(jvp(by_w, (X,), (V,), mode="python")[1], want @ V, rtol=1e-9)
    np.testing.assert_allclose(vjp(by_w, X, mode="python")[1](V)[0], want @ V, rtol=1e-9)
    np.testing.assert_allclose(grad(lambda x: np.sum(by_w(x) * V), mode="python")(X), want @ V, rtol=1e-9)




def test_in_compiled_code():
    f = differentiable(partial(model, K, W))
    run = numba.njit(lambda x, v: (jvp(f, (x,), (v,))[1], linearize(f, x)[1](v), vjp(f, x)[1](1.0)[0]))
    forward, tangent, reverse = run(X, V)
    assert forward == pytest.approx(slope(X) @ V) and tangent == pytest.approx(slope(X) @ V)
    np.testing.assert_allclose(reverse, slope(X), rtol=1e-9)


def four(a, b=2.0, c=3.0, d=5.0):
    return a * b ** 2 * c ** 3 * d ** 4


def by_keywords(c, *, k, h):
    return c * k ** 2 * h ** 3


def packed(c, *args, **named):
    return c * args[0] ** 2 * named["h"] ** 3 * named["k"] ** 4


def calls():
    """(function, arguments, keywords): all orders of keywords, some bound beforehand."""
    values = {"a": 1.5, "b": 0.7, "c": 1.2, "d": 0.9}
    for names in itertools.permutations(values, 3):
        first = [] if "a" in names else [1.5]
        yield four, first, {n: values[n] for n in names}
    for given in ({"d": 0.9, "c": 1.2}, {"d": 0.9, "b": 0.7}, {"b": 0.7}):
        yield partial(four, 1.5), [], given
        yield partial(four, b=0.4), [1.5], given
        yield partial(four, 1.5, c=0.8), [], given
    yield by_keywords, [1.5], {"h": 0.7, "k": 1.2}
    yield packed, [1.5, 0.7], {"k": 1.2, "h": 0.9}
    yield packed, [1.5, 0.7], {"h": 1.2, "k": 0.9}


@pytest.mark.parametrize("constant", [None, 0, 1])
def test_tensors_by_keyword(constant):
    """Each gradient goes to the tensor it belongs to, of the values of the call; one of them may need none."""
    for f, args, named in calls():
        values = [*args, *named.values()]
        tensors = [v if k == constant else tensor(v, requires_grad=True) for k, v in enumerate(values)]
        made = differentiable(f, mode="python")(*tensors[:len(args)], **dict(zip(named, tensors[len(args):], strict=True)))
        wanted = [t for t in tensors if isinstance(t, Tensor)]
        if not wanted:
            continue
        found = grad(made, wanted, create_graph=True)

        def at(k, step, f=f, args=args, named=named, values=values):
            moved = [v + step * (j == k) for j, v in enumerate(values)]
            return f(*moved[:len(args)], **dict(zip(named, moved[len(args):], strict=True)))
        places = [k for k in range(len(values)) if k != constant]
        want = [(at(k, 1e-6) - at(k, -1e-6)) / 2e-6 for k in places]
        np.testing.assert_allclose([float(g.detach().numpy()) for g in found], want, rtol=1e-6, err_msg=f"{f} {named}")


def test_a_tensor_that_is_bound():
    """A tensor among what is bound beforehand is refused: its gradient would be lost."""
    t = tensor(2.0, requires_grad=True)
    with pytest.raises(TypeError, match="Tensor"):
        differentiable(partial(four, t), mode="python")(tensor(1.0, requires_grad=True))


def scaled(x, a=1.0, k=1.0):
    return x ** 2 * k * a


CHANGES = {
    "a keyword": lambda p: p.keywords.update(k=8.0),
    "another keyword": lambda p: p.keywords.update(a=3.0),
    "no keyword": lambda p: p.keywords.clear(),
    "the kind of a keyword": lambda p: p.keywords.update(k=4),
    "all": lambda p: p.__setstate__((scaled, (), {"a": 5.0}, None)),
    "the function": lambda p: p.__setstate__((lambda x, k: x ** 3 * k, (), {"k": 7.0}, None)),
}


def around(p):
    def program(x):
        return value_and_grad(p)(x)[0] * x
    return program


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("form", ["itself", "in an operator", "in a program"])
def test_a_partial_application_that_changed_is_read_anew(form, change, mode):
    p = partial(scaled, k=2.0)
    of = {"itself": value_and_grad(p, mode=mode), "in an operator": value_and_grad(grad(p), mode=mode),
          "in a program": value_and_grad(around(p), mode=mode)}[form]

    def expected(x, h=1e-3):
        slope = lambda x: (p(x + h) - p(x - h)) / (2 * h)
        value = {"itself": p, "in an operator": slope, "in a program": lambda x: p(x) * x}
        return value[form](x), (value[form](x + h) - value[form](x - h)) / (2 * h)

    for step in (lambda p: None, change, CHANGES["another keyword"] if p.func is scaled else change):
        step(p)
        if p.func is not scaled:
            p.keywords.pop("a", None)
        for _ in range(3):                      # the fast path too
            assert np.allclose(of(3.0), expected(3.0), rtol=1e-5)


def test_a_partial_application_that_comes_to_hold_what_was_passed():
    def line(a, b, c):
        return a * b + c

    p = partial(line, 2.0)
    outer, inner = grad(grad(p)), grad(p)
    assert [inner(3.0, 4.0) for _ in range(3)] == [2.0] * 3 and outer(3.0, 4.0) == 0.0
    p.__setstate__((line, (2.0, 3.0), {}, None))
    assert [inner(4.0) for _ in range(3)] == [1.0] * 3 and outer(4.0) == 0.0
