"""What a program adds to the elements of its own arrays is added in its order: random programs beside Python, whose small
numbers are lost beside the large."""

import random

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import from_text, number_or_name, random_tests

LOOPS = ("for {i} in range(n):", "for {i} in range(1, n):", "for {i} in range(n - 1, -1, -1):", "for {i} in range(0, n, 2):",
         "for {i} in range(n - 1):")


class Writer:
    """A random program of loops and whole arrays that add to `z` (n,) and `Z` (n, n), and read them now and then."""

    def __init__(self, seed: int):
        self.r = random.Random(seed)
        self.lines: list = []

    def text(self) -> str:
        self.lines = ["import numpy as np", "", "def f(x, w, q):", "    n, s = len(x), 0.0", "    z = x * 1.0",
                      "    Z = np.zeros((n, n))"]
        for _ in range(self.r.randint(3, 6)):
            self.statement()
        self.lines += ["    for i in range(n):", "        s += z[i]", "        for j in range(n):",
                       "            s += Z[i, j]", "    return s"]
        return "\n".join(self.lines)

    def number(self, *names: str) -> str:
        i = self.r.choice(names)
        return self.r.choice((f"x[{i}]", f"w[{i}]", f"x[{i}] * w[{names[0]}]", f"w[{i}] * 3.0", f"w[q[{i}]]", f"z[{i}]"))

    def addition(self, *names: str) -> str:
        of_one = ("z[{i}]", "z[{i}]", "z[{i}]", "z[{i} - 1]", "z[q[{i}]]", "z[0]", "Z[{i}, 0]", "Z[0, {i}]", "Z[{i}, {i}]")
        of_two = ("Z[{i}, {j}]", "Z[{j}, {i}]", "z[{j}]", "Z[{i}, {j} - 1]") * 2
        place = self.r.choice(of_one + of_two * (len(names) > 1))
        value = self.number(*names)
        return f"{place.format(i=names[0], j=names[-1])} {self.r.choice(('+=', '-='))} {value}"

    def statement(self) -> None:
        kind = self.r.randint(0, 10)
        if kind in (0, 10):
            self.lines.append("    " + self.r.choice((
                "z += w", "z[1:] -= w[1:]", "z[::2] += w[::2]", "z[1:] += z[:-1]", "Z += np.outer(x, w)", "Z[:, 0] += z",
                "Z[1:, 1:] += Z[:-1, :-1]", "z += Z[0]", "Z += w", "Z -= w[:, None]", "z[q] += w", "z += x", "z -= w",
                "z -= x", "z = z + w", "np.add.at(z, q, w)", "Z[0] += z", "Z[:, 1:] += Z[:, :-1]")))
            return
        self.lines.append("    " + self.r.choice(LOOPS).format(i="i"))
        body, names = "        ", ("i",)
        if kind == 1:
            self.lines.append(f"{body}if q[i] < 0:\n{body}    raise ValueError('negative')")
        elif kind == 2:
            self.lines.append(f"{body}u = w[q[i]]\n{body}{self.addition('i')}\n{body}z[i] += u")
        elif kind > 6:
            self.lines.append(body + self.r.choice(LOOPS).format(i="j"))
            body, names = body + "    ", ("i", "j")
        if kind in (3, 8):
            self.lines.append(f"{body}if {self.r.choice(('x[i] > 0.5', 'q[i] % 2 == 0', 'i > 1'))}:")
            self.lines.append(f"{body}    {self.addition(*names)}")
        for _ in range(self.r.randint(1, 2)):
            self.lines.append(body + self.addition(*names))
        if self.r.random() < 0.15:
            self.lines.append(f"{body}s += {self.number(*names)}")


def checked_between(x, w, q):
    z = x * 1.0
    for i in range(len(x)):
        if q[i] < 0:
            raise ValueError("negative")
        z[i] -= x[i]
    for i in range(1, len(x)):
        z[i] += w[i]
    return added_up(z)


def two_places_of_an_iteration(x, w, q):
    z = x * 1.0
    for i in range(len(x)):
        z[q[i]] -= x[i]
        z[i] += w[i]
    for i in range(0, len(x), 2):
        z[i] += w[i]
        z[q[i]] += x[q[i]]
    return added_up(z)


def whole_arrays(x, w, q):
    z = x * 1.0
    z += w
    z -= x
    return added_up(z)


def twice_in_a_loop(x, w, q):
    z = x * 1.0
    for i in range(len(x)):
        z[i] += w[i]
        z[i] -= x[i]
    return added_up(z)


def a_sum_that_is_added_to(x, w, q):
    z = np.sum(np.outer(w, x), axis=0)
    z += w
    for i in range(len(x)):
        z[i] -= w[i]
        z[i] += x[i]
    return added_up(z)


def added_up(z):
    s = 0.0
    for i in range(len(z)):
        s += z[i]
    return s


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("f", [checked_between, two_places_of_an_iteration, whole_arrays, twice_in_a_loop,
                               a_sum_that_is_added_to])
def test_values_are_pythons(f, mode):
    made = value_and_grad(f, wrt=(0, 1), mode=mode)
    for x, w in ((1e17, 3.0), (3.0, -1e17), (1.0, 1e17)):
        args = np.array([x, 1.0, x, x]), np.full(4, w), np.array([2, 3, 0, 1])
        assert made(*args)[0] == f(*args)


def differs(seed: int, mode: str) -> str:
    text = Writer(seed).text()
    program, derived = from_text("f", text), from_text("f", text)
    derived = value_and_grad(derived, wrt=(0, 1), mode=mode)
    r = np.random.default_rng(seed)
    for n in (4, 1, 3, 6):
        x, w = (r.choice((1e17, -1e17, 1.0, 3.0, 0.25), n) * r.choice((1.0, 1.0, 7.0), n) for _ in range(2))
        q = r.integers(0, n, n)
        expected, value = number_or_name(program, x, w, q), number_or_name(lambda *args: derived(*args)[0], x, w, q)
        if not (value == expected or value != value and expected != expected):
            return f"{text}\n{x}, {w}, {q}: {value} for {expected}"
    return ""


test_random_programs, test_compiled_programs = random_tests(differs, 120, (9000, 9001, 9002))
