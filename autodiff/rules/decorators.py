"""The decorators by which rules are given, built-in ones and users' alike."""

from __future__ import annotations

import functools
import inspect
import types

from ..transforms.language.ops import CALLABLES, OPS
from ..transforms.lower.functions.places import trusted
from ..transforms.lower.numpy_functions.reductions import with_derivative_of
from ..transforms.source.definitions import plain_function
from .registry import REGISTRY
from .user import ConstantRule, PartialsRule, PullbackRule, counted, named


def _operation(target) -> str | None:
    if isinstance(target, str):
        return target if target in OPS else None
    try:
        return CALLABLES.get(target)
    except TypeError:
        return None


def partials(*targets):
    """Rule of an elementwise function: `rule(y, x1, ...) -> dy/dx1, ...` for one element.

    A library function's rule gives None for an argument without a derivative: differentiating it is NonDifferentiable.

    targets: scalar functions (np.tanh, math.tanh) or a user's own function of numbers.
    Raises TypeError if the rule's parameters do not match the function's.
    """
    def register(rule):
        count = _count(rule) - 1
        for target in map(_function, targets):
            op = _operation(target)
            if op is not None:
                if count != OPS[op].arity:
                    taken = ", ".join(inspect.signature(rule).parameters)
                    raise TypeError(f"the rule `{named(rule)}` of `{named(target)}` must take the result and "
                                    f"{counted(OPS[op].arity, 'argument')}, not ({taken})")
                REGISTRY.put("partial_rules", op, rule)
                continue
            _check_arity(target, count, rule, "y")
            REGISTRY.put("user_rules", target, PartialsRule(target, rule))
        return rule
    return register


def pullback(*targets):
    """Rule of a function of arrays: `rule(y_bar, y, *args) -> adjoints of the arguments` (None where inactive)."""
    def register(rule):
        count = _count(rule) - 2
        for target in map(_function, targets):
            if isinstance(target, str):
                REGISTRY.put("pullback_rules", target, rule)
                continue
            _check_arity(target, count, rule, "y_bar, y")
            REGISTRY.put("user_rules", target, PullbackRule(target, rule))
        return rule
    return register


def pushforward(*targets):
    """Rule of forward mode: `rule(y, *args, *tangents) -> contributions`, one for each argument.

    The tangent of the result is the sum of the contributions of the arguments that have a tangent; the others are not
    computed. A contribution has the shape of the result and depends on its own tangent alone. Reverse mode needs a
    `pullback` beside it: without one it is refused.
    Raises TypeError if the rule's parameters do not match the function's.
    """
    def register(rule):
        count = _count(rule) - 1
        for target in map(_function, targets):
            if isinstance(target, str):
                REGISTRY.put("pushforward_rules", target, rule)
                continue
            if count % 2:
                raise TypeError(f"the rule `{named(rule)}` must take the result, the arguments and as many tangents")
            _check_arity(target, count // 2, rule, "y", "tangents")
            REGISTRY.put("user_pushforwards", target, rule)
            if target not in REGISTRY.user_rules:
                REGISTRY.put("user_rules", target, PullbackRule(target, None))      # reverse mode has none
        return rule
    return register


def defines(*targets):
    """A library function's meaning in terms of supported ones: the derivative follows from the definition."""
    def register(function):
        for target in map(_function, targets):
            REGISTRY.put("definitions", target, function)
        return function
    return register


def constant(*targets) -> None:
    """Declare that functions have a zero derivative (almost) everywhere."""
    for target in map(_function, targets):
        op = _operation(target)
        if op is not None:
            REGISTRY.put_constant(op)
        else:
            REGISTRY.put("user_rules", target, ConstantRule(target))


def _function(target):
    """What a rule is given for: of what `differentiable` made, the function itself.

    Raises TypeError for what calls take apart before a rule is looked for: objects that are called by a method of their
    class, bound methods, `functools.partial`, and for derivatives.
    """
    if getattr(target, "__autodiff_lower__", None) is not None and not isinstance(target, type):
        if target.kind != "primal":
            raise TypeError(f"a rule belongs to a function, not to what an operator makes of it: {target!r}")
        return plain_function(target)
    owner = getattr(target, "__self__", None) if isinstance(target, types.MethodType) else target
    if isinstance(target, (type, str)) or trusted(type(owner).__module__) and not isinstance(target, functools.partial):
        return target
    told = {functools.partial: "functools.partial", types.MethodType: "bound method"}.get(type(target))
    if told is not None:
        raise TypeError(f"a rule belongs to a function, not to the {told} `{named(target)}`: give it to the function, or "
                        "to one that calls it")
    if plain_function(target) is target and hasattr(type(target).__call__, "__code__"):
        raise TypeError(f"a rule belongs to a function, not to an object that is called: give it to a function that "
                        f"`{type(target).__name__}.__call__` calls")
    return target


def _count(rule) -> int:
    """The number of parameters of a rule, without keyword-only ones."""
    return sum(p.kind is not p.KEYWORD_ONLY for p in inspect.signature(rule).parameters.values())


def _check_arity(target, count: int, rule, first: str, last: str = "") -> None:
    try:
        signature = inspect.signature(getattr(target, "py_func", target))
    except (TypeError, ValueError):
        return
    wanted = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD,
                                                                     p.VAR_POSITIONAL)]
    if len(wanted) != count:
        names = ", ".join(p.name for p in wanted)
        listed = ", ".join((first, names, *filter(None, (last,))))
        raise TypeError(f"the rule `{named(rule)}` of `{named(target)}` must take ({listed}), "
                        f"not ({', '.join(inspect.signature(rule).parameters)})")


__all__ = ["constant", "defines", "partials", "pullback", "pushforward", "with_derivative_of"]
