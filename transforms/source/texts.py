"""Where the text of a function may be found: files, what `linecache` holds, cells, the command line, what was typed.

Nothing here is trusted: what a text holds is compared with the code that is loaded.
"""

from __future__ import annotations

import ast
import linecache
import os
import stat
import sys
from collections.abc import Iterator, Sequence

REACH = 1000            # of the latest lines typed, or cells run
RECEIVED: dict[str, dict[str, None]] = {}       # texts of functions from other processes, by the names of their files
OPTIONS = 8             # words in front of the statement that a magic is given
CLOSING = ")]}"


def texts(filename: str, namespace: dict) -> Iterator[str]:
    """The texts that may hold a function of a file, the likeliest first. namespace: the globals of the function."""
    yield from RECEIVED.get(filename, ())
    for name in dict.fromkeys((filename, namespace.get("__file__"))):
        if name:
            yield from of_file(name, namespace)
    if filename == "<string>":
        yield from of_command_line()
    if filename == "<stdin>":
        yield from of_standard_input()
    if "IPython" in sys.modules:
        yield from of_cells()


def receive(filename: str, text: str) -> None:
    """Keep the text of a function that was made in another process."""
    RECEIVED.setdefault(filename, {})[text] = None
    if not linecache.getlines(filename):
        linecache.cache[filename] = len(text), None, text.splitlines(True), filename


def of_file(name: str, namespace: dict) -> Iterator[str]:
    """What `linecache` has of a file, and what the file holds now."""
    before = linecache.getlines(name, namespace)
    if before:
        yield "".join(before)
    linecache.checkcache(name)
    now = linecache.getlines(name, namespace)
    if now and now != before:
        yield "".join(now)


def of_command_line() -> Iterator[str]:
    """The program of `python -c`."""
    for argument in sys.orig_argv[1:]:
        yield argument.partition("c")[2] if argument.startswith("-") else argument


def of_standard_input() -> Iterator[str]:
    """A program read from a file, and statements typed."""
    given = sys.__stdin__
    try:
        if given is not None and stat.S_ISREG(os.fstat(file := given.fileno()).st_mode):
            yield os.pread(file, os.fstat(file).st_size, 0).decode(given.encoding)
    except (OSError, ValueError, AttributeError):
        pass
    history = sys.modules.get("readline")
    if history is not None:
        last = history.get_current_history_length()
        lines = [history.get_history_item(k) or "" for k in range(max(1, last - REACH), last + 1)]
        for k in range(len(lines) - 1, -1, -1):
            if "lambda" in lines[k] or lines[k].startswith(("def", "class", "@", "async")):
                yield block(lines[k:], 0)


def of_cells() -> Iterator[str]:
    """What magics were given in the cells of an IPython session, the latest first: `%time`, `%%time`, `%%timeit`."""
    shell = getattr(sys.modules["IPython"], "get_ipython", lambda: None)()
    for cell in reversed(getattr(getattr(shell, "history_manager", None), "input_hist_parsed", [])[-REACH:]):
        yield from of_magics(cell, shell)


def of_magics(cell: str, shell) -> Iterator[str]:
    """The statements given to magics in a cell that IPython has made Python of; options may stand before them."""
    try:
        calls = [n for n in ast.walk(ast.parse(cell)) if isinstance(n, ast.Call)] if "_magic(" in cell else []
    except (SyntaxError, ValueError, RecursionError):
        return
    given = [a.value for c in calls if getattr(c.func, "attr", "") in ("run_line_magic", "run_cell_magic")
             for a in c.args[1:] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    for text in given:
        words = text.split(" ")
        for k in range(min(len(words), 1 if "\n" in text else OPTIONS)):
            inner = shell.transform_cell(" ".join(words[k:]))
            yield inner
            yield from of_magics(inner, shell)


def block(lines: Sequence[str], first: int) -> str:
    """A statement that begins in a line, by the indentation of what follows, at its place in an otherwise empty text.

    A guess: strings and continuation lines may stand further to the left.
    """
    head = lines[first]
    indent = len(head) - len(head.lstrip())
    last = first + 1
    is_head = head.lstrip().startswith("@")
    while last < len(lines):
        line = lines[last].lstrip()
        if line and len(lines[last]) - len(line) <= indent and line[0] not in CLOSING + "#":
            if not is_head:
                break
            is_head = line.startswith("@")
        last += 1
    shift = "\n" * (first - bool(indent)) + ("if 1:\n" if indent else "")
    return shift + "\n".join(line.rstrip("\n") for line in lines[first:last]) + "\n"
