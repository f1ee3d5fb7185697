"""Compilation of generated modules, and the machine code kept between processes."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from autodiff.runtime.machine_code import jit, store
from autodiff.runtime.machine_code.jit import CompilationFailed, jit_functions

KEY = "norm_grad:float64"
TEXT = '''"""Functions that call each other."""
import math
import numpy as np
from autodiff.runtime.numbers import helpers


def part(x):
    return helpers.sign(x) * math.sqrt(x * x)


def factorial(n):
    if n <= 1:
        return 1.0
    return n * factorial(n - 1)


def total(a):
    s = 0.0
    for i in range(a.shape[0]):
        s += part(a[i]) / factorial(int(0.0 * a[0]) + 3)
    return s


def even(n):
    if n == 0:
        return True
    return odd(n - 1)


def odd(n):
    if n == 0:
        return False
    return even(n - 1)
'''
NAMES = ["part", "factorial", "total", "even", "odd"]
SIGNATURE = {"total": "float64(float64[::1])"}


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    """A fresh store for each test."""
    monkeypatch.setenv("AUTODIFF_CACHE_DIR", str(tmp_path / "store"))
    return tmp_path / "store"


def load(text=TEXT, key=KEY):
    return store.load_module(store.write_module(key, text), key)


def machine_code(directory, name=""):
    return sorted((directory / "__pycache__").glob(f"*.{name}*.nbc"))


IN_ANOTHER_PROCESS = f"""
import json, sys
import numpy as np
from autodiff.runtime.machine_code import jit, store
key = {KEY!r}
text = store.read_module(key)
module = store.load_module(store.write_module(key, text), key)
made = jit.jit_functions(module, {NAMES!r}, signatures={SIGNATURE!r})
result = made["total"](np.array([6.0, -12.0]))
ready_to_compile = "numba.np.arraymath" in sys.modules
circular = [made["even"](4), made["odd"](4)]
print(json.dumps([result, circular, sum(made["total"]._cache_hits.values()), ready_to_compile]))
"""


def afresh():
    """`total` from the store or compiled, by a module that this process has not seen."""
    del sys.modules[load().__name__]
    return jit_functions(load(), NAMES, signatures=SIGNATURE)["total"]


def in_another_process():
    done = subprocess.run([sys.executable, "-c", IN_ANOTHER_PROCESS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_functions_call_each_other_compiled():
    module = load()
    made = jit_functions(module, NAMES, signatures=SIGNATURE)
    assert made["total"](np.array([6.0, -12.0])) == -1.0
    assert made["even"](7) is False and made["factorial"](4) == 24.0
    assert module.part is made["part"] and module.part.signatures           # called as compiled code
    assert jit_functions(module, NAMES)["total"] is made["total"]


def test_python_mode_is_plain_even_after_compiling():
    module = load()
    jit_functions(module, NAMES)
    made = jit_functions(module, NAMES, mode="python")
    assert made["total"](np.array([6.0, -12.0])) == -1.0
    assert made["even"].__globals__["odd"] is made["odd"]
    assert type(made["odd"]).__name__ == "function"
    assert made["total"].__code__.co_filename == module.__file__


def test_a_signature_is_compiled_now_and_is_the_only_one():
    made = jit_functions(load(), NAMES, signatures=SIGNATURE)
    assert len(made["total"].signatures) == 1 and not made["even"].signatures
    with pytest.raises(TypeError, match="No matching definition"):
        made["total"](np.ones(3, np.float32))
    assert made["part"](np.float32(-2.0)) == -2.0                           # no signature: any type


def test_another_signature_can_be_added_later():
    module = load()
    jit_functions(module, NAMES, signatures=SIGNATURE)
    made = jit_functions(module, NAMES, signatures={"total": "(float32[::1],)"})
    assert len(made["total"].signatures) == 2
    assert made["total"](np.array([6.0], np.float32)) == 1.0


def test_division_by_zero_is_ieee():
    made = jit_functions(load("def f(x):\n    return 1.0 / x\n"), ["f"])
    assert made["f"](0.0) == np.inf


def test_fastmath_is_fixed_per_module():
    module = load("def f(x):\n    return x + 1.0\n")
    jit_functions(module, ["f"], fastmath=True)
    with pytest.raises(ValueError, match="fastmath"):
        jit_functions(module, ["f"])


def test_unknown_mode():
    with pytest.raises(ValueError, match="'cuda'"):
        jit_functions(load(), NAMES, mode="cuda")


@pytest.mark.parametrize("signatures", [{"f": "float64(float64)"}, None], ids=["now", "at the first call"])
def test_failure_is_reported_as_ours(signatures):
    module = load("def f(x):\n    return x.nothing_like_this + undefined\n")
    with pytest.raises(CompilationFailed) as failure:
        jit_functions(module, ["f"], signatures=signatures)["f"](1.0)
    message = str(failure.value)
    assert module.__file__ in message and "`" not in message.splitlines()[0]
    assert "nothing_like_this" in message or "undefined" in message
    assert len(message.splitlines()) <= 21
    assert isinstance(failure.value.__cause__, Exception)


def test_variables_whose_names_end_in_digits():
    """Numba takes what is read of `t_1` at place 328 of the bytecode and of `t_13` at 28 for one variable."""
    names = [f"t_{k}" for k in reversed(range(15))]
    body = [f"    {n}_b = b if {n} else 0.0\n    b = 0.0 if {n} else b" for n in names]
    text = "\n".join([f"def chosen({', '.join(names)}, b):", *body, f"    return {' + '.join(f'{n}_b' for n in names)}"])
    signature = {"chosen": f"float64({', '.join(['boolean'] * 15)}, float64)"}
    made = jit_functions(load(text, "chosen"), ["chosen"], signatures=signature)["chosen"]
    assert made(*[k == 3 for k in range(15)], 2.5) == 2.5
    assert made(*[False] * 15, 2.5) == 0.0


def test_errors_of_the_running_code_are_not_failures():
    made = jit_functions(load("def f(n):\n    if n < 0:\n        raise IndexError('index out of bounds')\n"
                              "    return n\n"), ["f"])
    with pytest.raises(IndexError, match="index out of bounds"):
        made["f"](-1)


def test_another_process_reloads_machine_code_without_what_numba_compiles_with():
    jit_functions(load(), NAMES, signatures=SIGNATURE)
    result, circular, hits, ready_to_compile = in_another_process()
    assert (result, circular, hits) == (-1.0, [True, False], 1)
    assert not ready_to_compile


def test_functions_that_call_each_other_in_a_circle_survive_a_new_process(directory):
    made = jit_functions(load(), NAMES)
    assert made["even"](4) is True and made["factorial"](3) == 6.0
    assert not machine_code(directory, "even") and not machine_code(directory, "odd")   # see jit.py
    assert machine_code(directory, "factorial")
    for _ in range(2):
        assert in_another_process()[1] == [True, False]


@pytest.mark.parametrize("damage", [
    lambda data: b"",
    lambda data: data[:100],
    lambda data: data[:-1],
    lambda data: os.urandom(len(data)),
    lambda data: data[:5000] + bytes([data[5000] ^ 1]) + data[5001:],
], ids=["empty", "header only", "cut", "garbage", "one bit"])
def test_damaged_machine_code_is_compiled_anew(directory, damage):
    jit_functions(load(), NAMES, signatures=SIGNATURE)
    for path in machine_code(directory):
        path.write_bytes(damage(path.read_bytes()))
    for hits in (0, 1):
        made = afresh()
        assert (made(np.array([6.0, -12.0])), sum(made._cache_hits.values())) == (-1.0, hits)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_machine_code_writable_by_others_is_ignored(directory):
    jit_functions(load(), NAMES, signatures=SIGNATURE)
    for path in machine_code(directory):
        path.chmod(0o666)
    assert not afresh()._cache_hits


def test_machine_code_of_another_text_or_option_is_not_used(directory):
    jit_functions(load(), NAMES, signatures=SIGNATURE)
    before = set(machine_code(directory, "total"))
    made = jit_functions(load(TEXT.replace("+ 3)", "+ 1)")), NAMES, signatures=SIGNATURE)
    assert made["total"](np.array([6.0])) == 6.0
    other = load(TEXT + "\n")
    jit_functions(other, NAMES, signatures=SIGNATURE, fastmath=True)
    assert len(set(machine_code(directory, "total")) - before) == 2


def test_machine_code_depends_on_this_packages_text(directory, monkeypatch):
    module = load()
    jit_functions(module, ["part"], signatures={"part": "float64(float64)"})
    module.part = module.part.py_func
    monkeypatch.setattr(jit, "package_stamp", lambda: "another version")
    made = jit_functions(module, ["part"], signatures={"part": "float64(float64)"})
    assert not made["part"]._cache_hits and len(machine_code(directory)) == 2


def test_a_recursion_that_changes_its_types_survives_a_new_process():
    text = TEXT.replace("factorial(int(0.0 * a[0]) + 3)", "factorial(3)")       # a literal, then an int64
    assert jit_functions(load(text), NAMES, signatures=SIGNATURE)["total"](np.array([6.0])) == 1.0
    for _ in range(2):
        assert in_another_process()[0] == -1.0


def test_a_directory_that_cannot_be_written_only_costs_the_cache(directory, monkeypatch):
    module = load()
    monkeypatch.setattr(jit.tempfile, "TemporaryFile", _refuse)
    made = jit_functions(module, NAMES, signatures=SIGNATURE)
    assert made["total"](np.array([6.0])) == 1.0
    assert not machine_code(directory)


def test_a_full_disk_only_costs_the_cache(directory, monkeypatch):
    monkeypatch.setattr(jit, "write_private_file", _refuse)
    made = jit_functions(load(), NAMES, signatures=SIGNATURE)
    assert made["total"](np.array([6.0])) == 1.0
    assert not machine_code(directory)


def test_code_in_the_temporary_directory_is_not_cached(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AUTODIFF_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="cannot be used"):
        module = load()
    assert jit_functions(module, NAMES, signatures=SIGNATURE)["total"](np.array([6.0])) == 1.0
    assert not (store.store_directory() / "__pycache__").exists()


def test_eight_threads_compile_one_module():
    module = load()
    ready = threading.Barrier(8)

    def work(_):
        ready.wait()
        made = jit_functions(module, NAMES, signatures=SIGNATURE)
        return made["total"](np.array([6.0, -12.0])), id(made["total"])

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    assert len(set(results)) == 1 and results[0][0] == -1.0


def test_two_processes_compile_at_once(directory):
    store.write_module(KEY, TEXT)
    running = [subprocess.Popen([sys.executable, "-c", IN_ANOTHER_PROCESS], stdout=subprocess.PIPE, text=True)
               for _ in range(2)]
    results = [json.loads(process.communicate()[0])[0] for process in running]
    assert results == [-1.0, -1.0]
    assert sum(afresh()._cache_hits.values()) == 1


THREADS = """
import numpy as np
from numba import prange

def part(a, k):
    s = 0.0
    for i in range(k, a.shape[0], 2):
        s += a[i]
    return s

def threads(a, parts):
    for k in prange(2):
        parts[k] = part(a, k)
    return 0

def total(a):
    parts = np.empty(2)
    done = threads(a, parts)
    return parts[0] + parts[1]
"""


def test_what_runs_on_threads_is_one_file_and_starts_them_for_its_callers_too(directory):
    """Code that had its callees from disk did not start the threads in a later process, whose end that was."""
    made = jit_functions(load(THREADS), ["part", "threads", "total"], signatures=SIGNATURE, parallel=["threads"])
    values = np.random.default_rng(0).normal(size=1000)
    assert [path.name.split(".")[1].split("-")[0] for path in machine_code(directory)] == ["total"]
    script = f"""
import numpy as np
from autodiff.runtime.machine_code import jit, store
module = store.load_module(store.write_module({KEY!r}, {THREADS!r}), {KEY!r})
made = jit.jit_functions(module, ["part", "threads", "total"], signatures={SIGNATURE!r}, parallel=["threads"])
[compiled] = made["total"].overloads.values()
assert sum(made["total"]._cache_hits.values()) == 1 and len(compiled.library._reload_init) > 1
print(made["total"](np.random.default_rng(0).normal(size=1000)).hex())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == made["total"](values).hex(), done.stderr


def test_machine_code_that_calls_what_is_not_there_is_compiled_anew(directory, monkeypatch):
    reduce = jit.CompiledFunction.reduce
    monkeypatch.setattr(jit.CompiledFunction, "reduce",
                        lambda self, cres: (["no_such_function"], reduce(self, cres)[1]))
    jit_functions(load(), NAMES, signatures=SIGNATURE)
    assert machine_code(directory, "total")
    result, _, hits, _ = in_another_process()
    assert (result, hits) == (-1.0, 0)


def test_two_signatures_never_share_a_file(directory):
    """Numba numbers its files, so two processes at once could swap the code of two signatures."""
    made = jit_functions(load(), ["part"])
    made["part"](1.0)
    made["part"](np.float32(1.0))
    assert len(machine_code(directory, "part")) == 2


def _refuse(*arguments, **keywords):
    raise PermissionError("read-only file system")


def test_functions_of_the_package_are_kept_one_file_each():
    """Numba numbers the files of a function, and two processes that save at once overwrite each other's."""
    import numba

    from autodiff.runtime.linear_algebra import linalg
    cache = linalg._solution._cache
    assert type(cache).__name__ == "_LibraryCache"
    a = np.eye(9, dtype=np.float32)
    key = cache._index_key(numba.typeof(a), linalg._solution.targetctx.codegen())
    other = cache._index_key(numba.typeof(a[::2]), linalg._solution.targetctx.codegen())
    assert cache._cache_file.path(key) != cache._cache_file.path(other)
