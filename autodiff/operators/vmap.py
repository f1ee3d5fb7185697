"""vmap: a function of one example as a function of arrays of examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from typing import overload as form

from numba.extending import overload

from .. import pipeline
from ..arguments.packing import ITEMS
from ..calling.compiled import Compiled, changing, decorated, innermost
from ..calling.local import BY_PLACE, names_of
from ..calling.tracebacks import entry
from ..habits import check_keywords, explained
from ..options import DEFAULT, Options, Settings
from ..transforms.language.errors import TypeConflict
from ..transforms.lower.checks import CAREFUL
from ..transforms.lower.functions.purity import python_value
from ..transforms.lower.needs import NeedsStatic
from ..transforms.lower.structures import describe
from ..transforms.lower.table import lowers
from ..transforms.lower.values import Applied, Mapping, Record, Sequence, Static, Value
from .linearizations import TangentMap
from .mapped_loops import over_examples
from .numba_values import operator_caller
from .pullbacks import Pullback

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(eq=False)
class Axes:
    """Which axes hold examples; in a program, `Applied` to a function it is that function under vmap."""

    in_axes: Any = 0
    out_axes: Any = 0

    def __post_init__(self) -> None:
        if isinstance(self.in_axes, bool) or not (self.in_axes is None or isinstance(self.in_axes, (int, tuple, list))):
            raise TypeConflict(f"in_axes={self.in_axes!r}: an axis, None, or a tuple of one for each argument", None,
                               "in_axes=(0, None)")

    def __autodiff_lower__(self, lo, args, kwargs) -> Value:
        function, *args = args
        return self.over(lo, function, args, kwargs, names_of(function))

    def over(self, lo, function: Value, args, kwargs, names, held: int = 0, held_names=frozenset()) -> Value:
        """The results for all examples. names: of the parameters that positions are bound to, if they are known; held:
        how many arguments, and which keywords, a partial application or method brings."""
        places: list = [*names[:len(args)], *range(len(names), len(args)), *(k for k in kwargs if k in names)]
        own = [p for k, p in enumerate(places) if k >= held and p not in held_names]
        given = self.in_axes if isinstance(self.in_axes, (tuple, list)) else [self.in_axes] * len(own)
        if len(given) != len(own):
            raise lo.error(TypeConflict, f"in_axes has {len(given)} entries, and the function is called with {len(own)} "
                           "arguments by position", "give one for each; other keywords are run over along axis 0")
        axes = dict(zip(own, given, strict=True))
        named = {k: axes.get(k, None if k in held_names else 0) for k in kwargs}
        return over_examples(lo, function, list(args), kwargs, [axes.get(p) for p in places[:len(args)]], named,
                             self.out_axes, names)


LEADING = Static(0)


class Mapped(Compiled):
    """A function under vmap: `mapped(*args)`, where arrays have one more axis, of examples."""

    kind = "map"
    worth_threads = 1000                    # an example may be long, however small

    def __init__(self, function, in_axes=0, out_axes=0, options: Options = DEFAULT):
        self.axes = Axes(in_axes, out_axes)
        super().__init__(function, options)

    def _parameters(self) -> dict:
        return {"in_axes": self.axes.in_axes, "out_axes": self.axes.out_axes}

    def _through(self, lo, args, kwargs) -> Value:
        """The call that the program is: of the function, with what a partial application or method brings in front."""
        if not isinstance(self.target, Compiled):
            return self.axes.over(lo, Static(self.target), args, kwargs, self._names(), len(self._prefix), self._keywords)
        first, named = self.target._given           # which its own call brings again
        others = {k: v for k, v in kwargs.items() if k not in named}
        return self.axes.over(lo, Static(self.target), args[len(first):], others, self._names()[len(first):])

    def _names(self) -> list[str]:
        signature = self._call_signature
        return [] if signature is None else [p.name for p in signature.parameters.values() if p.kind in BY_PLACE]

    def _lower(self, names, values, static, boundscheck=None):
        positional, keyword = self._trees(names, values, static)
        boundscheck = boundscheck if boundscheck in CAREFUL else self.options.boundscheck
        try:
            lowered = pipeline.lower(innermost(self).target, positional, keyword, boundscheck, (), self.options.debug,
                                     changing(self), ITEMS not in static, self.options.target == "cpu",
                                     not self.options.parallel, through=self._through)
        except NeedsStatic as e:
            raise e.error from None
        return self._named_after(lowered)

    def _lower_inside(self, inner, trees, named):
        """The program from kinds of arguments, by a lowering made for it."""
        return self._named_after(inner.lower(innermost(self).target, trees, named, through=self._through))

    def _named_after(self, lowered):
        lowered.function = replace(lowered.function, name=f"{lowered.function.name}_vmap")
        lowered.offset = len(self._given[0])
        return lowered

    def __autodiff_program__(self, names, values, static, boundscheck=None):
        return self._lower(names, values, static, boundscheck)

    def __autodiff_lower__(self, lo, args, kwargs):
        return self.axes.over(lo, Static(self.function), args, kwargs, names_of(Static(self.function)))


class Opaque:
    """A derivative whose arguments are more than its function's, as something that is called."""

    def __init__(self, compiled: Compiled):
        self.compiled = compiled
        self.__name__ = compiled.__name__

    def __call__(self, *args):
        return self.compiled(*args)

    def __autodiff_lower__(self, lo, args, kwargs):
        return self.compiled.__autodiff_lower__(lo, args, kwargs)      # type: ignore[attr-defined]


@form
def vmap(function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, **options: Unpack[Settings]) -> Mapped: ...
@form
def vmap(function: None = None, in_axes: Any = 0, out_axes: Any = 0,
         **options: Unpack[Settings]) -> Callable[[Callable[..., Any]], Mapped]: ...
@entry
@explained
def vmap(function=None, in_axes=0, out_axes=0, *, mode: str = "numba", boundscheck: bool = True, fastmath: bool = False,
         precise: bool = False, parallel: bool = False, debug: bool = False):
    """`function` of one example as a function of arrays of examples: `vmap(f)(xs)` is `[f(x) for x in xs]`, as an array.

    in_axes: along which axis the arrays of the arguments hold examples: a number for all arguments, or a tuple of one for
        each. None: the argument is the same for all examples. In the place of a number there may be a structure (tuple,
        list, dict, dataclass) of them, as the argument has. What is passed by keyword alone is run over along axis 0.
    out_axes: where the axis of examples is in the results, of `function`'s structure; a number, or a structure of them.
        None: the result is the same for all examples, and has no axis of them.
    parallel: examples on several threads, as for `grad`. The other options are those of `grad` too.

    The function may be a derivative: `vmap(grad(f), in_axes=(None, 0))(w, xs)` are gradients per example. What vmap gives is
    a loop, compiled with the function's statements inside; it may be differentiated, called in functions that are, and be
    under vmap again. Of a pullback or a tangent map it is `.batched`.
    Raises ValueError where arrays hold different numbers of examples; TypeConflict for structures that do not fit, for
    numbers to be run over, and for results whose size each example finds for itself; NonDifferentiable for results without
    an axis that may differ between examples; UnsupportedSyntax for functions that write to their arguments or change
    what is outside.
    """
    if isinstance(function, (Pullback, TangentMap)):
        if in_axes == out_axes == 0:
            return function.batched
        raise TypeConflict("vmap of a pullback or a tangent map takes the leading axis", None, "in_axes=0, or np.moveaxis")
    if getattr(function, "takes", 0):
        function = Opaque(function)
    options = Options(mode, boundscheck, fastmath, precise, parallel, debug=debug)
    return decorated(Mapped, function, options, in_axes=in_axes, out_axes=out_axes)


@lowers(vmap)
def lower_vmap(lo, function, in_axes=LEADING, out_axes=LEADING, **options):
    """vmap in a program that is being lowered: of a function outside, an operator's object; of one inside, itself."""
    check_keywords(lo, vmap, options)
    axes = axes_known(lo, in_axes), axes_known(lo, out_axes)
    if isinstance(function, Static):
        return lo.wrap(vmap(function.value, *axes, **{k: python_value(v) for k, v in options.items()}))
    return Applied(Static(Axes(*axes)), (function,), {})


def axes_known(lo, value: Value):
    """Axes given in a program, a dict for a dataclass."""
    match value:
        case Static():
            return value.value
        case Sequence(items=items, kind=kind):
            return kind(axes_known(lo, item) for item in items)
        case Mapping(items=items) | Record(fields=items):
            return {k: axes_known(lo, item) for k, item in items.items()}
    raise lo.error(TypeConflict, f"the axes of vmap must be known before the program runs, not {describe(value)}",
                   "write numbers: in_axes=(0, None)")


@overload(vmap, prefer_literal=True, strict=False)
def _vmap(function, in_axes=0, out_axes=0):
    return operator_caller(vmap, function, in_axes=in_axes, out_axes=out_axes)


__all__ = ["Mapped", "vmap"]
