"""Operators: arithmetic, comparisons, `and`, `or`, `not`, `is`, `in`, and what is true."""

from __future__ import annotations

import operator
from functools import partial

import gast
import numpy as np

from ...language.core import Const, Merge, Var
from ...language.errors import AutodiffError, NonDifferentiable, TypeConflict, UnsupportedSyntax, WrongKind
from ...language.facts import ORDERS
from ...language.queries import operation
from ..arrays.points import is_point, perhaps_point
from ..checks import add_check, in_definition
from ..containers.containers import dict_operator, eval_items, unpacked
from ..containers.list_methods import has_rows, holds, same_range, within
from ..containers.list_operators import compare_lists, kind_of, on_lists, refuse_unary
from ..containers.records import nowhere_equal, record_compared, record_operator, record_truth
from ..containers.series import operand, series_numbers
from ..containers.sharing import holding, identical, is_object, same_object
from ..functions.outside import has_methods, special
from ..functions.places import in_library, trusted
from ..functions.purity import A_SET, by_method, is_fixed, operate_now, truth_now
from ..functions.recursion import can_be_known
from ..journal import bindings_changed, environments, restore
from ..loops.in_turn import found_in_turn
from ..loops.iterators import gone_through
from ..numbers.conversions import is_weak, needs_static, truth, truth_value
from ..numbers.kinds_on_paths import may_wrap, own_on_paths
from ..numbers.math_errors import check_floats
from ..state import Lowering
from ..structures import as_key, describe
from ..table import NAMES, evaluates
from ..values import (
    Array,
    Bound,
    Closure,
    Either,
    Generator,
    GrowList,
    Mapping,
    Range,
    Record,
    Scalar,
    Sequence,
    Series,
    Slice,
    Static,
    Table,
    Undefined,
    Value,
    as_range,
    as_tuple,
    is_number,
    passes,
)
from .alternatives import fitting, narrow, split, truth_of_either
from .known_conditions import hold_in
from .liveness import bound_inside
from .messages import text_operator
from .operands import no_operands, text_check
from .texts import Text
from .unbound import held

BINARY = {gast.Add: operator.add, gast.Sub: operator.sub, gast.Mult: operator.mul, gast.Div: operator.truediv,
          gast.FloorDiv: operator.floordiv, gast.Mod: operator.mod, gast.Pow: operator.pow,
          gast.BitAnd: operator.and_, gast.BitOr: operator.or_, gast.BitXor: operator.xor,
          gast.LShift: operator.lshift, gast.RShift: operator.rshift}
COMPARE = {gast.Lt: operator.lt, gast.LtE: operator.le, gast.Gt: operator.gt, gast.GtE: operator.ge,
           gast.Eq: operator.eq, gast.NotEq: operator.ne}


# -- operators --------------------------------------------------------------------------------------------
@evaluates(gast.BinOp)
def eval_bin_op(lo: Lowering, node):
    if isinstance(node.op, gast.MatMult):
        left, right = eval_items(lo, (node.left, node.right))
        lo.node = node
        if isinstance(left, Record) and isinstance(right, Record) and trusted(left.cls.__module__):
            raise lo.error(UnsupportedSyntax, f"products of a {left.cls.__name__} and a {right.cls.__name__} are "
                                              "not supported")
        return binary_matmul(lo, left, right)
    left, right = eval_items(lo, (node.left, node.right))
    lo.node = node
    return lo.binary(BINARY[type(node.op)], left, right)


def binary_matmul(lo: Lowering, left: Value, right: Value) -> Value:
    if isinstance(left, Either):
        return split(lo, left, lambda v: binary_matmul(lo, v, right), raises="TypeError")
    if isinstance(right, Either):
        return split(lo, right, lambda v: binary_matmul(lo, left, v), raises="TypeError")
    no_operands(lo, left, right)
    if has_methods(left) or has_methods(right):
        made = record_operator(lo, "matmul", left, right)
        if made is not None:
            return made
    left, right = as_tuple(left), as_tuple(right)
    if (done := on_lists(lo, operator.matmul, left, right)) is not None:
        return done
    if all(is_number(v) and not is_point(v) for v in (left, right)):
        raise lo.error(WrongKind, "unsupported operand types for @: numbers have no matrix product", "write *")
    return lo.call_static(np.matmul, [left, right], {})


def binary(lo: Lowering, function, left: Value, right: Value) -> Value:
    if isinstance(left, Either):
        return split(lo, left, lambda v: lo.binary(function, v, right), raises="TypeError")
    if isinstance(right, Either):
        return split(lo, right, lambda v: lo.binary(function, left, v), raises="TypeError")
    no_operands(lo, left, right)
    known = isinstance(left, Static) and isinstance(right, Static)
    if not known and (has_methods(left) or has_methods(right)):
        made = record_operator(lo, function.__name__.strip("_"), left, right)
        if made is not None:
            return made
        left, right = as_tuple(left), as_tuple(right)
    if (text := text_operator(lo, function, left, right)) is not None:
        return text
    left, right = operand(lo, left, right), operand(lo, right, left)
    if isinstance(left, Static) and isinstance(right, Static):
        try:
            return operate_now(lo, function, left, right)
        except ZeroDivisionError as e:  # when the program comes here; what follows has some number
            if in_definition(lo):
                with np.errstate(all="ignore"):
                    return Static(float(function(np.float64(left.value), right.value)))
            add_check(lo, lo.b, Const(False, "bool"), "ZeroDivisionError", str(e))
            whole = isinstance(left.value, int) and isinstance(right.value, int) and function not in (
                operator.truediv, operator.pow)
            return Static(1) if whole else Static(1.0)
        except TypeError as e:
            raise said(lo, e) from None
    if isinstance(left, Mapping) and (joined := dict_operator(lo, function, left, right)) is not None:
        return joined
    if (done := on_lists(lo, function, left, right)) is not None:
        return done
    text_check(lo, left, right)
    check_floats(lo, function, left, right)
    truths = (isinstance(left, Array) or isinstance(left, Scalar) and is_point(left)) and left.dtype == "bool"
    if truths and function is operator.pow and isinstance(right, Static) and type(right.value) is int and right.value == 2:
        return lo.elementwise("square", left)         # as NumPy has it, of which the dtype is another
    return lo.elementwise(NAMES[function], left, right)


def said(lo: Lowering, error: TypeError) -> Exception:
    """What Python says of values that are known now; of methods that were read, the refusal."""
    return error if isinstance(error, AutodiffError) else lo.error(WrongKind, str(error))


@evaluates(gast.UnaryOp)
def eval_unary_op(lo: Lowering, node):
    value = lo.eval(node.operand)
    if isinstance(node.op, gast.Not):
        return negated(lo, value)
    return unary(lo, {gast.USub: operator.neg, gast.UAdd: operator.pos, gast.Invert: operator.invert}[type(node.op)],
                 value)


def negated(lo: Lowering, value: Value) -> Value:
    """`not value`."""
    if hasattr(value, "once"):                  # an iterator is true, whether it has items or not
        return Static(False)
    if isinstance(value, (Sequence, Mapping)):
        return Static(not value.items)
    if isinstance(value, Static):
        return Static(not truth_now(lo, value))
    return truth_value(lo, lo.b.let("not", lo.condition(value), dtype="bool"))


def unary(lo: Lowering, function, value: Value) -> Value:
    if isinstance(value, Either):
        return split(lo, value, lambda v: unary(lo, function, v), raises="TypeError")
    if (made := special(lo, value, f"__{function.__name__.strip('_')}__")) is not None:
        return made
    no_operands(lo, value)
    if isinstance(value, Static):
        try:
            return lo.wrap(function(value.value))
        except TypeError as e:
            raise said(lo, e) from None
    refuse_unary(lo, f"unary {'~' if function is operator.invert else '-' if function is operator.neg else '+'}", value)
    return lo.elementwise(NAMES[function], value)


@evaluates(gast.BoolOp)
def eval_bool_op(lo: Lowering, node):
    """As Python does: the operand at which it is decided, not whether it is true."""
    is_and = isinstance(node.op, gast.And)
    if all(map(partial(is_truth, lo), node.values)):
        return connect(lo, is_and, node.values)
    return decided(lo, is_and, node.values)


def is_truth(lo: Lowering, node) -> bool:
    """Whether an expression can only be true or false."""
    match node:
        case gast.Compare() | gast.UnaryOp(op=gast.Not()) | gast.Constant(value=bool()):
            return True
        case gast.BoolOp(values=values):
            return all(map(partial(is_truth, lo), values))
        case gast.Name(id=name):
            value = held(lo.env.get(name))
            return isinstance(value, Scalar) and value.dtype == "bool" or isinstance(value, Static) and isinstance(
                value.value, bool)
    return False


def decided(lo: Lowering, is_and, nodes) -> Value:
    first = lo.eval(nodes[0])
    if len(nodes) == 1:
        return first
    cond = lo.condition(first)
    if isinstance(cond, Const):
        return decided(lo, is_and, nodes[1:]) if cond.value == is_and else first
    held = f"%first{len(lo.env)}"             # what is known of it on that side may be more
    lo.env[held] = first
    rest, known = lambda: decided(lo, is_and, nodes[1:]), lambda: lo.env[held]
    then, orelse = (rest, known) if is_and else (known, rest)
    found = lo.choose(cond, then, orelse, bound_inside(nodes[1:]))
    lo.env.pop(held, None)
    if isinstance(found, (Undefined, Either)) and isinstance(first, Scalar) and first.dtype == "int64" and (
            isinstance(found, Undefined) or can_be_known(lo, first)):
        raise needs_static(lo, first, f"what `{'and' if is_and else 'or'}` chooses by")
    return fitting(lo, found)


def truth_of(lo: Lowering, node):
    """The truth of an expression as a bool atom."""
    if isinstance(node, gast.BoolOp):
        return lo.condition(connect(lo, isinstance(node.op, gast.And), node.values))
    if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not):
        return lo.b.let("not", truth_of(lo, node.operand), dtype="bool")
    return lo.condition(lo.eval(node))


def connect(lo: Lowering, is_and, nodes):
    """Whether all or any of the expressions are true; those after the deciding one are not evaluated."""
    inner = nodes[0]
    first = connect(lo, isinstance(inner.op, gast.And), inner.values) if isinstance(inner, gast.BoolOp) else \
        lo.eval(inner)
    if len(nodes) == 1:
        return first
    cond = lo.condition(first)
    if isinstance(cond, Const):
        return connect(lo, is_and, nodes[1:]) if cond.value == is_and else first
    return unless_decided(lo, is_and, first, cond, lambda: connect(lo, is_and, nodes[1:]), bound_inside(nodes[1:]))


def unless_decided(lo: Lowering, is_and, first, cond, rest, names) -> Value:
    """`first and rest`, or with `or`, of truths: `rest`, which binds `names`, runs only where `first` leaves it open."""
    kinds = [first]

    def after():
        kinds.append(rest())
        return lo.condition(kinds[-1])

    def chosen():
        sides = (lambda: Scalar(after(), True), lambda: Scalar(Const(not is_and, "bool"), True))
        return lo.condition(lo.choose(cond, *(sides if is_and else sides[::-1]), names))

    def finished(atom):
        weak = [is_weak(lo, v) for v in kinds]
        mixed = any(weak) != all(weak) or any(v.mixed for v in kinds)
        if isinstance(atom, Const) and all(weak) and not mixed:
            return Static(atom.value)
        parts = (cond, *(v.atom for v in kinds[1:] if isinstance(v, Scalar)))
        if not isinstance(atom, Const) and atom not in parts:
            lo.connected[atom] = (is_and, parts)
        return Scalar(atom, all(weak), mixed)
    if names or lo.around.trying is not None:
        return finished(chosen())
    outer = lo.b
    before = environments(lo)
    lo.b = outer.child()
    hold_in(lo, lo.b, cond, is_and)
    try:
        narrow(lo, cond, is_and)
        narrowed = environments(lo)
        last = after()
        block = lo.b.block()
        changed = bindings_changed(lo, narrowed)
    finally:
        lo.b = outer
        lo.around.conditions.pop()
        restore(lo, before)
    if changed:                             # a call has changed an object: both ways are joined
        kinds[1:] = []
        return finished(chosen())
    if all(at_once(lo, s) for s in block):
        for s in block:
            lo.b.add(s)
        return finished(lo.b.let("and" if is_and else "or", cond, last, dtype="bool"))
    var = Var("both" if is_and else "either", "bool")
    other = Const(not is_and, "bool")
    if is_and:
        lo.b.branch(cond, then=block, merges=(Merge(var, last, other),))
    else:
        lo.b.branch(cond, orelse=block, merges=(Merge(var, other, last),))
    return finished(var)


def at_once(lo: Lowering, stmt) -> bool:
    """Whether a statement may as well run where the program would not come to it: it compares or counts."""
    op = operation(stmt)
    return op in (*ORDERS, "and", "or", "not") or op in ("add", "sub") and stmt.var.dtype == "int64" and all(
        isinstance(a, Const) or a in lo.b.facts.range or a in lo.sizes for a in stmt.args)


def condition(lo: Lowering, value: Value):
    """The truth of a value as a bool atom."""
    if hasattr(value, "once"):
        return Const(True, "bool")
    if isinstance(value, Either):
        return truth_of_either(lo, value)
    if isinstance(value, Static):
        return Const(truth_now(lo, value), "bool")
    if isinstance(value, (Sequence, Mapping)):
        return Const(bool(value.items), "bool")
    if isinstance(value, (GrowList, Table, Series)):
        return lo.b.compare("gt", value.count, Const(0, "int64"))
    if isinstance(value, Array) and value.is_list:
        return lo.b.compare("gt", value.shape[0], Const(0, "int64"))
    if isinstance(value, Array) and value.rank:
        if all(isinstance(s, Const) and s.value == 1 for s in value.shape):
            return truth(lo, value.element(lo, tuple(Const(0, "int64") for _ in value.shape)))
        raise lo.error(NonDifferentiable,
                       "the truth value of an array with more than one element is ambiguous",
                       "use np.any or np.all, or np.where for a choice by element")
    if isinstance(value, Record):
        return record_truth(lo, value)
    if isinstance(value, (Closure, Bound, Generator)):
        return Const(True, "bool")
    return truth(lo, lo.atom(value))


@evaluates(gast.Compare)
def eval_compare(lo: Lowering, node):
    return chain(lo, lo.eval(node.left), node.ops, node.comparators)


def chain(lo: Lowering, left, ops, nodes) -> Value:
    """`left < a < b`: what stands after a comparison that fails is not evaluated."""
    if len(ops) == 1 and isinstance(ops[0], (gast.In, gast.NotIn)):
        answer = found_in_turn(lo, left, ops[0], nodes[0])
        if answer is not None:
            return answer
    with holding(lo, left, node=nodes[0]) as held:
        right = lo.eval(nodes[0])
    left, = held.now
    here = lo.compare(ops[0], left, right)
    if len(ops) == 1:
        return here
    cond = lo.condition(here)
    if isinstance(cond, Const):
        return chain(lo, right, ops[1:], nodes[1:]) if cond.value else here
    with holding(lo, right):
        return unless_decided(lo, True, here, cond, lambda: chain(lo, right, ops[1:], nodes[1:]),
                              bound_inside(nodes[1:]))


def compare(lo: Lowering, op, left, right) -> Value:
    if isinstance(left, Text) or isinstance(right, Text):
        raise lo.error(TypeConflict, f"{Text.told} cannot be compared", "compare the numbers")
    ordering = not isinstance(op, (gast.Is, gast.IsNot, gast.Eq, gast.NotEq, gast.In, gast.NotIn))
    if isinstance(left, Either):
        return split(lo, left, lambda v: lo.compare(op, v, right), raises="TypeError" if ordering else "", pure=True)
    if isinstance(right, Either):
        return split(lo, right, lambda v: lo.compare(op, left, v), raises="TypeError" if ordering else "", pure=True)
    match op:
        case gast.Is():
            return identical(lo, left, right)
        case gast.IsNot():
            return truth_value(lo, lo.b.let("not", lo.condition(identical(lo, left, right)), dtype="bool"))
        case gast.In() | gast.NotIn():
            return contains(lo, left, right, isinstance(op, gast.In))
    function = COMPARE[type(op)]
    known = isinstance(left, Static) and isinstance(right, Static)
    if not known and (has_methods(left) or has_methods(right)):
        made = record_compared(lo, op, function, left, right)
        if made is not None:
            return made
        left, right = as_tuple(left), as_tuple(right)
    if isinstance(left, Static) and isinstance(right, Static):
        try:
            return operate_now(lo, function, left, right)
        except TypeError as e:
            raise said(lo, e) from None
    left, right = as_range(left), as_range(right)
    if (passes(left) or passes(right)) and not in_library(lo):
        raise lo.error(UnsupportedSyntax,
                       "comparisons of iterators and of views of dicts are not supported", "make lists of them: list(...)")
    if isinstance(left, Slice) and isinstance(right, Slice):
        return lo.compare(op, *(Sequence(v.inside(), tuple) for v in (left, right)))
    alike = isinstance(left, Mapping) and isinstance(right, Mapping) or function not in (operator.eq, operator.ne)
    if not alike and any(isinstance(v, (Mapping, Slice, Static)) and not is_number(v) for v in (left, right)):
        if isinstance(left, Static) and isinstance(left.value, np.dtype) and isinstance(right, (Scalar, Array)) and not (
                is_weak(lo, right) or kind_of(right)):          # which NumPy takes for its dtype
            return lo.compare(op, left, lo.attribute(right, "dtype"))
        return nowhere_equal(lo, function, left, right)
    if isinstance(left, Mapping) and isinstance(right, Mapping) and function in (operator.eq, operator.ne):
        if left.items.keys() != right.items.keys():
            return Static(function is operator.ne)
        return lo.compare(op, Sequence(tuple(left.items.values())), Sequence(tuple(right.items[k] for k in left.items)))
    left, right = operand(lo, left, right), operand(lo, right, left)
    if isinstance(left, Range) or isinstance(right, Range):
        equal: Value = Static(False)
        if isinstance(left, Range) and isinstance(right, Range):
            equal = lo.call_python(same_range, [Sequence(v.inside(), tuple) for v in (left, right)], {})
        if function in (operator.eq, operator.ne):
            return equal if function is operator.eq else truth_value(lo, lo.b.let("not", lo.condition(equal), dtype="bool"))
        no_operands(lo, left, right)
    if (found := compare_lists(lo, function, left, right)) is not None:
        return found
    result = lo.elementwise(NAMES[function], left, right)
    if isinstance(result, Scalar):
        if any(v.mixed for v in (left, right)) and is_number(left) and is_number(right):
            possible, certain = own_on_paths(lo, left, right)
            result.mixed = possible and not certain
        known = result.atom.value if isinstance(result.atom, Const) else decide(lo, function, left, right)
        if known is not None:
            own = result.weak and not result.mixed
            return Static(bool(known)) if own else Scalar(Const(bool(known), "bool"), False, result.mixed)
    return result


def decide(lo: Lowering, function, left, right):
    """An integer comparison that holds or fails whatever the sizes are."""
    a, b = lo.atom(left), lo.atom(right)
    if a.dtype != "int64" or b.dtype != "int64" or may_wrap(lo, a) or may_wrap(lo, b):
        return None
    facts = lo.b.facts
    if function in (operator.eq, operator.ne):
        if facts.same(a, b):
            return function is operator.eq
    elif function in (operator.le, operator.lt):
        if facts.at_most(a, b, 1 if function is operator.lt else 0):
            return True
    elif function in (operator.ge, operator.gt) and facts.at_most(b, a, 1 if function is operator.gt else 0):
        return True
    return None


def contains(lo: Lowering, left, right, positive: bool) -> Value:
    if (isinstance(right, Record) or has_methods(right) and not isinstance(left, Static)) and (
            made := special(lo, right, "__contains__", left)) is not None:
        cond = lo.condition(made)
        return truth_value(lo, cond if positive else lo.b.let("not", cond, dtype="bool"))
    right = unpacked(lo, gone_through(lo, right))
    if isinstance(right, Mapping) and isinstance(key := as_key(left), Static):
        return Static((key.value in right.items) == positive)
    if isinstance(right, Mapping):
        if not is_number(left) or can_be_known(lo, left):
            raise needs_static(lo, left, "a dict key")
        right = Sequence(tuple(Static(k) for k in right.items if isinstance(k, (int, float))))
    if isinstance(right, Range) and is_number(left):
        found = lo.condition(lo.call_python(within, [left, *right.inside()], {}))
        return truth_value(lo, found if positive else lo.b.let("not", found, dtype="bool"))
    if isinstance(right, Static) and isinstance(left, Static):
        found = by_method(lo, "__contains__", right, left)
        if found is None and not is_fixed(right.value):
            raise lo.error(UnsupportedSyntax, *A_SET if isinstance(right.value, set) else (
                f"`in` on {describe(right)} is not supported", "compare with a list or an array"))
        try:
            return Static((left.value in right.value if found is None else truth_now(lo, found)) == positive)
        except TypeError as e:
            raise said(lo, e) from None
    if isinstance(right, Sequence):
        cond = Const(False, "bool")
        for item in right.items:
            here = Static(True) if is_object(left) and same_object(left, item) else lo.compare(gast.Eq(), left, item)
            cond = lo.b.let("or", cond, lo.condition(here), dtype="bool")
        if not positive:
            cond = lo.b.let("not", cond, dtype="bool")
        return Static(cond.value) if isinstance(cond, Const) else Scalar(cond, True)
    if isinstance(right, Series) and not has_rows(lo, right):
        right = series_numbers(lo, right)
    rows = kind_of(right) is not None and isinstance(right, (Array, GrowList)) and lo.array(right).rank > 1
    if perhaps_point(right):
        raise lo.error(TypeConflict, "`in` of an array on one path and a number on another", "compare it: left == right")
    if isinstance(right, (Array, GrowList)) and is_number(left) and not rows:
        found = lo.condition(lo.call_static(np.any, [lo.elementwise("eq", left, lo.array(right))], {}))
        return truth_value(lo, found if positive else lo.b.let("not", found, dtype="bool"))
    if has_rows(lo, right) and not rows or isinstance(right, Array) and has_rows(lo, right):
        found = lo.condition(lo.call_python(holds, [right, left], {}))
        return truth_value(lo, found if positive else lo.b.let("not", found, dtype="bool"))
    raise lo.error(WrongKind if is_number(right) else UnsupportedSyntax, *A_SET if isinstance(getattr(
        right, "value", None), set) else (f"`in` on {describe(right)} is not supported", "compare with a list or an array"))


__all__ = ["BINARY", "COMPARE"]
