"""Random draws: every mode draws what the function draws, in its order, once, and leaves the generator as that does."""

from __future__ import annotations

import copy
import functools
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from numba import njit

from autodiff import (
    UnsupportedSyntax,
    checkpoint,
    differentiable,
    grad,
    hessian,
    hvp,
    jvp,
    linearize,
    tensor,
    value_and_grad,
    vjp,
)
from autodiff.runtime.generators import WORDS, restore_state, save_state

from .fuzz.checks import outcome
from .fuzz.programs import program

X = np.array([0.3, -0.4, 0.8])


def generator(seed=42):
    return np.random.default_rng(seed)


def same_state(a, b) -> bool:
    return repr(a.bit_generator.state) == repr(b.bit_generator.state)


def differences(f, x, *rest, h=1e-6):
    """The Jacobian of `f(x, *rest, rng)` by central differences, all draws the same."""
    columns = []
    for k in range(x.size):
        d = np.zeros(x.size)
        d[k] = h
        up, down = (np.asarray(f(x + s * d.reshape(x.shape), *rest, generator())) for s in (1, -1))
        columns.append((up - down) / (2 * h))
    return np.stack(columns, -1).reshape(np.shape(columns[0]) + x.shape)


# -- programs ----------------------------------------------------------------------------------------------------------
def in_a_loop(x, n, rng):
    s = 0.0
    for _ in range(n):
        z = rng.standard_normal(3)
        w = np.tanh(x * z)
        s += np.sum(w * w) * rng.random()
    return s


def carried(x, n, rng):
    y = x[0]
    for _ in range(n):
        y = np.sin(y * x[1] + 0.3 * rng.standard_normal())
    return y * y


def in_branches(x, n, rng):
    s, u = x[0], rng.random()
    for i in range(n):
        if rng.random() < 0.5:
            s = s * np.exp(0.1 * rng.normal(x[1], 1.0))
        else:
            s = s + rng.exponential(x[2] * x[2])
        s += rng.normal(x[0]) if u < 0.3 * i else x[1] * rng.random()
        if u > 0.5 and rng.random() < 0.5:
            s *= x[2]
    return s


def while_it_draws(x, n, rng):
    s, k = x[0], 0
    while rng.random() < 0.8 and k < 50:
        s = s * x[1] + rng.standard_normal() * x[2]
        k += 1
    return s


def leaves_early(x, n, rng):
    s = x[0]
    for _ in range(n):
        s = np.sin(s + rng.normal(0.0, x[1] * x[1]))
        if s > 0.2:
            return s * x[2]
    return s * s * x[2]


def inner(v, rng):
    return v * rng.uniform(v, 2.0 + v * v)


def in_called_functions(x, n, rng):
    def step(v):
        return v * rng.normal(x[0], x[1] ** 2)
    s = inner(x[0], rng) + inner(x[1], rng) * rng.lognormal(x[2], 0.3)
    for _ in range(n):
        s = step(s) + x[2]
    return s


def unused(x, n, rng):
    a = rng.standard_normal(5)
    b = rng.random()  # noqa: F841 (that nobody reads it is what is tested)
    rng.integers(0, 10)
    for _ in range(n):
        a = rng.random(2)  # noqa: F841
    return np.sum(x * x) * rng.random()


def loops_over_one_range(x, n, rng):
    t, s = np.empty(3), np.empty(3)
    for i in range(3):
        t[i] = x[i] * rng.random()
    for i in range(3):
        s[i] = t[i] * rng.random()
    B = rng.standard_normal((4, 3))
    for j in range(3):
        total = 0.0
        for k in range(4):
            total += B[k, j] * x[j]
        t[j] = total * rng.random()
    return np.sum(s * s) + np.sum(t)


def equal_carries(x, n, rng):
    a = b = x[0]
    for _ in range(n):
        a = a * x[1] + rng.random()
        b = b * x[1] + rng.random()
    return a * b


def written(x, n, rng):
    z = rng.standard_normal(3)
    s = 0.0
    for i in range(n):
        z[0] = x[0]
        z *= x
        s += np.sum(z ** 2)
        rng.random(out=z)
        z[1:] *= x[1:]
        w = rng.standard_normal(3)
        w[i % 3] = s
        s = s + np.sum(w * w * x)
    return s + np.sum(z ** 3)


def a_network(x, n, rng):
    W = rng.standard_normal((3, 3))
    h = x
    for _ in range(n):
        h = np.tanh(W @ h + 0.1 * rng.standard_normal(3))
        h = np.where(rng.random(3) < 0.7, h, 0.1 * h)
    return np.sum(h * h)


def listed(x, n, rng):
    zs = [rng.normal(x[0], 1.0) for _ in range(n)]
    h = []
    for i in range(n):
        h.append(rng.normal(x[i % 3], 1.0) * zs[i])
    t = 0.0
    for v in h:
        t += v * v
    return t


def its_own_gradient(x, n, rng):
    g = grad(noisy)(x, rng)
    return np.sum(g * g) * rng.random()


def noisy(x, rng):
    return np.sum(rng.normal(x, 1.0) ** 2 * x)


def recursive(x, n, rng):
    return descend(n, x[0], rng) + descend(2, x[1], rng)


def descend(n, v, rng):
    if n <= 0:
        return v
    return descend(n - 1, np.sin(v) * rng.random(), rng)


def parameters(x, n, rng):
    a, b, c = x[0], x[1], x[2]
    s = rng.normal(a, b * b + 0.1) + rng.laplace(a, b * b) * rng.logistic(b, c * c) + rng.gumbel(a, c * c)
    s += rng.uniform(a - 3, b + 2) * rng.exponential(c * c) + rng.lognormal(a, b * b) + rng.weibull(1 + a * a)
    s += rng.pareto(3 + a) + rng.power(2 + b * b) + rng.triangular(a - 2, b * 0.1, 3 + c) + rng.rayleigh(b * b)
    s += rng.gamma(0.7, c * c) + a * rng.standard_cauchy()
    return s


def array_parameters(x, n, rng):
    s = np.sum(rng.normal(x, x * x, size=(2, 3))) + np.sum(rng.uniform(x - 4.0, 5.0))
    s += np.sum(rng.triangular(x - 2.0, x, x * x + 1.5)) + np.sum(rng.weibull(1 + x * x) * rng.pareto(3 + x, size=3))
    s += np.sum(rng.gumbel(x, 1.0) * rng.laplace(0.0, x * x)) + np.sum(rng.poisson(np.array([1.0, 2.0, 30.0])) * x)
    C = np.eye(3) * (1 + x[0] ** 2) + 0.1 * np.outer(x, x)
    return s + np.sum(rng.multivariate_normal(x, C, method="cholesky") ** 2) + np.sum(
        rng.multivariate_normal(x, C, size=4, method="cholesky") ** 3)


def choices(x, n, rng):
    y = x[rng.permutation(3)] * x
    rng.shuffle(y)
    M = np.outer(y, x)
    rng.shuffle(M, axis=1)
    k = rng.integers(0, 3)
    picked = rng.choice(x, size=4) ** 2
    one = x[rng.choice(3, p=np.array([0.2, 0.3, 0.5]))] + rng.choice(x) ** 2
    return np.sum(rng.permutation(M) * np.arange(9.0).reshape(3, 3)) * x[k] + np.sum(picked) * one


def in_steps(x, n, rng):
    u, s = x * 1.0, x[0]
    rng.random()
    for _ in checkpoint(range(4 * n), snapshots=3):
        u = np.tanh(u * x + 0.3 * rng.standard_normal(3)) + rng.random() * 0.1
        s = s * 0.9 + u[0] * rng.normal(x[1], 1.0)
    return np.sum(u * u) * s * rng.random()


def in_steps_to_an_end(x, n, rng):
    u, k = x * 1.0, 0
    while checkpoint(k < 8 + rng.integers(0, 9), snapshots=4):
        u = np.tanh(u * x + 0.3 * rng.standard_normal(3))
        rng.shuffle(u)
        k += 1
    return np.sum(u * u) * rng.random()


PROGRAMS = [in_a_loop, carried, in_branches, while_it_draws, leaves_early, in_called_functions, unused, loops_over_one_range,
            equal_carries, written, a_network, listed, its_own_gradient, recursive, parameters, array_parameters, choices,
            in_steps, in_steps_to_an_end]


def check(f, mode):
    """Values and derivatives in every mode of differentiation, and the state of the generator after each."""
    after, d = generator(), np.array([0.7, -1.1, 0.4])
    expected, slope = f(X.copy(), 3, after), differences(f, X, 3)
    rng = generator()
    value, gradient = value_and_grad(f, mode=mode, debug=True)(X, 3, rng)
    assert same_state(rng, after)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-7)
    rng = generator()
    np.testing.assert_allclose(grad(f, mode=mode)(X, 3, rng), gradient, rtol=1e-12)
    assert same_state(rng, after)
    rng = generator()
    value, pull = vjp(f, X, 3, rng, mode=mode)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for _ in range(2):
        bars = pull(1.0)
        np.testing.assert_allclose(bars[0], gradient, rtol=1e-10)
        assert bars[2] is None and same_state(rng, after)
    rng = generator()
    value, tangent = jvp(f, (X, 3, rng), (d, None, None), mode=mode)
    np.testing.assert_allclose([value, tangent], [expected, gradient @ d], rtol=1e-10)
    assert same_state(rng, after)
    rng = generator()
    value, push = linearize(f, X, 3, rng, mode=mode)
    np.testing.assert_allclose([value, push(d, None, None)], [expected, gradient @ d], rtol=1e-10)
    assert same_state(rng, after)
    rng = generator()
    product = hvp(f, mode=mode)(X, 3, rng, d)
    assert same_state(rng, after)
    slopes = differences(grad(f, mode=mode), X, 3, h=1e-5) @ d
    np.testing.assert_allclose(product, slopes, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda p: p.__name__)
def test_every_mode_draws_as_the_function_does(function):
    check(function, "python")


@pytest.mark.parametrize("function", [in_branches, in_steps], ids=lambda p: p.__name__)
def test_compiled(function):
    rng, after = generator(), generator()
    np.testing.assert_allclose(grad(function)(X, 3, rng), differences(function, X, 3), rtol=1e-6)
    function(X, 3, after)
    assert same_state(rng, after)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    found = outcome(program(seed, draws=True), 2 if seed % 4 == 0 else 1)
    assert found.verdict in ("ok", "skipped"), found


def test_the_source_reads_like_the_function():
    def loss(loc, scale, n, rng):
        z = rng.standard_normal(n)
        return np.sum((loc + scale * z) ** 2) * rng.uniform(1.0, 2.0)
    gradient = grad(loss, wrt=(0, 1), mode="python")
    gradient(0.5, 2.0, 4, generator())
    assert gradient.source.partition("\n\n\n")[2] == '''\
def loss_grad(loc, scale, n, rng):
    """Returns loc_bar (number), scale_bar (number)."""
    if not n >= 0:
        raise ValueErrorAt('negative dimensions are not allowed', 'test_random_draws.py:%d, in loss')
    z = rng.standard_normal(n)
    # test_random_draws.py:%d    return np.sum((loc + scale * z) ** 2) * rng.uniform(1.0, 2.0)
    draw = rng.random()
    result_1 = 1.0 + draw
    # ---- reverse sweep: the same statements, last to first ----
    # test_random_draws.py:%d    return np.sum((loc + scale * z) ** 2) * rng.uniform(1.0, 2.0)
    loc_bar = 0.0
    scale_bar = 0.0
    for i in range(n):
        z_1 = z[i]
        result_bar = result_1 * (loc + scale * z_1)
        result_bar_1 = result_bar + result_bar
        loc_bar = np.add(loc_bar, result_bar_1)
        scale_bar = np.add(scale_bar, result_bar_1 * z_1)
    return loc_bar, scale_bar
''' % (loss.__code__.co_firstlineno + 1, *[loss.__code__.co_firstlineno + 2] * 2)


# -- where a generator comes from ----------------------------------------------------------------------------------------
RNG = generator()


@dataclass
class Layer:
    w: np.ndarray
    rng: np.random.Generator


class Model:
    def __init__(self):
        self.rng = generator()

    def __call__(self, x):
        return np.sum(x * self.rng.standard_normal(3))


def dropped(x, layer):
    return np.sum(x * layer.w * layer.rng.standard_normal(3))


def linear(x, rng):
    return np.sum(x * rng.standard_normal(3))


def with_default(x, rng=None):
    return linear(x, rng) if rng else np.sum(x)


def test_generators_of_all_kinds():
    global RNG
    z = generator().standard_normal(3)
    gradient = grad(lambda x: np.sum(x * RNG.standard_normal(3)), mode="python")
    for _ in range(2):
        RNG = generator()
        np.testing.assert_array_equal(gradient(X), z)
    own = generator()
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * own.standard_normal(3)), mode="python")(X), z)
    np.testing.assert_array_equal(grad(Model(), mode="python")(X), z)
    np.testing.assert_array_equal(grad(functools.partial(linear, rng=generator()), mode="python")(X), z)
    np.testing.assert_array_equal(grad(dropped, mode="python")(X, Layer(X, generator())), X * z)
    np.testing.assert_array_equal(grad(with_default, mode="python")(X, generator()), z)
    np.testing.assert_array_equal(grad(with_default, mode="python")(X), np.ones(3))
    twister = np.random.Generator(np.random.MT19937(3))
    np.testing.assert_array_equal(grad(linear, mode="python")(X, copy.deepcopy(twister)), twister.standard_normal(3))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(grad(linear, mode="python")))(X, generator()), z)


def of_two(x, a, b):
    s, t = 0.0, 0.0
    for _ in range(3):
        s += x * a.random()
    for _ in range(3):
        t += s * b.random()
    return s * t * a.normal(x, 1.0)


def of_layers(x, layers):
    for layer in layers:
        x = np.tanh(x * layer.w) * (layer.rng.random(3) < 0.7) + layer.rng.normal(layer.w, 1.0)
    return np.sum(x * x)


def test_generators_may_be_one_or_several():
    f = value_and_grad(of_two, mode="python")
    for _ in range(2):
        one, own = generator(), generator()
        np.testing.assert_allclose(f(0.7, one, one)[0], of_two(0.7, own, own), rtol=1e-12)
        assert same_state(one, own)
        a, b, c, d = generator(), generator(7), generator(), generator(7)
        np.testing.assert_allclose(f(0.7, a, b)[0], of_two(0.7, c, d), rtol=1e-12)
        assert same_state(a, c) and same_state(b, d)
    one, own = generator(), generator()
    value, gradient = value_and_grad(of_layers, mode="python")(X, [Layer(X, one), Layer(2 * X, generator(1)), Layer(X, one)])
    layers = [Layer(X, own), Layer(2 * X, generator(1)), Layer(X, own)]
    np.testing.assert_allclose(value, of_layers(X, copy.deepcopy(layers)), rtol=1e-12)
    t = tensor(X, requires_grad=True)
    (g,) = grad(differentiable(of_layers, mode="python")(t, copy.deepcopy(layers)), t, create_graph=True)
    (h,) = grad((g * g).sum(), t)
    H = hessian(of_layers, mode="python")(X, layers)
    np.testing.assert_allclose(np.asarray(h), 2.0 * H @ gradient, rtol=1e-12)
    assert same_state(one, own)
    with pytest.raises(UnsupportedSyntax, match="two places outside"):
        grad(lambda x, rng: x * rng.random() * RNG.random(), mode="python")(1.0, RNG)


def test_in_compiled_code():
    gradient = grad(linear)

    @njit
    def descent(x, rng):
        for _ in range(3):
            x = x - 0.1 * gradient(x, rng)
        return x
    rng, own, x = generator(), generator(), X
    for _ in range(3):
        x = x - 0.1 * own.standard_normal(3)
    np.testing.assert_allclose(descent(X, rng), x, rtol=1e-14)
    assert same_state(rng, own)


def test_the_state_of_any_generator_can_be_kept():
    @njit
    def again(words, rng):
        save_state(words, rng)
        first = rng.standard_normal(2)
        restore_state(rng, words)
        return first, rng.standard_normal(2)
    for bits in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64):
        rng = np.random.Generator(bits(3))
        rng.integers(0, 5)
        first, second = again(np.zeros(WORDS, np.int64), rng)
        np.testing.assert_array_equal(first, second)
