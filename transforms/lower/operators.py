"""Operators: arithmetic, comparisons, `and`, `or`, `not`, `is`, `in`, and what is true."""

from __future__ import annotations

import operator

import gast
import numpy as np

from ..language.core import Const, If, Merge, Var
from ..language.errors import NonDifferentiable, TypeConflict, UnsupportedSyntax
from ..language.ops import OPS
from .arrays import describe
from .list_methods import holds
from .list_operators import ListOperators, kind_of
from .liveness import bound_inside
from .messages import Text
from .outside import trusted
from .purity import is_fixed
from .records import as_tuple
from .sharing import identity, is_object, same_object
from .unbound import held
from .values import (
    Array,
    Bound,
    Buffer,
    Closure,
    Either,
    Generator,
    GrowList,
    Mapping,
    Record,
    Scalar,
    Sequence,
    Series,
    Static,
    Table,
    Undefined,
    Value,
    View,
    is_number,
)

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


class Operators(ListOperators):
    # -- operators --------------------------------------------------------------------------------------------
    def eval_BinOp(self, node):
        if isinstance(node.op, gast.MatMult):
            left, right = self.eval_items((node.left, node.right))
            self.node = node
            if isinstance(left, Record) or isinstance(right, Record):
                if isinstance(left, Record) and isinstance(right, Record) and trusted(left.cls.__module__):
                    raise self.error(UnsupportedSyntax, f"products of a {left.cls.__name__} and a {right.cls.__name__} are "
                                                        "not supported")
                made = self.record_operator("matmul", left, right)
                if made is not None:
                    return made
            return self.binary_matmul(left, right)
        left, right = self.eval_items((node.left, node.right))
        self.node = node
        return self.binary(BINARY[type(node.op)], left, right)

    def binary_matmul(self, left: Value, right: Value) -> Value:
        if (done := self.on_lists(operator.matmul, left, right)) is not None:
            return done
        return self.call_static(np.matmul, [left, right], {})

    def binary(self, function, left: Value, right: Value) -> Value:
        if isinstance(left, Either):
            return self.split(left, lambda v: self.binary(function, v, right), raises="TypeError")
        if isinstance(right, Either):
            return self.split(right, lambda v: self.binary(function, left, v), raises="TypeError")
        if isinstance(left, Record) or isinstance(right, Record):
            made = self.record_operator(function.__name__.strip("_"), left, right)
            if made is not None:
                return made
            left, right = as_tuple(left), as_tuple(right)
        if (text := self.text_operator(function, left, right)) is not None:
            return text
        left, right = self.operand(left, right), self.operand(right, left)
        if isinstance(left, Static) and isinstance(right, Static):
            try:
                return self.operate_now(function, left, right)
            except ZeroDivisionError as e:  # when the program comes here; what follows has some number
                if self.in_definition():
                    with np.errstate(all="ignore"):
                        return Static(float(function(np.float64(left.value), right.value)))
                self.add_check(self.b, Const(False, "bool"), "ZeroDivisionError", str(e))
                whole = isinstance(left.value, int) and isinstance(right.value, int) and function not in (
                    operator.truediv, operator.pow)
                return Static(1) if whole else Static(1.0)
            except TypeError as e:
                raise self.error(TypeConflict, str(e)) from None
        if isinstance(left, Mapping) and (joined := self.dict_operator(function, left, right)) is not None:
            return joined
        if (done := self.on_lists(function, left, right)) is not None:
            return done
        self.text_check(left, right)
        self.check_floats(function, left, right)
        if function is operator.pow and isinstance(left, Array) and left.dtype == "bool" and isinstance(right, Static) \
                and right.value == 2 and isinstance(right.value, int):
            return self.elementwise("square", left)         # as NumPy has it, of which the dtype is another
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
                return Static(not self.truth_now(value))
            return self.truth_value(self.b.let("not", self.condition(value), dtype="bool"))
        return self.unary({gast.USub: operator.neg, gast.UAdd: operator.pos, gast.Invert: operator.invert}[type(node.op)],
                          value)

    def unary(self, function, value: Value) -> Value:
        if isinstance(value, Either):
            return self.split(value, lambda v: self.unary(function, v), raises="TypeError")
        if (made := self.special(value, f"__{function.__name__.strip('_')}__")) is not None:
            return made
        if isinstance(value, Static):
            try:
                return self.wrap(function(value.value))
            except TypeError as e:
                raise self.error(TypeConflict, str(e)) from None
        self.refuse_unary(f"unary {'~' if function is operator.invert else '-' if function is operator.neg else '+'}", value)
        return self.elementwise(NAMES[function], value)

    def of_truths(self, name: str, values) -> tuple:
        """Operands and dtype of an operation on truths alone: Python's own are the integers 0 and 1, NumPy's are not."""
        if name in ("add", "sub", "neg", "pos", "invert") and any(getattr(v, "mixed", False) for v in values):
            raise self.error(UnsupportedSyntax, "a truth that is Python's own on one path and NumPy's on another differs "
                             "in arithmetic", "convert it: bool(...) or int(...)")
        if not all(map(self.is_weak, values)):
            if name in ("sub", "neg", "pos", "sign"):
                shown = {"sub": "-", "neg": "-", "pos": "+", "sign": "np.sign"}[name]
                raise self.error(TypeConflict, f"NumPy's booleans have no `{shown}`",
                                 "use `^` or `~`, or convert them: int(...)")
            return values, "bool"
        if OPS[name].kind in ("same", "float") and name not in ("maximum", "minimum") or name == "invert":
            return tuple(Scalar(self.atom(v, "int64"), True) for v in values), "int64"
        return values, "bool"

    def truth_value(self, cond) -> Value:
        """A condition as a value of Python's own bool."""
        return Static(cond.value) if isinstance(cond, Const) else Scalar(cond, True)

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
                value = held(self.env.get(name))
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
        held = f"%first{len(self.env)}"             # what is known of it on that side may be more
        self.env[held] = first
        sides = (lambda: self.decided(is_and, nodes[1:]), lambda: self.env[held])
        found = self.choose(cond, *(sides if is_and else sides[::-1]), bound_inside(nodes[1:]))
        self.env.pop(held, None)
        if isinstance(found, (Undefined, Either)) and isinstance(first, Scalar) and first.dtype == "int64" and (
                isinstance(found, Undefined) or self.can_be_known(first)):
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
        first = self.connect(isinstance(inner.op, gast.And), inner.values) if isinstance(inner, gast.BoolOp) else \
            self.eval(inner)
        if len(nodes) == 1:
            return first
        cond = self.condition(first)
        if isinstance(cond, Const):
            return self.connect(is_and, nodes[1:]) if cond.value == is_and else first
        return self.unless_decided(is_and, first, cond, lambda: self.connect(is_and, nodes[1:]), bound_inside(nodes[1:]))

    def unless_decided(self, is_and, first, cond, rest, names) -> Value:
        """`first and rest`, or with `or`, of truths: `rest`, which binds `names`, runs only where `first` leaves it open."""
        kinds = [first]

        def after():
            kinds.append(rest())
            return self.condition(kinds[-1])

        def chosen():
            sides = (lambda: Scalar(after(), True), lambda: Scalar(Const(not is_and, "bool"), True))
            return self.condition(self.choose(cond, *(sides if is_and else sides[::-1]), names))

        def finished(atom):
            weak = [self.is_weak(v) for v in kinds]
            mixed = any(weak) != all(weak) or any(getattr(v, "mixed", False) for v in kinds)
            if isinstance(atom, Const) and all(weak) and not mixed:
                return Static(atom.value)
            parts = (cond, *(v.atom for v in kinds[1:] if isinstance(v, Scalar)))
            if not isinstance(atom, Const) and atom not in parts:
                self.connected[atom] = (is_and, parts)
            return Scalar(atom, all(weak), mixed)
        if names:
            return finished(chosen())
        outer = self.b
        before = self.environments()
        self.b = outer.child()
        try:
            self.narrow(cond, is_and)
            narrowed = self.environments()
            last = after()
            block = self.b.block()
            changed = self.bindings_changed(narrowed)
        finally:
            self.b = outer
            self.restore(before)
        if changed:                             # a call has changed an object: both ways are joined
            kinds[1:] = []
            return finished(chosen())
        if not block:
            return finished(self.b.let("and" if is_and else "or", cond, last, dtype="bool"))
        var = Var("both" if is_and else "either", "bool")
        other = Const(not is_and, "bool")
        if is_and:
            self.b.add(If(cond, block, (), (Merge(var, last, other),), self.b.loc))
        else:
            self.b.add(If(cond, (), block, (Merge(var, other, last),), self.b.loc))
        return finished(var)

    def condition(self, value: Value):
        """The truth of a value as a bool atom."""
        if isinstance(value, Either):
            return self.truth_of_either(value)
        if isinstance(value, Static):
            return Const(self.truth_now(value), "bool")
        if isinstance(value, (Sequence, Mapping)):
            return Const(bool(value.items), "bool")
        if isinstance(value, (GrowList, Table, Series)):
            return self.b.compare("gt", value.count, Const(0, "int64"))
        if isinstance(value, Array) and value.is_list:
            return self.b.compare("gt", value.shape[0], Const(0, "int64"))
        if isinstance(value, Array) and value.rank:
            if all(isinstance(s, Const) and s.value == 1 for s in value.shape):
                return self.truth(value.element(self, tuple(Const(0, "int64") for _ in value.shape)))
            raise self.error(NonDifferentiable,
                             "the truth value of an array with more than one element is ambiguous",
                             "use np.any or np.all, or np.where for a choice by element")
        if isinstance(value, Record):
            return self.record_truth(value)
        if isinstance(value, (Closure, Bound, Generator)):
            return Const(True, "bool")
        return self.truth(self.atom(value))

    def eval_Compare(self, node):
        return self.chain(self.eval(node.left), node.ops, node.comparators)

    def chain(self, left, ops, nodes) -> Value:
        """`left < a < b`: what stands after a comparison that fails is not evaluated."""
        with self.holding(left):
            right = self.eval(nodes[0])
        here = self.compare(ops[0], left, right)
        if len(ops) == 1:
            return here
        cond = self.condition(here)
        if isinstance(cond, Const):
            return self.chain(right, ops[1:], nodes[1:]) if cond.value else here
        with self.holding(right):
            return self.unless_decided(True, here, cond, lambda: self.chain(right, ops[1:], nodes[1:]),
                                       bound_inside(nodes[1:]))

    def compare(self, op, left, right) -> Value:
        if isinstance(left, Text) or isinstance(right, Text):
            raise self.error(TypeConflict, f"{Text.told} cannot be compared", "compare the numbers")
        ordering = not isinstance(op, (gast.Is, gast.IsNot, gast.Eq, gast.NotEq, gast.In, gast.NotIn))
        if isinstance(left, Either):
            return self.split(left, lambda v: self.compare(op, v, right), raises="TypeError" if ordering else "", pure=True)
        if isinstance(right, Either):
            return self.split(right, lambda v: self.compare(op, left, v), raises="TypeError" if ordering else "", pure=True)
        match op:
            case gast.Is():
                return self.identical(left, right)
            case gast.IsNot():
                return self.truth_value(self.b.let("not", self.condition(self.identical(left, right)), dtype="bool"))
            case gast.In() | gast.NotIn():
                return self.contains(left, right, isinstance(op, gast.In))
        function = COMPARE[type(op)]
        if isinstance(left, Record) or isinstance(right, Record):
            made = self.record_compared(function, left, right)
            if made is not None:
                return made
            left, right = as_tuple(left), as_tuple(right)
        if isinstance(left, Static) and isinstance(right, Static):
            try:
                return self.operate_now(function, left, right)
            except TypeError as e:
                raise self.error(TypeConflict, str(e)) from None
        if any(isinstance(v, Static) and not is_number(v) for v in (left, right)) and \
                function in (operator.eq, operator.ne):
            array = next((v for v in (left, right) if isinstance(v, Array) and not v.is_list), None)
            if array is not None:               # NumPy compares each element
                differs = Const(function is operator.ne, "bool")
                return self.delayed(array.shape, "bool", lambda lo, index: differs, ())
            return Static(function is operator.ne)
        left, right = self.operand(left, right), self.operand(right, left)
        if (found := self.compare_lists(function, left, right)) is not None:
            return found
        result = self.elementwise(NAMES[function], left, right)
        if isinstance(result, Scalar):
            known = result.atom.value if isinstance(result.atom, Const) else self.decide(function, left, right)
            if known is not None:
                return Static(bool(known)) if result.weak else Scalar(Const(bool(known), "bool"))
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

    def identical(self, left, right) -> Value:
        """`left is right`, where that is known."""
        numbers = [is_number(v) for v in (left, right)]
        if isinstance(left, Static) and isinstance(right, Static):
            a, b = left.value, right.value
            if a is b and not isinstance(a, (float, complex)) or type(a) is not type(b) or a != b:
                return Static(a is b)
            if isinstance(a, int) and -5 <= a <= 256:               # which CPython has once
                return Static(True)
            if not isinstance(a, (int, float, complex, str, bytes, tuple)):
                return Static(a is b)
        elif all(numbers):
            mine, other = map(self.kinds_of, (left, right))
            if not mine & other:
                return Static(False)
            if len(mine | other) > 1:
                raise self.unknown_identity(left, right, "convert it: bool(...)")
            if mine == {("bool", True)}:
                return self.truth_value(self.b.compare("eq", self.atom(left), self.atom(right)))
        elif left is right:
            return Static(True)
        elif any(numbers):
            return Static(False)
        elif isinstance(left, Array) and isinstance(right, Array) and not (left.roots() & right.roots() & self.columns):
            mine, other = (self.with_twins(v.roots()) for v in (left, right))
            given = [isinstance(v, Buffer) and v.arr in self.parameters for v in (left, right)]
            if not (mine & other or all(given)) or any(isinstance(v, View) for v in (left, right)) and mine == left.roots() \
                    and other == right.roots():
                return Static(False)
        elif is_object(left) or is_object(right):
            if same_object(left, right) or not (is_object(left) and is_object(right)):
                return Static(same_object(left, right))
            ambiguous = [getattr(v, "either", set()) for v in (left, right)]
            if not (identity(right) in ambiguous[0] or identity(left) in ambiguous[1] or ambiguous[0] & ambiguous[1]
                    or getattr(left, "outside", False) and getattr(right, "outside", False)):
                return Static(False)
        elif type(left) is not type(right):
            return Static(False)
        raise self.unknown_identity(left, right, "compare with `==`, or use `is` with None, True, False and objects only")

    def unknown_identity(self, left, right, advice: str):
        return self.error(UnsupportedSyntax, f"whether {describe(left)} and {describe(right)} are one object is not known "
                          "before the program runs", advice)

    def contains(self, left, right, positive: bool) -> Value:
        if isinstance(right, Record) and (made := self.special(right, "__contains__", left)) is not None:
            cond = self.condition(made)
            return self.truth_value(cond if positive else self.b.let("not", cond, dtype="bool"))
        right = self.unpacked(right)
        if isinstance(right, Mapping) and isinstance(left, Static):
            return Static((left.value in right.items) == positive)
        if isinstance(right, Static) and isinstance(left, Static):
            found = self.by_method("__contains__", right, left)
            if found is None and not is_fixed(right.value):
                raise self.error(UnsupportedSyntax, f"`in` on {describe(right)} is not supported",
                                 "compare with a list or an array")
            return Static((left.value in right.value if found is None else self.truth_now(found)) == positive)
        if isinstance(right, Sequence):
            cond = Const(False, "bool")
            for item in right.items:
                here = Static(True) if is_object(left) and same_object(left, item) else self.compare(gast.Eq(), left, item)
                cond = self.b.let("or", cond, self.condition(here), dtype="bool")
            if not positive:
                cond = self.b.let("not", cond, dtype="bool")
            return Static(cond.value) if isinstance(cond, Const) else Scalar(cond, True)
        if isinstance(right, Series) and not self.has_rows(right):
            right = self.series_numbers(right)
        rows = kind_of(right) is not None and isinstance(right, (Array, GrowList)) and self.array(right).rank > 1
        if isinstance(right, (Array, GrowList)) and is_number(left) and not rows:
            found = self.call_static(np.any, [self.elementwise("eq", left, self.array(right))], {})
            found = self.condition(found)
            return self.truth_value(found if positive else self.b.let("not", found, dtype="bool"))
        if self.has_rows(right) and not rows or isinstance(right, Array) and self.has_rows(right):
            found = self.condition(self.call_python(holds, [right, left], {}))
            return self.truth_value(found if positive else self.b.let("not", found, dtype="bool"))
        raise self.error(UnsupportedSyntax, f"`in` on {describe(right)} is not supported", "compare with a list or an array")


__all__ = ["BINARY", "COMPARE", "NAMES", "Operators"]
