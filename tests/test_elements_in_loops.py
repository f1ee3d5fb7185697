"""Elements of a few parameters, read and added to in loops, are held in scalars: where they exist, and only there."""

import random

import numpy as np
import pytest

from autodiff import check_grads, grad, value_and_grad

from .support import beside_python, from_text, some_positions

STEPS = [
    "d = y[i] - (k[0] + k[1] * x[i])", "s += d * d", "s += k[2] * np.exp(-k[3] * x[i])", "k[1] = k[1] * 0.9",
    "d = d * k[n % 4]", "if x[i] > k[0]:\n            s += k[3] * d", "s += x[i] * k[i % 3]", "y[0] += 0.1 * k[2]",
    "y[i] = y[i] * k[0] + d", "s += y[0] * y[-1]", "s = s * 0.5 + k[-1]", "k[0] += 0.01 * x[i]", "d += x[i - 1] * y[1]",
    "s -= k[5] * d", "for j in range(3):\n            s += k[j] * x[i] * 0.1",
    "for j in range(i):\n            k[3] += 0.01 * y[j]"]
LOOPS = [
    "for i in range(n):", "for i in range(len(y)):", "for i in range(1, n):", "for i in range(n - 1, -1, -1):",
    "for i in range(2):"]


def random_program(seed: int) -> str:
    """Loops over points, with elements of a vector of parameters at fixed places."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(k, x, y):", "    n, d, s = len(x), 0.3, 0.1"]
    for _ in range(r.randint(1, 2)):
        lines.append("    " + r.choice(LOOPS))
        lines += ["        " + r.choice(STEPS) for _ in range(r.randint(1, 4))]
    return "\n".join([*lines, "    return s + d + np.sum(k) * 0.1 + np.sum(y)"])


def differs(seed: int, mode: str) -> str:
    """What is wrong with a random program's value, gradient or error, for several lengths."""
    text, r = random_program(seed), random.Random(seed)
    f = from_text("f", text)
    gradient = value_and_grad(from_text("f", text), wrt=(wrt := some_positions(seed, 3)), mode=mode)
    for _ in range(4):
        lengths = r.choice([4, 4, 6, 2, 1]), (n := r.choice([0, 1, 2, 5])), r.choice([n, n, n + 1, max(n - 1, 0)])
        rng = np.random.default_rng(seed)
        args = [rng.uniform(0.2, 1.1, n) for n in lengths]
        if wrong := beside_python(f, gradient, args, errors=(IndexError, ZeroDivisionError), wrt=wrt):
            return f"{text}\n{lengths}: {wrong}"
    return ""


@pytest.mark.filterwarnings("ignore:the gradient of")
@pytest.mark.parametrize("start", range(0, 40, 10))
def test_random_loops(start):
    for seed in range(start, start + 10):
        assert not (wrong := differs(seed, "python")), wrong


def fit(k, x, y):
    """What a curve with four parameters misses."""
    s = 0.0
    for i in range(len(x)):
        d = y[i] - (k[0] + k[1] * x[i] + k[2] * np.exp(-k[3] * x[i]))
        s += d * d
    return s


def test_several_sizes_in_one_check():
    """That there are four parameters and a value for each point is one check, which each of both facts follows from."""
    r = np.random.default_rng(0)
    args = r.random(4), r.random(6), r.random(6)
    for operator in (grad, value_and_grad):
        gradient = operator(fit, mode="python")
        gradient(*args)
        assert gradient.source.count("np.add(k_bar_") == 4
    check_grads(fit, args, wrt=(0, 1, 2), mode="python")
    with pytest.raises(IndexError):
        grad(fit, mode="python")(args[0][:3], *args[1:])
