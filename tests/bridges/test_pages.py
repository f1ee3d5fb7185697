"""What the documentation says of other tools holds in them: its programs for each, where that tool is installed."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
TOOLS = {"coming_from.md": ("jax", "autograd", "torch", "casadi"), "recipes.md": ("jax", "torch", "pymc", "dask")}


@pytest.mark.parametrize(("page", "tool"), [(page, tool) for page, tools in TOOLS.items() for tool in tools])
def test_programs_of_other_tools(page, tool, tmp_path):
    module = pytest.importorskip(tool)
    text = (DOCS / page).read_text(encoding="utf-8")
    (program,) = re.findall(rf"^```python {tool}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert "assert " in program
    file = tmp_path / "program.py"
    file.write_text(program, encoding="utf-8")                          # functions are read from their file
    try:
        exec(compile(program, str(file), "exec"), {"__name__": "program", "__file__": str(file)})
    finally:
        if tool == "jax":
            module.config.update("jax_enable_x64", False)           # as other tests expect it
