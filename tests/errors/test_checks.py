"""Checks that run with the program: errors as NumPy and Python raise them, with the numbers of the run."""

import sys

import numpy as np
import pytest

from autodiff import grad, vjp


def weighted(x, y):
    if x[0] < 0:
        raise ValueError(f"bad value {x[0]:.3f}, the first of {len(x)} in {x.shape}")
    assert x[1] < 5, f"{x[1]} is too large"
    return np.sum(x * y)


def product(a, b):
    return np.sum(a @ b)


def solved(a, b):
    return np.sum(np.linalg.solve(a, b))


def reshaped(a, b):
    return np.sum(a.reshape(2, -1)) * b[0]


def joined(a, b):
    return np.sum(np.concatenate([a, b], axis=0))


CASES = [
    (weighted, (np.ones(3), np.ones(4)), ValueError, "operands could not be broadcast together with shapes (3,) (4,)"),
    (weighted, (-np.ones(3), np.ones(3)), ValueError, "bad value -1.000, the first of 3 in (3,)"),
    (weighted, (np.array([1.0, 6.0]), np.ones(2)), AssertionError, "6.0 is too large"),
    (product, (np.ones((3, 4)), np.ones(5)), ValueError, "matmul: Input operand 1 has a mismatch in its core dimension 0, "
     "with gufunc signature (n?,k),(k,m?)->(n?,m?) (size 5 is different from 4)"),
    (solved, (np.eye(3), np.ones(5)), ValueError, "solve1: Input operand 1 has a mismatch in its core dimension 0"),
    (solved, (np.ones((3, 4)), np.ones(3)), ValueError, "must be square, not of shape (3,4)"),
    (reshaped, (np.ones((3, 3)), np.ones(2)), ValueError, "cannot reshape array of size 9 into shape (2,newaxis)"),
    (joined, (np.ones((3, 3)), np.ones((2, 5))), ValueError, "the array at index 1 has size 5"),
]


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize(("function", "args", "error", "message"), CASES)
def test_message(function, args, error, message, mode):
    with pytest.raises(error) as found:
        grad(function, mode=mode)(*args)
    assert message in str(found.value)


def test_in_the_forward_sweep_of_vjp():
    with pytest.raises(ValueError, match=r"shapes \(3,\) \(4,\)"):
        vjp(weighted, np.ones(3), np.ones(4), mode="python")


def test_an_error_does_not_stick():
    gradient = grad(weighted)
    ones = np.ones(3)
    for _ in range(2):
        np.testing.assert_array_equal(gradient(ones, 2 * ones), 2 * ones)
        with pytest.raises(ValueError, match=r"bad value -1\.000"):
            gradient(-ones, ones)


def noisy(x):
    print(f"first {x[0]}, then", x[1], "of", len(x))
    return np.sum(x)


def with_separators(x):
    print(x[0], 1, "a{b}", sep=", ", end=";")
    print("k", end="")
    print()
    print(x[0], sep="{}")
    print(end="!\n")
    print([x[0], 1.0], (x[1], "b"), sep="|", end="%\n")
    print(x[0], x[1], sep=None, end=None)
    for k in range(3):
        print(k, x[k % 2], sep="", end="\t", flush=True)
    print("a", "b", sep="\n", file=sys.stdout)
    return np.sum(x)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_prints_have_separators_and_ends(mode, capsys):
    x = np.array([1.5, 2.5])
    with_separators(x)
    wanted = capsys.readouterr().out
    grad(with_separators, mode=mode)(x)
    assert capsys.readouterr().out == wanted


def test_print_shows_numbers(capsys):
    grad(noisy, mode="python")(np.array([1.5, 2.5]))
    assert capsys.readouterr().out == "first 1.5, then 2.5 of 2\n"
