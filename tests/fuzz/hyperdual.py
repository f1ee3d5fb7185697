"""Hyper-dual numbers on NumPy's memory: what a program of Tensors must give, to second order, with views and changes.

A Hyper holds four arrays of one shape: a value, its derivatives along two directions, and the mixed second derivative. A
view is a view of all four, a change in place changes all four; inside `no_grad` a result has no derivatives, and a change is
of values alone. Source: J. A. Fike, J. J. Alonso, The development of hyper-dual numbers for exact second-derivative
calculations, AIAA 2011-886.
"""

from __future__ import annotations

import contextlib

import numpy as np

RECORDING = [True]


class Hyper:
    __array_ufunc__ = None
    requires_grad = True

    def __init__(self, value, *parts):
        # NumPy makes numbers of arrays without axes, which are no memory that a view could show
        self.parts = [np.asarray(p, float) for p in (value, *(parts or [np.zeros(np.shape(value)) for _ in range(3)]))]

    @property
    def value(self):
        return self.parts[0]

    def linear(self, f):
        """`f` of every part: an operation that is linear, or a view."""
        return Hyper(f(self.value), *map(f, self.parts[1:])) if RECORDING[-1] else Hyper(f(self.value))

    def unary(self, f, f1, f2):
        v, a, b, c = self.parts
        if not RECORDING[-1]:
            return Hyper(f(v))
        return Hyper(f(v), f1(v) * a, f1(v) * b, f1(v) * c + f2(v) * a * b)

    # -- arithmetic -------------------------------------------------------------------------------------------------
    def __add__(self, other):
        return combined(lambda p, q: p + q, self, other)

    def __sub__(self, other):
        return combined(lambda p, q: p - q, self, other)

    def __mul__(self, other):
        return product(np.multiply, self, other)

    def __matmul__(self, other):
        return product(np.matmul, self, other)

    def __truediv__(self, other):
        return self * other.unary(lambda v: 1 / v, lambda v: -1 / v ** 2, lambda v: 2 / v ** 3)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self.linear(np.negative)

    # -- shapes -----------------------------------------------------------------------------------------------------
    def __getitem__(self, index):
        return self.linear(lambda p: p[index, ...] if isinstance(index, int) else p[index])

    def reshape(self, *shape):
        return self.linear(lambda p: p.reshape(*shape))

    def sum(self, *axis):
        return self.linear(lambda p: np.asarray(p.sum(*axis)))

    @property
    def T(self):
        return self.linear(lambda p: p.T)

    def clone(self):
        return self.linear(np.copy)

    def detach(self):
        return Hyper(self.value)

    # -- changes ----------------------------------------------------------------------------------------------------
    def changed(self, new):
        new = new if isinstance(new, Hyper) else Hyper(new)
        if np.broadcast_shapes(new.value.shape, self.value.shape) != self.value.shape:
            raise ValueError("an in-place operation keeps the shape")
        for p, q in list(zip(self.parts, map(np.copy, new.parts), strict=True))[:4 if RECORDING[-1] else 1]:
            p[...] = q
        return self

    def __setitem__(self, index, new):
        new = new if isinstance(new, Hyper) else Hyper(new)
        for p, q in list(zip(self.parts, map(np.copy, new.parts), strict=True))[:4 if RECORDING[-1] else 1]:
            p[index] = q

    def __iadd__(self, other):
        return self.changed(self + other)

    def __imul__(self, other):
        return self.changed(self * other)

    add_, mul_ = __iadd__, __imul__

    def sin_(self):
        return self.changed(sin(self))

    def tanh_(self):
        return self.changed(tanh(self))

    def zero_(self):
        return self.changed(0.0)

    def requires_grad_(self, flag):
        if not flag:                                    # what was computed keeps its derivatives
            self.parts[1:] = [np.zeros(self.value.shape) for _ in range(3)]
        return self

    def register_hook(self, hook):
        """A hook that multiplies by a number, on a result that nothing has used yet: it scales the derivatives."""
        self.parts[1:] = [hook(p) for p in self.parts[1:]]


def parts_of(x):
    return x.parts if isinstance(x, Hyper) else [np.asarray(x, float), *[np.zeros(np.shape(x))] * 3]


def combined(f, x, y):
    parts = list(map(f, parts_of(x), parts_of(y)))
    return Hyper(*parts) if RECORDING[-1] else Hyper(parts[0])


def product(f, x, y):
    (v, a, b, c), (w, d, e, g) = parts_of(x), parts_of(y)
    if not RECORDING[-1]:
        return Hyper(f(v, w))
    return Hyper(f(v, w), f(a, w) + f(v, d), f(b, w) + f(v, e), f(c, w) + f(a, e) + f(b, d) + f(v, g))


def sin(x):
    return x.unary(np.sin, np.cos, lambda v: -np.sin(v))


def cos(x):
    return x.unary(np.cos, lambda v: -np.sin(v), lambda v: -np.cos(v))


def tanh(x):
    return x.unary(np.tanh, lambda v: 1 - np.tanh(v) ** 2, lambda v: -2 * np.tanh(v) * (1 - np.tanh(v) ** 2))


def stack(xs):
    parts = [np.stack(p) for p in zip(*map(parts_of, xs), strict=True)]
    return Hyper(*parts) if RECORDING[-1] else Hyper(parts[0])


def concatenate(xs):
    parts = [np.concatenate(p) for p in zip(*map(parts_of, xs), strict=True)]
    return Hyper(*parts) if RECORDING[-1] else Hyper(parts[0])


def where(mask, x, y):
    return combined(lambda p, q: np.where(mask, p, q), x, y)


@contextlib.contextmanager
def no_grad():
    RECORDING.append(False)
    try:
        yield
    finally:
        RECORDING.pop()


__all__ = ["Hyper", "concatenate", "cos", "no_grad", "sin", "stack", "tanh", "where"]
