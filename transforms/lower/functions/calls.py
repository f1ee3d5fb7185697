"""Calls: user functions are inlined from their source, library functions come from the registry."""

from __future__ import annotations

import functools
import math
from typing import Any

import gast
import numpy as np
from numba.np.ufunc.dufunc import DUFunc

from ...language.core import Var, written
from ...language.errors import AutodiffError, SourceUnavailable, TypeConflict, UnsupportedSyntax, WrongKind
from ...language.ops import CALLABLES
from ...language.queries import allocated_in
from ...source.definitions import definition, in_class, outer_names, plain_function
from ..arrays.memory import force
from ..arrays.points import OF_NUMBERS, made_by, make_point, numpys_number, numpys_own
from ..checks import checks_math
from ..containers.containers import all_items, closure_defaults, dict_of, given_functions, items_of
from ..containers.copies import call_getter
from ..containers.growing import columns_of
from ..containers.list_operators import no_list
from ..containers.records import construct
from ..containers.series import series_columns
from ..containers.sharing import as_it_is_now, holding
from ..journal import Attempt, bindings_changed, dropped, environments, restore, surrounding
from ..loops.generators import generated, is_generator
from ..loops.in_turn import in_turn
from ..loops.iterators import gone_through, gone_through_by, handed_on, no_iterators
from ..needs import NeedsStatic
from ..numbers.complex_numbers import has_complex
from ..numbers.conversions import cast, common_dtype
from ..numbers.declared import bound_as_declared, called_as_declared, declare, loop_of
from ..numbers.integer_operations import as_taken, chosen, fmod_of_integers, narrow_choice, of_integers, whole_operands
from ..numbers.math_errors import check_argument, check_growth, check_result
from ..numpy_functions.random_draws import refuse_draws
from ..numpy_functions.ufunc_methods import ufunc_method
from ..state import Lowering
from ..structures import describe
from ..syntax.alternatives import split
from ..syntax.catching import stop_if_left
from ..syntax.expressions import value_of_lambda
from ..syntax.liveness import Liveness, use_counts, whole_body
from ..syntax.messages import text_method
from ..syntax.operators import truth_of
from ..syntax.texts import name_of
from ..table import evaluates
from ..values import (
    UNSET,
    Applied,
    Array,
    Bound,
    Closure,
    Delayed,
    Either,
    Mapping,
    Record,
    Scalar,
    Series,
    Static,
    Table,
    Value,
    Vectorized,
    is_iterator,
    is_number,
    known_as,
    leaves,
)
from .binding import bind_arguments, positional_names
from .frames import Frame
from .handlers import by_position, handled
from .kept_calls import as_called
from .kinds_taken import check_kinds
from .left_out import left_out, logged
from .method_calls import call_ufunc, call_vectorized
from .outside import (
    bound_parts,
    class_attribute,
    class_of,
    code_of,
    defaults_of,
    has_methods,
    record_method,
    rule_of,
    special,
)
from .places import OF_POLYNOMIALS, Place, in_library
from .purity import call_now, no_rule, table_now
from .recursion import entered, recursion_depth
from .starred import one_for_each_parameter

MADE_BY_SINGLEDISPATCH: Any = functools.singledispatch(lambda x: x)


@evaluates(gast.Call)
def eval_call(lo: Lowering, node):
    function = lo.eval(node.func)
    where = isinstance(function, Static) and function.value is np.where and len(node.args) == 3 and not node.keywords
    if where and (chosen := scalar_where(lo, *node.args)) is not None:
        lo.node = node
        return make_point(lo, chosen)
    if (answer := in_turn(lo, function, node)) is not None or (answer := left_out(lo, function, node)) is not None:
        return answer
    args: list = []
    kwargs: dict = {}
    for position, a in enumerate(node.args):
        with holding(lo, function, *args, node=a) as held:
            value = lo.eval(a.value if isinstance(a, gast.Starred) else a)
        function, *args = held.now
        if isinstance(a, gast.Starred):
            if isinstance(value, Table) and getattr(function, "value", None) is zip and len(node.args) == 1:
                return columns_of(lo, value)
            if isinstance(value, Series) and getattr(function, "value", None) is zip and len(node.args) == 1:
                return series_columns(lo, value)
            rest = [*node.args[position + 1:], *node.keywords]
            value = gone_through(lo, value)
            args.extend(one_for_each_parameter(lo, function, value, len(args), rest) or items_of(lo, value))
        else:
            args.append(value)
    for k in node.keywords:
        with holding(lo, function, *args, *kwargs.values(), node=k.value) as held:
            value = lo.eval(k.value)
        function, *args = held.now[:len(args) + 1]
        kwargs = dict(zip(kwargs, held.now[len(args) + 1:], strict=True))
        if k.arg is None:
            if not isinstance(value, Mapping) and not (isinstance(value, Record) and hasattr(value.cls, "keys")):
                raise lo.error(TypeConflict, "** needs a dict known before the program runs")
            kwargs.update(dict_of(lo, value))
        else:
            kwargs[k.arg] = value
    lo.node, frame = node, lo.frame
    no_iterators(lo, function, args)
    gone_through_by(lo, function, args)
    outer, frame.calling = frame.calling, node
    try:
        return lo.call(function, args, kwargs)
    finally:
        frame.calling = outer


def scalar_where(lo: Lowering, cond_node, then_node, else_node):
    """np.where on numbers evaluates only the chosen side; None if an array is involved."""
    before = environments(lo)
    try:
        with dropped(lo, loop=True):
            kinds = [lo.eval(n) for n in (cond_node, then_node, else_node)]
            tried = lo.b.block()
            changed = bindings_changed(lo, before)
    finally:
        restore(lo, before)
    if not all(map(is_number, kinds)) or isinstance(kinds[0], Static):
        return None
    if changed or written(tried) - allocated_in(tried):
        return None                         # calls with effects run once, whatever is chosen
    if narrow_choice(lo, kinds[1:]):
        return None                         # both sides are looked at
    cond = truth_of(lo, cond_node)
    dtype = common_dtype(lo, kinds[1:])
    side = lambda node: lambda: Scalar(cast(lo, lo.atom(lo.eval(node)), dtype))  # noqa: E731
    return chosen(lo, lo.atom(lo.choose(cond, side(then_node), side(else_node))), kinds[1:])


def call(lo: Lowering, function: Value, args, kwargs) -> Value:
    match function:
        case Either():
            return split(lo, function, lambda f: lo.call(f, args, kwargs), raises="TypeError")
        case Static(value=target):
            return lo.call_static(target, list(args), kwargs)
        case Closure():
            return call_closure(lo, function, args, kwargs)
        case Applied(function=inner, args=first, kwargs=named):
            return lo.call(inner, [*first, *args], {**named, **kwargs})
        case Vectorized(function=one):
            return given_functions(lo, (one,), lambda: call_vectorized(lo, one, (), args))
        case Bound(owner=owner, name=name):
            return lo.call_method(as_it_is_now(lo, owner), name, list(args), kwargs)
        case Record(cls=cls) if in_class(cls, "__call__"):
            return record_method(lo, as_it_is_now(lo, function), "__call__", list(args), kwargs)
    raise lo.error(WrongKind, f"{describe(function)} is not callable")


def call_static(lo: Lowering, target, args, kwargs) -> Value:
    registry = lo.registry
    if hasattr(target, "__autodiff_lower__") and not isinstance(target, type):
        return target.__autodiff_lower__(lo, args, kwargs)
    if getattr(target, "__autodiff_operator__", False):
        for value in (*args, *kwargs.values()):
            if isinstance(value, (Scalar, Array)):
                told = f"an option of `{target.__name__}` must be known before the program runs"
                raise NeedsStatic(lo.error(TypeConflict, told, "write a constant, or make the operator outside"), value)
        if not args:                                    # a decorator
            return Applied(Static(target), (), kwargs)
        if isinstance(args[0], (Closure, Applied, Bound, Vectorized)):
            return target.__autodiff_inside__(args, kwargs)
        return call_now(lo, target, args, kwargs)
    if not callable(target):
        raise lo.error(WrongKind, f"{describe(Static(target))} is not callable")
    if type(target).__hash__ is None:                   # no table holds it
        return call_object(lo, target, args, kwargs)
    if isinstance(target, (np.vectorize, DUFunc)):
        one, otypes = scalar_function(lo, target)
        if isinstance(target, DUFunc):
            args, otypes = loop_of(lo, target, args)
        made = call_vectorized(lo, Static(one), otypes, args, kwargs)
        return make_point(lo, made) if isinstance(made, Scalar) and isinstance(target, np.vectorize) else made
    if (got := call_getter(lo, target, args)) is not None:
        return got
    if isinstance(target, functools.partial):
        first, named = bound_parts(lo, target.args, target.keywords, [target])
        return lo.call_static(target.func, [*first, *args], {**named, **kwargs})
    done = text_method(lo, target, args, kwargs) if isinstance(getattr(target, "__self__", None), str) else \
        logged(lo, target, args)
    if done is not None:
        return done
    handler = lo.builtins.get(target)
    if (handler is not None or target in CALLABLES) and target not in TAKES_ANYTHING:
        if (by_option := split_arguments(lo, target, args, kwargs)) is not None:
            return by_option
    check_kinds(lo, target, args, kwargs)
    if handler is not None:
        args, kwargs = by_position(target, handler, args, kwargs)
        if target in RUNS_OVER and args and (len(args) == 1 or target is sum):
            args = [all_items(lo, args[0]), *args[1:]]
        made = no_list(lo, target, given_functions(
            lo, (*args, *kwargs.values()), lambda: handled(lo, target, handler, args, kwargs)), args)
        return made_by(lo, target, args, made)
    if isinstance(getattr(target, "__self__", None), np.ufunc):
        return ufunc_method(lo, target.__self__, target.__name__, args, kwargs)
    plain = plain_function(target)
    refuse_draws(lo, target)
    if registry:
        registry.learn_of(target)
    rule = rule_of(lo, "user_rules", target)
    rule = rule or (rule_of(lo, "user_rules", plain) if plain is not target else None)
    if rule is not None:
        if has_complex(lo, (*args, *kwargs.values())):
            raise lo.error(UnsupportedSyntax, f"`{name_of(target)}` has a derivative rule, and rules of functions of "
                           "complex numbers are not supported", "give the function real and imaginary parts")
        return rule.lower_call(lo, plain, args, kwargs)
    body = rule_of(lo, "definitions", target)
    if body is not None and getattr(target, "__module__", "") == "math" and all(isinstance(a, Static) for a in args):
        return call_now(lo, target, args, kwargs)       # of whatever size
    if body is not None:
        if registry.is_for_reals(target, body) and has_complex(lo, (*args, *kwargs.values())):
            raise lo.error(UnsupportedSyntax, f"`{name_of(target)}` of complex numbers is not supported",
                           "write it with functions that are, or on real and imaginary parts")
        made = lo.call_python(body, as_taken(lo, target, args), kwargs, told=getattr(target, "__name__", ""))
        if not registry.is_ours(body.__module__) or body.__annotations__.get("return") in (float, bool):
            return made
        if hasattr(made, "once"):
            made.once.kind = target
        return numpys_own(lo, target, made)
    if args and has_methods(args[0]) and target in SPECIAL:
        made = special(lo, args[0], SPECIAL[target], *args[1:])
        if made is not None:
            return made
    if getattr(target, "__code__", None) is MADE_BY_SINGLEDISPATCH.__code__ and args:
        return lo.call_static(dispatched(lo, target, args[0]), args, kwargs)
    if target in CALLABLES and not isinstance(target, np.ufunc):
        args, kwargs = by_position(target, None, args, kwargs)
    if target in CALLABLES and args:
        if any(map(is_iterator, args)) and not in_library(lo):
            raise lo.error(WrongKind, f"`{name_of(target)}` of an iterator, or of a view of a dict", "write list(...)")
        if target is np.fmod and whole_operands(lo, args[:2]):
            return lo.call_python(fmod_of_integers, [*of_integers(lo, target, args[:2]), *args[2:]], kwargs)
        own = getattr(target, "__module__", "") == "math"
        if (own or target is abs) and any(isinstance(a, Record) for a in args):
            raise lo.error(WrongKind, f"`{name_of(target)}` needs numbers")
        checked = own and not all(isinstance(a, Static) for a in args) and checks_math(lo)
        if checked:
            check_argument(lo, target, args)
            check_growth(lo, target, functools.partial(call_ufunc, lo, CALLABLES[target]), of_integers(lo, target, args))
        result = call_ufunc(lo, CALLABLES[target], of_integers(lo, target, args), kwargs, target)
        if checked:
            check_result(lo, target, args, result)
        if (isinstance(target, np.ufunc) or target in OF_NUMBERS) and is_number(result) and not (
                isinstance(result, Scalar) and not result.weak and not result.mixed):
            return numpys_number(lo, result)
        return Scalar(result.atom, True) if own and isinstance(result, Scalar) else result     # Python's own number
    if isinstance(target, type):
        return construct(lo, target, args, kwargs)
    if hasattr(plain, "__code__"):
        if hasattr(plain, "__self__") and plain.__self__ is not None and not (
                type(plain.__self__).__module__.startswith("scipy.stats")):
            owner = lo.wrap(plain.__self__, Place.of(plain).attribute("__self__"))
            return call_method(lo, plain.__func__, [owner, *args], kwargs)
        home = (plain.__module__ or "").split(".")[0]
        if (table := table_now(lo, plain, args, kwargs)) is not None:
            return table
        if home == "scipy":
            return plain_scipy(lo, plain, target, args, kwargs)
        if home in ("numpy", "math") and plain.__qualname__.partition(".")[0] not in OF_POLYNOMIALS:
            raise no_rule(lo, target)
        if not kwargs:
            return called_as_declared(lo, target, args, lambda args: lo.call_python(plain, args, {}, target))
        return lo.call_python(plain, args, kwargs, target)
    if all(isinstance(leaf, Static) for v in (*args, *kwargs.values()) for leaf in leaves(v)):
        return call_now(lo, target, args, kwargs)
    return call_object(lo, target, args, kwargs)


def plain_scipy(lo: Lowering, plain, target, args, kwargs) -> Value:
    """A function of SciPy without a rule: as its Python source has it, where that can be followed."""
    if plain.__module__.startswith("scipy.constants"):
        return call_now(lo, target, args, kwargs)
    before = Attempt(lo)
    try:
        return lo.call_python(plain, args, kwargs, target)
    except AutodiffError:
        before.undo(lo)
        raise no_rule(lo, target) from None


def call_object(lo: Lowering, target, args, kwargs) -> Value:
    """A call of an object by the method of its class."""
    if hasattr(type(target).__call__, "__code__"):
        method = class_attribute(lo, class_of(lo, target), "__call__")
        return call_method(lo, method, [Static(target), *args], kwargs)
    raise no_rule(lo, target)


def call_method(lo: Lowering, method, args, kwargs) -> Value:
    """A method of an object outside as a function of the object, by the rule that it was given where there is one."""
    rule = rule_of(lo, "user_rules", method)
    return rule.lower_call(lo, method, args, kwargs) if rule is not None else lo.call_python(method, args, kwargs)


def split_arguments(lo: Lowering, target, args, kwargs) -> Value | None:
    """A library call for each option of its first argument that has several; None where there is none."""
    numpys = (getattr(target, "__module__", None) or "").split(".")[0] == "numpy" and target not in ASKED_OF_ALL
    raises = "TypeError" if target in CALLABLES or target in NEEDS_NUMBERS or numpys and args and isinstance(
        args[0], Either) else ""
    for k, value in enumerate(args):
        if isinstance(value, Either):
            return split(lo, value, lambda v, k=k: lo.call_static(target, [*args[:k], v, *args[k + 1:]], kwargs),
                         raises, pure=target is isinstance)
    for k, value in kwargs.items():
        if isinstance(value, Either):
            return split(lo, value, lambda v, k=k: lo.call_static(target, args, {**kwargs, k: v}))
    return None


# -- inlining ---------------------------------------------------------------------------------------------
def dispatched(lo: Lowering, target, first: Value):
    """What a function made by `functools.singledispatch` calls for its first argument."""
    cls: Any = known_as(Static, lo.call_static(type, [first], {})).value
    if not isinstance(cls, type):
        raise lo.error(TypeConflict, f"the class of {describe(first)}, by which `{name_of(target)}` chooses, is not known")
    table = Place.of(target).attribute("registry")
    lo.reads.need(table, "keys", (type(target.registry), tuple(target.registry)))
    chosen = target.dispatch(getattr(cls, "stands_for", cls))
    for known, function in target.registry.items():
        if function is chosen:
            lo.reads.need(table.item(known), "is", chosen)
    return chosen


def call_python(lo: Lowering, function, args, kwargs, target=None, told: str = "") -> Value:
    """A call of a function with Python source. told: the name by which the user calls what it defines."""
    try:
        made = definition(function)
    except SourceUnavailable as e:
        raise lo.error(SourceUnavailable, e.problem, e.hint) from None
    code_of(lo, function)
    cells, namespace = outer_names(function)
    lo.sources.setdefault(function.__code__, function)
    key = memo_key(lo, function, args, kwargs)
    if key is not None:
        for scope in surrounding(lo):
            if key in scope.known:
                return scope.known[key]
    defaults, keyword = defaults_of(lo, function)

    def called(args, kwargs):
        def run(node, given=()):
            frame = Frame(made, cells, namespace, node=node, key=function)
            declare(lo, frame, target)
            frame.env.update(given)
            return run_function(lo, frame, node, args, kwargs, defaults, keyword, told or made.name)
        if is_generator(made.node):
            return generated(lo, made.node, (*args, *kwargs.values()), lambda node, given: entered(
                lo, function, function, made.name, node, lambda _, more=(): run(node, {**given, **dict(more)}), args))
        return entered(lo, function, function, made.name, made.node, run, args)
    drawn = lo.drawn
    value = as_called(lo, function, made.name, positional_names(made.node.args), args, kwargs, called)
    if key is not None and isinstance(value, (Scalar, Static)) and lo.drawn == drawn:
        lo.b.known[key] = value
    return value


def memo_key(lo: Lowering, function, args, kwargs):
    """Recursive calls on equal numbers are made once."""
    values = (*args, *kwargs.values())
    if not recursion_depth(lo, function) or not all(isinstance(v, (Scalar, Static)) for v in values):
        return None
    return ("call", function, tuple(v.atom if isinstance(v, Scalar) else repr(v.value) for v in values), tuple(kwargs))


def call_closure(lo: Lowering, closure: Closure, args, kwargs) -> Value:
    outer = closure.frame

    def called(args, kwargs):
        def run(node, given=()):
            frame = Frame(outer.definition, outer.cells, outer.globals, outer, node, closure.node)
            frame.env.update(given)
            defaults, keyword = closure_defaults(lo, closure)
            return run_function(lo, frame, node, args, kwargs, defaults, keyword, closure.name)
        if is_generator(closure.node):
            return generated(lo, closure.node, (*args, *kwargs.values()), lambda node, given: entered(
                lo, closure.node, closure, closure.name, node, lambda _, more=(): run(node, {**given, **dict(more)})),
                (closure,))
        return entered(lo, closure.node, closure, closure.name, closure.node, run)
    return as_called(lo, closure, closure.name, positional_names(closure.node.args), args, kwargs, called)


def run_function(lo: Lowering, frame, node, args, kwargs, defaults, keyword_defaults, name) -> Value:
    bound = bind_arguments(lo, node.args, list(args), dict(kwargs), defaults, keyword_defaults, name)
    for k, v in list(bound.items()):
        for leaf in leaves(v):
            if isinstance(leaf, Delayed) and leaf.rank and leaf.forced is None:
                force(lo, leaf, k)
        bound[k] = handed_on(v)
    frame.env.update(bound_as_declared(lo, frame, bound))
    frame.bound, frame.builder = tuple(bound.values()), lo.b
    lo.frames.append(frame)
    lo.keep_alive.append(frame)
    previous = lo.frame, lo.b.loc, lo.node
    lo.frame = frame
    try:
        if isinstance(node, gast.Lambda):
            return value_of_lambda(lo, frame, node)
        if not hasattr(node, "liveness"):
            node.uses = use_counts(node)
            node.liveness = Liveness(node)          # last: it may be interrupted
        frame.uses = node.uses
        lo.exec_block(whole_body(node))
        value = frame.env["%value"]
        if any(isinstance(leaf, Closure) and leaf.frame.root is frame.root for leaf in leaves(value)):
            lo.kept_frames.append(frame)
        value = Static(None) if value is UNSET else value
    finally:
        lo.frames.pop()
        lo.frame, lo.b.loc, lo.node = previous
    stop_if_left(lo, frame.env["%exit"])
    return value


# methods of objects of classes
SPECIAL = {abs: "__abs__", complex: "__complex__", math.floor: "__floor__", math.ceil: "__ceil__", math.trunc: "__trunc__"}
TAKES_ANYTHING = {print, dict, callable, functools.partial}
ASKED_OF_ALL = {np.isscalar, np.iterable, np.ndim, np.shape, np.size}
RUNS_OVER = {sum, max, min, sorted}
NEEDS_NUMBERS = {len, float, int, abs, round, range, sum, divmod, pow}


def scalar_function(lo, target):
    """The function of numbers in a np.vectorize or numba.vectorize object, and the wanted dtypes."""
    if isinstance(target, DUFunc):
        vectorized: Any = target            # Numba keeps the function to itself
        return vectorized._dispatcher.py_func, None
    if target.signature is not None or target.excluded:
        raise lo.error(UnsupportedSyntax, "np.vectorize with a signature or excluded arguments is not supported",
                       "write the loop")
    return target.pyfunc, target.otypes or ()


__all__ = ["Frame", "Var"]
