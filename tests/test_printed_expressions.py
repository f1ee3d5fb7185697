"""What is printed is read by Python as what was meant: random trees of operations, printed and parsed again."""

import ast
import random

import numpy as np
import pytest

from autodiff import value_and_grad
from autodiff.transforms.language.core import Alloc, Arr, Const, For, Function, If, Let, Load, Merge, Resize, Store, Var
from autodiff.transforms.language.ops import OPS
from autodiff.transforms.printing.emit import emit

NUMBERS = ("add", "sub", "mul", "div", "floordiv", "mod", "neg", "pos", "pow", "abs", "maximum", "square", "reciprocal",
           "nan_to_num", "copy", "link", "stop")
INTEGERS = ("bitand", "bitor", "bitxor", "lshift", "rshift", "invert", "add", "sub", "mul", "mod", "floordiv", "neg")
TRUTHS = ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not")
NAMES = {"float64": "uvw", "int64": "ijk", "bool": "pqr"}


class Tree:
    """A random tree of scalar operations: the statements, and the text with parentheses around everything."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.block = []
        self.params = [Var(n, dtype) for dtype, names in NAMES.items() for n in names]

    def leaf(self, dtype):
        if self.random.random() < 0.3 and dtype != "bool":
            value = self.random.choice((2, 3, -1, -2))
            value = float(value) if dtype == "float64" else value
            return Const(value, dtype), f"({value!r})"
        var = self.random.choice([p for p in self.params if p.dtype == dtype])
        return var, var.hint

    def grow(self, dtype, depth):
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf(dtype)
        if self.random.random() < 0.1:
            cond, then, other = (self.grow(d, depth - 1) for d in ("bool", dtype, dtype))
            var = Var("t", dtype)
            self.block.append(If(cond[0], (), (), (Merge(var, then[0], other[0]),)))
            return var, f"(({then[1]}) if ({cond[1]}) else ({other[1]}))"
        name = self.random.choice({"float64": NUMBERS, "int64": INTEGERS, "bool": TRUTHS}[dtype])
        operand = dtype if name in ("and", "or", "xor", "not") or dtype != "bool" else self.random.choice(
            ("float64", "int64", "bool"))
        op = OPS[name]
        args = [self.grow(operand, depth - 1) for _ in range(op.arity)]
        if name == "pow":
            args[1] = self.leaf("float64")
        var = Var("t", dtype)
        self.block.append(Let(var, name, tuple(a for a, _ in args)))
        if name == "pow":
            return var, None if isinstance(args[1][0], Const) else f"np.power(({args[0][1]}), ({args[1][1]}))"
        return var, "(" + op.text.format(*(f"({t})" for _, t in args)) + ")"


class Flat(ast.NodeTransformer):
    """`(a and b) and c` as `a and b and c`, which is the same."""

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        same = lambda v: isinstance(v, ast.BoolOp) and type(v.op) is type(node.op)
        return ast.BoolOp(node.op, [w for v in node.values for w in (v.values if same(v) else [v])])


def shown(node) -> str:
    return ast.dump(Flat().visit(node))


def test_printed_trees_are_parsed_as_the_same_trees():
    checked = 0
    for seed in range(1500):
        tree = Tree(seed)
        atom, text = tree.grow(tree.random.choice(("float64", "int64", "bool", "bool")), 4)
        if text is None or "None" in text or isinstance(atom, Const):
            continue
        printed, _ = emit(Function("f", tuple(tree.params), tuple(tree.block), (atom,)))
        values = {}

        class Put(ast.NodeTransformer):
            def visit_Name(self, node, values=values):
                return values.get(node.id, node) if isinstance(node.ctx, ast.Load) else node
        found = ""
        for statement in ast.parse(printed).body[0].body[1:]:      # long or repeated expressions have names
            made = Put().visit(statement).value
            if isinstance(statement, ast.Return):
                found = shown(ast.Expression(made))
            elif isinstance(statement, ast.AugAssign):
                values[statement.target.id] = ast.BinOp(values[statement.target.id], statement.op, made)
            else:
                values[statement.targets[0].id] = made
        assert found == shown(ast.parse(text, mode="eval")), (seed, printed, text)
        checked += 1
    assert checked > 500


def test_minus_of_a_remainder_is_not_added_as_a_difference():
    a, x = Arr("a", "float64", (Const(2, "int64"),)), Var("x", "float64")
    for op in ("mod", "floordiv"):
        minus, rest = Var("t", "float64"), Var("t", "float64")
        block = (Let(minus, "neg", (x,)), Let(rest, op, (minus, Const(3.0, "float64"))),
                 Store(a, (Const(0, "int64"),), rest, True))
        assert "a[0] +=" in emit(Function("f", (a, x), block, ()))[0]


@pytest.mark.parametrize("f", [
    lambda x: np.sum(((x > 1.5) ^ (x > 2.5)) * x), lambda x: np.sum(((x > 1.5) == (x > 2.5)) * x),
    lambda x: np.sum((((x > 1.5) & (x < 3.5)) != (x > 2.5)) * x), lambda x: np.sum(((x > 1.5) ^ (x > 2.5) ^ (x > 0.5)) * x),
    lambda x: np.sum(((x > 1.5) <= (x < 2.5)) * x), lambda x: x[0] if (x[0] > 0.5) ^ (x[1] > 2.5) else x[1],
    lambda x: np.sum(np.logical_xor(x > 1.5, np.logical_not(x > 2.5)) * x)])
def test_comparisons_of_comparisons(f):
    x = np.array([1.0, 2.0, 3.0, 4.0])
    value, gradient = value_and_grad(f, mode="python")(x)
    assert value == f(x)
    assert np.allclose(gradient, [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(4)])


def nest(array, index, stops, value, *before):
    """A nest of loops with one store, each statement of `before` in front of it."""
    body = (*before, Store(array, index, value))
    loops = list(dict.fromkeys(i for i in index if isinstance(i, Var) and i in stops))
    for i in reversed(loops):
        body = (For(i, Const(0, "int64"), stops[i], Const(1, "int64"), (), body),)
    return body


def test_whole_axes_are_filled_in_one_line():
    n, m, k, i, j = (Var(name, "int64") for name in "nmkij")
    a, s = Arr("a", "float64", (n, m)), Var("s", "float64")
    sizes = (Let(n, "dim", (a, 0)), Let(m, "dim", (a, 1)))

    def text(*body):
        return emit(Function("f", (a, s, k), (*sizes, *body), ()))[0]
    whole = nest(a, (i, j), {i: n, j: m}, s)
    assert "a[:] = s" in text(*whole) and "shape" not in text(*whole)
    assert "a[:, k] = 0.0" in text(*nest(a, (i, k), {i: n}, Const(0.0, "float64")))
    assert "a[k, :] = s" in text(*nest(a, (k, j), {j: m}, s))
    for body in (nest(a, (i, j), {i: n, j: k}, s),                       # not the whole axis
                 nest(a, (i, i), {i: n}, s),                             # a diagonal
                 nest(a, (j, i), {j: m, i: n}, s),                       # other axes' sizes
                 nest(a, (i, j), {i: n, j: m}, Const(1.0, "float64"), Load(Var("t", "float64"), a, (i, j))),
                 (For(i, Const(1, "int64"), n, Const(1, "int64"), (), nest(a, (i, j), {j: m}, s)),)):
        assert "a[:] = " not in text(*body) and "for " in text(*body)
    grown = Arr("grown", "float64", (n,))
    program = Function("f", (a, s, k), (*sizes, Alloc(grown), Resize(grown, k), *nest(grown, (i,), {i: n}, s)), ())
    assert "grown[:]" not in emit(program)[0]           # it has more elements by now
    parts = []
    for _ in range(4):
        i, j = Var("i", "int64"), Var("j", "int64")
        parts += [*nest(a, (i, k), {i: m}, s), *nest(a, (k, j), {j: n}, s)]
    assert "n, m = a.shape" in text(*parts)


def test_checks_that_raise_the_same_are_one():
    def loss(x, y):
        y[1:-1, 1:-1] = x[1:-1, 1:-1] ** 2
        return np.sum(y * y)
    made = value_and_grad(loss, mode="python")
    made(np.ones((4, 5)), np.ones((4, 5)))
    assert made.source.count("raise ValueErrorA") == 1 and " and " in made.source
    for other in ((4, 4), (5, 5), (5, 6)):
        with pytest.raises(ValueError) as expected:
            loss(np.ones((4, 5)), np.ones(other))
        with pytest.raises(ValueError) as found:
            made(np.ones((4, 5)), np.ones(other))
        assert str(found.value).startswith(str(expected.value).strip())
