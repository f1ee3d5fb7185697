"""Functions of the package in machine code: one for all layouts, called by name; and callers that Numba keeps."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from autodiff.runtime.linear_algebra import blas, linalg

CALLER = """
import numpy as np
from numba import njit
from autodiff import grad
from model import f
g = grad(f)

@njit(cache=True)
def total(A, x):
    return g(A, x).sum()

A, x = np.arange(81.0).reshape(9, 9) / 81, np.arange(9.0)
print(total(A, x).hex(), g(A, x).sum().hex())
"""
MODEL = """
import numpy as np

def f(A, x):
    return np.sum(np.sin(A @ x)) * {}
"""


@numba.njit
def products(a, b, rows, columns, scattered):
    linalg.matmul_into(rows, a, b)
    linalg.add_matmul(columns.T, b.T, a.T)
    linalg.matmul_into(scattered[::2, ::2], a[::2], b[:, ::2])


@pytest.mark.parametrize("n", [3, 9])
def test_arrays_of_any_layout_are_multiplied_by_one_function(n):
    a, b, columns = np.random.default_rng(n).normal(size=(3, n, n))
    rows, scattered, before, known = np.empty((n, n)), np.empty((n, n)), columns.copy(), set(blas.matrix_matrix.overloads)
    products(a, b, rows, columns, scattered)
    np.testing.assert_allclose(rows, a @ b, rtol=1e-13)
    np.testing.assert_allclose(columns, before + a @ b, rtol=1e-13)
    np.testing.assert_allclose(scattered[::2, ::2], a[::2] @ b[:, ::2], rtol=1e-13)
    made = set(blas.matrix_matrix.overloads) - known            # none, if others have asked before
    assert {array.layout for kind in made for array in kind[:3]} <= {"A"}
    assert "A" in {kind[0].layout for kind in blas.matrix_matrix.overloads}


def test_errors_of_functions_called_by_name_are_raised():
    a = np.eye(9)
    with pytest.raises(ValueError, match="shapes do not fit"):
        products(a, np.ones((8, 9)), a.copy(), a.copy(), a.copy())


def test_callers_that_numba_keeps_are_compiled_again_and_see_the_function_as_it_is(tmp_path):
    """Numba loaded the caller with its copy of the gradient, or failed to find the module that this was."""
    (tmp_path / "caller.py").write_text(CALLER)
    environment = {**os.environ, "AUTODIFF_CACHE_DIR": str(tmp_path / "store")}
    sums = []
    for factor in (1.0, 2.0):
        (tmp_path / "model.py").write_text(MODEL.format(factor))
        done = subprocess.run([sys.executable, "caller.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
        compiled, direct = map(float.fromhex, done.stdout.split() or pytest.fail(done.stderr))
        assert compiled == pytest.approx(direct, rel=1e-14)
        sums.append(compiled)
    assert sums[1] == pytest.approx(2.0 * sums[0], rel=1e-14)


LOADED = """
import numpy as np
from autodiff import grad
from autodiff.runtime.machine_code import kept
def f(A, x): return np.sum(np.sin(A @ x))
kept._LibraryCache.load_overload = lambda *given: None           # the machine code of the package is gone
g = grad(f)
print(g(np.eye(9), np.ones(9)).sum().hex())
"""


def test_functions_that_loaded_code_calls_are_compiled_if_they_are_gone(tmp_path):
    """Calling a routine of BLAS whose name nobody had given an address ended the process."""
    (tmp_path / "loaded.py").write_text(LOADED)
    environment = {**os.environ, "AUTODIFF_CACHE_DIR": str(tmp_path / "store")}
    runs = [subprocess.run([sys.executable, "loaded.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
            for _ in range(2)]
    assert [done.returncode for done in runs] == [0, 0], runs[1].stderr
    assert runs[0].stdout == runs[1].stdout
