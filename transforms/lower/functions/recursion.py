"""Recursive calls: inlined where the depth is known before the program runs, else rewritten as a loop (`machine.py`)."""

from __future__ import annotations

import copy
import inspect
import types

import gast

from ...language.build import integer
from ...language.errors import AutodiffError, SourceUnavailable, UnsupportedSyntax
from ...source.definitions import MISSING, definition, look_up, outer_names, plain_function
from ..checks import guard, sure_to_raise
from ..containers.containers import closure_defaults
from ..journal import Attempt
from ..needs import NeedsStatic
from ..numbers.conversions import parameter_behind
from ..state import Lowering
from ..structures import describe
from ..syntax.liveness import bound_names
from ..syntax.texts import name_of
from ..syntax.unbound import held
from ..table import lowers
from ..values import Closure, Record, Scalar, Static, Value, is_number, leaves
from .frames import LIBRARIES, Frame
from .machine import TOO_DEEP, Machine
from .outside import class_attribute, defaults_of, eval_name
from .splitting import Member, Unsupported

INLINE_CALLS = 200              # activations of one function that are inlined at most
DEEPEST = 100_000               # activations at one time in a loop over states; Python's own limit is 1000


class Unending(Exception):
    """Inlining a function would not end, or take too much code. key: of the function whose first call is rewritten;
    straight: whether no condition stands between its calls."""

    def __init__(self, key, straight):
        self.key, self.straight = key, straight


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


def deeper(depth):
    """For machines: how many activations there are once one more has begun."""
    return depth + 1


@lowers(deeper)
def lower_deeper(lo, depth):
    guard(lo, lo.b.compare("lt", lo.atom(depth), integer(DEEPEST)), "RecursionError", TOO_DEEP)
    return lo.elementwise("add", depth, Static(1))


def method_name(function) -> str:
    """What a machine calls a method."""
    return f"%{function.attr}_method"


class MethodCalls(gast.NodeTransformer):
    """Calls `self.name(...)` of members as calls of functions that are given `self`."""

    def __init__(self, member: Member):
        self.member = member

    def visit_Call(self, node):
        self.generic_visit(node)
        match node.func:
            case gast.Attribute(value=gast.Name(id=own) as owner) if own == self.member.params[0] and \
                    method_name(node.func) in self.member.calls:
                function = gast.copy_location(gast.Name(method_name(node.func), gast.Load(), None, None), owner)
                return gast.copy_location(gast.Call(function, [owner, *node.args], node.keywords), node)
        return node


def recursion_depth(lo: Lowering, key) -> int:
    return sum(f.key is key for f in lo.frames)


def entered(lo: Lowering, key, target, name, node, run, args=()) -> Value:
    """A call: `run(node)` inlines it. Should that not end, the outermost call of `key` becomes a loop instead."""
    if key in lo.machines:
        if key in lo.running:
            raise lo.error(UnsupportedSyntax, f"`{name}` calls itself through another call, to a depth known only "
                                              "when it runs", "write the recursion as a loop")
        return run_machine(lo, target, key, run)
    if recursion_depth(lo, key):
        check_recursion(lo, key, name)
        return run(node)
    lo.inlined[key] = 0
    before = Attempt(lo)
    try:
        return run(node)
    except (Unending, RecursionError) as e:
        if isinstance(e, Unending) and e.key is not key or key not in lo.repeated:
            raise
        straight = isinstance(e, RecursionError) or e.straight
    before.undo(lo)
    before = Attempt(lo)
    try:
        return run_machine(lo, target, key, run, args)
    except AutodiffError as refusal:
        if not straight:
            raise
        lo.machines.pop(key, None)
        before.undo(lo)
        return run_to_the_end(lo, key, lambda: run(node), refusal)


def run_machine(lo: Lowering, target, key, run, args=()) -> Value:
    made = machine_for(lo, target, key, args)
    lo.running.append(key)
    try:
        return run(*made)
    finally:
        lo.running.pop()


def run_to_the_end(lo: Lowering, key, run, refusal) -> Value:
    """A call that no loop can stand for, inlined until it is sure not to end."""
    lo.inlined[key] = 0
    lo.last_resort[key] = refusal
    try:
        return run()
    finally:
        del lo.last_resort[key]


def check_recursion(lo: Lowering, key, name) -> None:
    """Called for each activation about to be inlined."""
    own = [f for f in lo.frames if f.key is key]
    lo.inlined[key] += 1
    lo.repeated.add(key)
    straight = own[0].builder is own[-1].builder is lo.b
    statics = [(id(f.outer), *(repr(leaf.value) for v in f.bound for leaf in leaves(v) if isinstance(leaf, Static)))
               for f in own]            # functions that one `def` or `lambda` makes anew are different ones
    if key in lo.last_resort:
        if lo.inlined[key] > INLINE_CALLS // 2:
            if straight and len(set(statics[-INLINE_CALLS // 4:])) == 1:
                raise sure_to_raise(lo, RecursionError(TOO_DEEP))
            raise lo.last_resort[key]
        return
    if lo.inlined[key] > INLINE_CALLS or len(own) > INLINE_CALLS // 4:
        raise Unending(key, straight)
    if len(own) < 2 or len(set(statics)) == len(statics):
        return
    for value in own[0].bound:
        if isinstance(value, Scalar) and value.dtype == "int64" and can_be_known(lo, value):
            raise NeedsStatic(lo.error(UnsupportedSyntax, f"`{name}` calls itself to a depth known only when it "
                                                          "runs", "write the recursion as a loop"), value)
    raise Unending(key, straight)


def can_be_known(lo: Lowering, value: Scalar) -> bool:
    """Whether unrolling, or specialising by the value of an argument, settles an integer."""
    return bool(lo.around.static_trips[-1]) or len(lo.around.static_trips) == 1 and parameter_behind(lo, value) is not None


# -- the rewriting ----------------------------------------------------------------------------------------
def member_of(lo: Lowering, target, suffix) -> Member | None:
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


def outer_value(lo: Lowering, target, name):
    """What an outer name of a function or closure means: a function, a closure, or None."""
    if isinstance(target, Closure):
        frame = target.frame
        while frame is not None:
            if name in frame.env:
                found = held(frame.env[name])
                return found if isinstance(found, Closure) else getattr(found, "value", None)
            frame = frame.outer
        root = target.frame.root
        found = look_up(name, root.cells, root.globals)
    else:
        found = look_up(name, *outer_names(plain_function(target)))
    return None if found is MISSING or not callable(found) else found


def method_called(lo: Lowering, node, member, owner):
    """The function behind a call `self.name(...)`, where `self` is the member's first argument; else None."""
    match node.func:
        case gast.Attribute(value=gast.Name(id=own), attr=attr) if member.params[:1] == [own]:
            held = getattr(owner, "value", None)
            cls, fields = (owner.cls, owner.fields) if isinstance(owner, Record) else (type(held), getattr(
                held, "__dict__", ()))
            found = inspect.getattr_static(cls, attr, None)
            if isinstance(found, types.FunctionType) and attr not in fields and own not in bound_names(member.node.body):
                return class_attribute(lo, cls, attr)
    return None


def members(lo: Lowering, target, args=()) -> list:
    """The functions that call `target` and are called by it, `target` first: (member, function) pairs."""
    found: dict = {}
    calls: dict = {}
    owner = args[0] if args and not isinstance(target, Closure) else None
    owned = {plain_function(target)} if owner is not None else set()
    todo = [target]
    while todo:
        t = todo.pop(0)
        member = member_of(lo, t, f"_{len(found)}" if found else "")
        if member is None or member.key in found:
            continue
        found[member.key] = (member, t)
        calls[member.key] = {}
        for n in gast.walk(member.node):
            if isinstance(n, gast.Call) and member.key in owned and (method := method_called(lo, n, member, owner)):
                calls[member.key][method_name(n.func)] = method
                owned.add(method)
                todo.append(method)
            elif isinstance(n, gast.Call) and isinstance(n.func, gast.Name) and n.func.id not in member.locals:
                other = outer_value(lo, t, n.func.id)
                if other is not None and not isinstance(other, type):
                    key = other.node if isinstance(other, Closure) else plain_function(other)
                    calls[member.key][n.func.id] = key
                    todo.append(other)
    if not found:
        raise lo.error(UnsupportedSyntax, f"how often `{name_of(target)}` calls itself is known only when it runs",
                       "give it a number that is known before: a constant, or an argument")
    first = next(iter(found))
    reaches = {first}
    while True:
        more = {k for k in found if k not in reaches and reaches & set(calls[k].values())}
        if not more:
            break
        reaches |= more
    for key in reaches:
        member = found[key][0]
        member.calls = {n: found[k][0] for n, k in calls[key].items() if k in reaches}
        member.node = MethodCalls(member).visit(copy.deepcopy(member.node))
    return [found[k] for k in found if k in reaches]


def machine_for(lo: Lowering, target, key, args=()):
    """(syntax tree, names it is given) of the loop for a recursive function."""
    if key not in lo.machines:
        pairs = members(lo, target, args)
        given = {"%number": Static(number), "%deeper": Static(deeper), "%error": Static(RecursionError)}
        for k, (member, t) in enumerate(pairs):
            if member.node.args.vararg is not None or member.node.args.kwarg is not None:
                raise lo.error(UnsupportedSyntax, f"`{member.name}` calls itself and takes * or ** arguments",
                               "name its arguments")
            outer_names_of(lo, member, t, k, given)
        try:
            made = Machine([m for m, _ in pairs]).function()
        except Unsupported as e:
            node, problem, hint = e.args
            raise lo.error(UnsupportedSyntax, problem + " is not supported: the depth of the recursion is known only "
                           "when the program runs", hint, node=node) from None
        lo.machines[key] = (made, given)
    return lo.machines[key]


def outer_names_of(lo: Lowering, member, target, k, given) -> None:
    """Defaults, and the outer names of members that live in other modules than the first."""
    positional = [a.id for a in (*member.node.args.posonlyargs, *member.node.args.args)]
    if isinstance(target, Closure):
        defaults, keyword = closure_defaults(lo, target)
    else:
        plain = plain_function(target)
        defaults, keyword = defaults_of(lo, plain)
    values = {**dict(zip(reversed(positional), reversed(defaults), strict=False)), **keyword}
    for p, value in values.items():
        member.defaults[p] = f"%default_{p}_{k}"
        given[member.defaults[p]] = value
    if k == 0 or isinstance(target, Closure):
        return
    cells, namespace = outer_names(plain_function(target))
    here, lo.frame = lo.frame, Frame(definition(plain_function(target)), cells, namespace)
    try:
        for n in gast.walk(member.node):
            if isinstance(n, gast.Name) and n.id not in member.locals and n.id not in member.calls \
                    and n.id not in member.free and look_up(n.id, cells, namespace) is not MISSING:
                member.free[n.id] = f"%{n.id}_{k}"
                given[member.free[n.id]] = eval_name(lo, n)
    finally:
        lo.frame = here


__all__ = ["Unending", "number"]
