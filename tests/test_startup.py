"""What a process does before its first gradient: which modules are imported, and when Python collects garbage."""

import gc
import importlib.util
import os
import subprocess
import sys
import threading

import pytest
import scipy
from scipy.optimize import linprog

import autodiff
from autodiff.calling.collecting import PATIENCE, rarely
from autodiff.transforms.language.dependence import eliminate, insert

PROGRAM = """
import sys
import numpy as np
from autodiff import grad

def loss(x, k):
    total = 0.0
    for i in range(x.shape[0] - 1):
        total += k * (x[i + 1] - x[i]) ** 2
    return total + np.sum(np.exp(x))

first = grad(loss)
print(first(np.arange(4.0), 2.0).tolist(), first(np.arange(3.0), 2.0).size)
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""
OURS = ("check", "graph", "operators.inner_maps", "operators.jacobians", "operators.numba_values", "operators.pushforwards",
        "operators.splits", "operators.sparsity", "solvers", "transforms.differentiate.explain")
FROM_THE_STORE = ("concurrent.futures", "fractions", "numba.np.arraymath", "numba.np.arrayobj", "numpy.ma", "scipy.linalg")


def test_a_first_gradient_imports_little(tmp_path):
    """The second process brings machine code back, and loads nothing of what Numba needs to compile."""
    script = tmp_path / "model.py"
    script.write_text(PROGRAM)
    places = {"AUTODIFF_CACHE_DIR": str(tmp_path / "store"), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    names, printed = [f"autodiff.{name}" for name in OURS], []
    assert all(importlib.util.find_spec(name) for name in names)
    for _ in range(2):
        done = subprocess.run([sys.executable, script, *names, *FROM_THE_STORE], env={**os.environ, **places},
                              capture_output=True, text=True, check=True)
        printed.append(done.stdout.splitlines())
    assert printed[0][0] == printed[1][0]
    assert not set(printed[0][1].split()) & set(names)
    by_scipy = {"concurrent.futures"} if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 18) else set()
    assert not set(printed[1][1].split()) - by_scipy


def test_public_names_are_there_before_they_are_imported():
    """What the import makes stays, and is not looked through for garbage."""
    program = ("import gc, numba; gc.collect(); seen = []; gc.callbacks.append(lambda *which: seen.append(which))\n"
               "import autodiff; assert not seen and not gc.get_freeze_count()\n"
               "missing = set(autodiff.__all__) - set(dir(autodiff)); assert not missing, missing\n"
               "import sys; assert 'autodiff.solvers' not in sys.modules\n"
               "assert autodiff.solvers.root is autodiff.root and autodiff.check.check_grads is autodiff.check_grads\n"
               "names = {}; exec('from autodiff import *', names); assert set(autodiff.__all__) <= set(names)")
    subprocess.run([sys.executable, "-c", program], check=True,
                   env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = autodiff.nothing


def test_the_collector_is_left_as_it_was():
    before = gc.get_threshold()
    try:
        gc.set_threshold(700, 10, 10)
        with rarely():
            assert gc.get_threshold() == PATIENCE
            with rarely():
                pass
            assert gc.get_threshold() == PATIENCE
        assert gc.get_threshold() == (700, 10, 10)
        with pytest.raises(KeyError), rarely():
            raise KeyError
        entered, leave = threading.Event(), threading.Event()

        def other():
            with rarely():
                entered.set()
                leave.wait()
        with rarely():
            thread = threading.Thread(target=other)
            thread.start()
            entered.wait()
        leave.set()
        thread.join()
        assert gc.get_threshold() == (700, 10, 10)
        gc.set_threshold(0)                     # someone has turned it off
        with rarely():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)


def test_elimination_agrees_with_linear_programming():
    """Whether rationals satisfy equations and inequalities with small integer coefficients."""
    import random
    draw = random.Random(1)
    seen = set()
    for _ in range(60):
        def form():
            return {v: c for v in "abc" if (c := draw.randint(-3, 3))}, draw.randint(-4, 4)
        equations, inequalities = [form() for _ in range(draw.randint(0, 2))], [form() for _ in range(draw.randint(1, 4))]
        rows = [[-t.get(v, 0) for v in "abc"] for t, _ in inequalities]
        exact = [[t.get(v, 0) for v in "abc"] for t, _ in equations] or None
        wanted = linprog([0, 0, 0], rows, [c for _, c in inequalities], exact, [-c for _, c in equations] or None,
                         (None, None)).status != 2
        possible = True
        while equations and possible:
            terms, constant = equations.pop()
            if terms:
                v = next(iter(terms))
                equations = [insert(e, v, (terms, constant)) for e in equations]
                inequalities = [insert(e, v, (terms, constant)) for e in inequalities]
            else:
                possible = constant == 0
        assert (possible and eliminate(inequalities)) == wanted
        seen.add(wanted)
    assert len(seen) == 2
