"""Loops of kernels are compiled as counters: the function does what it did."""

import random

import numpy as np
import pytest

from autodiff import grad
from autodiff.runtime.cuda.counters import with_counters


class Writer:
    """Random functions of loops over ranges, which write down what they see."""

    def __init__(self, seed):
        self.random, self.lines, self.count = random.Random(seed), ["def f(seen, n):"], 0

    def text(self):
        self.put(1, "i = j = k = 7")
        self.block(1, 3)
        self.put(1, "seen.append((i, j, k))")
        return "\n".join(self.lines)

    def put(self, depth, line):
        self.lines.append("    " * depth + line)

    def number(self):
        return self.random.choice(["0", "1", "n", "n - 1", "-1", "3", "min(n, 4)", "i", "j + 1", "k"])

    def block(self, depth, room):
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.6 and room and self.count < 6:
                self.count += 1
                step = self.random.choice(["", "", ", 1", ", -1", ", 2", ", -3"])
                limits = f"{self.number()}, {self.number()}{step}" if step or self.random.random() < 0.5 else self.number()
                self.put(depth, f"for {self.random.choice('ijk')} in range({limits}):")
                self.block(depth + 1, room - 1)
            elif kind < 0.7 and room < 3:
                self.put(depth, f"if {self.random.choice('ijk')} == {self.number()}:")
                self.put(depth + 1, self.random.choice(["continue", "break", "i += 1", "seen.append(-1)"]))
            elif kind < 0.8:
                self.put(depth, f"{self.random.choice('ijk')} = {self.number()}")
            else:
                self.put(depth, "seen.append((i, j, k))")
                self.put(depth, "if len(seen) > 500: return")


def check(seed, folder):
    text = Writer(seed).text()
    path = folder / f"f{seed}.py"
    path.write_text(text)
    names: dict = {}
    exec(compile(text, str(path), "exec"), names)
    found = with_counters(names["f"])
    assert (found is names["f"]) == ("range(" not in text)
    for n in (0, 1, 5):
        expected, seen = [], []
        names["f"](expected, n)
        found(seen, n)
        assert seen == expected, text


def test_random_loops_see_the_same_numbers(tmp_path):
    for seed in range(200):
        check(seed, tmp_path)


def test_lines_names_and_what_is_left_alone(tmp_path):
    path = tmp_path / "g.py"
    path.write_text("import math\n\n\ndef g(out, n, c=2):\n    for i in range(n):\n        out[i] = 1.0 / (n - 3)\n")
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    made = with_counters(names["g"])
    assert (made.__name__, made.__module__, made.__defaults__) == ("g", names["g"].__module__, (2,))
    assert made.__globals__ is names["g"].__globals__ and made.__code__.co_filename == str(path)
    with pytest.raises(ZeroDivisionError) as error:
        made([0.0] * 3, 3)
    assert error.traceback[-1].lineno + 1 == 6

    def closed(out):
        for k in range(n):
            out[k] = 1
    n = 3
    assert with_counters(closed) is closed

    def by_step(out, step):
        for k in range(0, 3, step):
            out[k] = 1
    assert with_counters(by_step) is by_step


def roots(x, y):
    """float32 with functions of `math`: roots, quotients and products are rounded once."""
    import math
    total = np.zeros_like(x)
    for i in range(x.shape[0]):
        r = math.sqrt(x[i] * x[i] + y[i])
        total[i] = x[i] / (y[i] * r)
    return total


def test_a_root_that_is_rounded_to_float32_is_computed_in_it():
    generator = np.random.default_rng(3)
    x, y = (np.float32(generator.uniform(0.1, 3.0, 40)) for _ in range(2))
    import autodiff
    made = autodiff.differentiable(roots, target="cuda")
    assert "float64" not in made.specialize(x, y).source
    np.testing.assert_array_equal(made(x, y), roots(x, y))

    def wide(x, y):
        total = 0.0
        for i in range(x.shape[0]):
            total += np.float64(x[i]) * y[i]
        return total
    assert "np.float64(x[i])" in autodiff.differentiable(wide, target="cuda").specialize(x, y).source
    np.testing.assert_allclose(grad(wide, target="cuda")(x, y), y, rtol=1e-6)
