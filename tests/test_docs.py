"""The examples in the documentation run, and what the pages say they print is what they print."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


PAGES, PLAIN = (re.findall(r'"(\w+\.md)"', names) for names in re.findall(
    r"^(?:PAGES|PLAIN) = \((.*?)\)", (DOCS / "make_map.py").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))


OTHERS = [page for page in PAGES if page not in PLAIN]


@pytest.mark.parametrize("pages", [PLAIN, OTHERS[::2], OTHERS[1::2]], ids=",".join)
def test_pages_are_current(pages):
    """One process for several: starting one takes longer than most pages."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "NUMBA_OPT": "0",     # sooner
                   "NUMBA_DISABLE_JIT": str(int(pages is PLAIN))}
    done = subprocess.run([sys.executable, str(DOCS / "make_map.py"), "--check", *pages], cwd=DOCS.parent,
                          env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pages_may_differ_in_last_digits_alone():
    found = importlib.util.spec_from_file_location("make_map", DOCS / "make_map.py")
    found.loader.exec_module(make_map := importlib.util.module_from_spec(found))
    page = "0.1676103004682521 of (2, -0.16761030046666683)"
    assert make_map.alike(page, "0.1676103004682521 of (2, -0.16761030046666603)")
    for old, new in (("2, ", "3, "), ("-", ""), ("6103004", "6103014"), (")", ") 0.1676103004")):
        other = page.replace(old, new)
        assert not make_map.alike(page, other)


def test_the_map_names_every_file_of_the_compiler():
    text = (DOCS / "map.md").read_text(encoding="utf-8")
    for file in sorted((DOCS.parent / "transforms").rglob("*.py")):
        if file.name != "__init__.py":
            assert f"`{file.relative_to(DOCS.parent / 'transforms').as_posix()}`" in text, file.name


def test_files_named_in_the_map_exist():
    text = (DOCS / "map.md").read_text(encoding="utf-8")
    for name in re.findall(r"^- `([\w/]+\.py)`", text, re.MULTILINE):
        assert any((DOCS.parent / top / name).exists() for top in ("transforms", "autodiff")), name


def test_readme_is_current():
    done = subprocess.run([sys.executable, str(DOCS / "make_readme.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


MARKDOWN = [*DOCS.glob("*.md"), *(DOCS.parent / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]


def anchors(page):
    """The names that GitHub gives to the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"\w+:", target):
            file, _, anchor = target.partition("#")
            there = page.parent / file if file else page
            assert there.exists(), target
            assert not anchor or anchor in anchors(there), target


def test_every_public_name_is_in_the_reference():
    import autodiff
    listed = re.findall(r"^   ([\w.]+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(autodiff.__all__) <= set(listed)
    assert len(listed) == len(set(listed))


def test_figures_beside_other_tools_are_those_that_were_measured():
    def rows(name, cells):
        table = [[cell.strip() for cell in line[1:-1].split("|")] for line in
                 (DOCS / name).read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
        return {row[0]: row for row in table if len(row) == cells}
    measured, shown = rows("performance.md", 11), rows("which_tool.md", 6)
    assert len(shown) > 10
    for name, row in shown.items():
        assert row[1:] == [measured[name][k] for k in (3, 5, 6, 7, 8)], name
    means = dict(zip(("JAX", "PyTorch, eager", "autograd"), measured["geometric mean (programs)"][5:8], strict=True))
    front = rows("../README.md", 5)
    assert {tool: front[tool][4].replace(" programs", "") for tool in means} == means


def test_every_example_is_in_the_gallery_with_its_figure():
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    examples = {file.stem for file in (DOCS.parent / "examples").glob("*.py")} - {"readme_example"}
    assert set(re.findall(r"\]\(\.\./examples/(\w+)\.py\)", text)) == examples
    assert set(re.findall(r"^!\[.+\]\(gallery/(\w+)\.png\)$", text, re.MULTILINE)) == examples
    assert {file.stem for file in (DOCS / "gallery").glob("*.png")} == examples


def test_docstrings_become_markup():
    found = importlib.util.spec_from_file_location("docstrings", DOCS / "docstrings.py")
    found.loader.exec_module(docstrings := importlib.util.module_from_spec(found))
    text = ["`f` of *args, `x`s and y_.", "", "x, y: numbers,", "    or `grad`. tol: a bound.", "Returns one.", "",
            ">>> f(*x)", "1"]
    assert docstrings.as_rst(text) == [
        "``f`` of \\*args, ``x``\\ s and y\\_.", "",
        "", "``x, y``", "    numbers,", "    or :py:obj:`~autodiff.grad`.",
        "", "``tol``", "    a bound.",
        "", "Returns one.", "", ">>> f(*x)", "1"]


def test_command_line():
    example = str(DOCS.parent / "examples" / "readme_example.py") + ":energy"
    done = subprocess.run([sys.executable, "-m", "autodiff", "show", example, "--types", "float64[::1]; float64",
                           "--wrt", "x,k"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "k_bar" in done.stdout
