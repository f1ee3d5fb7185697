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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_child_finds_locks_free_and_no_compilation_half_done():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
