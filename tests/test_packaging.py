"""What is installed: every folder that holds Python files."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_every_folder_is_a_package_that_is_installed(monkeypatch):
    setuptools = pytest.importorskip("setuptools")
    given = {}
    monkeypatch.setattr(setuptools, "setup", lambda **options: given.update(options))
    monkeypatch.chdir(ROOT)
    runpy.run_path("setup.py")
    folders = {file.parent.relative_to(ROOT).parts
               for top in ("autodiff", "transforms", "runtime") for file in Path(ROOT, top).rglob("*.py")}
    assert set(given["packages"]) == {".".join(parts if parts[0] == "autodiff" else ("autodiff", *parts))
                                      for parts in folders}
    assert "autodiff.solvers" in given["packages"] and "autodiff.transforms.lower" in given["packages"]
