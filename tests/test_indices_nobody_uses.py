"""Indices that no element depends on must lie in their axes all the same: Python raises IndexError."""

import numpy as np
import pytest

from autodiff import AutodiffError, value_and_grad

from .support import from_text

READS = """x[n]|x[n] * 0|m.reshape(1, -1)[n:][n, 0]|m.reshape(1, -1)[n:][n - 1, 0]|np.broadcast_to(x, (3, 2))[n, 0]
np.broadcast_to(x, (n, 2))[n, 0]|np.ones((n, 2))[n, 0]|np.full((n, 2), x[0])[n, 0]|x[None][n, 0]|np.tile(x, (n, 1))[n, 0]
np.repeat(x[None], n, axis=0)[n, 0]|np.meshgrid(x, np.arange(n))[0][n, 0]|np.eye(n)[n, 0]|x[:, None][0, n]
np.expand_dims(x, 1)[:, :n - 1][0, n - 1]|np.arange(n)[n] * 0|range(n)[n] * 0|np.zeros_like(x)[n]|np.atleast_2d(x)[n, 0]
np.sum(x, keepdims=True)[n]|np.indices((n, 2))[0, n, 0]|m.reshape(1, -1)[1:].flat[n]|m.reshape(1, -1)[1:].ravel()[n]
m[:, :0].flat[n]|m.flat[n]|m[1:].ravel()[n + 1]|np.outer(np.ones(n), x)[n, 0]|np.add.outer(np.zeros(n), x)[n, 1]
np.stack([x] * 2)[n, 0] * 0|(x[None] + np.zeros((n, 1)))[n, 0]|np.where(x > 9, x, 1.0)[n]|[1.0, 2.0][n] * x[0]
np.linspace(0, 1, 4)[n]|np.full_like(m, 2.0)[n, n]|x[::-1][n]|np.zeros((2, n))[1, n]|m.T[n, 0]|np.diag(m)[n]""".replace(
    "\n", "|").split("|")


def outcome(f, *args):
    try:
        return f(*args)
    except (IndexError, ValueError) as e:
        return type(e)


@pytest.mark.parametrize("read", READS)
def test_reads(read):
    f = from_text(f"<read {read}>", f"import numpy as np\n\n\ndef f(x, m, n):\n    t = {read}\n    return t + np.sum(x)\n")
    g = value_and_grad(f, mode="python")
    for n in (0, 1, 2, 3, 4, 5, -1, -2, -3, -5):
        args = np.array([0.5, 1.5]), np.arange(4.0).reshape(2, 2), n
        expected, found = outcome(f, *args), outcome(lambda *a: g(*a)[0], *args)
        same = issubclass(found, expected) if isinstance(expected, type) and isinstance(found, type) else found == expected
        assert same, (n, expected, found)


def test_writes_and_compiled():
    def f(x, m, n):
        v = m.reshape(1, -1)[1:]
        v[n, 0] = x[0]
        np.put(v, [n], x[0])
        return np.sum(v) + np.sum(x)
    for mode in ("python", "numba"):
        with pytest.raises(IndexError):
            value_and_grad(f, mode=mode)(np.ones(2), np.ones((2, 2)), 0)


def test_statement_alone():
    def f(x, n):
        for k in range(n):
            x[k]
        return np.sum(x)
    g = value_and_grad(f, mode="python")
    assert g(np.ones(3), 3)[0] == 3.0
    with pytest.raises(IndexError):
        g(np.ones(3), 4)


RAISING = """np.linalg.solve(s, x)|np.linalg.inv(s)|np.linalg.cholesky(-s)|scipy.linalg.solve(s, x)
scipy.linalg.cholesky(-s)|scipy.linalg.solve_triangular(s * 0.0, x)|np.linalg.matrix_power(s * 0.0, -1)
np.linalg.multi_dot([x])|7 // z|np.place(x.copy(), x > 0, [])
functools.reduce(lambda a, b: a, [])|np.arange(3) ** -3|(x.astype(int) ** -3)[:1]|x[3 + z]|x.item()
any(x[0])|np.put(x[:0], [0], 1.0)|len(zip(x, x))|zip(x, x)[0]|x.flat * 2|np.delete(x, 5)|math.sqrt(-x[0])
0 ** -(1 + z)|float("a")|np.dot(s, x, out=np.zeros(4)[::2])|(x > 0)[z + 3]|x.partition(7)
np.unstack(x)[5]|np.insert(x, [5], 1.0)"""


@pytest.mark.parametrize("way", ["    {}\n", "    t = {}\n", "    t = [{}]\n", "    r = r + np.sum({}) * 0.0\n",
                                 "    for q in range(1):\n        {}\n", "    if x[0] < 0.0:\n        {}\n"])
@pytest.mark.parametrize("raising", RAISING.replace("\n", "|").split("|"))
def test_what_raises_though_nobody_uses_it(raising, way):
    head = "import functools\nimport math\nimport numpy as np\nimport scipy.linalg\n\n\ndef f(x, s, z):\n    r = np.sum(x)\n"
    f = from_text(f"<{way}: {raising}>", head + way.format(raising) + "    return r\n")
    if "for" in way and "math" in raising:
        pytest.skip("in loops Python's math gives nan, which docs/errors.md says")
    args = np.array([0.5, 1.5]), np.ones((2, 2)), 0
    try:
        expected = f(*(np.copy(a) if k < 2 else a for k, a in enumerate(args)))
    except Exception as e:
        with pytest.raises((type(e), AutodiffError)):
            value_and_grad(f, mode="python")(*args)
    else:                                               # in a branch that is not taken, which may be refused
        try:
            assert value_and_grad(f, mode="python")(*args)[0] == expected
        except AutodiffError as e:
            assert isinstance(e, TypeError)
