"""Elementwise operations on Tensors, with pullbacks written from the compiler's rules of partial derivatives.

A rule says dy/dx for one element (`autodiff/rules/elementwise.py`). Here its source becomes a function of whole arrays:
conditional expressions become `select`, which evaluates each side only where it is chosen, and each partial derivative is
multiplied by the cotangent. Only what the wanted partials read is saved.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import math
import textwrap
from typing import Any

import numpy as np

from ..rules import REGISTRY
from ..transforms.language.ops import CALLABLES, OPS
from .nodes import Operation
from .tensor import Tensor

LOCATIONS: dict = {}
HOLOMORPHIC = frozenset("""add sub mul div neg pow sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh
exp exp2 expm1 log log1p log2 log10 sqrt""".split())


class Pullback:
    """`function(g, *saved)` and its source; `reads`: 0 the result, k the k-th argument; `node`: the class of its nodes."""

    __slots__ = ("function", "node", "reads", "source")

    def __init__(self, function, reads, source, title=""):
        self.function, self.reads, self.source = function, reads, source
        self.node = type(f"{title}Operation", (Operation,), {"title": title, "function": staticmethod(function),
                                                             "reads": reads, "broadcasts": True, "text": source})


class Elementwise:
    """A ufunc with a rule. `pullback(needed, complex)` gives the pullback for the arguments that need a gradient."""

    def __init__(self, ufunc, op: str):
        self.ufunc, self.op = ufunc, op
        self.title = TITLES.get(op, op.title().replace("_", ""))
        self.arity = ufunc.nin
        self.known: dict = {}

    def pullback(self, needed: tuple, is_complex: bool) -> Pullback:
        key = needed, is_complex
        if key not in self.known:
            self.known[key] = self.make(needed, is_complex)
        return self.known[key]

    def make(self, needed, is_complex) -> Pullback:
        if is_complex and self.op == "abs":
            text = f"def {self.op}_backward(g, y, x):\n    return g * x / np.where(y == 0, 1.0, y)\n"
            return compiled(self.title, "abs_backward", [0, 1], text)
        if is_complex and self.op not in HOLOMORPHIC and self.op not in REGISTRY.constants:
            raise TypeError(f"np.{self.ufunc.__name__} has no derivative for complex numbers")
        name = f"{self.op}_backward"
        if self.op in REGISTRY.constants:
            parts = ", ".join("np.zeros_like(g)" if on else "None" for on in needed)
            return compiled(self.title, name, [], f"def {name}(g):\n    return {parts}\n")
        names, body, partials = rule_of(self.op)
        chosen = [p if on else None for p, on in zip(partials, needed, strict=True)]
        wanted = set().union(*(names_in(p) for p in chosen if p is not None))
        lines: list[str] = []
        for target, value in reversed(body):
            if target in wanted:
                wanted |= names_in(value)
                lines.insert(0, f"    {target} = {ast.unparse(value)}")
        read = [n for n in names if n in wanted]
        out = ", ".join("None" if p is None else times(p, is_complex) for p in chosen)
        text = "\n".join([f"def {name}({', '.join(['g', *read])}):", *lines, f"    return {out}", ""])
        return compiled(self.title, name, [names.index(n) for n in read], text)


TITLES = {"abs": "Abs", "pow": "Pow", "arctan2": "Atan2", "floordiv": "FloorDivide", "mod": "Remainder"}


def names_in(node) -> set:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def times(partial, is_complex: bool) -> str:
    """The cotangent times a partial derivative (its conjugate, for complex numbers)."""
    text = ast.unparse(partial)
    if text in ("1.0", "-1.0"):
        return {"1.0": "g", "-1.0": "-g"}[text]
    if text == "0.0":
        return "np.zeros_like(g)"
    if is_complex:
        return f"g * np.conj({text})"
    simple = isinstance(partial, (ast.Name, ast.Call, ast.Constant, ast.Subscript))
    return f"g * {text}" if simple else f"g * ({text})"


def rule_of(op: str):
    """(parameters, assignments, partial derivatives) of a rule, as expressions on arrays."""
    rule = REGISTRY.partial_rules.get(op)
    if rule is None:
        raise LookupError(op)
    tree = ast.parse(textwrap.dedent(inspect.getsource(rule))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    names = [a.arg for a in tree.args.args]
    body: list = []
    partials: list = []
    for stmt in tree.body:
        match stmt:
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                body.append((target, OnArrays().visit(value)))
            case ast.Return(value=ast.Tuple(elts=elements)):
                partials = [OnArrays().visit(e) for e in elements]
            case ast.Return(value=ast.expr() as value):
                partials = [OnArrays().visit(value)]
            case _:
                raise LookupError(op)
    return names, body, partials


class OnArrays(ast.NodeTransformer):
    """Expressions of numbers as expressions of arrays."""

    def visit_IfExp(self, node):
        inputs = sorted(names_in(node.body) - LIBRARIES | names_in(node.orelse) - LIBRARIES)
        test = self.visit(node.test)
        sides: list = [ast.Lambda(arguments(inputs), self.visit(side)) if names_in(side) else side
                 for side in (node.body, node.orelse)]
        return ast.Call(ast.Name("select"), [test, *sides, *map(ast.Name, inputs)], [])

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        operands = [node.left, *node.comparators]
        pairs = [ast.Compare(operands[k], [op], [operands[k + 1]]) for k, op in enumerate(node.ops)]
        return joined(ast.BitAnd(), pairs)

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        return joined(ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr(), node.values)


LIBRARIES = {"np", "math"}


def joined(op, values):
    result = values[0]
    for v in values[1:]:
        result = ast.BinOp(result, op, v)
    return result


def arguments(names):
    return ast.arguments(posonlyargs=[], args=[ast.arg(n) for n in names], kwonlyargs=[], kw_defaults=[], defaults=[])


def compiled(title: str, name: str, reads, text: str) -> Pullback:
    place = f"<autodiff {name} {len(LOCATIONS)}>"
    LOCATIONS[place] = text
    linecache.cache[place] = (len(text), None, text.splitlines(True), place)
    namespace = {"np": np, "math": math, "select": select}
    exec(compile(text, place, "exec"), namespace)
    return Pullback(namespace[name], tuple(reads), text, title)


def select(condition, then, other, *inputs):
    """`then` where the condition holds, `other` elsewhere; each a constant or a function that sees only its own elements."""
    on = condition._array if isinstance(condition, Tensor) else condition
    if not callable(then) and not callable(other):
        return np.where(on, then, other)
    if np.all(on):
        return then(*inputs) if callable(then) else np.full(np.shape(on), then)
    if not np.any(on):
        return other(*inputs) if callable(other) else np.full(np.shape(on), other)
    shape = np.broadcast_shapes(np.shape(on), *map(np.shape, inputs))
    mask = np.broadcast_to(on, shape)
    spread = [x if np.ndim(x) == 0 else np.broadcast_to(x, shape) for x in inputs]
    parts = []
    for m, side in ((mask, then), (~mask, other)):
        if callable(side):
            side = side(*(x if np.ndim(x) == 0 else x[m] for x in spread))
        parts.append((m, side))
    kinds = [s.dtype if hasattr(s, "dtype") else np.float32 for _, s in parts]
    result: Any = np.zeros(shape, np.result_type(*kinds))
    if any(isinstance(s, Tensor) for _, s in parts):
        result = Tensor(result)
    for m, side in parts:
        result[m] = side
    return result


def table() -> dict:
    """Ufunc -> Elementwise, for every ufunc whose operation has a rule for arrays: those of SciPy's functions have not."""
    found: dict = {}
    for function, op in CALLABLES.items():
        known = op in REGISTRY.partial_rules or op in REGISTRY.constants
        if isinstance(function, np.ufunc) and known and not op.startswith("special.") \
                and OPS[op].kind not in ("bool", "compare"):
            found[function] = Elementwise(function, op)
    return found


ELEMENTWISE = table()

__all__ = ["ELEMENTWISE", "Elementwise", "select"]
