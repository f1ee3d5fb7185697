"""Programs of complex numbers against NumPy and central differences, in forward and reverse mode."""

from __future__ import annotations

import copy

import numpy as np

from autodiff import jvp, vjp


def parts(value) -> list:
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in parts(v)]
    return [] if value is None else [value]


def normal(generator, like):
    """Random numbers in the shape of a number or array, complex if it is."""
    made = generator.standard_normal(np.shape(like))
    if np.iscomplexobj(like):
        made = made + 1j * generator.standard_normal(np.shape(like))
    return made if np.shape(like) else np.asarray(made)[()].item()


def inexact(values) -> list:
    return [v for v in values if np.asarray(v).dtype.kind in "fc"]


def inner(a, b) -> float:
    return float(np.sum((np.conj(a) * b).real))


def assert_derivatives(function, args, mode="python", tolerance=1e-7):
    """Values and dtypes as NumPy's; the tangent equal to central differences along a random direction in all arguments;
    the pullback its transpose; no argument changed."""
    generator = np.random.default_rng(7)
    fresh = lambda: copy.deepcopy(args)
    expected = parts(function(*fresh()))
    floats = inexact(expected)
    given = fresh()
    out, pullback = vjp(function, *given, mode=mode, debug=True)
    for before, after in zip(args, given, strict=True):
        np.testing.assert_array_equal(before, after)
    for found, value in zip(parts(out), expected, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-11, atol=1e-13)
        assert np.asarray(found).dtype == np.asarray(value).dtype and np.shape(found) == np.shape(value)
    directions = [normal(generator, a) for a in args]
    dots = parts(jvp(function, tuple(fresh()), tuple(directions), mode=mode, debug=True)[1])
    h = 1e-6
    ends = [inexact(parts(function(*[a + s * h * d for a, d in zip(fresh(), directions, strict=True)]))) for s in (1, -1)]
    for up, down, dot in zip(*ends, dots, strict=True):
        slope = (np.asarray(up) - np.asarray(down)) / (2 * h)
        size = max(1.0, float(np.max(np.abs(slope), initial=0.0)))
        np.testing.assert_allclose(dot, slope, rtol=tolerance, atol=tolerance * size)
    weights = [normal(generator, value) for value in floats]
    bars = pullback(tuple(weights) if len(weights) > 1 else weights[0])
    forward = sum(map(inner, weights, dots))
    backward = sum(inner(bar, d) for bar, d in zip(bars, directions, strict=True))
    assert abs(forward - backward) <= 1e-10 * max(1.0, abs(forward))
    for bar, a in zip(bars, args, strict=True):
        assert np.asarray(bar).dtype == np.asarray(a).dtype and np.shape(bar) == np.shape(a)
