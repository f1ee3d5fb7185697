"""Arguments that a function may be meant to be called with: guessed from its annotations, its docstring and what it does
with them."""

from __future__ import annotations

import ast
import copy
import inspect
import math
import re
import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .docstrings import COUNT as A_COUNT
from .docstrings import DICT, FUNCTION, TEXT, TRUTH, documented, kind_told, rank_told, shape_told

SIZE, NUMBER, COUNT = 4, 0.7, 3
OF_MATRICES = ("inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "eig", "svd", "qr", "solve", "pinv", "expm",
               "trace")
OF_ARRAYS = ("sum", "mean", "prod", "std", "var", "dot", "cumsum", "diff", "max", "min", "median", "norm", "outer",
             "zeros_like", "ones_like", "empty_like", "full_like", "concatenate", "stack", "sort", "any", "all", "trapezoid")
ORDERS = ("n", "m", "k", "l", "order", "degree", "index")      # parameters that are integers where numbers do not do
OF_PATHS = ("open", "Path", "join", "dirname", "basename", "expanduser", "abspath", "exists", "splitext", "read_csv",
            "loadtxt", "genfromtxt", "load")
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
    truth: bool = False
    a: str = ""                         # what its docstring says that it is, if that is an object
    shape: tuple[int, ...] | None = None                # of an array

    def sample(self, position: int = 0, more: int = 0) -> Any:
        """A value of this kind, another one at each position; more: further axes of what is an array, or may be."""
        if self.texts:
            return self.texts[0]
        if self.truth:
            return False
        if self.counts and not self.rank:
            return COUNT
        rank = self.rank + more
        if not rank:
            return round(NUMBER + 0.013 * position, 3)
        shape = (SIZE,) * rank if self.shape is None or len(self.shape) != rank else self.shape
        made = np.linspace(0.3 + 0.011 * position, 0.9 + 0.017 * position, math.prod(shape)).reshape(shape)
        return made + np.eye(shape[0], shape[1]) * 2.0 if rank == 2 else made


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
    told = copy.deepcopy(uses)
    for name, text in documented(function).items():
        if name in told:
            described(told[name], text)
    if (why := unknown(told)) or unknown(uses):
        return [], why or unknown(uses)
    tries = [values for guess in (told, uses) for values in tries_of(guess)]
    return list({repr(t): t for t in tries}.values()), ""


def unknown(uses: dict[str, Use]) -> str:
    """Why no arguments of these uses can be made; "" if they can."""
    for name, use in uses.items():
        for holds, why in ((use.called, "is a function"), (use.keys, "is a dict"), (use.a, f"is an object, {use.a}"),
                           (use.attribute, f"is an object with an attribute `{use.attribute}`")):
            if holds:
                return f"`{name}` {why}"
    return "" if any(isinstance(u.sample(), (float, np.ndarray)) for u in uses.values()) else \
        "no argument seems to be a number or an array"


def tries_of(uses: dict[str, Use]) -> list[tuple]:
    """Tuples of arguments: as they are used, with numbers, vectors, and what a capital names, of one rank more, and with
    orders that are integers."""
    def free(u) -> bool:
        return not (u.counts or u.texts or u.truth or u.shape)
    changes: list = [lambda name, u: 0, lambda name, u: not u.rank and free(u), lambda name, u: u.rank == 1 and free(u),
                     lambda name, u: 2 - u.rank if len(name) == 1 and name.isupper() and u.rank < 2 and free(u) else 0]
    tries = [tuple(u.sample(k, int(more(name, u))) for k, (name, u) in enumerate(uses.items())) for more in changes]
    tries.append(tuple(COUNT if name in ORDERS and not u.rank else u.sample(k) for k, (name, u) in enumerate(uses.items())))
    return [t for t in tries if any(isinstance(x, (float, np.ndarray)) for x in t)]


def described(use: Use, text: str) -> None:
    """What a type in a docstring adds."""
    use.rank = max(use.rank, rank_told(text))
    if (shape := shape_told(text, SIZE)) is not None and len(shape) >= use.rank:
        use.shape, use.rank = shape, len(shape)
    match kind_told(text):
        case "":
            pass
        case kind if kind == TEXT:
            choices = re.findall(r"['\"]([^'\"]*)['\"]", text)
            use.texts += choices[:1] if text.lstrip().startswith("{") else [] if use.texts else [""]
        case kind if kind == A_COUNT:
            use.counts = True
        case kind if kind == TRUTH:
            use.truth = True
        case kind if kind == FUNCTION:
            use.called = True
        case kind if kind == DICT:
            use.keys = True
        case kind:
            use.a = kind


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
            case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(
                    elts=elts)]) if (use := of(left)) is not None:
                use.texts += [e.value for e in elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
            case ast.Compare(left=ast.Constant(value=str()), ops=[ast.In()], comparators=[inner]):
                if (use := of(inner)) is not None:
                    use.texts.append("")
            case ast.Call(func=function, args=args):
                if (use := of(function)) is not None:
                    use.called = True
                name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
                for a in args:
                    if name == "range" and (use := of(a)) is not None:
                        use.counts = True
                    if name in OF_PATHS and (name != "join" or ast.unparse(function).endswith("path.join")) and (
                            use := of(a)) is not None:
                        use.texts.append("")
                dotted = isinstance(function, ast.Attribute)
                if args and (dotted and name in OF_ARRAYS or name in ("len", "enumerate", "zip", "sum")):
                    at_least(args[0], 1)
                if args and dotted and name in OF_MATRICES:
                    at_least(args[0], 2)
    return uses
