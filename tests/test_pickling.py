"""Compiled objects in other processes: functions that no module has go as text."""

import copy
import functools
import importlib.util
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

from autodiff import SourceUnavailable, differentiable, grad, hessian, value_and_grad
from autodiff.calling import pickling
from autodiff.calling.pickling import loaded, pickled
from autodiff.rules import partials

PLACES = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
SCALE = 3.0

SCRIPT = '''\
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit

import autodiff
from autodiff.rules import pullback

SCALE = 3.0

@dataclass
class Config:
    k: float = 2.0

CONFIG = Config()

def helper(x):
    return SCALE * x * x

@pullback(helper)
def helper_rule(y_bar, y, x):
    return 100.0 * y_bar

@njit
def jitted(x):
    return 5.0 * x

def loss(x):
    """Its text has a comment at column 0."""
# here
    return np.sum(helper(x[0])) + CONFIG.k * jitted(x[1])

@autodiff.grad(mode="python")
def decorated(x):
    return x * x

class Model:
    def __init__(self, a):
        self.a = a

    def value(self, x):
        return self.a * x * x

slopes = autodiff.grad(loss, mode="python")

def inside():
    def inner(x):
        return SCALE * x if x < 100.0 else inner(x - 1.0)
    return autodiff.grad(inner, mode="python")

FUNCTIONS = (autodiff.grad(lambda x: SCALE * x, mode="python"), inside(), decorated,
             autodiff.grad(Model(3.0).value, mode="python"))
'''
POOL = '''
if __name__ == "__main__":
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        print(pool.submit(slopes, np.array([1.0, 2.0])).result().tolist(),
              *(float(pool.submit(f, 2.0).result()) for f in FUNCTIONS))
'''
PARALLEL = '''
from joblib import Parallel, delayed

def call(f, x):
    return f(x)

if __name__ == "__main__":
    run = Parallel(n_jobs=2, timeout=100)
    print(run([delayed(call)(slopes, np.array([1.0, 2.0]))])[0].tolist(),
          *map(float, run([delayed(call)(f, 2.0) for f in FUNCTIONS])))
'''


@pytest.mark.parametrize("pool", [
    POOL,
    pytest.param(PARALLEL, marks=pytest.mark.skipif(importlib.util.find_spec("joblib") is None, reason="joblib")),
], ids=["spawn", "joblib"])
def test_functions_of_a_script(tmp_path, pool):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT + pool)
    done = subprocess.run([sys.executable, path], env=PLACES, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.split("\n")[0] == "[100.0, 10.0] 3.0 3.0 4.0 12.0", done.stderr


def even(n, x):
    return x if n == 0 else odd(n - 1, x) * 2.0


def odd(n, x):
    return 1.0 if n == 0 else even(n - 1, x)


@functools.lru_cache
def cached(x):
    return x * x


def there(tmp_path, *functions):
    """What functions give at 2.0 in a process that has nothing of this module."""
    path = tmp_path / "functions"
    path.write_bytes(pickle.dumps(functions))
    done = subprocess.run([sys.executable, "-c", f"import pickle; fs = pickle.load(open({str(path)!r}, 'rb'))\n"
                           "print(*(float(f(2.0)) for f in pickle.loads(pickle.dumps(fs))))"],
                          env={**PLACES, "PYTHONPATH": ""}, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert not done.stderr, done.stderr
    return [float(word) for word in done.stdout.split()]


def test_closures_defaults_and_recursion(tmp_path, monkeypatch):
    for f in (even, odd, cached, cached.__wrapped__):               # as in a notebook
        monkeypatch.setattr(f, "__module__", "__main__")
    weights = np.arange(3.0)

    def counted(x, y=4.0, *, z=2.0):
        assert x > 0.0, f"{x} is negative"
        def inner(t):
            return t * y * z
        return inner(x) + np.sum(weights) * x + (counted(x / 2.0) if x > 3.0 else 0.0)

    @njit
    def compiled(x):
        return 7.0 * x
    made = grad(counted, mode="python"), grad(lambda x: even(2, x) + cached(x) + compiled(x), mode="python"), differentiable(
        lambda x: (SCALE *
                   x), mode="python")
    assert there(tmp_path, *made) == [f(2.0) for f in made] == [11.0, 13.0, 6.0]


def test_what_is_sent_is_what_was_loaded():
    f = lambda x: SCALE * x
    data = pickled(f)
    assert loaded(data) is loaded(data) is not f            # nothing it holds can change
    assert loaded(pickled(loaded(data)))(2.0) == 6.0
    values = [1.0]
    g = lambda x: values[0] * x
    data = pickled(g)
    one, other = loaded(data), loaded(data)
    one.__closure__[0].cell_contents[0] = 5.0
    assert (g(1.0), one(1.0), other(1.0)) == (1.0, 5.0, 1.0)


def test_shared_variables_stay_shared():
    total = [0.0]
    def add(x):
        nonlocal total
        total = [x]
        return x
    add_again, read = pickle.loads(pickled((add, lambda: total[0])))
    add_again(3.0)
    assert read() == 3.0 and total == [0.0]


def test_rules_go_with_their_functions():
    def f(x):
        return x * x

    @partials(f)
    def rule(y, x):
        return 100.0
    again = loaded(pickled(lambda x: f(x) + 0.0))
    assert value_and_grad(again, mode="python")(3.0) == (9.0, 100.0)


def test_what_cannot_be_sent(monkeypatch):
    monkeypatch.setattr(pickling, "CLOUDPICKLES", ())        # which other tests may have loaded, and which sends more
    file = open(os.devnull)
    def reads(x):
        return x if file else 0.0
    said = r"its variable `reads`: `reads` .* its variable `file`: cannot pickle"
    with file, pytest.raises(pickle.PicklingError, match=said):
        pickle.dumps(grad(lambda x: reads(x)))
    space: dict = {}
    exec("def nowhere(x): return x", space)
    with pytest.raises((pickle.PicklingError, SourceUnavailable), match="not available"):
        pickle.dumps(grad(space["nowhere"]))


def squared(x):
    return x * x


def test_a_copy_is_an_equal_object():
    for made in (grad(squared, mode="python"), value_and_grad(squared, mode="python"), hessian(squared, mode="python")):
        twin = copy.copy(made)
        assert twin is not made and type(twin) is type(made)
        assert twin(3.0) == made(3.0)


OBJECTS = '''\
import linecache, os, pickle, subprocess, sys
import cloudpickle
from functools import partial
from autodiff import grad

class Model:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return self.k * self.square(x)

    def square(self, x):
        return x ** 2

    def cube(self, x, shift=0.0):
        return self.k * (x + shift) ** 3

CHILD = """
import pickle, sys
for line in sys.stdin:
    print(pickle.loads(bytes.fromhex(line))(3.0))
"""

if __name__ == "__main__":
    linecache.getlines(__file__)
    os.unlink(__file__)                     # as on another machine
    model = Model(2.0)
    sent = [grad(f, mode="python") for f in (model.cube, model, partial(model), partial(model.cube, shift=1.0), model.cube)]
    for order in (sent, sent[::-1]):
        lines = "\\n".join(cloudpickle.dumps(g).hex() for g in order)
        print(subprocess.run([sys.executable, "-c", CHILD], input=lines, capture_output=True, text=True).stdout.split())
'''


def test_objects_of_the_main_program_arrive_with_the_texts_of_their_methods_in_any_order(tmp_path):
    pytest.importorskip("cloudpickle")
    script = tmp_path / "program.py"
    script.write_text(OBJECTS)
    told = subprocess.run([sys.executable, str(script)], env=PLACES, capture_output=True, text=True)
    values = ["54.0", "12.0", "12.0", "96.0", "54.0"]
    assert told.stdout.splitlines() == [str(values), str(values[::-1])], told.stderr
