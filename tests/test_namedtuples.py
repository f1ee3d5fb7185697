"""Named tuples are tuples: for operators, functions of Python and NumPy, as subscripts, axes and shapes."""

import collections
import math

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import module_of, outcome

P = collections.namedtuple("P", "a b")
LINES = """
sum((P(1,x[0]),P(2,x[1])))
sum((P(1,x[0]),P(2,x[1])), ())
sum([P(1,x[0])], (1.0,))
P(1,x[0]) + P(2,x[1])
1 + P(2,x[1])
P(2,x[1]) + 1
P(2,x[1]) * 2
2 * P(2,x[1])
P(2,x[1]) - P(2,x[1])
-P(2,x[1])
np.array(P(2,x[1])) + 1
max(P(2,x[1]))
P(2,x[1]) < P(3,x[1])
x[0]*P(2,x[1])
x[:2]*P(2,x[1])
math.prod(P(2,x[1]))
sum(P(2,x[1]))
sum(P(2,x[1]), P(2,x[1]))
P(2,x[1]) + [1]
P(2,x[1]) + (1,)
(1,) + P(2,x[1])
[1] + P(2,x[1])
P(2,x[1]) @ P(2,x[1])
x[:2] @ P(2,x[1])
abs(P(2,x[1]))
float(P(2,x[1]))
P(2,x[1]) ** 2
P(2,x[1]) / 2
P(2,x[1]) % 2
divmod(P(2,x[1]),2)
int(P(2,x[1]))
bool(P(2,x[1]))
len(P(2,x[1]))
P(2,x[1])[0]
P(2,x[1])[::-1]
P(2,x[1])[2]
P(2,x[1]).c
P(2,x[1]) == (2, x[1])
P(2,x[1]) in [(2, x[1])]
2 in P(2,x[1])
P(2,x[1]).count(2)
P(2,x[1]).index(2)
P(2,x[1])._replace(a=4)
P(2,x[1])._asdict()['b']
P(*P(2,x[1]))
P(**P(2,x[1])._asdict())
P(2)
math.sin(P(2,x[1]))
np.sin(P(2,x[1]))
round(P(2,x[1]))
range(P(2,x[1]))
sorted(P(2,x[1]))
reversed(P(2,x[1]))
list(reversed(P(2,x[1])))
"%s %s" % P(2,x[1])
(1.0 if P(0,0.0) else 2.0)
(1.0 if P(2,x[0]) > (1,) else 2.0)
P(2,x[0]) > 1
P(2,x[0]) == None
P(2,x[0]) is None
isinstance(P(2,x[0]), tuple)
x[P(0,1)]
np.outer(x,x)[P(0,1)]
np.zeros(P(2,3))
x.reshape(P(3,1))
np.sum(np.outer(x,x), axis=P(0,1))
(x[0],x[1]).count(x[0])
(x[0],x[1]).index(x[1])
(x[0],2).index(2)
(x[0],2).index(7)
P(2,x[1]).index(7)
P(2,x[1]).index(x[1])
P(2,x[1]).count(x[1])
np.stack([P(1,x[0]),P(2,x[1])])
np.array([P(1,x[0]),P(2,x[1])])
np.concatenate(P(x,x))
np.concatenate([P(1,x[0]),P(2,x[1])])
np.dot(P(1,x[0]),P(2,x[1]))
np.where(P(True,False), P(1,x[0]),P(2,x[1]))
np.max(P(1,x[0]))
np.mean(P(1,x[0]))
x[:2] * np.array(P(1,x[0]))
np.reshape(x, P(3,1))
np.ones(P(3,1))
np.transpose(np.outer(x,x), P(1,0))
np.tile(x, P(1,2))
np.pad(x, P(1,2))
np.roll(np.outer(x,x), P(1,2), axis=P(0,1))
np.flip(np.outer(x,x), P(0,1))
np.moveaxis(np.outer(x,x), P(0,1), P(1,0))
np.broadcast_to(x, P(2,3))
np.clip(P(1,x[0]),0,1)
np.polyval(P(1,x[0]),2.0)
np.interp(0.5,P(0,1),P(1,x[0]))
np.linalg.norm(P(1,x[0]))
x[[P(0,1)]]
np.einsum("i,i",P(1,x[0]),P(2,x[1]))
np.cross(x, np.append(P(1,2),x[0]))
np.isclose(P(1,x[0]),P(1,2))
float(max(P(1,x[0])))
math.hypot(*P(1,x[0]))
math.dist(P(1,x[0]),P(2,2))
math.fsum(P(1,x[0]))
any(P(1,x[0]))
all(P(1,x[0]))
[a*2 for a in P(1,x[0])]
list(zip(P(1,x[0]),P(2,x[1])))[0]
dict([P(1,x[0])])[1]
set(P(1,2)) == {1,2}
list(enumerate(P(1,x[0])))[1]
tuple(P(1,x[0]))
list(P(1,x[0]))
np.asarray(P(1,x[0])).sum()
P(1,x[0]) + P(2,x[1]) == (1,x[0],2,x[1])
""".strip().split("\n")


def function_of(line):
    text = f"def f(x):\n    r = {line}\n    return np.sum(r) + 0.0 * x[0]\n"
    return module_of(f"<{line}>", text, {"np": np, "math": math, "P": P})["f"]


@pytest.mark.parametrize("line", LINES)
def test_as_in_python(line):
    f, x = function_of(line), np.array([1.25, 0.3, 2.0])
    expected, found = outcome(f, x), outcome(value_and_grad(f, mode="python"), x)
    if isinstance(expected, Exception):
        assert isinstance(found, type(expected)), (expected, found)
        return
    value, slope = found
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    moved = [(f(x + step) - f(x - step)) / 2e-6 for step in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(slope, moved, rtol=1e-6, atol=1e-8)
