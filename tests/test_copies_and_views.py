"""What is a copy and what the same memory, and options of NumPy's functions that change the result: as Python has it."""

import numpy as np
import pytest
from scipy.spatial import distance

from autodiff import AutodiffError, grad, value_and_grad, vjp

from .support import assert_gradient, assert_slope, direction_like, from_text

X, Y = np.array([0.11, 2.37, 0.34]), np.array([0.4, 0.5, -0.6])
A = np.array([[0.3, 0.2, 0.7], [0.1, 0.9, 0.45], [0.35, 0.6, 0.8]])
MADE = """np.conj(x)|np.conjugate(x)|x.conj()|x.conjugate()|np.conj(x[1:])|np.conj(A.T)|np.conj(x * 1.0)|+x|np.real(x)
x.real|np.reshape(x, (3, 1), copy=True)|np.reshape(x, (3, 1))|x.reshape(3, copy=True)|x.reshape(-1)
A.reshape(9, order="F", copy=True)|np.astype(x, float, copy=False)|np.astype(x, float)|x.astype(float, copy=False)
x.astype(float, "C", "unsafe", True, False)|x.astype(float, "C", "unsafe", True, True)|np.linalg.matrix_power(A, 1)
np.linalg.matrix_power(A, 2)|np.round(k)|k.round()|np.around(k, 1)
np.nan_to_num(k, copy=False)|np.nan_to_num(k)|np.nan_to_num(x, False)|k.conj()|np.conj(k)|np.floor(x)""".replace(
    "\n", "|").split("|")
GIVEN = """np.linalg.svd(A, hermitian=True)[1]|np.linalg.svd(A, compute_uv=False, hermitian=True)
np.linalg.svd(A, hermitian=True).U[0] * np.linalg.svd(A, True, True, True).Vh[0]|np.linalg.pinv(A, hermitian=True)[1]
np.fromiter(x, float, 2)[[0, 1, 1]]|np.fromiter((v * v for v in x), dtype=float, count=2)[[1, 1, 0]]|np.round(x, 1, y) + y
np.round(x, decimals=1, out=y) + y|np.around(x, 1, out=y) * y|x.round(1, out=y) + y|x.round(out=y) + y""".replace(
    "\n", "|").split("|")


def function(made: str, lines: str):
    name = "k" if "k" in made else "A" if "A" in made else "x"
    return from_text(f"<made {made}>", "import numpy as np\n\n\ndef f(x, y, A, k):\n" + lines.format(made=made, name=name))


@pytest.mark.parametrize("made", MADE)
def test_written_through_what_was_made(made):
    if "astype(x" in made and not hasattr(np, "astype") or "copy=True)" in made and np.__version__ < "2.1":
        pytest.skip("newer than this NumPy")
    for lines in ("    b = {made}\n    b[0] = 7\n    return np.sum({name} * y) + np.sum(b)\n",
                  "    b = {made}\n    {name}[0] = 7\n    return np.sum({name} * y) + np.sum(b)\n"):
        f = function(made, lines)
        given, mine = ([a.copy() for a in (X, Y, A, np.array([3, 1, 2]))] for _ in range(2))
        assert np.isclose(f(*given), vjp(f, *mine, mode="python")[0]), lines


@pytest.mark.parametrize("made", GIVEN)
def test_options(made):
    f = function(made, "    return np.sum({made} * np.array([1.0, 2.0, -0.5]))\n")
    args = X, Y, A, np.array([3, 1, 2])
    value, pull = vjp(f, *args, mode="python", debug=True)
    assert np.isclose(value, f(*[a.copy() for a in args]), rtol=1e-9)
    for position, bar in enumerate(pull(1.0)[:3]):
        d = direction_like(args[position], position)
        d = d + d.T if position == 2 else d         # as eigh and cholesky mean it: of matrices that stay symmetric
        assert_slope(float(np.sum(bar * d)), lambda *now: f(*[a.copy() for a in now]), args, position, d)


def test_what_is_too_short():
    with pytest.raises(ValueError, match="iterator too short"):
        vjp(lambda x: np.sum(np.fromiter(x, float, 5)), X, mode="python")


def test_castings():
    with pytest.raises(AutodiffError, match="Cannot cast"):
        vjp(lambda x: np.sum(x.astype(np.float32, casting="safe") * x), X, mode="python")
    assert np.array_equal(grad(lambda x: np.sum(x.astype(float, casting="safe") * x), mode="python")(X), 2 * X)


@pytest.mark.parametrize("f", [
    lambda x: distance.squareform(x, "tovector"), lambda x: distance.squareform(np.outer(x, x)),
    lambda x: distance.squareform(np.outer(x, Y)), lambda x: distance.squareform(np.outer(x, x)[:2])],
    ids=["a vector", "diagonal", "symmetric", "square"])
def test_no_matrix_of_distances(f):
    with pytest.raises(ValueError) as python:
        f(X)
    with pytest.raises(ValueError) as found:
        vjp(f, X, mode="python")
    assert str(found.value).split("\n")[0] == str(python.value)


def test_integers_divided_by_nothing():
    def f(x, k):
        nothing = k - k
        return np.sum(x * (k // nothing + k % nothing + nothing // nothing))
    with np.errstate(divide="ignore"):
        assert vjp(f, X, np.array([3, 1, 2]), mode="python")[0] == f(X, np.array([3, 1, 2])) == 0.0


@pytest.mark.parametrize("write", ["if x[0] > 0:\n        v[0] = x[2]", "if x[0] > 5:\n        v[0] = x[2]",
                                   "for k in range(int(x[2])):\n        v[0] = x[1] + k",
                                   "w = [v]\n    if x[0] > 0:\n        w[0][0] = 4.0"])
@pytest.mark.parametrize("made", [
    "np.eye(3).T", "np.arange(3.0)[None]", "np.linspace(0, 1, 3)[::-1]", "np.indices((2, 3))[1]",
    "np.broadcast_to(x[0], (3,))",
    "np.array(x[0]).reshape(1, 1)", "np.tri(3)[::-1]", "np.full(3, x[0])[::-1]", "np.meshgrid(x, x)[0].T", "(x * 2)[::-1]"])
def test_writes_on_one_path_to_views_of_what_a_function_makes(made, write):
    f = from_text(f"<{made}, {write}>", f"import numpy as np\n\ndef f(x):\n    v = {made}\n    {write}\n"
                                        "    return np.sum(v * v) + x[1]\n")
    x = np.array([1.0, 2.0, 3.0])
    try:
        expected = f(x)
    except ValueError:
        with pytest.raises(ValueError, match="read-only"):
            value_and_grad(f, mode="python")(x)
    else:
        assert value_and_grad(f, mode="python")(x)[0] == pytest.approx(expected)


HELD = """[y for _ in range(n)]|[y] * n|n * [y]|(y,) * n|[np.cos(x) for _ in range(n)] + [y]|[[y, y] for _ in range(n)]
[(y * 2.0, y) for _ in range(n)]|[y, y]""".replace("\n", "|").split("|")
AFTER = ["", "y = y * 2.0", "y = np.cos(y)\n    y[1] = x[0]", "z = y + 1.0\n    z[0] = x[1]\n    y = z"]


@pytest.mark.parametrize("made", ["np.sin(x)", "np.sin(x).copy()"])
@pytest.mark.parametrize("held", HELD)
def test_lists_hold_the_arrays_themselves(held, made):
    """An array that a list of run-time length holds is written to: Python's numbers, or refused; else all is as it is."""
    text = "import numpy as np\n\n\ndef f(x, n):\n    y = {}\n    L = {}\n    {}\n    return np.sum(np.array(L)) + y @ y\n"
    for k, after in enumerate(AFTER):
        f = from_text(f"<held {held} {made} {k}>", text.format(made, held, after or "pass"))
        assert_gradient(f, (X, 3), (0,), "python")
    f = from_text(f"<held {held} {made} written>", text.format(made, held, "y[0] = 5.0 * x[1]"))
    try:
        assert_gradient(f, (X, 3), (0,), "python")
    except AutodiffError as e:
        assert "y[0] = " in str(e) and "copy" in str(e)


@pytest.mark.parametrize("made", ["np.sin(x)", "np.sin(x).copy()"])
@pytest.mark.parametrize("lines, written", [
    ("L[0] = y", False), ("L[0] = y\n    L[1] = y", False),
    ("for i in range(n):\n        L[i] = y\n        y = np.cos(y)", False),
    ("L[0] = y\n    y[0] = 5.0 * x[1]", True), ("L[1] = y\n    L[1][0] = 5.0 * x[1]", True)])
def test_items_of_lists_are_bound_to_arrays(lines, written, made):
    f = from_text(f"<bound {lines} {made}>", f"import numpy as np\n\n\ndef f(x, n):\n    y = {made}\n"
                  f"    L = [np.cos(x) for _ in range(n)]\n    {lines}\n    return np.sum(np.array(L)) + np.sum(y ** 2)\n")
    if written:
        with pytest.raises(AutodiffError, match="copy"):
            grad(f, mode="python")(X, 3)
    else:
        assert_gradient(f, (X, 3), (0,), "python")
