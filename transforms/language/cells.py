"""Cells of a notebook, or of an IPython prompt: the files that they are compiled as, and what users call them."""

from __future__ import annotations

import linecache
import re
import sys


def session():
    """The running IPython shell; None if there is none."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def cell(file: str, shell=None) -> str:
    """`In[3]`, where a file is that of a cell; else "". shell: the running one, if it is known."""
    shell = session() if shell is None else shell
    name = getattr(getattr(shell, "compile", None), "format_code_name", lambda file: None)(file)
    return name[1] if name else ""


def place(file: str, line: int) -> str:
    """A line of a file as tracebacks tell it: `File "model.py", line 12`, or that of a cell."""
    known = cell(file)
    return f"Cell {known}, line {line}" if known else f'File "{file}", line {line}'


def in_cells(text: str) -> str:
    """A text in which places, `2034939.py:12`, are those of cells, `In[3]:12`, where such files are cells."""
    shell = session()
    if shell is None:
        return text
    known = {file.replace("\\", "/").rsplit("/", 1)[-1]: name
             for file in list(linecache.cache) if (name := cell(file, shell))}
    if not known:
        return text
    return re.sub(rf"(?<![\w/.])({'|'.join(map(re.escape, known))})(?=:\d)", lambda found: known[found[1]], text)


__all__ = ["cell", "in_cells", "place", "session"]
