"""Calls of functions that have a derivative rule of their own, and derivative rules read as programs."""

from __future__ import annotations

from ..language.core import Arr, Call, Function, Var
from ..language.errors import TypeConflict
from .ufunc_methods import ufunc_method
from .values import Array, Buffer, Scalar, Sequence, Static, leaves


class RuleCalls:
    def ufunc_method(self, ufunc, name, args, kwargs):
        return ufunc_method(self, ufunc, name, args, kwargs)

    def call_with_rule(self, function, rule, args, kwargs):
        """A call of a user's function with a rule: its value comes from its source, its derivative from the rule."""
        return rule.lower_call(self, function, args, kwargs)


__all__ = ["Arr", "Array", "Buffer", "Call", "Function", "RuleCalls", "Scalar", "Sequence", "Static", "TypeConflict",
           "Var", "leaves"]
