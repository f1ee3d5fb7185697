"""A number that lies in its place already is not stored there again."""

import numpy as np
import pytest

from autodiff.transforms.optimise.store_forwarding import forward_values

from .pictures import Reader, body_of
from .programs.loops import thomas
from .support import assert_gradient


@pytest.mark.parametrize("text, stays", [
    ("v = y[i]\n    y[i] = v", False),
    ("v = y[i]\n    z[i] = 2.0 * v\n    y[i] = v", False),
    ("v = y[i]\n    y[i] = 2.0 * v\n    y[i] = v", True),           # another number has been there
    ("v = y[i]\n    y[i + 1] = x[i]\n    y[i] = v", True),          # which may be the same element
    ("v = y[i]\n    y[i] += v", True), ("v = x[i]\n    y[i] = v", True)])
def test_what_lies_there_is_not_stored(text, stays):
    made = body_of(forward_values(Reader(f"for i in range(n):\n    {text}").program), False)
    assert ("y[i] =" in made or "y[i] +=" in made) == stays, made


def test_cotangents_that_stay_where_they_are():
    r = np.random.default_rng(3)
    arguments = tuple(r.random(6) + shift for shift in (0.1, 3.0, 0.1, 0.5, 0.2))
    assert_gradient(thomas, arguments, (0, 1, 2, 3), "python")
