"""Where the order in memory of an argument decides what is a view and what a copy: Python's numbers, or a refusal."""

import random

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from autodiff import AutodiffError, grad, value_and_grad

from .support import from_text, number_or_name

FIRST = ("A * 1.0; np.sin(A); A; np.zeros_like(A); np.copy(A); A.copy(); np.array(A); A.astype(float); "
         "np.where(A > 0, A, 1.0); A.T; A + A.T; np.full_like(A, 2.0); A[::-1]; A[:, 1:]; "
         "F * A[0, 0]; F; A @ A; np.concatenate([A, A]); A[[0, 1]]; "
         "np.cumsum(A, axis=0); np.stack([A, A]); np.array(A, order='C'); np.asfortranarray(A); A.sum(axis=0); A[:, 0]; "
         "A.ravel(); np.sqrt(A[::2])").split("; ")
BETWEEN = ("pass", "pass", "for _ in range(2): B = B * 1.5", "for _ in range(3): B = B.T + A.sum()",
           "if A[0, 0] > 0: B = B.T", "if A[0, 0] > 0: B = B[:, ::2]",
           "B = B.T if A[0, 1] > 0 else B * 2.0", "for k in range(2): B = np.sin(B).T", "C = B * 2.0; B, C = C, B",
           "for k in range(2):\n        w = B.ravel()\n        w *= 2.0\n        B = B.T * 1.0")
VIEW = ("B.reshape(-1); B.ravel(); np.ascontiguousarray(B); np.asfortranarray(B); B.T.reshape(-1); np.asarray(B); B.T; "
        "np.ravel(B, order='F'); B.flat; np.reshape(B, (B.size // 2, 2)); np.asarray(B, order='F'); B.flatten(); B[...]; "
        "B.view()").split("; ")
WRITE = ("w *= 2.0", "w[0] = 5.0", "B *= 2.0", "B[0] = 3.0", "A[0] = 7.0", "A *= 3.0", "B = B + 1; w *= 2", "pass")
RESULT = ("np.sum(B)", "np.sum(w) + np.sum(B)", "np.sum(A)", "np.sum(A) + 2 * np.sum(w)",
          "(1.0 if w is B else 2.0) * np.sum(A)",
          "float(w is A) + np.sum(A)", "np.sum(A * A) + np.sum(B * B)")
X = np.arange(1.0, 17.0).reshape(4, 4) / 7
OUTSIDE = np.asfortranarray(X * 3.0)


def laid_out() -> list:
    wide = np.zeros((8, 8))
    wide[::2, ::2] = X
    return [X.copy(), np.asfortranarray(X), wide[::2, ::2], X.copy().T]


def function_of(*lines):
    text = "".join(f"    {line}\n" for line in lines)
    f = from_text(f"<{'; '.join(lines)}>", f"import numpy as np\nF = None\n\ndef f(A):\n{text}")
    f.__globals__["F"] = OUTSIDE.copy(order="F")
    return f


def compare(*lines) -> list:
    """What ours gives for each layout, compared with Python."""
    f = function_of(*lines)
    derived = value_and_grad(f, mode="python")
    found = []
    for mine, python in zip(laid_out(), laid_out(), strict=True):
        ours = number_or_name(lambda mine=mine: derived(mine)[0])
        f.__globals__["F"][...] = OUTSIDE
        expected = number_or_name(f, python)
        f.__globals__["F"][...] = OUTSIDE
        assert ours == "refused" or ours == expected or ours == pytest.approx(expected, rel=1e-12), (lines, expected, ours)
        found.append(ours)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_random_programs(seed, programs=40):
    draw = random.Random(seed)
    for _ in range(programs):
        compare(f"B = {draw.choice(FIRST)}", draw.choice(BETWEEN), f"w = {draw.choice(VIEW)}", draw.choice(WRITE),
                f"return {draw.choice(RESULT)}")


STEPS = ("{}.ravel(); np.ravel({}, order='F'); {}.reshape(-1); {}.T; {}[:1]; {}[..., :1]; {}[::2]; {}[::-1]; {}[..., 0]; "
         "np.asarray({}, order='F'); np.asarray({}, order='C'); np.ascontiguousarray({}); np.asfortranarray({}); {}[None]; "
         "{}.reshape(2, -1); ({} * 1.0); np.atleast_2d({}); np.squeeze({}); {}.copy(); np.expand_dims({}, 0); np.sin({}).T; "
         "{}[..., 1:]; np.require({}, requirements='F'); np.moveaxis({}, 0, -1); np.array({}, copy=None, order='F'); "
         "{}.view(); np.flip({}); np.swapaxes({}, 0, -1)").split("; ")
STARTS = ("A * 1.0", "np.outer(A[0], A[1])", "A", "np.zeros((4, 4)) + A", "A.copy()", "np.outer(A[0], A[1])[:, :1]", "A @ A")


@pytest.mark.parametrize("seed", range(3))
def test_random_chains_of_views(seed, programs=30):
    draw = random.Random(seed)
    for _ in range(programs):
        names = ["v0"]
        lines = [f"v0 = {draw.choice(STARTS)}"]
        for k in range(1, draw.randint(2, 5)):
            made = draw.choice(STEPS).format(names[-1])
            lines.append(f"v{k} = {draw.choice(STEPS).format(made) if draw.random() < 0.3 else made}")
            names.append(f"v{k}")
        write = draw.choice(("{} *= 2.0", "{}[0] = 7.0", "{}[...] = 3.0", "{}.reshape(-1)[1] = 9.0"))
        path = draw.choice(("", "", "if A[0, 0] > 0.1: ", "if A[0, 0] > 0.2: ", "for _ in range(2): "))
        lines.append(path + write.format(draw.choice(names)))
        total = " + ".join(f"{k + 1} * np.sum({v} * {v})" for k, v in enumerate(names))
        compare(*lines, f"return np.sum(A) + {total}")


@pytest.mark.parametrize("lines", [
    ("v = np.outer(A[0], A[0])[:, :1].ravel()", "w = np.asarray(v, order='F')", "v[1] = 50.0", "return np.sum(w)"),
    ("v = np.outer(A[0], A[0])[:, 0].ravel()", "w = np.ascontiguousarray(v)", "w[1] = 50.0", "return np.sum(v)"),
    ("B = A * 1.0", "w = B.reshape(-1)", "w *= 2.0", "return np.sum(B)"),
    ("w = np.ascontiguousarray(A.T)", "w *= 2.0", "return np.sum(A)"),
    ("w = np.asfortranarray(A)", "w *= 2.0", "return np.sum(A)"),
    ("B = np.zeros_like(A)", "w = B.reshape(-1)", "w += A[0, 1]", "return np.sum(B)"),
    ("B = F * A[0, 1]", "w = B.ravel()", "w *= 2", "return np.sum(B)"),
    ("B = A.copy()", "for k in range(2): B = np.sin(B).T", "w = B.T.reshape(-1)", "w[0] = 5.0", "return np.sum(B)"),
    ("B = A.T", "B = B.T if A[0, 1] > 0 else B * 2.0", "w = np.asfortranarray(B)", "w[:1] = 0.5",
     "return np.sum(A) + np.sum(w)"),
    ("x = A[0]", "return 2.0 * x[0] if x.T is x or np.transpose(x) is x or x.ravel() is x or x.view() is x else x[1]")])
def test_was_wrong_once(lines):
    compare(*lines)


@pytest.mark.parametrize("lines", [
    ("return np.sum(A.ravel() ** 2) + np.sum(np.ascontiguousarray(A.T) * A)",),
    ("B = np.zeros_like(A)", "B[0] = 3.0", "B *= A", "return np.dot(B.reshape(-1), A.ravel())"),
    ("B = A.copy()", "w = B.reshape(-1)", "w *= 2.0", "return np.sum(B)"),
    ("for _ in range(3): A = A + A.T", "return A.ravel() @ A.reshape(-1)")])
def test_what_nothing_writes_may_lie_in_any_order(lines):
    assert "refused" not in compare(*lines)


def test_the_refusal_says_which_array():
    f = function_of("B = A * 1.0", "w = B.reshape(-1)", "w *= 2.0", "return np.sum(B)")
    derivative = grad(f)
    np.testing.assert_allclose(derivative(X), 2.0)
    with pytest.raises(AutodiffError, match=r"argument `A` does not lie in memory row by row"):
        derivative(np.asfortranarray(X))
    np.testing.assert_allclose(derivative(X), 2.0)
    with pytest.raises(AutodiffError, match=r"argument `A` does not lie in memory row by row"):
        derivative(np.asfortranarray(X))

    @njit
    def caller(a):
        return derivative(a)
    np.testing.assert_allclose(caller(X), 2.0)
    with pytest.raises(TypingError, match="row by row"):
        caller(np.asfortranarray(X))


def test_arrays_outside_are_asked_at_each_call():
    f = function_of("B = F * A[0, 1]", "w = B.ravel()", "w *= 2", "return np.sum(B)")
    derived = value_and_grad(f)
    with pytest.raises(AutodiffError, match="array `F` does not lie"):
        derived(X)
    f.__globals__["F"] = np.ascontiguousarray(OUTSIDE)
    assert [derived(X)[0] for _ in range(4)] == pytest.approx([f(X)] * 4)
    f.__globals__["F"] = OUTSIDE
    with pytest.raises(AutodiffError, match="array `F` does not lie"):
        derived(X)
