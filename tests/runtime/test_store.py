"""The store of generated modules: what it keeps, what it refuses, and who may use it at once."""

import inspect
import linecache
import os
import subprocess
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest

from autodiff.runtime.machine_code import store

KEY = "cube_grad:float64"
TEXT = "def cube_grad(x):\n    return 3.0 * x * x\n"


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    """A fresh store for each test."""
    path = tmp_path / "store"
    monkeypatch.setenv("AUTODIFF_CACHE_DIR", str(path))
    monkeypatch.setattr(store, "_temporary", {})
    return path


def run_python(text, **environment):
    return subprocess.run([sys.executable, "-c", text], env={**os.environ, **environment}, text=True,
                          capture_output=True, check=True).stdout


def test_what_is_written_is_read_and_runs():
    path = store.write_module(KEY, TEXT)
    assert store.read_module(KEY) == TEXT
    assert store.load_module(path, KEY).cube_grad(2.0) == 12.0


def test_text_is_kept_exactly():
    text = "# ü, \x0c and \r\n no end of line"
    store.write_module(KEY, text)
    assert store.read_module(KEY) == text


def test_directory_and_files_are_private(directory):
    path = store.write_module(KEY, TEXT)
    assert store.store_directory() == directory == path.parent
    assert directory.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_default_is_the_users_cache_directory(tmp_path, monkeypatch):
    monkeypatch.delenv("AUTODIFF_CACHE_DIR")
    monkeypatch.setattr(store.platformdirs, "user_cache_dir", lambda name: str(tmp_path / "user" / name))
    assert store.store_directory() == tmp_path / "user" / "autodiff"


@pytest.mark.parametrize("named", ["~no_such_user/store", "a\0b", "/dev/null/store", f"/tmp/{'0' * 300}"])
def test_a_directory_that_cannot_be_costs_a_warning(named, monkeypatch):
    monkeypatch.setattr(store.os, "environ", {**os.environ, "AUTODIFF_CACHE_DIR": named})
    with pytest.warns(RuntimeWarning, match="cannot be used"):
        path = store.write_module(KEY, TEXT)
    assert not store.is_lasting(path) and store.load_module(path, KEY).cube_grad(2.0) == 12.0


@pytest.mark.skipif(os.name != "posix", reason="homes as POSIX knows them")
def test_no_home_is_no_error(monkeypatch):
    def unknown(*names):
        raise RuntimeError("could not determine the home directory")
    monkeypatch.delenv("AUTODIFF_CACHE_DIR")
    monkeypatch.setattr(store.platformdirs, "user_cache_dir", unknown)
    monkeypatch.setattr(store.os.path, "expanduser", lambda path: path)
    path = store.write_module(KEY, TEXT)
    assert not store.is_lasting(path) and store.load_module(path, KEY).cube_grad(2.0) == 12.0


def test_text_that_can_be_written_nowhere_is_held_in_memory(monkeypatch):
    def full(*arguments, **keywords):
        raise OSError("no space left on device")
    monkeypatch.setattr(store, "write_private_file", full)
    monkeypatch.setattr(store.tempfile, "mkdtemp", full)
    monkeypatch.setattr(store, "_held", {})
    path = store.write_module(KEY, TEXT)
    assert not path.exists() and not store.is_lasting(path)
    assert store.load_module(path, KEY).cube_grad(2.0) == 12.0
    assert store.write_module(KEY, TEXT) == path


def test_file_name_is_readable_and_depends_on_the_whole_key():
    keys = (KEY, "cube_grad:float32", "../../evil", "", "ü" * 300)
    names = [store.write_module(key, TEXT).name for key in keys]
    assert names[0].startswith("cube_grad_") and names[1].startswith("cube_grad_")
    assert len(set(names)) == 5
    assert names[2].startswith("module_")


def test_writing_the_same_text_leaves_the_file_alone():
    path = store.write_module(KEY, TEXT)
    os.utime(path, (1e9, 1e9))
    before = path.stat()
    assert store.write_module(KEY, TEXT) == path
    assert (path.stat().st_mtime, path.stat().st_ino) == (before.st_mtime, before.st_ino)


def test_another_text_replaces_the_file_and_gives_another_module():
    first = store.load_module(store.write_module(KEY, TEXT), KEY)
    second = store.load_module(store.write_module(KEY, TEXT.replace("3.0", "4.0")), KEY)
    assert (first.cube_grad(1.0), second.cube_grad(1.0)) == (3.0, 4.0)
    assert first.__name__ != second.__name__


@pytest.mark.parametrize("damage", [
    lambda data: b"",
    lambda data: data[:-3],
    lambda data: data[:20],
    lambda data: data + b"\nimport os\n",
    lambda data: data.replace(b"3.0", b"9.0"),
    lambda data: b"\xff\xfe\x00" * 50,
    lambda data: b"def cube_grad(x): return 0\n",
], ids=["empty", "cut", "header cut", "longer", "edited", "not text", "no header"])
def test_a_damaged_file_is_ignored_and_rebuilt(damage):
    path = store.write_module(KEY, TEXT)
    path.write_bytes(damage(path.read_bytes()))
    assert store.read_module(KEY) is None
    with pytest.raises(ImportError, match="damaged"):
        store.load_module(path, KEY)
    assert store.write_module(KEY, TEXT) == path
    assert store.read_module(KEY) == TEXT


def test_a_sound_file_under_another_name_is_ignored():
    store.write_module("square:float64", "x = 1\n").rename(store.write_module(KEY, TEXT))
    assert store.read_module(KEY) is None


def test_a_path_belongs_to_one_key():
    with pytest.raises(ImportError, match="not the generated module"):
        store.load_module(store.write_module(KEY, TEXT), "another key")


posix_only = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")


@posix_only
@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_writable_by_others_is_ignored_and_rebuilt(mode):
    path = store.write_module(KEY, TEXT)
    path.chmod(mode)
    assert store.read_module(KEY) is None
    store.write_module(KEY, TEXT)
    assert store.read_module(KEY) == TEXT
    assert path.stat().st_mode & 0o777 == 0o600


@posix_only
def test_a_file_of_another_user_is_ignored(monkeypatch):
    path = store.write_module(KEY, TEXT)
    another_user = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: another_user)
    assert store.read_private_file(path) is None


@posix_only
def test_a_link_or_a_pipe_is_ignored(tmp_path):
    path = store.write_module(KEY, TEXT)
    moved = path.rename(tmp_path / path.name)
    path.symlink_to(moved)
    assert store.read_module(KEY) is None
    path.unlink()
    os.mkfifo(path)
    assert store.read_module(KEY) is None           # and returns at once


@posix_only
def test_a_directory_of_another_user_is_not_used(directory, monkeypatch):
    directory.mkdir()
    another_user = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: another_user)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert store.store_directory() != directory


def test_an_unwritable_store_only_costs_the_cache(directory, monkeypatch):
    def refuse(*arguments, **keywords):
        raise PermissionError("read-only file system")

    with monkeypatch.context() as patch, pytest.warns(RuntimeWarning, match="read-only file system"):
        patch.setattr(store.Path, "mkdir", refuse)
        assert store.store_directory() != directory
    path = store.write_module(KEY, TEXT)
    assert not store.is_lasting(path) and not directory.exists()
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert store.read_module(KEY) == TEXT
    assert store.load_module(path, KEY).cube_grad(1.0) == 3.0


def test_a_store_that_becomes_unwritable(directory, monkeypatch):
    assert store.store_directory() == directory
    replace = os.replace

    def refuse(source, target):
        if str(target).startswith(str(directory)):
            raise OSError("no space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    path = store.write_module(KEY, TEXT)
    assert path.parent != directory and store.read_module(KEY) == TEXT
    assert list(directory.iterdir()) == []          # nothing unfinished is left behind


def test_a_store_deleted_meanwhile_is_made_again(directory):
    path = store.write_module(KEY, TEXT)
    path.unlink()
    directory.rmdir()
    assert store.read_module(KEY) is None
    assert store.write_module(KEY, TEXT) == path and store.read_module(KEY) == TEXT


def test_the_temporary_directory_goes_with_the_process(tmp_path):
    occupied = tmp_path / "file"
    occupied.write_text("")
    told = run_python("import os, warnings; warnings.simplefilter('ignore')\n"
                      "from autodiff.runtime.machine_code import store\n"
                      "path = store.write_module('k', 'x = 1')\n"
                      "if hasattr(os, 'fork') and os.fork() == 0: raise SystemExit\n"
                      "if hasattr(os, 'fork'): os.wait()\n"
                      "print(path.exists(), path.parent)", AUTODIFF_CACHE_DIR=str(occupied / "below"))
    existed, _, path = told.strip().partition(" ")
    assert existed == "True" and not os.path.exists(path)


def test_tracebacks_and_inspect_show_the_source_even_without_the_file():
    path = store.write_module(KEY, "def fail(x):\n    return x.missing  # a line to find\n")
    module = store.load_module(path, KEY)
    path.unlink()
    linecache.checkcache()
    assert inspect.getsource(module.fail) == "def fail(x):\n    return x.missing  # a line to find\n"
    assert inspect.getmodule(module.fail) is module is sys.modules[module.__name__]
    with pytest.raises(AttributeError) as failure:
        module.fail(1.0)
    assert "a line to find" in "".join(traceback.format_exception(failure.value))


def test_a_module_that_fails_leaves_nothing_behind():
    path = store.write_module("failing", "1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        store.load_module(path, "failing")
    assert not [name for name in sys.modules if name.startswith(store.MODULE_PREFIX + path.stem)]


def test_eight_threads_get_one_module():
    path = store.write_module(KEY, TEXT)
    ready = threading.Barrier(8)

    def load(_):
        ready.wait()
        return store.load_module(path, KEY)

    with ThreadPoolExecutor(8) as pool:
        assert len({id(module) for module in pool.map(load, range(8))}) == 1


def test_two_processes_fill_the_store_at_once():
    program = """
from autodiff.runtime.machine_code import store
for i in range(200):
    key = f"f:{i % 20}"
    text = f"def f(): return {i % 20}  # " + "x" * 5000
    found = store.read_module(key)
    assert found in (None, text), found
    path = store.write_module(key, text)
    assert store.load_module(path, key).f() == i % 20
"""
    running = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    names = [path.name for path in store.store_directory().iterdir()]
    assert len(names) == 20 and all(name.startswith("f_") for name in names)


def test_module_name_is_the_same_in_another_process():
    path = store.write_module(KEY, TEXT)
    told = run_python("from autodiff.runtime.machine_code import store\n"
                      f"print(store.load_module({str(path)!r}, {KEY!r}).__name__)")
    assert told.strip() == store.load_module(path, KEY).__name__
