"""`x.flat` that a name holds is an iterator too: empty once it has been run over. Python's numbers, or a refusal."""

import itertools
import random

import numpy as np
import pytest

from autodiff import AutodiffError, value_and_grad

from .support import from_text

USES = ("sum(o)", "sum([v * v for v in o])", "len(list(o))", "o[0]", "sum(o[1:])", "np.sum(o)", "max([1.0, *o])", "len(o)",
        "sum(k * v for k, v in enumerate(o))", "float(2.0 in o)", "sum(map(float, o))", "np.mean(o)", "g(o)",
        "sum(a * b for a, b in zip(o, x.flat))", "sum(itertools.accumulate(o))", "len(sorted(o))", "sum(x.flat)")
FIRST = ("pass", "for v in o: s += v * v", "a, *b = o; s += a", "for i in range(n): s += o[i]", "p = o; s += sum(p)",
         "for i in range(n): s += sum(o)", "for i in range(n): s += sum(x.flat)", "o[1] = 5.0", "if x[0] > 1: s += sum(o)")


def compare(first, uses) -> bool:
    """Whether the program was taken, which then gives Python's number."""
    total = " + ".join(f"{k + 1} * {u}" for k, u in enumerate(uses))
    f = from_text(f"<{first}: {total}>", "import itertools\nimport numpy as np\n\ndef f(x, n):\n    s, o = 0.0, x.flat\n"
                                         f"    g = lambda q: sum(q)\n    {first}\n    return s + {total}\n")
    x = np.arange(1.0, 5.0)
    try:
        value = value_and_grad(f, wrt="x", mode="python")(x.copy(), 2)[0]
    except AutodiffError:
        return False
    except (TypeError, ValueError) as e:
        with pytest.raises(type(e)):
            f(x.copy(), 2)
        return True
    assert value == pytest.approx(f(x.copy(), 2)), (first, uses)
    return True


def test_every_pair_of_uses():
    taken = sum(compare("pass", pair) for pair in itertools.product(USES[:9], USES[3:9]))
    assert taken > 25


def test_random_programs(programs=60):
    draw = random.Random(0)
    taken = sum(compare(draw.choice(FIRST), draw.choices(USES, k=draw.randint(1, 3))) for _ in range(programs))
    assert taken > programs // 4


def test_the_refusal_says_what_to_write():
    def f(x):
        o = x.flat
        return sum(o) + sum(o)
    with pytest.raises(AutodiffError, match=r"(?s)`x.flat` is an iterator.*write x.ravel\(\)"):
        value_and_grad(f, mode="python")(np.ones(3))


@pytest.mark.parametrize("f", [
    lambda x: np.sum(abs(x.flat)), lambda x: round(x.flat), lambda x: len(x.flat) * x[0], lambda x: np.exp(x.flat).sum(),
    lambda x: -x.flat, lambda x: sorted(x.flat)[0], lambda x: np.sum(np.add(x.flat, 1)), lambda x: float(x.flat),
    lambda x: np.max(x.flat), lambda x: divmod(x.flat, 2)[0]])
def test_what_takes_it_for_an_array(f):
    x = np.arange(1.0, 5.0)
    try:
        expected = f(x)
    except TypeError:
        with pytest.raises(TypeError):
            value_and_grad(f, mode="python")(x)
    else:
        assert value_and_grad(f, mode="python")(x)[0] == pytest.approx(expected)
