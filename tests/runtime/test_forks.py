"""A process forked while others of its threads hold locks or compile."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, signal, threading, time
from autodiff.runtime.machine_code import forks
from numba.core.compiler_lock import global_compiler_lock

mine, compiled, ready = forks.new_lock(), [], threading.Event()

def hold():
    with mine, global_compiler_lock:            # as a thread that compiles
        ready.set()
        time.sleep(0.3)
        compiled.append(True)
    time.sleep(0.5)

thread = threading.Thread(target=hold)
thread.start()
ready.wait()
forks.parallel._is_initialized = True
child = os.fork()
if child == 0:
    signal.alarm(20)                            # ends a child that waits for ever
    with mine, global_compiler_lock:
        assert compiled and forks.child_of_threads()
    os._exit(0)
assert not forks.child_of_threads()
thread.join()
with global_compiler_lock:
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

LOADING = """
import os, signal, threading
from autodiff.runtime.machine_code import store
import numpy as np

path = store.write_module("slow", "import time\\ntime.sleep(0.3)\\ndef late(x): return 2.0 * x")
thread = threading.Thread(target=store.load_module, args=(path, "slow"))
thread.start()
while not store.LOADING._is_owned() and store.LOADING.acquire(blocking=False):
    store.LOADING.release()                     # until the thread has it
child = os.fork()
if child == 0:
    signal.alarm(20)
    assert store.load_module(path, "slow").late(2.0) == 4.0
    os._exit(0)
thread.join()
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

STARTING = """
import os, signal, sys, threading, time
import numpy as np, scipy.special
from autodiff import grad

sys.setrecursionlimit(1500)

def f(x):
    return np.sum(scipy.special.gammaln(x) * np.exp(x))

def g(x):
    return np.sum(scipy.special.erf(x) + x ** 2)

x, go = np.arange(1.0, 4.0), threading.Event()
thread = threading.Thread(target=lambda: (go.set(), grad(f)(x)))
thread.start()
go.wait()
children = []
for pause in (0.0, 0.005, 0.01, 0.02, 0.04, 0.1, 0.2, 0.4):
    time.sleep(pause)
    children.append(os.fork())
    if children[-1] == 0:
        signal.alarm(60)
        assert np.allclose(grad(f)(x)[0], -np.euler_gamma * np.e)
        assert np.allclose(grad(g)(x), 2 * x + 2 / np.sqrt(np.pi) * np.exp(-x ** 2))
        assert sys.getrecursionlimit() == 1500
        os._exit(0)
thread.join()
raise SystemExit(sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in children))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.parametrize("script", [SCRIPT, LOADING, STARTING], ids=["compiling", "loading", "starting"])
def test_a_child_finds_locks_free_and_no_compilation_or_module_half_done(script, tmp_path):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          env={**os.environ, "AUTODIFF_CACHE_DIR": str(tmp_path / "store")})
    assert done.returncode == 0, done.stderr
