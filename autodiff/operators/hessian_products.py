"""Products of Hessians with vectors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from typing import overload as form

import numpy as np
from numba.extending import overload

from ..arguments.kinds import describe, holds
from ..arguments.positions import in_order_of, select_leaves
from ..calling.compiled import decorated, innermost
from ..calling.local import operator
from ..options import DEFAULT, Options, Settings, Wrt
from ..rules.trees import kinds
from ..transforms.language.errors import ShapeMismatch
from ..transforms.lower.kinds import Leaf
from ..transforms.lower.values import Array, Packed, Scalar, Sequence, Static, is_number, leaves
from .derived import Derived
from .gradients import Gradient, definition_place, wrt_names
from .nesting import aligned, fitting, lowered_inside, settled, splice
from .numba_values import operator_caller
from .pushforwards import pushed

if TYPE_CHECKING:
    from typing_extensions import Unpack


class HessianProduct(Derived):
    """The product of a Hessian with a vector, by forward over reverse: `product(*args, v)`."""

    kind, takes = "Hessian product", 1
    packs = True

    def __init__(self, function, wrt=0, options: Options = DEFAULT):
        self.wrt, self.single = wrt, isinstance(wrt, (int, str))
        inner = function if isinstance(function, Gradient) else Gradient(function, wrt=wrt, options=options)
        super().__init__(inner, options)

    def _parameters(self) -> dict:
        return {"wrt": self.wrt}

    @property
    def vector(self) -> str:
        """The name of the last argument; one that no call can say where the function takes any keyword."""
        if self._takes_any_keyword:
            return "%vector"
        signature = innermost(self)._signature
        return "vector" if signature is not None and "v" in signature.parameters else "v"

    def _pickled(self):
        return self.target.function

    @property
    def _call_signature(self):
        signature = super()._call_signature
        own = [] if signature is None else list(signature.parameters.values())
        if signature is None or not all(p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in own):
            return None
        return signature.replace(parameters=[*own, inspect.Parameter(
            self.vector, inspect.Parameter.POSITIONAL_OR_KEYWORD)])

    def _bind(self, args, kwargs):
        if self.vector in kwargs:
            kwargs = dict(kwargs)
            args = (*args, kwargs.pop(self.vector))
        if not args:
            raise TypeError(f"hvp({self.__name__}) takes the arguments of {self.__name__}, then a vector")
        names, values = super()._bind(args[:-1], kwargs)
        return [*names, self.vector], [*values, self.in_order(names, values, args[-1])]

    def in_order(self, names, values, vector):
        """The vector, with its dicts in the order of those of the arguments it belongs to."""
        if not holds(dict, [vector], {}):
            return vector
        place = definition_place(self.target)
        own = dict(zip(names, values, strict=True))
        first, named = self._given
        free = [n for n in names[len(first):] if n not in named]
        trees = [describe(own[n]) for n in wrt_names(self.wrt, free, self.__name__, place)]
        return in_order_of(trees[0] if self.single else Sequence(tuple(trees)), vector, "the vector")

    def chosen(self, lowered):
        """(parameters with respect to which, the tree that the vector must have)."""
        place = definition_place(self.target)
        names = [n for n in list(lowered.trees)[lowered.offset:] if n != self.vector]
        names = wrt_names(self.wrt, names, self.__name__, place)
        wanted, shapes = select_leaves(lowered.trees, lowered.leaves, names, place)
        return wanted, shapes[0] if self.single else Sequence(tuple(shapes))

    def derive(self, lowered, *further):
        (vector,) = further
        made = pushed(self, lowered, self.with_part(lowered, vector), False)
        made.trees = {**made.trees, self.vector: vector}
        return made

    def with_part(self, lowered, vector) -> list:
        """The parameters that a vector of these kinds has a part for."""
        wanted, tree = self.chosen(lowered)
        if not self.single and isinstance(vector, Sequence) and len(vector.items) != len(tree.items):
            raise TypeError(f"the vector holds {len(vector.items)} parts for {len(tree.items)} arguments")
        return [p for p, on in zip(wanted, present(tree, vector), strict=True) if on]

    def _generate(self, names, values, static):
        made = super()._generate(names, values, static)
        derived = made.generated.lowered
        made.extra["pushed"] = self.with_part(derived, derived.trees[self.vector])
        return made

    def _alike(self, made, leaves):
        by_param = dict(zip(made.params, leaves, strict=False))
        first = len(made.params) - len(made.extra["pushed"])
        return [(by_param[p], by_param[dot]) for p, dot in zip(made.extra["pushed"], made.params[first:], strict=True)]

    def _leaves(self, made, names, values):
        passed = super()._leaves(made, names, values)
        for (like, part), p in zip(self._alike(made, passed), made.extra["pushed"], strict=True):
            if np.shape(part) != np.shape(like):
                raise ShapeMismatch(f"the vector for `{p.hint}` has shape {np.shape(part)}, the argument {np.shape(like)}")
        return passed

    def __autodiff_lower__(self, lo, args, kwargs):
        if self.vector in kwargs:
            args = [*args, kwargs.pop(self.vector)]
        *primals, vector = args
        vector = settled(lo, vector)
        lowered, given = lowered_inside(self, lo, primals, kwargs)
        by_leaf = dict(zip(lowered.leaves, given, strict=True))
        described = kinds(vector)
        likes = [by_leaf[p] for p in self.with_part(lowered, described)]
        parts = [leaf for leaf in leaves(vector) if isinstance(leaf, Array) or is_number(leaf)]
        tangents = [fitting(lo, part, like, "the vector") for part, like in zip(parts, likes, strict=True)]
        return splice(lo, self.derive(lowered, described), [*given, *tangents])


def present(tree, given) -> list[bool]:
    """For each leaf of a tree of positions, whether a vector of these kinds has a part for it.

    ShapeMismatch if it has another structure.
    """
    absent = isinstance(given, Static) and given.value is None
    if isinstance(tree, Packed) and (absent or isinstance(given, Packed)):
        return present(tree.item, given if absent else given.item)
    parts = aligned(tree, given)
    if parts is not None:
        return [on for v, g in parts for on in present(v, g)]
    if isinstance(tree, Static):
        return []
    if isinstance(tree, Scalar) and (absent or isinstance(given, Leaf)):
        return [not absent]
    raise ShapeMismatch("the vector has not the structure of the arguments it belongs to")


@form
def hvp(function: Callable[..., Any], *, wrt: Wrt = 0, **options: Unpack[Settings]) -> HessianProduct: ...
@form
def hvp(function: None = None, *, wrt: Wrt = 0,
        **options: Unpack[Settings]) -> Callable[[Callable[..., Any]], HessianProduct]: ...
@operator
def hvp(function=None, *, wrt=0, mode: str = "numba", boundscheck: bool = True, fastmath: bool = False,
        precise: bool = False, parallel: bool = False, debug: bool = False):
    """The function that multiplies the Hessian of a scalar `function` with a vector: `hvp(f)(*args, v)`.

    wrt: position or name of the argument, or a tuple of them; `v` has its structure, shapes and dtypes, and so has the
        product.
    The Hessian itself is never formed: the gradient is pushed forward, at a small multiple of its cost (forward over
    reverse; Griewank and Walther 2008, section 5.4). Errors and other options are those of `grad` and `jvp`.
    """
    return decorated(HessianProduct, function, Options(mode, boundscheck, fastmath, precise, parallel, debug=debug), wrt=wrt)


@overload(hvp, prefer_literal=True, strict=False)
def _hvp(function, wrt=0):
    return operator_caller(hvp, function, wrt=wrt)


__all__ = ["HessianProduct", "hvp"]
