"""Expressions: from syntax nodes to values."""

from __future__ import annotations

import operator

import gast
import numpy as np

from ..core import Const
from ..errors import MissingAttribute, NonDifferentiable, TypeConflict, UndefinedName, UnsupportedSyntax
from ..ops import normal_dtype
from ..plain import SUPPORTED, misfit_dtype
from ..source import MISSING
from .arrays import describe
from .liveness import bound_inside
from .outside import Place
from .values import (
    Array,
    Bound,
    Buffer,
    Closure,
    Delayed,
    Generator,
    GrowList,
    Mapping,
    Range,
    Record,
    Scalar,
    Sequence,
    Static,
    Table,
    Undefined,
    Value,
    is_number,
)

MANY = 64           # a list with more items is memory from the start

BINARY = {gast.Add: operator.add, gast.Sub: operator.sub, gast.Mult: operator.mul, gast.Div: operator.truediv,
          gast.FloorDiv: operator.floordiv, gast.Mod: operator.mod, gast.Pow: operator.pow,
          gast.BitAnd: operator.and_, gast.BitOr: operator.or_, gast.BitXor: operator.xor,
          gast.LShift: operator.lshift, gast.RShift: operator.rshift}
COMPARE = {gast.Lt: operator.lt, gast.LtE: operator.le, gast.Gt: operator.gt, gast.GtE: operator.ge,
           gast.Eq: operator.eq, gast.NotEq: operator.ne}
NAMES = {operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "div",
         operator.floordiv: "floordiv", operator.mod: "mod", operator.pow: "pow", operator.and_: "bitand",
         operator.or_: "bitor", operator.xor: "bitxor", operator.lshift: "lshift", operator.rshift: "rshift",
         operator.lt: "lt", operator.le: "le", operator.gt: "gt", operator.ge: "ge", operator.eq: "eq",
         operator.ne: "ne", operator.neg: "neg", operator.pos: "pos", operator.invert: "invert"}
ARRAY_ATTRIBUTES = ("shape", "ndim", "size", "T", "dtype", "real", "imag", "flat", "mT", "nbytes", "itemsize")


class Expressions:
    def eval(self, node) -> Value:
        method = getattr(self, "eval_" + type(node).__name__, None)
        if method is None:
            raise self.error(UnsupportedSyntax, f"`{type(node).__name__.lower()}` expressions are not supported", node=node)
        previous = self.node
        self.node = node
        try:
            return method(node)
        finally:
            self.node = previous

    def eval_Constant(self, node):
        return Static(node.value)

    def eval_Name(self, node):
        name = node.id
        frame = self.frame
        while frame is not None:
            if name in frame.env:
                value = frame.env[name]
                if isinstance(value, Undefined):
                    raise self.error(TypeConflict, value.why or f"`{name}` may be undefined here")
                return value
            frame = frame.outer
        value = self.outer_name(name)
        if value is None:
            raise self.error(UndefinedName, f"name `{name}` is not defined",
                             "assign it before use, pass it as an argument, or define it at module level")
        return value

    # -- operators --------------------------------------------------------------------------------------------
    def eval_BinOp(self, node):
        if isinstance(node.op, gast.MatMult):
            left, right = self.eval_items((node.left, node.right))
            self.node = node
            for owner, other, name in ((left, right, "__matmul__"), (right, left, "__rmatmul__")):
                if isinstance(owner, Record) and hasattr(getattr(owner.cls, name, None), "__code__"):
                    if isinstance(other, Record):
                        raise self.error(UnsupportedSyntax, f"products of a {owner.cls.__name__} and a "
                                                            f"{other.cls.__name__} are not supported")
                    return self.record_method(owner, name, [other], {})
            return self.call_static(np.matmul, [left, right], {})
        left, right = self.eval_items((node.left, node.right))
        self.node = node
        return self.binary(BINARY[type(node.op)], left, right)

    def binary(self, function, left: Value, right: Value) -> Value:
        if isinstance(left, Static) and isinstance(right, Static):
            try:
                return self.wrap(function(left.value, right.value))
            except ZeroDivisionError:
                if function is operator.truediv:
                    return Static(np.divide(left.value, right.value).item())
                raise self.error(TypeConflict, "division by zero in a constant expression") from None
            except TypeError as e:
                raise self.error(TypeConflict, str(e)) from None
        if not (isinstance(left, Sequence) and isinstance(right, Sequence)):
            done = self.list_operator(NAMES.get(function, ""), left, right)
            if done is not None:
                return done
        if isinstance(left, Sequence) or isinstance(right, Sequence):
            if function is operator.add and isinstance(left, Sequence) and isinstance(right, Sequence):
                return Sequence(left.items + right.items, left.kind)
            if function is operator.mul:
                seq, count = (left, right) if isinstance(left, Sequence) else (right, left)
                if isinstance(count, Static) and isinstance(count.value, int) and len(seq.items) * count.value <= MANY:
                    return Sequence(seq.items * count.value, seq.kind)
                if is_number(count) and self.dtype_of(count) == "int64" and len(seq.items) == 1:
                    return self.as_list(self.force(self.call_static(np.full, [count, seq.items[0]], {})), self.node)
        self.text_check(left, right)
        return self.elementwise(NAMES[function], left, right)

    def text_check(self, *values):
        for v in values:
            if isinstance(v, Static) and isinstance(v.value, (str, bytes, set, type(None))):
                raise self.error(TypeConflict, f"unsupported operand: {describe(v)}")

    def eval_UnaryOp(self, node):
        value = self.eval(node.operand)
        if isinstance(node.op, gast.Not):
            if isinstance(value, (Sequence, Mapping)):
                return Static(not value.items)
            if isinstance(value, Static):
                return Static(not value.value)
            return Scalar(self.b.let("not", self.condition(value), dtype="bool"), True)
        function = {gast.USub: operator.neg, gast.UAdd: operator.pos, gast.Invert: operator.invert}[type(node.op)]
        if isinstance(value, Static):
            return self.wrap(function(value.value))
        return self.elementwise(NAMES[function], value)

    def eval_BoolOp(self, node):
        """As Python does: the operand at which it is decided, not whether it is true."""
        is_and = isinstance(node.op, gast.And)
        if all(map(self.is_truth, node.values)):
            return self.connect(is_and, node.values)
        return self.decided(is_and, node.values)

    def is_truth(self, node) -> bool:
        """Whether an expression can only be true or false."""
        match node:
            case gast.Compare() | gast.UnaryOp(op=gast.Not()) | gast.Constant(value=bool()):
                return True
            case gast.BoolOp(values=values):
                return all(map(self.is_truth, values))
            case gast.Name(id=name):
                value = self.env.get(name)
                return isinstance(value, Scalar) and value.dtype == "bool" or isinstance(value, Static) and isinstance(
                    value.value, bool)
        return False

    def decided(self, is_and, nodes) -> Value:
        first = self.eval(nodes[0])
        if len(nodes) == 1:
            return first
        cond = self.condition(first)
        if isinstance(cond, Const):
            return self.decided(is_and, nodes[1:]) if cond.value == is_and else first
        sides = (lambda: self.decided(is_and, nodes[1:]), lambda: first)
        found = self.choose(cond, *(sides if is_and else sides[::-1]), bound_inside(nodes[1:]))
        if isinstance(found, Undefined) and isinstance(first, Scalar) and first.dtype == "int64":
            raise self.needs_static(first, f"what `{'and' if is_and else 'or'}` chooses by")
        return found

    def truth_of(self, node):
        """The truth of an expression as a bool atom."""
        if isinstance(node, gast.BoolOp):
            return self.condition(self.connect(isinstance(node.op, gast.And), node.values))
        if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not):
            return self.b.let("not", self.truth_of(node.operand), dtype="bool")
        return self.condition(self.eval(node))

    def connect(self, is_and, nodes):
        """Whether all or any of the expressions are true; those after the deciding one are not evaluated."""
        inner = nodes[0]
        first = Scalar(self.truth_of(inner), True) if isinstance(inner, gast.BoolOp) else self.eval(inner)
        if len(nodes) == 1:
            return first
        if isinstance(first, (Static, Sequence, Mapping, Closure, Record)):
            truth = bool(first.value) if isinstance(first, Static) else bool(getattr(first, "items", True))
            return self.connect(is_and, nodes[1:]) if truth == is_and else first
        cond = self.condition(first)
        sides = (lambda: Scalar(self.condition(self.connect(is_and, nodes[1:])), True),
                 lambda: Scalar(Const(not is_and, "bool"), True))
        sides = sides if is_and else sides[::-1]
        if names := bound_inside(nodes[1:]):
            return self.choose(cond, *sides, names)
        outer = self.b
        before = [dict(f.env) for f in self.frames]
        self.b = outer.child()
        try:
            rest = self.condition(self.connect(is_and, nodes[1:]))
            block = self.b.block()
        finally:
            self.b = outer
        if self.bindings_changed(before):
            self.restore(before)                # a call has changed an object: both ways are joined
            return self.choose(cond, *sides)
        if not block:
            return Scalar(self.b.let("and" if is_and else "or", cond, rest, dtype="bool"), True)
        from ..core import If, Merge, Var
        var = Var("both" if is_and else "either", "bool")
        other = Const(not is_and, "bool")
        if is_and:
            self.b.add(If(cond, block, (), (Merge(var, rest, other),), self.b.loc))
        else:
            self.b.add(If(cond, (), block, (Merge(var, other, rest),), self.b.loc))
        return Scalar(var, True)

    def condition(self, value: Value):
        """The truth of a value as a bool atom."""
        if isinstance(value, Static):
            return Const(bool(value.value), "bool")
        if isinstance(value, (Sequence, Mapping)):
            return Const(bool(value.items), "bool")
        if isinstance(value, (GrowList, Table)):
            return self.b.compare("gt", value.count, Const(0, "int64"))
        if isinstance(value, Array) and value.rank:
            if all(isinstance(s, Const) and s.value == 1 for s in value.shape):
                return self.truth(value.element(self, tuple(Const(0, "int64") for _ in value.shape)))
            raise self.error(NonDifferentiable,
                             "the truth value of an array with more than one element is ambiguous",
                             "use np.any or np.all, or np.where for a choice by element")
        if isinstance(value, (Closure, Record, Bound, Generator)):
            return Const(True, "bool")
        return self.truth(self.atom(value))

    def eval_Compare(self, node):
        if bound_inside(node.comparators[1:]):
            raise self.error(UnsupportedSyntax, "a chained comparison may not reach the `:=` in it",
                             "write it as comparisons joined by `and`", node=node)
        left = self.eval(node.left)
        result = None
        for k, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
            with self.holding(left):
                right = self.eval(right_node)
            here = self.compare(op, left, right)
            if result is None:
                result = here
            elif isinstance(result, Static) and isinstance(here, Static):
                result = Static(result.value and here.value)
            else:
                result = Scalar(self.b.let("and", self.condition(result), self.condition(here), dtype="bool"), True)
            if isinstance(result, Static) and not result.value and k + 1 < len(node.ops):
                return result
            left = right
        return result

    def compare(self, op, left, right) -> Value:
        match op:
            case gast.Is() | gast.IsNot():
                same = isinstance(left, Static) and isinstance(right, Static) and (
                    left.value is right.value or (is_number(left) and left.value == right.value))
                return Static(same == isinstance(op, gast.Is))
            case gast.In() | gast.NotIn():
                return self.contains(left, right, isinstance(op, gast.In))
        function = COMPARE[type(op)]
        if isinstance(left, Static) and isinstance(right, Static):
            return self.wrap(function(left.value, right.value))
        if any(isinstance(v, Static) and not is_number(v) for v in (left, right)) and \
                function in (operator.eq, operator.ne):
            return Static(function is operator.ne)
        if isinstance(left, Sequence) and isinstance(right, Sequence) and function in (operator.eq, operator.ne):
            if len(left.items) != len(right.items):
                return Static(function is operator.ne)
            atoms = [self.condition(self.compare(gast.Eq(), a, b))
                     for a, b in zip(left.items, right.items, strict=True)]
            cond = Const(True, "bool")
            for a in atoms:
                cond = self.b.let("and", cond, a, dtype="bool")
            if function is operator.ne:
                cond = self.b.let("not", cond, dtype="bool")
            return Static(cond.value) if isinstance(cond, Const) else Scalar(cond, True)
        result = self.elementwise(NAMES[function], left, right)
        if isinstance(result, Scalar):
            if isinstance(result.atom, Const):
                return Static(bool(result.atom.value))
            known = self.decide(function, left, right)
            if known is not None:
                return Static(known)
        return result

    def decide(self, function, left, right):
        """An integer comparison that holds or fails whatever the sizes are."""
        a, b = self.atom(left), self.atom(right)
        if a.dtype != "int64" or b.dtype != "int64":
            return None
        facts = self.b.facts
        if function in (operator.eq, operator.ne):
            if facts.same(a, b):
                return function is operator.eq
        elif function in (operator.le, operator.lt):
            if facts.at_most(a, b, 1 if function is operator.lt else 0):
                return True
        elif function in (operator.ge, operator.gt) and facts.at_most(b, a, 1 if function is operator.gt else 0):
            return True
        return None

    def contains(self, left, right, positive: bool) -> Value:
        if isinstance(right, Mapping) and isinstance(left, Static):
            return Static((left.value in right.items) == positive)
        if isinstance(right, Static) and isinstance(left, Static):
            return Static((left.value in right.value) == positive)
        if isinstance(right, Sequence):
            cond = Const(False, "bool")
            for item in right.items:
                here = self.compare(gast.Eq(), left, item)
                cond = self.b.let("or", cond, self.condition(here), dtype="bool")
            if not positive:
                cond = self.b.let("not", cond, dtype="bool")
            return Static(cond.value) if isinstance(cond, Const) else Scalar(cond, True)
        if isinstance(right, (Array, GrowList)) and is_number(left):
            found = self.call_static(np.any, [self.elementwise("eq", left, self.array(right))], {})
            return found if positive else Scalar(self.b.let("not", self.condition(found), dtype="bool"), True)
        raise self.error(UnsupportedSyntax, f"`in` on {describe(right)} is not supported", "compare with a list or an array")

    def eval_IfExp(self, node):
        cond = self.truth_of(node.test)
        if isinstance(cond, Const):
            return self.eval(node.body if cond.value else node.orelse)
        return self.choose(cond, lambda: self.eval(node.body), lambda: self.eval(node.orelse),
                           bound_inside((node.body, node.orelse)))

    # -- containers -------------------------------------------------------------------------------------------
    def eval_items(self, elts):
        items: list = []
        for e in elts:
            with self.holding(*items):
                if isinstance(e, gast.Starred):
                    items.extend(self.items_of(self.eval(e.value)))
                else:
                    items.append(self.eval(e))
        return tuple(items)

    def items_of(self, value) -> tuple:
        """The items of something of known length."""
        if isinstance(value, Sequence):
            return value.items
        if isinstance(value, Record) and hasattr(value.cls, "_fields"):
            return tuple(value.fields.values())
        if isinstance(value, Mapping):
            return tuple(Static(k) for k in value.items)
        if isinstance(value, Static) and isinstance(value.value, (str, tuple, list, range, dict)):
            return tuple(self.wrap(v) for v in value.value)
        iterable = self.iterate(value)
        if iterable.static is not None:
            return iterable.static
        if isinstance(iterable.length, Const):
            return tuple(iterable.item(Const(k, "int64")) for k in range(iterable.length.value))
        raise self.error(TypeConflict, f"{describe(value)} cannot be unpacked: its length is not known here")

    def eval_Tuple(self, node):
        return Sequence(self.eval_items(node.elts), tuple)

    def eval_List(self, node):
        return Sequence(self.eval_items(node.elts), list)

    def eval_Dict(self, node):
        items = {}
        for k, v in zip(node.keys, node.values, strict=True):
            if k is None:
                inner = self.eval(v)
                items.update(inner.items if isinstance(inner, Mapping) else {})
                continue
            key = self.eval(k)
            if isinstance(key, Sequence) and all(isinstance(i, Static) for i in key.items):
                key = Static(tuple(i.value for i in key.items))
            if not isinstance(key, Static):
                raise self.error(UnsupportedSyntax, "dict keys must be known before the program runs")
            with self.holding(*items.values()):
                made = self.eval(v)
            items[key.value] = made
        return Mapping(items)

    def eval_Set(self, node):
        raise self.error(UnsupportedSyntax, "sets are not supported", "use a tuple or a list", node=node)

    def eval_Lambda(self, node):
        return self.make_closure(node, "<lambda>")

    def make_closure(self, node, name):
        defaults = tuple(self.eval(d) for d in node.args.defaults)
        keyword = {a.id: self.eval(d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                   if d is not None}
        return Closure(node, self.frame, defaults, keyword, name)

    def eval_NamedExpr(self, node):
        value = self.eval(node.value)
        self.bind(node.target, value)
        return value

    def eval_JoinedStr(self, node):
        parts = []
        for v in node.values:
            if isinstance(v, gast.Constant):
                parts.append(str(v.value))
                continue
            inner = self.eval(v.value)
            spec = "".join(str(s.value) for s in v.format_spec.values) if v.format_spec else ""
            if not isinstance(inner, Static):
                if isinstance(inner, Sequence) and all(map(is_number, inner.items)):
                    parts.append(self.show_shape([self.atom(i) for i in inner.items]))
                else:
                    parts.append(self.show_number(self.atom(inner), spec) if is_number(inner) else f"<{describe(inner)}>")
                continue
            parts.append(format(inner.value, spec))
        return Static("".join(parts))

    def eval_Starred(self, node):
        raise self.error(UnsupportedSyntax, "a starred expression is not supported here", node=node)

    def eval_Await(self, node):
        raise self.error(UnsupportedSyntax, "`async` code cannot be differentiated", "write a plain function", node=node)

    def eval_Yield(self, node):
        raise self.error(UnsupportedSyntax, "`yield` cannot be differentiated: a generator has no value to follow",
                         "append to a list and return it", node=node)

    eval_YieldFrom = eval_Yield

    # -- attributes -------------------------------------------------------------------------------------------
    def eval_Attribute(self, node):
        owner = self.eval(node.value)
        self.node = node
        return self.attribute(owner, node.attr)

    def attribute(self, owner: Value, name: str) -> Value:
        match owner:
            case Static(value=obj) if is_number(owner) and name in ("real", "imag"):
                return Static(getattr(obj, name))
            case Static(value=obj):
                found = self.attribute_outside(obj, name)
                if found is None:
                    raise self.error(MissingAttribute, f"{describe(owner)} has no attribute `{name}`")
                return found
            case Record(fields=fields, cls=cls):
                if name in fields:
                    return fields[name]
                found = self.class_attribute(cls, name)
                if isinstance(found, property):
                    return self.call_static(found.fget, [owner], {})
                if name == "_fields":
                    return Sequence(tuple(Static(k) for k in fields))
                if found is not MISSING and not callable(found):
                    return self.read(Place.of(cls).attribute(name), found)
                return Bound(owner, name)
            case Array() if name in ARRAY_ATTRIBUTES:
                return self.array_attribute(owner, name)
            case Scalar() if name in ("real", "imag"):
                return self.part(owner, name)
            case Scalar() if name in ARRAY_ATTRIBUTES:
                return owner if name == "T" else self.array_attribute(self.scalar_array(owner), name)
            case GrowList() if name in ARRAY_ATTRIBUTES:
                raise self.error(TypeConflict, f"a list has no attribute `{name}`", "make an array: np.array(items)")
        return Bound(owner, name)

    def array_attribute(self, owner: Array, name: str) -> Value:
        match name:
            case "shape":
                return Sequence(tuple(self.number(s) for s in owner.shape))
            case "ndim":
                return Static(owner.rank)
            case "size":
                return self.number(self.size(owner.shape))
            case "T" | "mT":
                return self.call_static(np.transpose, [owner], {}) if name == "T" else \
                    self.call_static(np.swapaxes, [owner, Static(-1), Static(-2)], {})
            case "dtype":
                return Static(np.dtype(owner.dtype))
            case "itemsize":
                return Static(np.dtype(owner.dtype).itemsize)
            case "nbytes":
                return self.number(self.b.imul(self.size(owner.shape), Const(np.dtype(owner.dtype).itemsize, "int64")))
            case "flat":
                return self.call_static(np.ravel, [owner], {})
        return self.part(owner, name)

    def number(self, atom) -> Value:
        return Static(atom.value) if isinstance(atom, Const) else Scalar(atom, True)

    def dtype_argument(self, value, default=None):
        """A `dtype=` argument as a core dtype."""
        if value is None or (isinstance(value, Static) and value.value is None):
            return default
        if not isinstance(value, Static):
            raise self.error(TypeConflict, "dtype must be known before the program runs")
        try:
            dtype = np.dtype(value.value)
        except TypeError as e:
            raise self.error(TypeConflict, f"{value.value!r} is not a dtype: {e}", SUPPORTED) from None
        if (found := misfit_dtype(dtype)) is not None:
            raise self.error(TypeConflict, *found)
        return normal_dtype(dtype)

    def static_int(self, value: Value, what: str):
        if isinstance(value, Static) and (value.value is None or isinstance(value.value, (int, np.integer))):
            return value.value
        if isinstance(value, Scalar) and isinstance(value.atom, Const):
            return int(value.atom.value)
        if isinstance(value, Scalar):
            raise self.needs_static(value, what)
        raise self.error(TypeConflict, f"{what} must be an integer, not {describe(value)}")


__all__ = ["NAMES", "Buffer", "Delayed", "Expressions", "Range"]
