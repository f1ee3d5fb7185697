"""Recursive calls: inlined where the depth is known before the program runs, else rewritten as a loop (`machine.py`)."""

from __future__ import annotations

import gast

from ..errors import AutodiffError, SourceUnavailable, UnsupportedSyntax
from ..source import MISSING, definition, look_up, outer_names, plain_function
from .arrays import describe
from .frames import Frame
from .machine import Machine
from .messages import name_of
from .needs import NeedsStatic
from .splitting import Member, Unsupported
from .table import lowers
from .values import Closure, Scalar, Static, Value, is_number

LIBRARIES = ("numpy", "scipy", "math", "autodiff")
INLINE_CALLS = 200              # activations of one function that are inlined at most


class Unending(Exception):
    """Inlining a function would not end, or take too much code; `key` names the function whose first call is rewritten."""

    def __init__(self, key):
        self.key = key


def number(value, name):
    """For machines: a value that a frame keeps."""
    return value


@lowers(number)
def lower_number(lo, value, name):
    if isinstance(value, Static) and value.value is None or not is_number(value):
        raise lo.error(UnsupportedSyntax, f"`{name.value}` is {describe(value)} and is needed again after a recursive "
                                          "call, or changes from call to call",
                       "keep numbers, and pass arrays on unchanged")
    return value


class Recursion:
    def recursion_depth(self, key) -> int:
        return sum(f.key is key for f in self.frames)

    def entered(self, key, target, name, node, run) -> Value:
        """A call: `run(node)` inlines it. Should that not end, the outermost call of `key` becomes a loop instead."""
        if key not in self.machines:
            if self.recursion_depth(key):
                self.check_recursion(key, name)
                return run(node)
            self.inlined[key] = 0
            before = self.snapshot()
            try:
                return run(node)
            except (Unending, RecursionError) as e:
                if isinstance(e, Unending) and e.key is not key or key not in self.repeated:
                    raise
                self.rollback(before)
        return run(*self.machine_for(target, key))

    def check_recursion(self, key, name) -> None:
        """Called for each activation about to be inlined."""
        own = [f for f in self.frames if f.key is key]
        self.inlined[key] += 1
        self.repeated.add(key)
        if self.inlined[key] > INLINE_CALLS or len(own) > INLINE_CALLS // 4:
            raise Unending(key)
        if len(own) < 2:
            return
        statics = [tuple(repr(v.value) for v in f.bound if isinstance(v, Static)) for f in own]
        if len(set(statics)) == len(statics):
            return
        for value in own[0].bound:
            if isinstance(value, Scalar) and value.dtype == "int64" and self.can_be_known(value):
                raise NeedsStatic(self.error(UnsupportedSyntax, f"`{name}` calls itself to a depth known only when it "
                                                                "runs", "write the recursion as a loop"), value)
        raise Unending(key)

    def can_be_known(self, value: Scalar) -> bool:
        """Whether unrolling, or specialising by the value of an argument, settles an integer."""
        return self.static_trips[-1] or len(self.static_trips) == 1 and self.parameter_behind(value) is not None

    # -- the rewriting ----------------------------------------------------------------------------------------
    def member_of(self, target, suffix) -> Member | None:
        """A function or closure as a member of a machine; None for library functions and those without source."""
        if isinstance(target, Closure):
            return Member(target.node, target.node, target.name, suffix)
        plain = plain_function(target)
        if not hasattr(plain, "__code__") or (plain.__module__ or "").split(".")[0] in LIBRARIES:
            return None
        try:
            made = definition(plain)
        except (SourceUnavailable, AutodiffError):
            return None
        return Member(plain, made.node, made.name, suffix)

    def outer_value(self, target, name):
        """What an outer name of a function or closure means: a function, a closure, or None."""
        if isinstance(target, Closure):
            frame = target.frame
            while frame is not None:
                if name in frame.env:
                    found = frame.env[name]
                    return found if isinstance(found, Closure) else getattr(found, "value", None)
                frame = frame.outer
            root = target.frame.root
            found = look_up(name, root.cells, root.globals)
        else:
            found = look_up(name, *outer_names(plain_function(target)))
        return None if found is MISSING or not callable(found) else found

    def members(self, target) -> list:
        """The functions that call `target` and are called by it, `target` first: (member, function) pairs."""
        found: dict = {}
        calls: dict = {}
        todo = [target]
        while todo:
            t = todo.pop(0)
            member = self.member_of(t, f"_{len(found)}" if found else "")
            if member is None or member.key in found:
                continue
            found[member.key] = (member, t)
            calls[member.key] = {}
            for n in gast.walk(member.node):
                if isinstance(n, gast.Call) and isinstance(n.func, gast.Name) and n.func.id not in member.locals:
                    other = self.outer_value(t, n.func.id)
                    if other is not None and not isinstance(other, type):
                        key = other.node if isinstance(other, Closure) else plain_function(other)
                        calls[member.key][n.func.id] = key
                        todo.append(other)
        if not found:
            raise self.error(UnsupportedSyntax, f"how often `{name_of(target)}` calls itself is known only when it runs",
                             "give it a number that is known before: a constant, or an argument")
        first = next(iter(found))
        reaches = {first}
        while True:
            more = {k for k in found if k not in reaches and reaches & set(calls[k].values())}
            if not more:
                break
            reaches |= more
        for key in reaches:
            found[key][0].calls = {n: found[k][0] for n, k in calls[key].items() if k in reaches}
        return [found[k] for k in found if k in reaches]

    def machine_for(self, target, key):
        """(syntax tree, names it is given) of the loop for a recursive function."""
        if key not in self.machines:
            pairs = self.members(target)
            given = {"%number": Static(number)}
            for k, (member, t) in enumerate(pairs):
                if member.node.args.vararg is not None or member.node.args.kwarg is not None:
                    raise self.error(UnsupportedSyntax, f"`{member.name}` calls itself and takes * or ** arguments",
                                     "name its arguments")
                self.outer_names_of(member, t, k, given)
            try:
                made = Machine([m for m, _ in pairs]).function()
            except Unsupported as e:
                node, problem, hint = e.args
                raise self.error(UnsupportedSyntax, problem + " is not supported: the depth of the recursion is known only "
                                 "when the program runs", hint, node=node) from None
            self.machines[key] = (made, given)
        return self.machines[key]

    def outer_names_of(self, member, target, k, given) -> None:
        """Defaults, and the outer names of members that live in other modules than the first."""
        positional = [a.id for a in (*member.node.args.posonlyargs, *member.node.args.args)]
        if isinstance(target, Closure):
            defaults, keyword = self.closure_defaults(target)
        else:
            plain = plain_function(target)
            defaults, keyword = self.defaults_of(plain)
        values = {**dict(zip(reversed(positional), reversed(defaults), strict=False)), **keyword}
        for p, value in values.items():
            member.defaults[p] = f"%default_{p}_{k}"
            given[member.defaults[p]] = value
        if k == 0 or isinstance(target, Closure):
            return
        cells, namespace = outer_names(plain_function(target))
        here, self.frame = self.frame, Frame(definition(plain_function(target)), cells, namespace)
        try:
            for n in gast.walk(member.node):
                if isinstance(n, gast.Name) and n.id not in member.locals and n.id not in member.calls \
                        and n.id not in member.free and look_up(n.id, cells, namespace) is not MISSING:
                    member.free[n.id] = f"%{n.id}_{k}"
                    given[member.free[n.id]] = self.eval_Name(n)
        finally:
            self.frame = here


__all__ = ["Recursion", "Unending", "number"]
