"""Python's binding of arguments to parameters, on values."""

from __future__ import annotations

from ...language.errors import TypeConflict
from ...source.definitions import complaint, signature_of
from ..state import Lowering
from ..values import Mapping, Sequence


def bind_arguments(lo: Lowering, spec, args, kwargs, defaults, keyword_defaults, name) -> dict:
    """The values of all parameters by name.

    spec: the `arguments` of the definition. defaults, keyword_defaults: values of the last positional ones, and by name.
    Raises a TypeConflict with Python's text where the call does not fit.
    """
    positional = positional_names(spec)
    bound = dict(zip(positional, args, strict=False))
    def refused():
        signature = signature_of(spec, len(defaults), keyword_defaults)
        return lo.error(TypeConflict, complaint(signature, name, args, kwargs))
    if len(args) > len(positional):
        if spec.vararg is None:
            raise refused()
        bound[spec.vararg.id] = Sequence(tuple(args[len(positional):]))
    elif spec.vararg is not None:
        bound[spec.vararg.id] = Sequence(())
    extra = {}
    named = [a.id for a in (*spec.args, *spec.kwonlyargs)]
    for k, v in kwargs.items():
        if k in named:
            if k in bound:
                raise refused()
            bound[k] = v
        elif spec.kwarg is not None:
            extra[k] = v
        else:
            raise refused()
    if spec.kwarg is not None:
        bound[spec.kwarg.id] = Mapping(extra)
    for k, v in zip(reversed(positional), reversed(defaults), strict=False):
        bound.setdefault(k, v)
    for k, v in keyword_defaults.items():
        bound.setdefault(k, v)
    missing = [k for k in (*positional, *(a.id for a in spec.kwonlyargs)) if k not in bound]
    if missing:
        raise refused()
    return bound


def positional_names(spec) -> list[str]:
    """The names of the parameters that positional arguments are bound to."""
    return [a.id for a in (*spec.posonlyargs, *spec.args)]


__all__ = ["bind_arguments", "positional_names"]
