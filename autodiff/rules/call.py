"""Calls of users' functions of arrays that have a pullback rule."""

from __future__ import annotations

from ..transforms.core import Call, Ref, Var
from ..transforms.errors import TypeConflict
from ..transforms.lower.values import Array, Buffer, Scalar, Sequence, Static
from ..transforms.source import plain_function
from .registry import REGISTRY
from .user import stopped


def lower_user_call(lo, rule, function, args, kwargs):
    """The value from the function's source, wrapped in a call that carries the rule."""
    if kwargs:
        raise lo.error(TypeConflict, f"`{function.__name__}` has a rule and takes positional arguments only")
    value = lo.call_python(plain_function(function), [stopped(lo, a) for a in args], {})
    parts = value.items if isinstance(value, Sequence) else (value,)
    if len(parts) != 1:
        raise lo.error(TypeConflict, f"`{function.__name__}` has a rule and must return one number or array")
    op = f"rule:{plain_function(function).__module__}.{plain_function(function).__qualname__}"
    REGISTRY.pullback_rules[op] = rule.rule
    if function in REGISTRY.user_pushforwards:
        REGISTRY.pushforward_rules[op] = REGISTRY.user_pushforwards[function]
    operands = []
    for a in (parts[0], *args):
        if isinstance(a, Array) and a.rank:
            operands.append(lo.as_ref(a))
        else:
            if isinstance(a, Static) and not isinstance(a.value, (int, float)):
                raise lo.error(TypeConflict, "a function with a rule takes numbers and arrays only")
            operands.append(lo.atom(a, "float64") if lo.dtype_of(a) != "float32" else lo.atom(a))
    result = parts[0]
    if isinstance(result, Array) and result.rank:
        arr = lo.b.alloc("v", result.dtype, result.shape)
        lo.b.add(Call((arr,), op, tuple(operands), (), lo.b.loc))
        return Buffer(arr)
    out = Var("v", operands[0].dtype)
    lo.b.facts.number(out)
    lo.b.add(Call((out,), op, tuple(operands), (), lo.b.loc))
    return Scalar(out)


__all__ = ["Ref", "lower_user_call"]
