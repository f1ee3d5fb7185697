"""Core programs from Python text, as they print: for the pictures in the docstrings of passes.

A name that is read before it is bound is a parameter: an array, if it has subscripts or is an operand of a helper's call,
an integer in bounds, sizes and subscripts, a truth after `if`, else a float. Arrays are as long as the loops over them.
Additions by `np.add` are those whose order is free. Loops under a line `# ---- reverse sweep ----` are those of the reverse
sweep. What is written to parameters is returned, unless a `return` says otherwise.
"""

from __future__ import annotations

import ast
import re
import textwrap

from autodiff.runtime.library_calls import CALLS
from autodiff.transforms.language.core import (
    ADJOINT,
    Alloc,
    Arr,
    Call,
    Carry,
    Const,
    For,
    Function,
    Guard,
    If,
    Let,
    Load,
    Merge,
    NoCotangent,
    Ref,
    Store,
    Var,
    While,
    written,
)
from autodiff.transforms.language.ops import OPS
from autodiff.transforms.printing.emit import emit

BINARY = {ast.Mod: "mod", ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv"}
COMPARED = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq",
            ast.NotEq: "ne"}
REVERSE = "# ---- reverse"
HELPERS = {call.helper: name for name, call in CALLS.items()}


def pictures(docstring: str) -> list[tuple[str, str]]:
    """(before, after) of each: paragraphs in two columns, between them `becomes` and four blanks on each side."""
    found = []
    for part in re.split(r"\n\s*\n", docstring):
        lines = part.split("\n")
        at = next(filter(None, (re.search(r" becomes(    |$)", line) for line in lines)), None)
        if at is not None:
            end = at.start() + len(" becomes    ")
            left, right = [line[:at.start()] for line in lines], [line[end:] for line in lines]
            found.append(tuple(textwrap.dedent("\n".join(side)).rstrip() for side in (left, right)))
    return found


def body_of(program: Function, returns: bool) -> str:
    """The statements of a program as they print, with those that return or without."""
    function = ast.parse(emit(program)[0]).body[-1]
    body = function.body[ast.get_docstring(function) is not None:]
    return "\n".join(ast.unparse(s) for s in body if returns or not isinstance(s, ast.Return))


class Reader:
    """Reads one text. `program` is what it says."""

    def __init__(self, text: str):
        tree = ast.parse(text)
        self.ranks = {n.value.id: len(n.slice.elts) if isinstance(n.slice, ast.Tuple) else 1 for n in ast.walk(tree)
                      if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)}
        for n in ast.walk(tree):
            self.ranks.update(ranks_of_operands(n))
        self.integers = {name.id for n in ast.walk(tree) for part in integer_parts(n) for name in ast.walk(part)
                         if isinstance(name, ast.Name)}
        self.truths = {n.test.id for n in ast.walk(tree) if isinstance(n, ast.If) and isinstance(n.test, ast.Name)}
        self.sizes = sizes_in(tree.body, {})
        self.reverse = next((k for k, line in enumerate(text.split("\n"), 1) if line.startswith(REVERSE)), len(text))
        self.names: dict = {}
        self.params: list = []
        self.stmts: list = []
        returns: tuple | None = None
        for stmt in tree.body:
            if isinstance(stmt, ast.Return):
                parts = stmt.value.elts if isinstance(stmt.value, ast.Tuple) else [stmt.value]
                returns = tuple(self.value(p) for p in parts)
            else:
                self.statement(stmt)
        head = [Let(size, "dim", (p, k)) for p in self.params if isinstance(p, Arr) for k, size in enumerate(p.shape)
                if size not in self.params]
        if returns is None:             # what it is for is what it writes to its arguments
            returns = tuple(a for a in self.params if a in written(tuple(self.stmts)))
        self.program = Function("f", tuple(self.params), (*head, *self.stmts), returns)

    # -- values -------------------------------------------------------------------------------------------------
    def name(self, name: str):
        if name not in self.names:
            if name in self.ranks:
                shape = tuple(self.name(self.sizes[name, k]) if (name, k) in self.sizes else Var(f"{name}_size", "int64")
                              for k in range(self.ranks[name]))
                found = Arr(name, "float64", shape, ADJOINT if name.endswith("_bar") else "")
            else:
                found = Var(name, "int64" if name in self.integers else "bool" if name in self.truths else "float64")
            self.names[name] = found
            self.params.append(found)
        return self.names[name]

    def let(self, op: str, *args, hint: str = "v"):
        kind = OPS[op].kind
        dtype = "bool" if kind in ("compare", "logic", "bool") else args[0].dtype if kind in ("same", "int64") else "float64"
        var = Var(hint, dtype)
        self.stmts.append(Let(var, op, args))
        return var

    def value(self, node, hint: str = "v"):
        match node:
            case ast.Constant(value=float(v)) if not v and node.lineno > self.reverse:
                return NoCotangent("float64")
            case ast.Constant(value=v):
                return Const(v, "float64" if isinstance(v, float) else "int64")
            case ast.Name(id=name):
                return self.name(name)
            case ast.UnaryOp(operand=ast.Constant(value=v), op=ast.USub()):
                return Const(-v, "float64" if isinstance(v, float) else "int64")
            case ast.UnaryOp(operand=x, op=ast.USub()):
                return self.let("neg", self.value(x), hint=hint)
            case ast.BinOp(left=left, op=op, right=right):
                return self.let(BINARY[type(op)], self.value(left), self.value(right), hint=hint)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.let(COMPARED[type(op)], self.value(left), self.value(right), hint=hint)
            case ast.Subscript(value=ast.Name(id=name)):
                array = self.name(name)
                var = Var(name if hint == "v" else hint, array.dtype)
                self.stmts.append(Load(var, array, self.index(node)))
                return var
            case ast.Call(func=ast.Name(id="min" | "max" | "wrap_index" as op), args=args):
                return self.let(op, *map(self.value, args), hint=hint)
            case ast.Call(func=func, args=args):
                op = "sum" if func.attr == "add" else func.attr
                return self.let(op, *map(self.value, args), hint=hint)
        raise ValueError(ast.unparse(node))

    def index(self, node: ast.Subscript) -> tuple:
        return tuple(map(self.value, node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]))

    def operand(self, node) -> Ref:
        """An array, its part or its transpose as an operand of a library call."""
        transposed = isinstance(node, ast.Attribute)
        node = node.value if transposed else node
        if isinstance(node, ast.Subscript):
            return Ref(self.name(node.value.id), self.index(node), transposed)
        return Ref(self.name(node.id), (), transposed)

    # -- statements ---------------------------------------------------------------------------------------------
    def statement(self, stmt) -> None:
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)],
                            value=ast.Call(args=[size], func=ast.Name(id="empty" | "zeros" as maker) | ast.Attribute(
                                attr="empty" | "zeros" as maker))):
                shape = tuple(map(self.value, size.elts if isinstance(size, ast.Tuple) else [size]))
                self.names[name] = array = Arr(
                    name, "float64", shape, ADJOINT if name.endswith("_bar") else "")
                self.stmts.append(Alloc(array, Const(0.0, "float64") if maker == "zeros" else None))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.names[name] = self.value(value, name)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name)) as target], value=value):
                made = self.value(value, name)
                self.stmts.append(Store(self.name(name), self.index(target), made))
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                self.names[name] = self.let(BINARY[type(op)], self.name(name), self.value(value), hint=name)
            case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name)) as target, op=op, value=value):
                made = self.value(value)
                made = self.let("neg", made) if isinstance(op, ast.Sub) else made
                self.stmts.append(Store(self.name(name), self.index(target), made, True))
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=bounds), body=body):
                self.loop(name, list(map(self.value, bounds)), body, "reverse" if stmt.lineno > self.reverse else "user")
            case ast.While(test=ast.Name(id=name), body=body):
                self.loop_while(name, body)
            case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=test), body=[ast.Raise(exc=ast.Call() as made)]):
                self.stmts.append(Guard(self.value(test), made.func.id, made.args[0].value))
            case ast.If(test=test, body=body, orelse=orelse):
                self.branch(self.value(test), body, orelse)
            case ast.Expr(value=ast.Call(func=ast.Name(id="assign"),
                                         args=[out, ast.Call(func=ast.Name(id=helper), args=args)])):
                self.call(helper, out, args)
            case ast.Expr(value=ast.Call(func=ast.Name(id=helper), args=[out, *args])):
                self.call(helper, out, args)
            case _:
                raise ValueError(ast.unparse(stmt))

    def call(self, helper: str, out, args) -> None:
        target = self.name(out.id) if isinstance(out, ast.Name) else self.operand(out)
        self.stmts.append(Call((target,), HELPERS[helper], tuple(map(self.operand, args))))

    def block(self, body) -> tuple:
        around, self.stmts = self.stmts, []
        for s in body:
            self.statement(s)
        made, self.stmts = tuple(self.stmts), around
        return made

    def loop(self, name: str, bounds, body, origin: str) -> None:
        start, stop, step = {1: [Const(0, "int64"), *bounds], 2: bounds, 3: bounds}[len(bounds)][:3] + [
            Const(1, "int64")] * (len(bounds) < 3)
        names = dict(self.names)
        carried = [n for n in bound_in(body) if isinstance(self.names.get(n), (Var, While, Const))]
        heads = {n: Var(n, self.names[n].dtype) for n in carried}
        index = Var(name, "int64")
        self.names.update({**heads, name: index})
        made = self.block(body)
        ends = {n: self.names[n] for n in carried}
        self.names = {n: self.names[n] for n in {*names} | {n for n, v in self.names.items() if v in self.params}}
        results = {n: Var(n, names[n].dtype) for n in carried}
        self.names.update({**{n: names[n] for n in names}, **results})
        carries = tuple(Carry(heads[n], names[n], ends[n], results[n]) for n in carried)
        self.stmts.append(For(index, start, stop, step, carries, made, origin=origin))

    def loop_while(self, cond: str, body) -> None:
        names = dict(self.names)
        carried = [n for n in bound_in(body) if isinstance(self.names.get(n), (Var, Const))]
        heads = {n: Var(n, self.names[n].dtype) for n in carried}
        self.names.update(heads)
        made = self.block(body)
        ends = {n: self.names[n] for n in carried}
        self.names = {**names, **{n: Var(n, heads[n].dtype) for n in carried}}
        carries = tuple(Carry(heads[n], names[n], ends[n], self.names[n]) for n in carried)
        self.stmts.append(While(heads[cond], carries, made, Var("iteration", "int64"), Var("trips", "int64")))

    def branch(self, cond, then, orelse) -> None:
        before = dict(self.names)
        one = self.block(then)
        after_then, self.names = self.names, {**before, **{n: v for n, v in self.names.items() if v in self.params}}
        other = self.block(orelse)
        after_else = self.names
        both = [n for n in dict.fromkeys([*bound_in(then), *bound_in(orelse)]) if n in after_then and n in after_else]
        merges = tuple(Merge(Var(n, after_then[n].dtype), after_then[n], after_else[n]) for n in both)
        self.names.update({n: m.var for n, m in zip(both, merges, strict=True)})
        self.stmts.append(If(cond, one, other, merges))


def bound_in(body) -> list[str]:
    """The names that statements bind, in order."""
    return list(dict.fromkeys(n.id for s in body for n in ast.walk(s)
                              if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)))


def integer_parts(node) -> list:
    """The expressions in a node that are integers."""
    match node:
        case ast.Subscript(slice=part):
            return [part]
        case ast.Call(func=ast.Name(id="range" | "wrap_index"), args=args):
            return args
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return [left, right]
        case ast.Call(func=ast.Name(id="empty" | "zeros") | ast.Attribute(attr="empty" | "zeros"), args=[size]):
            return [size]
    return []


def ranks_of_operands(node) -> dict[str, int]:
    """The ranks of arrays that are operands of a helper as wholes: matrices, but for what a system is solved for."""
    match node:
        case ast.Call(func=ast.Name(id="assign"), args=[out, ast.Call(args=args)]):
            return {a.id: 2 - (a is out) for a in (out, *(a.value if isinstance(a, ast.Attribute) else a for a in args))
                    if isinstance(a, ast.Name)}
        case ast.Call(func=ast.Name(id="matmul_into"), args=args):
            return {a.id: 2 for a in args if isinstance(a, ast.Name)}
    return {}


def sizes_in(body, bounds: dict) -> dict[tuple[str, int], str]:
    """(array, axis) -> the name that ends the loop over it. bounds: those of the loops around, by index."""
    found: dict = {}
    for stmt in body:
        if isinstance(stmt, ast.For):
            last = stmt.iter.args[-1] if len(stmt.iter.args) < 3 else None
            found |= sizes_in(stmt.body, {**bounds, stmt.target.id: last.id} if isinstance(last, ast.Name) else bounds)
            continue
        for n in ast.walk(stmt):
            if isinstance(n, ast.Subscript):
                for k, part in enumerate(n.slice.elts if isinstance(n.slice, ast.Tuple) else [n.slice]):
                    if isinstance(part, ast.Name) and part.id in bounds:
                        found[n.value.id, k] = bounds[part.id]
    return found
