"""Library calls on matrices whose size changes from one iteration to the next, and second order of in-place updates."""

import numpy as np
import pytest

from autodiff import check_grads

A = np.arange(9.0).reshape(3, 3) / 7 + np.eye(3)
V = np.array([0.3, 0.7, 1.1])


def columns_from(A, v):
    s = 0.
    for j in range(2):
        s += np.sum(A[:, j:]@v[j:])
    return s


def lower_right_block(A,v):
    s = 0.
    for j in range(3):
        s += np.sum((A[j:, j:]@v[j:])**2)
    return s


def outer_product(A,v):
    s=0.
    for j in range(3):
        s += np.sum(np.outer(v[j:], v[j:]@A[j:, j:])**2)
    return s


def several_products(A,v):
    s=0.
    for j in range(2):
        s += np.sum(A@A[:, j:])
    for j in range(3):
        s += np.sum(A[j:]@v)
    for j in range(1, 4):
        s += np.sum((A[:j, :j]@A[:j, :j])**2)
    return s


def givens(A,v):
    R=A.copy()
    G=np.array([[v[0],v[1]],[-v[1],v[0]]])
    for j in range(2):
        R[0:2, j:] = G@R[0:2, j:]
    return np.sum(R**2)


def householder(A,v):
    R=A.copy()
    for k in range(2):
        x = R[k:,k].copy()
        x[0] += np.sqrt(np.sum(x*x))
        x = x/np.sqrt(np.sum(x*x))
        R[k:, k:] -= 2*np.outer(x, x@R[k:, k:])
    return np.sum(R*np.arange(9.).reshape(3,3))


def inverses(A,v):
    s=0.
    for j in range(1, 4):
        s += np.sum(np.linalg.inv(A[:j, :j]+3*np.eye(j)))
    return s


def systems_and_spectra(A,v):
    s=0.
    for j in range(1, 4):
        s += np.sum(np.linalg.solve(A[:j, :j]+2*np.eye(j), v[:j])**2)
        if s > -100:
            s += np.linalg.det(A[:j,:j]@A[:j,:j].T+np.eye(j))
        w,q = np.linalg.eigh(A[:j,:j]@A[:j,:j].T)
        s += np.sum(np.sqrt(w+1.0))
    return s


def in_a_while(A,v):
    s=0.
    j=1
    while j < 4:
        B = A[:j,:j]@A[:j,:]
        s += np.sum((B@v)**2)
        j += 1
    return s


PROGRAMS = [columns_from, lower_right_block, outer_product, several_products, givens, householder, inverses,
    systems_and_spectra, in_a_while]


@pytest.mark.parametrize("program", PROGRAMS)
def test_first_and_second_order(program):
    assert check_grads(program, (A, V), modes=("fwd", "rev"), mode="python").worst < 1e-6
    assert check_grads(program, (A, V), order=2, directions=1, mode="python").worst < 1e-5


def test_compiled():
    for program in (columns_from, inverses):
        assert check_grads(program, (A, V), directions=1).worst < 1e-6


def overwritten_then_scaled(u, w):
    a = u.copy()
    a[1:] = w * a[:-1]
    a[1:] *= 2.0
    return np.sum(a ** 2)


def scaled_in_place(u, w):
    a = np.outer(u, u)
    for i in range(1, 3):
        a[i] = w * a[i - 1] + a[i]
    a[1:-1, 1:-1] *= 1.1
    return np.sum(a ** 3)


def descent(rate, y):
    w = y.copy()
    for _ in range(2):
        w -= rate * (A @ w)
    return np.sum(w ** 2)


@pytest.mark.parametrize("program, args", [(overwritten_then_scaled, (V, 0.6)), (scaled_in_place, (V, 0.6)), (descent,
    (0.1, V))])
def test_second_order(program, args):
    assert check_grads(program, args, order=2, modes=("fwd", "rev"), mode="python").worst < 1e-5
