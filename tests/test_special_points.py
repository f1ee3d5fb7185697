"""Functions of `scipy.special` at odd points: ends, poles, tiny and huge arguments, nan; random ones, and some by hand.

The derivatives that are written here are mpmath's, with 60 digits."""

import math

import numpy as np
import pytest
from scipy import special

from .fuzz.specials import TABLE, at, attempt, derivative_of

INF, NAN = math.inf, math.nan

WRONG_ONCE = [
    ("entr", (NAN,)), ("rel_entr", (NAN, -0.0)), ("rel_entr", (0.045413632073343146, 5e-324)), ("kl_div", (1.43, -INF)),
    ("pseudo_huber", (1.0, 1e-8)), ("pseudo_huber", (-1e8, -700.0)), ("pseudo_huber", (0.5, INF)),
    ("pseudo_huber", (0.0, 2.0)),
    ("polygamma", (1, -1e-9)), ("polygamma", (4, -4e-10)), ("psi", (-2e-12,)), ("logit", (1.0,)),
    ("fdtrc", (0.0, 0.0, -5e-8)),
    ("fdtr", (3.0, 0.0, 1.0)), ("gdtr", (-2.7, 1.5, -40.0)), ("betaincc", (5.7, 2.5, -1e-300)),
]
SLOPES = [                              # function, arguments, which of them, the derivative
    ("pseudo_huber", (1.0, 1e-8), 1, 1e-8), ("pseudo_huber", (3215.922201154401, -2.0), 0, 1.2026609832e-10),
    ("beta", (-1.5, 1.5), 0, 2.0 * math.pi / 3.0), ("beta", (-3.0, 1.0), 0, -1.0 / 9.0),
    ("betaln", (-2.0, 2.0), 0, 1.5), ("betaln", (1e8, -6.57336610330081e-07), 0, 6.573366136167662e-15),
    ("betaln", (-4.1359826420108625e-12, 0.4520376822382246), 0, 241780511806.165),
    ("poch", (-1.0, 0.19533157574876703), 0, 5.84958585345768), ("poch", (-3.0, 2.0), 0, -5.0),
    ("binom", (0.5580780921120816, -3.0), 1, 0.1410299982718769), ("rgamma", (1e-300,), 0, 1.0), ("i1", (5e-324,), 0, 0.5),
    ("i0e", (1e155,), 0, -6.307831305052899e-234), ("i1e", (1e300,), 0, 0.0), ("k1e", (1e300,), 0, 0.0),
    ("i1e", (-1e155,), 0, -6.307831305052899e-234), ("k0e", (1e12,), 0, -0.5e-12 * math.sqrt(math.pi / 2e12)),
    ("hyp2f1", (1.0, 0.0, 1.16, 5.0), 3, 0.0), ("ndtri_exp", (-1e8,), 0, 7.071068146885864e-05),
    ("sinc", (1e-9,), 0, -3.289868133696453e-09), ("kl_div", (5e-324, 0.2475), 1, 1.0),
    ("betaincc", (0.5, 3.0, 1e-20), 2, -1.0 / 1e-10 / special.beta(0.5, 3.0)),
]


def test_random_points():
    """All functions in turn, at random points and at ends."""
    found = [attempt(seed) for seed in range(2 * len(TABLE))]
    wrong = [f"{text}\n{o.kind}: {o.text}" for o, text in found if o.verdict == "failed"]
    assert not wrong, "\n".join(wrong)
    assert sum(o.verdict == "ok" for o, _ in found) > 1.7 * len(TABLE)


@pytest.mark.parametrize("name, args", WRONG_ONCE)
def test_values(name, args):
    outcome, text = at(name, list(args))
    assert outcome.verdict == "ok", (outcome, text)


def test_derivatives():
    for name, args, k, expected in SLOPES:
        _, _, derivative, wrt = derivative_of(name)
        with np.errstate(all="ignore"):
            found = derivative(*args)[1][wrt.index(k)]
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-300), (name, args)
