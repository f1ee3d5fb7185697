"""A failing program made as small as it gets: statements, branches and expressions go while the same check fails."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from .programs import Program

BODIES = ("body", "orelse")


def shrink(program: Program, fails: Callable[[Program], bool], seconds: float = 120.0) -> Program:
    """The smallest variant found of which `fails` is true, trying for at most so many seconds of processor time.

    Zeller and Hildebrandt's delta debugging (IEEE Trans. Softw. Eng. 28, 2002) on the syntax tree: halves, quarters, …
    of each block are dropped, then statements give way to their bodies and expressions to their parts.
    """
    end = time.process_time() + seconds
    improved = True
    while improved and time.process_time() < end:
        improved = False
        position = 0
        while time.process_time() < end:
            tried = variant(program, position)
            if tried is None:
                break
            if tried is not program and tried.source != program.source and fails(tried):
                program, improved = tried, True         # the same position now holds another change
            else:
                position += 1
    return program


def variant(program: Program, position: int) -> Program | None:
    """The variant of that number: None after the last one, the program itself if that change does nothing."""
    tree = ast.parse(program.source)
    for number, change in enumerate(changes(tree)):
        if number == position:
            try:
                change()
                source = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
                return program if len(source) > len(ast.unparse(ast.parse(program.source))) + 1 else replace(
                    program, source=source)
            except (ValueError, SyntaxError):
                return program
    return None


def changes(tree: ast.Module) -> Iterator[Callable[[], None]]:
    """Ways to make the tree smaller, large ones first, each as a function that changes it in place."""
    owners = [(node, field) for node in ast.walk(tree) for field in BODIES
              if isinstance(getattr(node, field, None), list) and getattr(node, field)]
    for size in (8, 4, 2, 1):
        for node, field in owners:
            block = getattr(node, field)
            if size > 1 and len(block) < size:
                continue
            for first in range(len(block) - size, -1, -1):
                if not isinstance(block[first], (ast.Import, ast.ImportFrom, ast.Pass)):
                    yield lambda n=node, f=field, a=first, b=first + size: drop(n, f, a, b)
    for node, field in owners:
        for k, statement in enumerate(getattr(node, field)):
            for body in (getattr(statement, inner, None) for inner in BODIES):
                if isinstance(statement, (ast.If, ast.For, ast.While)) and body:
                    yield lambda n=node, f=field, k=k, body=body: unwrap(n, f, k, body)
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            for k, expression in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(expression, ast.expr) and not isinstance(getattr(expression, "ctx", None), ast.Store):
                    for smaller in parts(expression):
                        yield lambda n=node, f=field, k=k, e=smaller: put(n, f, k, e)


def parts(expression: ast.expr) -> Iterator[ast.expr]:
    """Expressions that may stand in the place of this one."""
    if not isinstance(expression, (ast.Constant, ast.Name)):
        yield ast.Constant(0.5)
        for child in ast.walk(expression):
            if child is not expression and isinstance(child, ast.expr):
                yield copy.deepcopy(child)
    if isinstance(expression, ast.Constant) and isinstance(expression.value, int) and expression.value > 1:
        yield ast.Constant(expression.value - 1)
    if isinstance(expression, ast.Name):
        yield ast.Constant(0.5)


def drop(node, field: str, first: int, last: int) -> None:
    block = getattr(node, field)
    block[first:last] = [] if field == "orelse" or len(block) > last - first else [ast.Pass()]


def unwrap(node, field: str, k: int, body: list) -> None:
    getattr(node, field)[k:k + 1] = body


def put(node, field: str, k: int | None, expression: ast.expr) -> None:
    if k is None:
        setattr(node, field, expression)
    else:
        getattr(node, field)[k] = expression


def script(program: Program, kind: str, text: str) -> str:
    """A program that a developer can save and run: prints what autodiff says, and differences."""
    names = program.names
    return f'''# seed {program.seed}: {kind}
# {text.splitlines()[0] if text else ""}
{program.source.rstrip()}


if __name__ == "__main__":
    from copy import deepcopy

    import autodiff

    args = list({program.arguments}.values())
    wrt = [k for k, a in enumerate(args) if np.asarray(a).dtype.kind == "f"]
    print("NumPy", f(*deepcopy(args)))
    value, pull = autodiff.vjp(f, *deepcopy(args), mode="python", debug=True)
    print("value", value)
    bars = pull(np.ones_like(value) if isinstance(value, np.ndarray) else (1.0,) * len(value) if isinstance(value, tuple)
                else 1.0)
    def total(*args):
        out = f(*args)
        return sum(np.sum(r) for r in (out if isinstance(out, tuple) else (out,)))
    for k in wrt:
        up, down = deepcopy(args), deepcopy(args)
        up[k], down[k] = up[k] + 1e-6, down[k] - 1e-6
        print({names!r}[k], "gradient", bars[k], "along ones", np.sum(bars[k]), "difference",
              (total(*up) - total(*down)) / 2e-6)
'''
