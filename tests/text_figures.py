"""Figures of the text that the compiler generates: `python -m tests.text_figures [--only TEXT] [--texts FOLDER]`.

For every program of `golden_programs.py` and of the benchmarks, and with `--examples` for the modules that each example
makes: lines of the function and of its gradient, comments, and which share of the names that the gradient binds says
nothing (`t`, `t_17`, `t_bar_2`). Lines are those of code: no blank ones, comments or docstrings.
"""

from __future__ import annotations

import argparse
import ast
import copy
import inspect
import io
import math
import re
import textwrap
import tokenize
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import autodiff

from .digests import texts_of

ANONYMOUS = re.compile(r"t((_bar|_dot|_tape|_in)*(_\d+)?)*")


def lines_of(text: str) -> tuple[int, int]:
    """Lines of code, and comments on lines of their own."""
    code, comments, documentation = set(), 0, set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documentation.update(range(node.lineno, node.end_lineno + 1))
    skipped = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.line[:token.start[1]].strip():
            comments += 1
        elif token.type not in skipped:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - documentation), comments


def names_of(text: str) -> list[str]:
    """The names that functions bind, each once a function."""
    found: list[str] = []
    for function in (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)):
        found += sorted({n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)})
    return found


def functions_of(text: str) -> str:
    """The functions of a module, without its imports."""
    return "\n".join(ast.get_source_segment(text, n) for n in ast.parse(text).body if isinstance(n, ast.FunctionDef))


def user_text(function: Callable) -> str:
    """A function with those of its file that it calls."""
    found: dict[Callable, str] = {}

    def visit(f):
        if f not in found and isinstance(f, types.FunctionType):
            found[f] = textwrap.dedent(inspect.getsource(f))
            for name in f.__code__.co_names:
                other = getattr(f.__globals__.get(name), "__wrapped__", f.__globals__.get(name))
                if isinstance(other, types.FunctionType) and other.__code__.co_filename == f.__code__.co_filename:
                    visit(other)
    visit(getattr(function, "py_func", function))
    return "\n".join(found.values())


def gradients(only: str) -> Iterator[tuple[str, str, str]]:
    """(name, the user's text, the generated functions)"""
    from .benchmarks.suite import BENCHMARKS
    from .golden_programs import GOLDENS
    for name, golden in GOLDENS.items():
        if only in f"golden {name}":
            yield f"golden {name}", user_text(golden.function), functions_of(golden.text())
    for name, b in BENCHMARKS.items():
        if b.runs or only not in name:
            continue
        args = copy.deepcopy(b.arguments(True))
        try:
            made = autodiff.grad(b.function, wrt=b.wrt, mode="python")
            made.specialize(*args)
        except autodiff.AutodiffError:
            texts = texts_of(lambda b=b, args=args: autodiff.vjp(b.function, *args, mode="python"))
            yield name, user_text(b.function), "\n".join(map(functions_of, texts))
            continue
        yield name, user_text(b.function), functions_of(made.source)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.text_figures", description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--examples", action="store_true", help="run the examples too, which takes a minute")
    parser.add_argument("--texts", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    ratios, bound, comments = [], [], [0, 0]
    print(f"{'':40s} {'user':>6s} {'lines':>6s} {'ratio':>6s} {'comments':>8s} {'names':>6s} {'without':>8s}")

    def figure(name: str, own: str, text: str) -> None:
        lines, noted = lines_of(text)
        names = names_of(text)
        unnamed = [n for n in names if ANONYMOUS.fullmatch(n) and not re.search(rf"\b{n}\b", own)]
        bound.extend((n in unnamed) for n in names)
        comments[0] += lines
        comments[1] += noted
        user = lines_of(own)[0] if own else 0
        if user:
            ratios.append(lines / user)
        print(f"{name:40s} {user or '':6} {lines:6d} {f'{lines / user:6.1f}' if user else '':>6s} {noted:8d} {len(names):6d}"
              f" {f'{len(unnamed) / max(len(names), 1):.0%}':>8s}")
        if options.texts:
            options.texts.mkdir(parents=True, exist_ok=True)
            (options.texts / f"{re.sub('[^a-z0-9]+', '_', name.lower())}.py").write_text(text, encoding="utf-8")
    for name, own, text in gradients(options.only):
        figure(name, own, text)
    if options.examples:
        from . import digests
        for path in sorted((digests.ROOT / "examples").glob("*.py")):
            texts = [t for t in digests.texts_of_example(path) if not t.startswith("raised")]
            figure(f"example {path.stem}", "", "\n".join(map(functions_of, texts)))
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"lines of a gradient, times the function's: geometric mean {mean:.1f}, most {max(ratios):.1f};")
    print(f"{comments[0]} lines, {comments[1]} comments; names that say nothing: {sum(bound) / max(len(bound), 1):.1%} of "
          f"{len(bound)}")


if __name__ == "__main__":
    main()
