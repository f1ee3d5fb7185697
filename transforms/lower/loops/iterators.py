"""Iterators that names hold: `map`, `zip`, `enumerate`, `reversed`, generator expressions, views of dicts.

In Python their items are made when they are asked for, once. Here most of them are made where the iterator is: what has been
run over before, or reads what has changed since, is refused.
"""

from __future__ import annotations

import copy
import functools
import types
import warnings
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from ...language.errors import UnsupportedSyntax, WrongKind
from ..containers.sharing import as_it_is_now, objects
from ..functions.places import in_library
from ..state import Around, Lowering
from ..syntax.liveness import names_read
from ..values import Array, Bound, Closure, Generated, Iterable, Sequence, Static, Value, is_iterator, leaves

TAKES_ITERATORS = np.fromiter, np.iterable, np.isscalar
GOES_THROUGH = "builtins", "itertools", "_functools", "functools", "statistics", "math", "collections", "_collections"
LEAVES_ALONE = len, isinstance, type, id, print, repr, str, callable, hasattr, getattr, bool
ADVICE = "make a list of it: list(...) or [...]"


@dataclass(eq=False)
class Once:
    """What is known of an iterator where it is made. `arrays`: what its items are read from, None if that may be any."""

    around: Around
    depth: int                              # how many loops stand around it
    mark: int                               # how many writes there had been
    arrays: set | None
    late: bool                              # whether its items are made when it is run over, here too
    again: bool                             # whether a loop that is written out reads them again, each at its turn
    in_order: bool                          # whether its items are those of what it is made from, in their order
    names: list = field(default_factory=list)           # frames, names in them and what these meant
    objects: list = field(default_factory=list)         # lists, dicts and records that the items are read from
    before: tuple = ()                      # iterators that it is made from
    kind: type | None = None                # its class in Python, where that is known


def passing(lo: Lowering, made: Value, sources, called: tuple = (), in_order: bool = False,
            kind: type | None = None) -> Value:
    """An iterator, over what is in `sources`; called: the functions or expressions that make its items; in_order: those are
    the items of `sources`, in their order; kind: its class in Python."""
    late = isinstance(made, (Iterable, Generated))      # it reads memory, and calls, when it is run over
    made = made if late else copy.copy(made)            # it may be what a name holds
    roots = {r for s in sources for leaf in leaves(s) if isinstance(leaf, Array) for r in leaf.roots()}
    once = Once(lo.around, len(lo.around.loops), len(lo.around.writes), None if called else roots, late,
                hasattr(made, "again"), in_order,
                objects=[o for s in sources for o in objects(s.viewed[0] if hasattr(s, "viewed") else s)],
                before=tuple(s.once for s in sources if hasattr(s, "once")), kind=kind)
    for c in called:
        read_by(lo, c, once.names)
    made.once = once
    return made


def read_by(lo: Lowering, function, found: list) -> None:
    """Add what the names in an inner function mean, and in those that it calls, or in an expression here."""
    if isinstance(function, Value):
        if not isinstance(function, Closure):
            return
        node, frame = function.node, function.frame
    else:
        node, frame = function, lo.frame
    for name in sorted(names_read(node)):
        where = frame
        while where is not None and name not in where.env:
            where = where.outer
        if where is not None and not any(f is where and n == name for f, n, _ in found):
            found.append((where, name, where.env[name]))
            read_by(lo, where.env[name], found)


def changed_since(lo: Lowering, once: Once, early: bool = False, watched: Collection[Value] = ()) -> bool:
    """Whether something that the items are made from may have changed since they were made.

    early: they were made already, for another iterator. watched: lists whose changes a loop has followed itself.
    """
    early = early or not once.late
    if early and any(where.env.get(name) is not value or any(as_it_is_now(lo, o) is not o for o in objects(value))
                     for where, name, value in once.names):
        return True
    if any(as_it_is_now(lo, o) is not o for o in once.objects if not (once.in_order and o in watched)):
        return True
    written = set(lo.around.writes[once.mark:]) if early and lo.around is once.around else set()
    if written if once.arrays is None else written & once.arrays:
        return True
    return any(changed_since(lo, b, early, watched) for b in once.before)


def no_iterators(lo: Lowering, function: Value, args) -> None:
    """NumPy's functions take an iterator, or a view of a dict, as one object, which is no array of its items."""
    target = function.value if isinstance(function, Static) else None
    numpys = isinstance(target, np.ufunc) or (getattr(target, "__module__", None) or "").split(".")[0] == "numpy" or \
        isinstance(function, Bound) and isinstance(function.owner, Array) and not function.owner.is_list
    if not numpys or any(target is f for f in TAKES_ITERATORS) or in_library(lo):
        return
    for a in args:
        generator = target is np.sum and hasattr(a, "once") and a.once.kind is types.GeneratorType and sums_generators()
        if is_iterator(a) and not generator:
            raise lo.error(WrongKind, "an array is needed here, not an iterator or a view of a dict", ADVICE)
        if isinstance(a, Sequence) and not is_iterator(a) and has_iterators(a):
            raise lo.error(UnsupportedSyntax, "an iterator, or a view of a dict, as an item of an array", ADVICE)


def has_iterators(value: Value) -> bool:
    return is_iterator(value) or isinstance(value, Sequence) and any(map(has_iterators, value.items))


@functools.cache
def sums_generators() -> bool:
    """Whether this NumPy sums what a generator gives, as Python's `sum` does; later ones refuse it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.sum(1.0 for _ in range(2)) == 2.0     # type: ignore[call-overload]
        except TypeError:
            return False


def gone_through(lo: Lowering, value: Value) -> Value:
    """A value that is run over now: `x.flat` gives nothing more after that, until it is subscripted."""
    if value.is_flat and not in_library(lo):
        around, depth = value.made_in
        if value in lo.learnt.spent or lo.around is around and len(lo.around.loops) > depth:
            raise lo.error(UnsupportedSyntax, "`x.flat` is an iterator, which is empty after it has been run over once, and "
                           "it is run over again", "write x.ravel(), or x.flat itself, where it is used")
        lo.learnt.spent.add(value)
    return value


def gone_through_by(lo: Lowering, function: Value, args) -> None:
    """The same, of the arguments of functions of Python that go through them."""
    target = getattr(function, "value", None)
    if target not in LEAVES_ALONE and (getattr(target, "__module__", None) or "").split(".")[0] in GOES_THROUGH:
        for a in args:
            gone_through(lo, a)


def handed_on(value: Value) -> Value:
    """An iterator under another name."""
    return copy.copy(value) if hasattr(value, "once") else value


def asked_for(lo: Lowering, value: Value, name: str) -> Value:
    """What a name holds, where it is read: iterators are run over then, views of dicts see what has changed."""
    if hasattr(value, "viewed"):
        owner, method = value.viewed
        now = as_it_is_now(lo, owner)
        return value if now is owner else lo.call_method(now, method, [], {})
    if not hasattr(value, "once") or name.startswith("%"):
        return value
    if in_library(lo):                                          # our own stand for one pass
        return value
    once = value.once
    if value in lo.learnt.spent or lo.around is once.around and len(lo.around.loops) > once.depth:
        raise lo.error(UnsupportedSyntax, f"`{name}` is an iterator, which is empty after it has been run over once, and it "
                       "is read again", ADVICE)
    unchanged(lo, once)
    lo.learnt.spent.add(value)
    return value


def unchanged_by_loop(lo: Lowering, value: Value, watched: Collection[Value] = ()) -> None:
    """After a loop over a value: its body has changed nothing that the items were made from before it, but for lists that
    the loop has `watched`."""
    if hasattr(value, "once"):
        once = value.once
        todo = list(once.before) if once.again else [once]      # which is read when its turn comes
        for o in todo:
            if o.again or o.late and once.late:                 # and so is this one
                todo += o.before
            else:
                unchanged(lo, o, True, watched)


def unchanged(lo: Lowering, once: Once, early: bool = False, watched: Collection[Value] = ()) -> None:
    if changed_since(lo, once, early, watched):
        raise lo.error(UnsupportedSyntax, "what an iterator reads is changed before it is run over: in Python its items "
                       "are made when they are asked for", ADVICE)
