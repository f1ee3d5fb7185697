"""What is installed: every folder that holds Python files."""

import re
import runpy
from pathlib import Path

import pytest

import autodiff

ROOT = Path(__file__).parent.parent


def test_versions_are_one():
    """That of the package, of its description, of what is cited, and the latest of the list of changes."""
    described = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M)
    cited = re.search(r"^version: (.*)", (ROOT / "CITATION.cff").read_text(), re.M)
    changed = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert {m and m[1] for m in (described, cited, changed)} == {autodiff.__version__}


def test_what_is_not_python_is_installed():
    """Each file among the packages that is no module is named in pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text()
    named = {(package.removeprefix("autodiff").removeprefix("."), name) for package, names in
             re.findall(r'^"(autodiff[\w.]*)" = \[(.*)\]', text, re.M) for name in re.findall(r'"(.*?)"', names)}
    there = {(".".join(file.parent.relative_to(ROOT / "autodiff").parts), file.name)
             for file in (ROOT / "autodiff").rglob("*")
             if file.is_file() and file.suffix != ".py" and file.parent.name != "__pycache__"}
    assert there == named and ("", "py.typed") in there


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
