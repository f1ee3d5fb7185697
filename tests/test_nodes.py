"""Nodes of the core language: every field has a role, and what follows from the roles."""

import dataclasses

import pytest

from autodiff.transforms.language import core, fields
from autodiff.transforms.language.build import integer
from autodiff.transforms.language.core import Arr, Call, Carry, For, Function, If, Let, Load, Merge, Ref, Store, Var, While
from autodiff.transforms.language.errors import InternalError
from autodiff.transforms.language.names import defined_in
from autodiff.transforms.language.rewrite import bottom_up, top_down, without
from autodiff.transforms.language.substitution import substitute
from autodiff.transforms.language.verify import verify

NAMELESS = {"str", "bool", "Loc", "str | None", "bool | str"}
N, X, Y = Var("n", "int64"), Var("x", "float64"), Var("y", "float64")
A = Arr("a", "float64", (N,))


def loop(step="add", carried=None):
    """(loop, index): it adds the elements of A to what it carries."""
    i, head, element, total, result = Var("i", "int64"), *(Var(h, "float64") for h in ("head", "element", "total", "result"))
    body = (Load(element, A, (i,)), Let(total, step, (head, element)))
    return For(i, integer(0), N, integer(1), (Carry(head, X, carried or total, result),), body, trip=Var("trip", "int64")), i


def test_every_field_has_a_role_or_no_names():
    for cls, roles in fields.ROLES.items():
        without_role = {f.name for f in dataclasses.fields(cls) if f.name not in roles and f.type not in NAMELESS}
        assert without_role == ({"static"} if cls is Call else set()), cls


def test_what_follows_from_the_roles_of_a_loop():
    made, i = loop()
    carry = made.carries[0]
    assert core.operands(made) == (integer(0), N, integer(1), X, carry.next)
    assert core.defined(made) == (carry.result, made.trip)
    assert core.bound_inside(made) == (i, carry.var)
    assert core.sub_blocks(made) == (made.body,)
    assert core.with_blocks(made, lambda body: body[:1]).body == made.body[:1]
    assert defined_in((made,)) == {i, carry.var, carry.result, made.trip, *(s.var for s in made.body)}


def test_what_follows_from_the_roles_of_a_call():
    scalar, row = Var("s", "float64"), Ref(A, (N,))
    made = Call((scalar, row), "op", (X, A))
    assert core.operands(made) == (X, A, row)
    assert core.defined(made) == (scalar,)
    assert core.written((made,)) == {A}


def test_substitution_gives_new_names_to_what_is_bound():
    made, _ = loop()
    mapping = {X: Y, A: Ref(Arr("b", "float64", (N, N)), (integer(2),))}
    copy, = substitute((made,), mapping)
    assert copy.carries[0].init is Y and copy.trip is not made.trip and copy.index is not made.index
    read, added = copy.body
    assert read.index == (integer(2), copy.index) and added.args == (copy.carries[0].var, read.var)
    assert copy.carries[0].next is added.var and mapping[made.carries[0].result] is copy.carries[0].result


def test_rewriting():
    made, i = loop()
    block = (made, If(Var("c", "bool"), (Store(A, (integer(0),), X),), (), (Merge(Y, X, X),)))
    assert [type(s) for s in core.walk(without(block, lambda s: isinstance(s, (Load, Store))))] == [For, Let, If]
    twice = top_down(block, lambda s: (s, s) if isinstance(s, Store) else None)
    assert [type(s) for s in core.walk(twice)] == [For, Load, Let, If, Store, Store]
    order: list = []
    assert bottom_up(block, lambda s: order.append(type(s))) and order == [Load, Let, For, Store, If]


@pytest.mark.parametrize("wrong", ["carried", "cond"])
def test_the_verifier_looks_at_the_end_of_blocks(wrong):
    made, i = loop(carried=Y if wrong == "carried" else None)
    if wrong == "cond":
        made = While(Var("c", "bool"), made.carries, made.body, i, made.trip)
    program = Function("f", (N, X, A), (made,), (made.carries[0].result,))
    with pytest.raises(InternalError, match="used before it is defined"):
        verify(program)
