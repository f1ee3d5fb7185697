"""Calls: user functions are inlined from their source, library functions come from the registry."""

from __future__ import annotations

import functools
import inspect
import types
from dataclasses import replace

import gast
import numpy as np
from numba.np.ufunc.dufunc import DUFunc

from ..language.core import Alloc, Var, walk, written
from ..language.errors import MissingRule, SourceUnavailable, TypeConflict, UnsupportedSyntax
from ..language.ops import CALLABLES
from ..source.definitions import complaint, definition, outer_names, plain_function, signature_of
from .arrays import describe
from .declared import loop_of
from .frames import Frame
from .integers import same_dtype
from .liveness import Liveness, use_counts, whole_body
from .messages import name_of
from .method_calls import MethodCalls
from .outside import Place
from .points import OF_NUMBERS
from .purity import Purity
from .values import (
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
    Sequence,
    Series,
    Static,
    Table,
    Value,
    Vectorized,
    is_number,
    leaves,
)


class Calls(MethodCalls, Purity):
    def eval_Call(self, node):
        function = self.eval(node.func)
        if isinstance(function, Static) and function.value is np.where and len(node.args) == 3 and not node.keywords:
            chosen = self.scalar_where(*node.args)
            if chosen is not None:
                self.node = node
                return self.point(chosen)
        args: list = []
        kwargs: dict = {}
        for a in node.args:
            with self.holding(*args):
                value = self.eval(a.value if isinstance(a, gast.Starred) else a)
            if isinstance(a, gast.Starred):
                if isinstance(value, Table) and getattr(function, "value", None) is zip and len(node.args) == 1:
                    return self.columns_of(value)
                if isinstance(value, Series) and getattr(function, "value", None) is zip and len(node.args) == 1:
                    return self.series_columns(value)
                args.extend(self.items_of(value))
            else:
                args.append(value)
        for k in node.keywords:
            with self.holding(*args, *kwargs.values()):
                value = self.eval(k.value)
            if k.arg is None:
                if not isinstance(value, Mapping):
                    raise self.error(TypeConflict, "** needs a dict known before the program runs")
                kwargs.update(value.items)
            else:
                kwargs[k.arg] = value
        self.node = node
        frame = self.frame
        outer, frame.calling = frame.calling, node
        try:
            return self.call(function, args, kwargs)
        finally:
            frame.calling = outer

    def scalar_where(self, cond_node, then_node, else_node):
        """np.where on numbers evaluates only the chosen side; None if an array is involved."""
        here, guarded = self.b, set(self.guarded)
        before = [dict(f.env) for f in self.frames]
        self.b = here.child(loop=True)
        try:
            kinds = [self.eval(n) for n in (cond_node, then_node, else_node)]
            tried = self.b.block()
            changed = self.bindings_changed(before)
        finally:
            self.b, self.guarded = here, guarded
            self.restore(before)
        if not all(map(is_number, kinds)) or isinstance(kinds[0], Static):
            return None
        if changed or written(tried) - {s.array for s in walk(tried) if isinstance(s, Alloc)}:
            return None                         # calls with effects run once, whatever is chosen
        cond = self.truth_of(cond_node)
        dtype = self.common_dtype(kinds[1:])
        side = lambda node: lambda: Scalar(self.fitted(self.eval(node), dtype))  # noqa: E731
        return self.choose(cond, side(then_node), side(else_node))

    def call(self, function: Value, args, kwargs) -> Value:
        match function:
            case Either():
                return self.split(function, lambda f: self.call(f, args, kwargs), raises="TypeError")
            case Static(value=target):
                return self.call_static(target, list(args), kwargs)
            case Closure():
                return self.call_closure(function, args, kwargs)
            case Applied(function=inner, args=first, kwargs=named):
                return self.call(inner, [*first, *args], {**named, **kwargs})
            case Vectorized(function=one):
                return self.call_vectorized(one, (), args)
            case Bound(owner=owner, name=name):
                return self.call_method(self.as_it_is_now(owner), name, list(args), kwargs)
            case Record(cls=cls) if hasattr(cls, "__call__"):  # noqa: B004 (the class's method is meant)
                return self.record_method(function, "__call__", list(args), kwargs)
        raise self.error(TypeConflict, f"{describe(function)} is not callable")

    def call_static(self, target, args, kwargs) -> Value:
        registry = self.registry
        if hasattr(target, "__autodiff_lower__") and not isinstance(target, type):
            return target.__autodiff_lower__(self, args, kwargs)
        if getattr(target, "__autodiff_operator__", False):
            if any(isinstance(a, Closure) for a in args):
                raise self.error(UnsupportedSyntax, f"`{target.__name__}` of a function defined inside a differentiated "
                                                    "function is not supported",
                                 "define it at module level, and pass what it uses as arguments")
            return self.call_now(target, args, kwargs)
        if not callable(target):
            raise self.error(TypeConflict, f"{describe(Static(target))} is not callable")
        if type(target).__hash__ is None:                   # no table holds it
            return self.call_object(target, args, kwargs)
        if isinstance(target, (np.vectorize, DUFunc)):
            one, otypes = scalar_function(self, target)
            if isinstance(target, DUFunc):
                args, otypes = loop_of(self, target, args)
            made = self.call_vectorized(Static(one), otypes, args, kwargs)
            return self.point(made) if isinstance(made, Scalar) and isinstance(target, np.vectorize) else made
        if isinstance(target, functools.partial):
            first, named = self.bound_parts(target.args, target.keywords)
            return self.call_static(target.func, [*first, *args], {**named, **kwargs})
        done = self.text_method(target, args, kwargs) if isinstance(getattr(target, "__self__", None), str) else \
            self.logged(target, args)
        if done is not None:
            return done
        handler = self.builtins.get(target)
        if (handler is not None or target in CALLABLES) and target not in TAKES_ANYTHING:
            split = self.split_arguments(target, args, kwargs)
            if split is not None:
                return split
        if handler is not None:
            try:
                made = self.no_list(target, handler(self, *args, **kwargs), args)
                return self.made_by(target, args, made)
            except TypeError as e:
                if not accepts(handler, (self, *args), kwargs):
                    raise self.error(UnsupportedSyntax, f"`{name_of(target)}`: {clean(str(e))}",
                                     "leave that argument out, or compute what it means in steps of its own") from None
                raise
        if isinstance(getattr(target, "__self__", None), np.ufunc):
            return self.ufunc_method(target.__self__, target.__name__, args, kwargs)
        plain = plain_function(target)
        self.refuse_draws(target)
        if registry:
            registry.learn_of(target)
        rule = self.rule_of("user_rules", target)
        rule = rule or (self.rule_of("user_rules", plain) if plain is not target else None)
        if rule is not None:
            if self.has_complex((*args, *kwargs.values())):
                raise self.error(UnsupportedSyntax, f"`{name_of(target)}` has a derivative rule, and rules of functions of "
                                 "complex numbers are not supported", "give the function real and imaginary parts")
            return self.call_with_rule(plain, rule, args, kwargs)
        body = self.rule_of("definitions", target)
        if body is not None:
            if registry.is_for_reals(target, body) and self.has_complex((*args, *kwargs.values())):
                raise self.error(UnsupportedSyntax, f"`{name_of(target)}` of complex numbers is not supported",
                                 "write it with functions that are, or on real and imaginary parts")
            made = self.call_python(body, self.as_taken(target, args), kwargs)
            numpys = isinstance(made, Scalar) and made.dtype == "float64" and registry.is_ours(body.__module__)
            return replace(made, weak=False) if numpys else made
        if target in CALLABLES and args:
            own = getattr(target, "__module__", "") == "math"
            checked = own and not all(isinstance(a, Static) for a in args) and self.checks_math()
            if checked:
                self.check_argument(target, args)
            result = self.call_ufunc(CALLABLES[target], self.of_integers(target, args), kwargs, target)
            if checked:
                self.check_result(target, args, result)
            if (isinstance(target, np.ufunc) or target in OF_NUMBERS) and isinstance(result, Scalar) and result.weak:
                return Scalar(result.atom)              # a number of NumPy's
            return Scalar(result.atom, True) if own and isinstance(result, Scalar) else result     # Python's own number
        if isinstance(target, type):
            return self.construct(target, args, kwargs)
        if hasattr(plain, "__code__"):
            if hasattr(plain, "__self__") and plain.__self__ is not None and not (
                    type(plain.__self__).__module__.startswith("scipy.stats")):
                owner = self.wrap(plain.__self__, Place.of(plain).attribute("__self__"))
                return self.call_python(plain.__func__, [owner, *args], kwargs)
            if plain.__module__ and plain.__module__.split(".")[0] in ("numpy", "scipy", "math"):
                raise self.no_rule(target)
            if not kwargs:
                return self.called_as_declared(target, args, lambda args: self.call_python(plain, args, {}, target))
            return self.call_python(plain, args, kwargs, target)
        if all(isinstance(leaf, Static) for v in (*args, *kwargs.values()) for leaf in leaves(v)):
            return self.call_now(target, args, kwargs)
        return self.call_object(target, args, kwargs)

    def call_object(self, target, args, kwargs) -> Value:
        """A call of an object by the method of its class."""
        if hasattr(type(target).__call__, "__code__"):
            method = self.class_attribute(self.class_of(target), "__call__")
            return self.call_python(method, [Static(target), *args], kwargs)
        raise self.no_rule(target)

    def split_arguments(self, target, args, kwargs) -> Value | None:
        """A library call for each option of its first argument that has several; None where there is none."""
        raises = "TypeError" if target in CALLABLES or target in NEEDS_NUMBERS or args and isinstance(
            args[0], Either) and (getattr(target, "__module__", None) or "").split(".")[0] == "numpy" else ""
        for k, value in enumerate(args):
            if isinstance(value, Either):
                return self.split(value, lambda v, k=k: self.call_static(target, [*args[:k], v, *args[k + 1:]], kwargs),
                                  raises, pure=target is isinstance)
        for k, value in kwargs.items():
            if isinstance(value, Either):
                return self.split(value, lambda v, k=k: self.call_static(target, args, {**kwargs, k: v}))
        return None

    def refuse_draws(self, target):
        """Random numbers of no generator that is passed: run now, a draw would become a constant."""
        owner = getattr(target, "__self__", None)
        home = type(owner).__module__ if owner is not None and not isinstance(owner, types.ModuleType) else getattr(
            target, "__module__", None)
        home = home or getattr(owner, "__name__", "")
        name = getattr(target, "__name__", str(target))
        if home.startswith("scipy.stats") and name in ("rvs", "resample"):
            raise self.error(UnsupportedSyntax, f"`{name}` of scipy.stats draws in a way that cannot be differentiated",
                             "use the methods of a generator that is passed as an argument: rng.normal(loc, scale, n)")
        if home.startswith("numpy.random") or home in ("random", "_random", "secrets"):
            problem = (f"`{name}` makes a random generator, which a differentiated function cannot do"
                       if target is np.random.default_rng or isinstance(target, type) else
                       f"`{name}` draws from a state that a differentiated function does not share")
            raise self.error(UnsupportedSyntax, problem, "make a generator outside and pass it as an argument: f(x, rng), "
                                                         "with rng = np.random.default_rng(seed)")

    def no_rule(self, target):
        name = name_of(target)
        return self.error(MissingRule, f"`{name}` has neither Python source nor a derivative rule",
                          f"write it with supported operations, or give a rule: @autodiff.rules.pullback({name})")

    # -- inlining ---------------------------------------------------------------------------------------------
    def call_python(self, function, args, kwargs, target=None) -> Value:
        try:
            made = definition(function)
        except SourceUnavailable as e:
            raise self.error(SourceUnavailable, e.problem, e.hint) from None
        self.code_of(function)
        cells, namespace = outer_names(function)
        self.sources.setdefault(function.__code__, function)
        key = self.memo_key(function, args, kwargs)
        if key is not None:
            scope = self.b
            while scope is not None:
                if key in scope.known:
                    return scope.known[key]
                scope = scope.parent
        defaults, keyword = self.defaults_of(function)

        def run(node, given=()):
            frame = Frame(made, cells, namespace, node=node, key=function)
            self.declare(frame, target)
            frame.env.update(given)
            return self.run(frame, node, args, kwargs, defaults, keyword, made.name)
        drawn = self.drawn
        value = self.entered(function, function, made.name, made.node, run, args)
        if key is not None and isinstance(value, (Scalar, Static)) and self.drawn == drawn:
            self.b.known[key] = value
        return value

    def memo_key(self, function, args, kwargs):
        """Recursive calls on equal numbers are made once."""
        values = (*args, *kwargs.values())
        if not self.recursion_depth(function) or not all(isinstance(v, (Scalar, Static)) for v in values):
            return None
        return ("call", function, tuple(v.atom if isinstance(v, Scalar) else repr(v.value) for v in values), tuple(kwargs))

    def call_closure(self, closure: Closure, args, kwargs) -> Value:
        outer = closure.frame

        def run(node, given=()):
            frame = Frame(outer.definition, outer.cells, outer.globals, outer, node, closure.node)
            frame.env.update(given)
            defaults, keyword = self.closure_defaults(closure)
            return self.run(frame, node, args, kwargs, defaults, keyword, closure.name)
        return self.entered(closure.node, closure, closure.name, closure.node, run)

    def run(self, frame, node, args, kwargs, defaults, keyword_defaults, name) -> Value:
        bound = self.bind_arguments(node.args, list(args), dict(kwargs), defaults, keyword_defaults, name)
        for k, v in list(bound.items()):
            for leaf in leaves(v):
                if isinstance(leaf, Delayed) and leaf.rank and leaf.forced is None:
                    self.force(leaf, k)
        frame.env.update(bound)
        frame.bound, frame.builder = tuple(bound.values()), self.b
        self.frames.append(frame)
        self.keep_alive.append(frame)
        previous = self.frame, self.b.loc, self.node
        self.frame = frame
        try:
            if isinstance(node, gast.Lambda):
                frame.uses, frame.statement = use_counts(node), node.body
                return self.eval(node.body)
            if not hasattr(node, "liveness"):
                node.uses = use_counts(node)
                node.liveness = Liveness(node)          # last: it may be interrupted
            frame.uses = node.uses
            if any(isinstance(n, (gast.Yield, gast.YieldFrom)) for n in gast.walk(node)):
                self.node = next(n for n in gast.walk(node) if isinstance(n, (gast.Yield, gast.YieldFrom)))
                raise self.error(UnsupportedSyntax, "`yield` cannot be differentiated: a generator has no value to "
                                                    "follow", "append to a list and return it")
            self.exec_block(whole_body(node))
            value = frame.env["%value"]
            if any(isinstance(leaf, Closure) for leaf in leaves(value)):
                self.kept_frames.append(frame)
            return Static(None) if value is UNSET else value
        finally:
            self.frames.pop()
            self.frame, self.b.loc, self.node = previous

    def bind_arguments(self, spec, args, kwargs, defaults, keyword_defaults, name) -> dict:
        """Python's argument binding on values."""
        positional = [a.id for a in (*spec.posonlyargs, *spec.args)]
        bound = dict(zip(positional, args, strict=False))
        def refused():
            signature = signature_of(spec, len(defaults), keyword_defaults)
            return self.error(TypeConflict, complaint(signature, name, args, kwargs))
        if len(args) > len(positional):
            if spec.vararg is None:
                raise refused()
            bound[spec.vararg.id] = Sequence(tuple(args[len(positional):]))
        elif spec.vararg is not None:
            bound[spec.vararg.id] = Sequence(())
        extra = {}
        for k, v in kwargs.items():
            if k in positional or k in [a.id for a in spec.kwonlyargs]:
                if k in bound:
                    raise refused()
                bound[k] = v
            elif spec.kwarg is not None:
                extra[k] = v
            else:
                raise refused()
        if spec.kwarg is not None:
            bound[spec.kwarg.id] = Mapping(extra)
        for k, v in zip(reversed(positional), reversed(defaults), strict=False):
            bound.setdefault(k, v)
        for k, v in keyword_defaults.items():
            bound.setdefault(k, v)
        missing = [k for k in (*positional, *(a.id for a in spec.kwonlyargs)) if k not in bound]
        if missing:
            raise refused()
        return bound

    def convert(self, value: Value, dtype: str) -> Value:
        """A number or array in another dtype."""
        if isinstance(value, Array) and value.rank:
            if same_dtype(value.dtype, dtype):
                return value
            return self.map_arrays(lambda lo, atoms: lo.truth(atoms[0]) if dtype == "bool" else
                                   lo.cast(atoms[0], dtype), (value,), dtype)
        atom = self.atom(value)
        return Scalar(self.truth(atom) if dtype == "bool" else self.cast(atom, dtype))


TAKES_ANYTHING = {print, dict, callable, functools.partial}
NEEDS_NUMBERS = {len, float, int, abs, round, range, sum, divmod, pow}


def scalar_function(lo, target):
    """The function of numbers in a np.vectorize or numba.vectorize object, and the wanted dtypes."""
    if isinstance(target, DUFunc):
        return target._dispatcher.py_func, None
    if target.signature is not None or target.excluded:
        raise lo.error(UnsupportedSyntax, "np.vectorize with a signature or excluded arguments is not supported",
                       "write the loop")
    return target.pyfunc, target.otypes or ()


def accepts(function, args, kwargs) -> bool:
    """Whether a function has parameters for these arguments."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def clean(text: str) -> str:
    import re
    return re.sub(r"^\w+\(\) ", "", text).replace("<lambda>() ", "")


__all__ = ["Calls", "Frame", "Var"]
