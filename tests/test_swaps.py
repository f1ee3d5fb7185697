"""Arrays of several shapes that change places in a loop, beside others that it computes anew."""

import random
import re

import numpy as np

from autodiff import value_and_grad

from .support import from_text, program_beside_python, random_tests

PAIRS = {"u": ("v", "(n,)"), "W": ("V", "(n, n)"), "a": ("b", "(m,)"), "P": ("Q", "(n, m)")}
READ = {"u": "u", "v": "v", "W": "W[0]", "V": "V[:, 0]", "a": "a[0] * w", "b": "b[-1]", "P": "P[:, 0]", "Q": "Q[0, 1]",
        "x": "x", "y": "y"}
STEPS = ["{t}[:] = 0.4 * {t} + 0.1 * {r}", "{t} *= 0.8", "x = 0.7 * x + 0.2 * {r}", "y = x * 0.5", "x = {r} + 0.1 * w",
         "s += np.sum({r} * w)", "x, y = y, x", "y = {r} * s + 0.0 * w", "{t} = 0.9 * {t}", "H[t % 3] = {r}", "x = u",
         "x = u.copy()", "y[:] = 0.3 * {r}", "if s > 0.7:\n    x = 0.5 * x",
         "for i in range(n):\n    x[i] += 0.1 * w[i]", "{t}[0] += 0.1"]


def random_program(seed: int) -> str:
    """Time loops with swaps of pairs, threes of arrays in turn, and whatever stands between them."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(w):", "    n, m, s, i = len(w), len(w) + 1, 0.3, 0",
             "    x, y, H, c = w * 1.1, w * 0.4, np.zeros((3, n)), w + 0.2"]
    names = r.sample(list(PAIRS), r.randint(1, 3))
    for name in names:
        other, shape = PAIRS[name]
        lines += [f"    {name} = np.full({shape}, 0.3)", f"    {other} = np.full({shape}, {r.choice(['0.0', '0.2'])})"]
    known = [z for name in names for z in (name, PAIRS[name][0])]
    lines.append(f"    for t in range({r.choice(['3', '4', 'n'])}):")
    swaps = [f"{name}, {PAIRS[name][0]} = {PAIRS[name][0]}, {name}" for name in names if r.random() < 0.8]
    swaps += ["u, v, c = v, c, u"] if "u" in names and r.random() < 0.3 else []
    targets = [k for k in known if k not in "ab"] or known
    found = [r.choice(STEPS).format(t=r.choice(targets), r=READ[r.choice([*known, "x", "y"])])
             for _ in range(r.randint(2, 5))]
    found = [text for text in found if "u" in names or "= u" not in text]
    mixed = [*found, *swaps]
    r.shuffle(mixed) if r.random() < 0.5 else None
    lines += ["        " + line for text in mixed or ["pass"] for line in text.split("\n")]
    return "\n".join([*lines, "    return s + np.sum(x * w) + np.sum(y) + np.sum(H) + np.sum(c)" + "".join(
        f" + {k} * np.sum({z} * {z})" for k, z in enumerate(known, 1))])


def differs(seed: int, mode: str, sizes=(2, 3, 4)) -> str:
    wrong = program_beside_python(random_program(seed), seed, mode, [((n,),) for n in sizes], (IndexError, ValueError))
    return "" if "while a second name may see" in wrong else wrong


test_random_loops, test_compiled = random_tests(differs, 100, (5000, 5001, 5002), unwritten=True)


def test_pairs_of_two_shapes_are_not_copied():
    f = from_text("two_pairs", """
import numpy as np

def f(u, W):
    v, V = np.zeros(len(u)), np.zeros(W.shape)
    u, W = u.copy(), W.copy()
    for t in range(3):
        v[:] = 0.5 * u + W[0]
        V[:] = 0.3 * W + u
        u, v = v, u
        W, V = V, W
    return np.sum(u * u) + np.sum(W)
""")
    gradient = value_and_grad(f, wrt=(0, 1), mode="python")
    u, W = np.linspace(0.1, 0.9, 4), np.linspace(0.2, 0.7, 12).reshape(3, 4)
    assert np.isclose(gradient(u, W)[0], f(u, W))
    assert len(re.findall(r"(\w+), (\w+) = \2, \1", gradient.source)) >= 2
