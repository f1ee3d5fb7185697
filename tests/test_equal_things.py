"""`==` and `!=` of things of all kinds: what Python answers, elementwise beside NumPy's arrays."""

import collections
import dataclasses
import itertools
import random

import numpy as np
import pytest

from autodiff import AutodiffError, value_and_grad

from .support import module_of, outcome

P = collections.namedtuple("P", "a b")


@dataclasses.dataclass
class Point:
    a: float
    b: float


THINGS = ("x", "x[0]", "x[:1]", "2.0", "1", "True", "None", "'a'", "[1, 2.0]", "[x[0], 2.0]", "(1, 2)", "{1: 2}",
          "{1: x[0]}", "{}", "slice(1)", "slice(3, None)", "Point(1, 2)", "Point(1, x[0])", "P(1, 2)", "P(1, x[0])", "len",
          "np.sin", "range(2)", "collections.Counter([1, 1])", "{1, 2}",
          "collections.deque([1, 2.0])", "collections.deque([1, x[0]], 5)", "collections.defaultdict(int, {1: 2})",
          "collections.defaultdict(None, {1: x[0]})", "collections.Counter({1: 2, 3: 0})", "collections.OrderedDict({1: 2})",
          "np.array(x[0])", "np.int64(1)", "x > 1", "1j", "...")
ASKED = ("{} == {}", "{} != {}", "np.all({} == {})", "np.any({} != {})", "np.size({} == {})", "not {} == {}")


@pytest.mark.filterwarnings("ignore")
def test_random_pairs():
    draw = random.Random(5)
    answered = 0
    for one, other in draw.sample(list(itertools.product(THINGS, THINGS)), 220):
        text = f"def f(x):\n    return (1.0 if {draw.choice(ASKED).format(one, other)} else 2.0) + 0.0 * np.sum(x)\n"
        f = module_of(f"<{text}>", text, {"np": np, "P": P, "Point": Point, "collections": collections})["f"]
        expected, found = outcome(f, np.arange(3.0)), outcome(value_and_grad(f, mode="python"), np.arange(3.0))
        if isinstance(found, AutodiffError) or isinstance(expected, Exception) and isinstance(found, type(expected)):
            continue
        assert not isinstance(expected, Exception) and found[0] == expected, (text, expected, found)
        answered += 1
    assert answered > 130
