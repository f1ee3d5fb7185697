"""What is kept on disk: how much there is, and that clearing takes it and nothing else."""

import os
import time
from pathlib import Path

import numba
import numpy as np
import pytest

from autodiff import grad
from autodiff.runtime import colouring
from autodiff.runtime.machine_code import contents
from autodiff.runtime.machine_code.contents import clear, kept_files, places_of_numba
from autodiff.runtime.machine_code.kept import kept

OTHERS = ("notes.py", "notes_0123456789abcdef0123.py", "energy_grad_0123456789abcdef012.py", "data.nbc", "x.py311.1.nbc")


@pytest.fixture
def store(tmp_path, monkeypatch):
    """An empty store, and no places of Numba's but one."""
    monkeypatch.setenv("AUTODIFF_CACHE_DIR", str(tmp_path / "store"))
    monkeypatch.setattr(contents, "places_of_numba", lambda: [tmp_path / "numba"])
    return tmp_path / "store"


def test_what_is_there_and_gone(store, tmp_path):
    assert [len(k.files) for k in kept_files()] == [0, 0]
    made = grad(lambda x: np.sum(x * x), mode="python")
    made(np.ones(3))
    code = store / "__pycache__" / f"primal_grad-7.py311.{'0123456789abcdef' * 2}"[:-8]
    numbas = tmp_path / "numba"
    code.parent.mkdir()
    numbas.mkdir()
    mine = [code.with_name(code.name + ".nbc"), store / ".unfinished_abc", numbas / f"dot-3.py311.{'a' * 24}.nbc"]
    for path in mine:
        path.write_bytes(b"12345678")
    os.utime(mine[1], (time.time() - 1e5,) * 2)
    others = [folder / name for folder in (store, store / "__pycache__", numbas) for name in OTHERS]
    others += [store / ".unfinished_new", store / "folder_0123456789abcdef0123.py" / "inside.py"]
    others[-1].parent.mkdir()
    for path in others:
        path.write_text("# a user's\n", encoding="utf-8")
    (store / "link_0123456789abcdef0123.py").symlink_to(others[0])
    found = {k.what: k for k in kept_files()}
    assert [k.files for k in found.values()] == [(store / made.file.rsplit(os.sep, 1)[1],), *((one,) for one in mine)]
    assert found["their machine code"].bytes == 8 and found["generated modules"].bytes == os.path.getsize(made.file)
    size = sum(k.bytes for k in found.values())
    assert clear() == (4, size)
    assert not any(path.exists() for path in mine) and all(path.exists() for path in others)
    assert clear() == (0, 0)
    made(np.ones(3))                    # what runs goes on
    assert made.source in Path(made.file).read_text(encoding="utf-8") and clear()[0] == 1


def test_files_that_another_process_removes(store, monkeypatch):
    made = grad(lambda x: np.sum(x * x * x), mode="python")
    made(np.ones(3))
    kept = kept_files()
    os.unlink(made.file)
    assert [k.bytes for k in kept] == [0, 0]
    monkeypatch.setattr(contents, "kept_files", lambda: kept)
    assert clear() == (0, 0)


def test_where_numba_keeps_our_functions(tmp_path, monkeypatch):
    own = next(v for v in vars(colouring).values() if hasattr(v, "_cache"))
    here = own._cache._cache_file.directory
    assert here in places_of_numba()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    there = kept(own.py_func)._cache._cache_file.directory
    assert tmp_path in there.parents and there in places_of_numba()
    assert "index_sets.py" in {p.name for p in contents.PACKAGE.iterdir()}
