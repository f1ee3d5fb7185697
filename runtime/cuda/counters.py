"""`for` loops of kernels as `while` loops, which is how they are compiled; their text stays as it is.

Numba's iterators of ranges count down a number of their own and choose the next value by it. NVIDIA's compiler does not see
through that: it can neither unroll such a loop well, nor know that the index is not negative, so that every subscript is
checked for counting from the end. A plain counter that is compared with the end costs one addition and one comparison.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from types import CodeType, FunctionType


def with_counters(function: FunctionType) -> FunctionType:
    """The function with its loops over ranges as counters; itself where its source is not known, or it has no such loops.

    Line numbers, names and values stay: the index has its last value after the loop, and may be bound in it.
    """
    if function.__closure__:
        return function
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return function
    counted = _Counters()
    tree = ast.fix_missing_locations(counted.visit(tree))
    if not counted.made or not isinstance(tree.body[0], ast.FunctionDef):
        return function
    tree.body[0].decorator_list.clear()
    ast.increment_lineno(tree, first - 1)
    module = compile(tree, function.__code__.co_filename, "exec")
    code = next(c for c in module.co_consts if isinstance(c, CodeType) and c.co_name == function.__code__.co_name)
    found = FunctionType(code, function.__globals__, function.__name__, function.__defaults__)
    found.__qualname__, found.__module__ = function.__qualname__, function.__module__
    return found


class _Counters(ast.NodeTransformer):
    """Makes `for i in range(a, b, 2)` into `next = a`, `while next < b: i = next; next = i + 2; ...`, for constant steps."""

    def __init__(self) -> None:
        self.made = 0

    def visit_For(self, node: ast.For):
        self.generic_visit(node)
        call = node.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
                and isinstance(node.target, ast.Name) and not call.keywords and not node.orelse):
            return node
        start, stop, step = bounds(call.args)
        if not isinstance(step, int) or not step:
            return node
        self.made += 1
        after, end = f"_next_{self.made}", f"_stop_{self.made}"
        test = ast.Compare(load(after), [ast.Lt() if step > 0 else ast.Gt()], [load(end)])
        body = [assign(node.target.id, load(after)),
                assign(after, ast.BinOp(load(node.target.id), ast.Add(), ast.Constant(step))), *node.body]
        made = [assign(after, start), assign(end, stop), ast.While(test, body, [])]
        return [ast.copy_location(s, node) for s in made]


def bounds(args: list[ast.expr]) -> tuple[ast.expr, ast.expr, int | None]:
    """Start, end and step of a range; the step None if it is no constant."""
    if len(args) == 1:
        return ast.Constant(0), args[0], 1
    if len(args) == 2:
        return args[0], args[1], 1
    try:
        return args[0], args[1], ast.literal_eval(args[2])
    except ValueError:
        return args[0], args[1], None


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


__all__ = ["with_counters"]
