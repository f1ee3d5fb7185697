"""Fills the generated part of README.md: `python docs/make_readme.py [--check]`."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- generated: (\S+) -->\n).*?(<!-- end generated -->)", re.DOTALL)


def output_of(script: Path) -> str:
    """What a script prints."""
    captured = io.StringIO()
    with contextlib.redirect_stdout(captured):
        runpy.run_path(str(script), run_name="__main__")
    return captured.getvalue()


def readme_example(script: Path) -> str:
    """The script, and the generated source at the end of what it prints."""
    text = script.read_text().split('"""\n', 1)[1].strip()
    printed = output_of(script)
    source = printed[printed.index("def "):].rstrip()
    return f"```python\n{text}\n```\n\nThe last line prints the gradient as a program:\n\n```python no-run\n{source}\n```\n"


def filled(text: str) -> str:
    def fill(match):
        return match.group(1) + readme_example(ROOT / match.group(2)) + match.group(3)
    return BLOCK.sub(fill, text)


def main(check: bool) -> int:
    file = ROOT / "README.md"
    text = file.read_text()
    made = filled(text)
    if made != text and check:
        print("README.md is not current: run python docs/make_readme.py")
        return 1
    if made != text:
        file.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
