"""The sizes that `reshape` is asked for: a -1 is what the others leave, also one computed when the program runs."""

from __future__ import annotations

from functools import reduce
from itertools import combinations

from ...language.build import ONE, ZERO, integer
from ...language.core import Const
from ...language.errors import ShapeMismatch
from ..arrays.broadcasting import require_same, same_size, size_of, unequal
from ..arrays.loop_nests import branch
from ..checks import CAREFUL, require, show_size
from ..values import Array

TWO = "can only specify one unknown dimension"


def resolve(lo, a: Array, wanted):
    wanted = [integer(-1) if isinstance(s, Const) and s.value < 0 else s for s in wanted]      # as NumPy takes them
    unknown = [k for k, s in enumerate(wanted) if isinstance(s, Const) and s.value == -1]
    unsure = [k for k, s in enumerate(wanted) if not isinstance(s, Const) and not lo.b.facts.at_least(s)]
    if len(unknown) > 1:
        raise lo.error(ShapeMismatch, TWO)
    for places in combinations(unsure, 1 if unknown else 2):
        require(lo, reduce(lo.b.imax, (wanted[k] for k in places)), "ge", ZERO, "ValueError", TWO)
    if unknown:
        total, known = without_common(lo, a.shape, [s for k, s in enumerate(wanted) if k != unknown[0]])
        if known != ONE and not (isinstance(known, Const) and known.value):
            require(lo, known, "ne", ZERO, "ValueError", cannot_reshape(lo, size_of(lo, a.shape), wanted))
        if isinstance(total, Const) and isinstance(known, Const):
            if known.value == 0 or total.value % known.value:
                raise lo.error(ShapeMismatch, cannot_reshape(lo, size_of(lo, a.shape), wanted))
        missing = total if known == ONE else lo.b.let("floordiv", total, known, dtype="int64")
        if known != ONE and not isinstance(total, Const):
            found = lo.b.imul(missing, known)
            if not same_size(lo, found, total):
                require_same(lo, found, total, cannot_reshape(lo, size_of(lo, a.shape), wanted))
        wanted = [*wanted[:unknown[0]], missing, *wanted[unknown[0] + 1:]]
        return tuple(wanted)
    total, message = size_of(lo, a.shape), cannot_reshape(lo, size_of(lo, a.shape), wanted)
    if unsure and lo.boundscheck in CAREFUL:
        wanted = [rest_of(lo, k, wanted, total, message) if k in unsure else s for k, s in enumerate(wanted)]
    given, asked = without_common(lo, a.shape, wanted)
    require_same(lo, asked, given, message, tells=unequal(lo) if unsure else "place")
    return tuple(wanted)


def without_common(lo, own, wanted) -> tuple:
    """The numbers of elements that sizes make, without those that are in both, so that symbolic sizes stay simple.

    Only what is not 0, beside which any size fits, is left out: sizes of arguments that are 0 are constants.
    """
    own, wanted = ([f for s in sizes for f in lo.b.facts.factors(s)] for sizes in (own, wanted))
    for s in list(wanted):
        match = next((o for o in own if same_size(lo, o, s)), None)
        if match is not None and not (isinstance(s, Const) and s.value == 0) and (
                s in lo.sizes or lo.b.facts.at_least(s, 1)):
            own.remove(match)
            wanted.remove(s)
    return size_of(lo, own), size_of(lo, wanted)


def rest_of(lo, k, wanted, total, message):
    """A size computed when the program runs: where it is negative, what the others leave."""
    others = lo.b.imax(size_of(lo, [s for j, s in enumerate(wanted) if j != k]), ONE)
    rest = lambda: lo.b.let("floordiv", total, others, dtype="int64")  # noqa: E731
    return branch(lo, lo.b.compare("lt", wanted[k], ZERO), rest, lambda: wanted[k])


def cannot_reshape(lo, total, wanted) -> str:
    """NumPy's words, which leave out an axis to be found at the front and call it newaxis elsewhere."""
    axes = ["newaxis" if s == Const(-1, "int64") else show_size(lo, s) for s in wanted]
    axes = axes[1:] if axes[:1] == ["newaxis"] else axes
    return f"cannot reshape array of size {show_size(lo, total)} into shape ({','.join(axes)}{',' * (len(wanted) == 1)})"


__all__ = ["resolve"]
