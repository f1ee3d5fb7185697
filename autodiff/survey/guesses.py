"""Arguments that a function may be meant to be called with: guessed from its annotations and what it does with them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SIZE, NUMBER, COUNT = 4, 0.7, 3
OF_MATRICES = ("inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "eig", "svd", "qr", "solve", "pinv", "expm",
               "trace")
OF_ARRAYS = ("sum", "mean", "prod", "std", "var", "dot", "cumsum", "diff", "max", "min", "median", "norm", "outer",
             "zeros_like", "ones_like", "empty_like", "full_like", "concatenate", "stack", "sort", "any", "all", "trapezoid")
ARRAYS, NUMBERS = set(dir(np.ndarray)), set(dir(float))


@dataclass
class Use:
    """What a function does with a parameter. rank: the least that an array in its place has; 0 may be a number."""

    rank: int = 0
    counts: bool = False                # it is a bound of `range`
    called: bool = False
    attribute: str = ""                 # one that neither arrays nor numbers have
    texts: list[str] = field(default_factory=list)      # what it is compared with
    keys: bool = False                  # it is a dict

    def sample(self, position: int = 0, more: int = 0) -> Any:
        """A value of this kind, another one at each position; more: further axes of what is an array, or may be."""
        if self.texts:
            return self.texts[0]
        if self.counts and not self.rank:
            return COUNT
        rank = self.rank + more
        if not rank:
            return round(NUMBER + 0.013 * position, 3)
        made = np.linspace(0.3, 0.9 + 0.017 * position, SIZE ** rank).reshape((SIZE,) * rank)
        return made + np.eye(SIZE) * 2.0 if rank == 2 else made


def guesses(function) -> tuple[list[tuple], str]:
    """(tuples of arguments to try, "") or ([], why none can be guessed)."""
    try:
        required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        parameters = [p for p in required if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, ValueError, SyntaxError, IndentationError) as e:
        return [], f"its source cannot be read ({type(e).__name__})"
    if any(p.kind is p.KEYWORD_ONLY for p in required):
        return [], "it has arguments that must be given by keyword"
    uses = uses_of(tree, [p.name for p in parameters])
    for p in parameters:
        annotated(uses[p.name], p.annotation)
        use = uses[p.name]
        for holds, why in ((use.called, "is a function"), (use.keys, "is a dict"),
                           (use.attribute, f"is an object with an attribute `{use.attribute}`")):
            if holds:
                return [], f"`{p.name}` {why}"
    if not any(isinstance(u.sample(), (float, np.ndarray)) for u in uses.values()):
        return [], "no argument seems to be a number or an array"
    tries = [tuple(u.sample(k) for k, u in enumerate(uses.values()))]
    for more in (lambda u: not u.rank, lambda u: u.rank == 1):
        tries.append(tuple(u.sample(k, int(more(u) and not (u.counts or u.texts))) for k, u in enumerate(uses.values())))
    return tries, ""


def annotated(use: Use, annotation) -> None:
    """What an annotation adds."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    listed = text.lower().startswith(("list[float", "sequence"))
    if listed or text.endswith("ndarray") or "ArrayLike" in text or "NDArray" in text:
        use.rank = max(use.rank, 1)
    elif text == "int":
        use.counts = True
    elif text == "str" and not use.texts:
        use.texts.append("")
    elif text.startswith(("Callable", "typing.Callable")):
        use.called = True


def uses_of(tree, names: list[str]) -> dict[str, Use]:
    """What is done with each of these names."""
    uses = {name: Use() for name in names}

    def of(node) -> Use | None:
        return uses.get(node.id) if isinstance(node, ast.Name) else None

    def at_least(node, rank: int) -> None:
        if (use := of(node)) is not None:
            use.rank = max(use.rank, rank)

    for n in ast.walk(tree):
        match n:
            case ast.Subscript(value=ast.Attribute(value=inner, attr="shape"), slice=ast.Constant(value=int(k))):
                at_least(inner, k + 1 if k >= 0 else -k)
            case ast.Subscript(value=ast.Subscript(value=inner)):
                at_least(inner, 2)
            case ast.Subscript(value=inner, slice=ast.Tuple(elts=elts)):
                at_least(inner, sum(not (isinstance(e, ast.Constant) and e.value in (None, ...)) for e in elts))
            case ast.Subscript(value=inner, slice=index):
                if (use := of(inner)) is not None:
                    use.keys |= isinstance(index, ast.Constant) and isinstance(index.value, str)
                at_least(inner, 1)
            case ast.Assign(targets=[ast.Tuple(elts=elts)], value=ast.Attribute(value=inner, attr="shape")):
                at_least(inner, len(elts))
            case ast.Assign(targets=[ast.Tuple()], value=inner) | ast.For(iter=inner) | ast.comprehension(iter=inner):
                at_least(inner, 1)
            case ast.Attribute(value=inner, attr=attr) if (use := of(inner)) is not None:
                if attr not in ARRAYS and attr not in NUMBERS:
                    use.attribute = use.attribute or attr
                elif attr not in NUMBERS:
                    use.rank = max(use.rank, 1)
            case ast.BinOp(op=ast.MatMult(), left=left, right=right):
                at_least(left, 1)
                at_least(right, 1)
            case ast.Compare(left=left, comparators=[ast.Constant(value=str(text))]) if (use := of(left)) is not None:
                use.texts.append(text)
            case ast.Call(func=function, args=args):
                if (use := of(function)) is not None:
                    use.called = True
                name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
                for a in args:
                    if name == "range" and (use := of(a)) is not None:
                        use.counts = True
                dotted = isinstance(function, ast.Attribute)
                if args and (dotted and name in OF_ARRAYS or name in ("len", "enumerate", "zip", "sum")):
                    at_least(args[0], 1)
                if args and dotted and name in OF_MATRICES:
                    at_least(args[0], 2)
    return uses
