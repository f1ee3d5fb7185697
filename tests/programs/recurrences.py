"""Programs in time: steppers, filters, searches, recursion."""

import math

import numpy as np

from .catalogue import program


@program(lambda r: (np.array([1.2, 0.8]), np.array([1.1, 0.4, 0.4, 0.1])), wrt=(0, 1))
def lotka_volterra_rk4(y0, p):
    def rhs(y):
        return np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])
    y = y0
    h = 0.1
    for _ in range(4):
        k1 = rhs(y)
        k2 = rhs(y + 0.5 * h * k1)
        k3 = rhs(y + 0.5 * h * k2)
        k4 = rhs(y + h * k3)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y[0] + 2.0 * y[1] ** 2


@program(lambda r: (2.0, 3.0), wrt=(0, 1))
def newton_root(a, p):
    """a**(1/p) by Newton's method with a tolerance."""
    x = a
    while abs(x ** p - a) > 1e-13 * a:
        x = x - (x ** p - a) / (p * x ** (p - 1.0))
    return x * x


@program(lambda r: (3.2, 0.3), wrt=(0, 1))
def logistic_map(rate, x):
    """Iterated until it passes a threshold: the break depends on data."""
    total = 0.0
    for k in range(20):
        x = rate * x * (1.0 - x)
        total += x / (k + 1.0)
        if total > 1.9:
            break
    return total * x


@program(lambda r: (100.0, 105.0, 0.25, 0.05), wrt=(0, 1, 2, 3), twice=False)
def american_put(spot, strike, sigma, rate):
    """Binomial tree with early exercise, backward induction in place."""
    steps = 8
    dt = 1.0 / steps
    up = math.exp(sigma * math.sqrt(dt))
    down = 1.0 / up
    p = (math.exp(rate * dt) - down) / (up - down)
    discount = math.exp(-rate * dt)
    value = np.zeros(steps + 1)
    for i in range(steps + 1):
        value[i] = max(strike - spot * up ** (2 * i - steps), 0.0)
    for step in range(steps - 1, -1, -1):
        for i in range(step + 1):
            hold = discount * (p * value[i + 1] + (1.0 - p) * value[i])
            value[i] = max(hold, strike - spot * up ** (2 * i - step))
    return value[0]


@program(lambda r: (r.random(3) + 0.1, r.random((3, 3)) + 0.1, r.random((3, 4)) + 0.1, np.array([0, 2, 1, 3, 0])),
         wrt=(0, 1, 2))
def hmm_forward(start, transition, emission, observed):
    """Log-likelihood of a hidden Markov model, scaled forward algorithm."""
    alpha = start * emission[:, observed[0]]
    total = np.sum(alpha)
    loglik = np.log(total)
    alpha = alpha / total
    for t in range(1, len(observed)):
        alpha = (alpha @ transition) * emission[:, observed[t]]
        total = np.sum(alpha)
        alpha = alpha / total
        loglik += np.log(total)
    return loglik


@program(lambda r: (r.standard_normal((12, 5)) * 0.4, r.standard_normal(12) * 0.1, r.standard_normal((4, 2))),
         wrt=(0, 1, 2))
def lstm(W, b, xs):
    n = 3
    h = np.zeros(n)
    c = np.zeros(n)
    for t in range(xs.shape[0]):
        z = W @ np.concatenate((h, xs[t])) + b
        i = 1.0 / (1.0 + np.exp(-z[:n]))
        f = 1.0 / (1.0 + np.exp(-z[n:2 * n]))
        o = 1.0 / (1.0 + np.exp(-z[2 * n:3 * n]))
        g = np.tanh(z[3 * n:])
        c = f * c + i * g
        h = o * np.tanh(c)
    return np.sum(h * h) + c[0]


@program(lambda r: (6, 0.4), wrt=(1,))
def chebyshev(n, x):
    """Chebyshev polynomial by its recursion."""
    if n == 0:
        return 1.0
    if n == 1:
        return x
    return 2.0 * x * chebyshev(n - 1, x) - chebyshev(n - 2, x)


@program(lambda r: (2.3, 0.7), wrt=(0, 1), twice=False)
def bisection(a, b):
    """A polished root of x**3 + b x = a: bisection with an early return, then one Newton step."""
    low, high = 0.0, 3.0
    for _ in range(60):
        mid = 0.5 * (low + high)
        value = mid ** 3 + b * mid - a
        if abs(value) < 1e-6:
            return mid - value / (3.0 * mid ** 2 + b)
        if value > 0.0:
            high = mid
        else:
            low = mid
    return 0.5 * (low + high)


@program(lambda r: (r.standard_normal((3, 3)) * 0.5, r.standard_normal((4, 3))), wrt=(0, 1))
def rnn(W, xs):
    h = np.zeros(W.shape[0])
    for t in range(xs.shape[0]):
        h = np.tanh(W @ h + xs[t])
    return h.sum()
