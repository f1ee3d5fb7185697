"""Programs whose generated text is to be shown: loops, stencils, arrays, branches, a while loop, calls, operators."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import autodiff

from .digests import texts_of


def energy(x, k):
    stretch = x[1:] - x[:-1]
    return 0.5 * k * np.sum(stretch ** 2)


def wave(u, c, steps):
    v = np.zeros_like(u)
    for t in range(steps):
        v[1:-1] += c[1:-1] ** 2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u += v
    return np.sum(u * u)


def softmax_loss(W, X, labels):
    z = X @ W
    z = z - np.max(z, axis=1, keepdims=True)
    logp = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(logp[np.arange(X.shape[0]), labels])


def filtered(F, Q, r, y):
    m = np.zeros(2)
    P = np.eye(2)
    ll = 0.0
    for t in range(y.shape[0]):
        m = F @ m
        P = F @ P @ F.T + Q
        s = P[0, 0] + r
        e = y[t] - m[0]
        K = P[:, 0] / s
        m = m + K * e
        P = P - np.outer(K, P[0])
        ll -= 0.5 * (np.log(s) + e * e / s)
    return ll


def normal_cdf(z):
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def call_price(spot, strike, rate, vol, years):
    spread = vol * math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate + 0.5 * vol * vol) * years) / spread
    d2 = d1 - spread
    return spot * normal_cdf(d1) - strike * math.exp(-rate * years) * normal_cdf(d2)


def annuity(rate, times):
    total = 0.0
    for i in range(times.shape[0]):
        total += discount(rate, times[i]) * (1.0 + discount(0.5 * rate, times[i]))
    return total


def discount(rate, time):
    """Nelson's and Siegel's curve, as a discount."""
    decay = math.exp(-time / 2.5)
    slope = (1.0 - decay) * 2.5 / time
    level = rate + 0.01 * slope + 0.02 * (slope - decay)
    return math.exp(-level * time) / (1.0 + 0.1 * math.sin(time) * level ** 2)


def kepler(mean, eccentricity):
    """The eccentric anomaly by Newton's method."""
    anomaly = mean
    step = 1.0
    while abs(step) > 1e-12:
        step = (anomaly - eccentricity * math.sin(anomaly) - mean) / (1.0 - eccentricity * math.cos(anomaly))
        anomaly = anomaly - step
    return anomaly


def huber(residuals, width):
    loss = 0.0
    for i in range(residuals.shape[0]):
        r = abs(residuals[i])
        if r <= width:
            loss += 0.5 * r * r
        else:
            loss += width * (r - 0.5 * width)
    return loss


def pendulum(angle, speed, damping, steps, dt):
    """The angle and speed after some steps of a damped pendulum."""
    for _ in range(steps):
        speed = speed - dt * (math.sin(angle) + damping * speed)
        angle = angle + dt * speed
    return angle, speed


def rosenbrock(x):
    total = 0.0
    for i in range(x.shape[0] - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def heat(u, k, steps):
    n, m = u.shape
    for _ in range(steps):
        v = u.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = v[i, j] + k * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4.0 * v[i, j])
    return np.sum(u ** 2)


@dataclass(frozen=True)
class Golden:
    """An operator applied to a function: `run` makes the text, given the function."""

    function: Callable
    run: Callable

    def text(self) -> str:
        """The module that is generated; a copy of the function that nothing knows yet makes sure that one is."""
        f = self.function
        fresh = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__)
        texts = texts_of(lambda: self.run(fresh))
        if len(texts) != 1 or texts[0].startswith("raised"):
            raise AssertionError(f"one module is expected, not {texts}")
        return texts[0]


def gradient(function, wrt, *args, operator=autodiff.grad) -> Golden:
    return Golden(function, lambda f: operator(f, wrt=wrt, mode="python").specialize(*args))


V, M = np.zeros(5), np.zeros((5, 5))
PENDULUM = (0.5, 0.0, 0.1, 3, 0.1)
GOLDENS: dict[str, Golden] = {
    "energy_grad": gradient(energy, "x", V, 2.0),
    "wave_grad": gradient(wave, ("u", "c"), V, V, 3),
    "heat_grad": gradient(heat, ("u", "k"), M, 0.1, 3),
    "softmax_grad": gradient(softmax_loss, "W", M, M, np.zeros(5, int)),
    "filtered_grad": gradient(filtered, ("F", "Q", "r"), np.eye(2), np.eye(2), 0.5, V),
    "call_price_grad": gradient(call_price, ("spot", "rate", "vol"), 100.0, 95.0, 0.02, 0.3, 1.5),
    "annuity_value_and_grad": gradient(annuity, "rate", 0.02, V, operator=autodiff.value_and_grad),
    "kepler_grad": gradient(kepler, ("mean", "eccentricity"), 1.0, 0.5),
    "huber_value_and_grad": gradient(huber, ("residuals", "width"), V, 1.0, operator=autodiff.value_and_grad),
    "pendulum_jvp": Golden(pendulum, lambda f: autodiff.jvp(
        f, PENDULUM, (1.0, 1.0, None, None, None), mode="python")),
    "pendulum_vjp": Golden(pendulum, lambda f: autodiff.vjp(f, *PENDULUM, mode="python")[1]((1.0, 1.0))),
    "rosenbrock_hvp": Golden(rosenbrock, lambda f: autodiff.hvp(f, mode="python")(V, V)),
}

FOLDER = Path(__file__).parent / "goldens"

if __name__ == "__main__":          # python -m tests.golden_programs: keeps the texts that are generated now
    for kept, golden in GOLDENS.items():
        (FOLDER / f"{kept}.py").write_text(golden.text(), encoding="utf-8")
