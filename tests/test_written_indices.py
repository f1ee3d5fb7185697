"""Arrays of indices that a function found, and that the program writes before or after it looks them up: Python's errors."""

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import from_text

FOUND = ["np.argsort(x)", "np.argsort(m, axis=0)[:, 1]", "np.argsort(m)[1, :2]", "np.nonzero(x)[0]", "np.where(x > -9.0)[0]",
         "np.argpartition(x, 1)", "np.flatnonzero(x)"]
WRITES = ["o[0] = 100", "o[1:] += 50", "o += 70", "o.fill(9)", "np.add(o, 90, out=o)", "v = o[::-1]; v -= 40",
          "np.copyto(o, 60)", "push(o)", "both = [o, o]; both[1][0] = 77", "o[k] -= 80", "np.add.at(o, 0, 300)",
          "o[o == 0] = 44", "o.sort(); o *= 30", "o[:] = o + 99", "np.put(o, 0, 88)", "box.o = o; box.o[1] = 31"]


PROGRAM = """
import numpy as np
class Box:
    pass
def push(a):
    a[-1] = 200
def f(x, m, k):
    total, box = 0.0, Box()
    o = {found}
    for _ in range(2):
        {first}
        {second}
    return total
"""
USE = "total += np.sum(x[o])"
CASES = [(found, write, again) for k, found in enumerate(FOUND) for j, write in enumerate(WRITES)
         for again in (False, True) if (j + k + again) % 5 == 0]


@pytest.mark.parametrize("found, write, again", CASES)
def test_written_indices_are_looked_up_with_checks(found, write, again):
    """again: the write comes after the use, which the loop then repeats."""
    first, second = (USE, write) if again else (write, USE)
    function = from_text("f", PROGRAM.format(found=found, first=first, second=second))
    x, m = np.array([3.0, 1.0, 2.0, 0.5]), np.arange(1.0, 7.0).reshape(2, 3) * [[1.0], [-1.0]]
    for f in (function, value_and_grad(function)):
        with pytest.raises(IndexError):
            f(x, m, np.arange(2))
