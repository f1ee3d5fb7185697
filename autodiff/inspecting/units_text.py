"""The generated functions of one helper of the user's, out of the module that holds them all."""

from __future__ import annotations

import ast
import re

from ..transforms.differentiate.reverse import PARTIALS
from ..transforms.differentiate.units import PULLBACK

ENDINGS = rf"((?:{PARTIALS}|{PULLBACK})?(?:_\d+)?)*"       # of derivatives, and numbers that keep names apart


def functions_of(text: str, helper) -> str:
    """The functions of a generated module that stand for `helper` or a derivative of it, in the order of the module.

    text: the module. helper: the user's function, or its name.
    Of two helpers `step` and `step_2` the first may show the second's functions too.
    Raises ValueError if there is none: the helper is not called, or stands in the text of its callers.
    """
    name = helper if isinstance(helper, str) else helper.__name__
    tree = ast.parse(text)
    called = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    lines = text.splitlines()
    found = ["\n".join(lines[min([n.lineno, *(d.lineno for d in n.decorator_list)]) - 1:n.end_lineno]) for n in tree.body
             if isinstance(n, ast.FunctionDef) and n.name in called and re.fullmatch(re.escape(name) + ENDINGS, n.name)]
    if not found:
        raise ValueError(f"`{name}` has no function of its own in the generated code: it is not called, or its statements "
                         "stand where it is called (short helpers, and those that are called once)")
    return "\n\n\n".join(found) + "\n"


__all__ = ["functions_of"]
