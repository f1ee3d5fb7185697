"""Calls: user functions are inlined from their source, library functions come from the registry."""

from __future__ import annotations

import functools
import inspect
import math
import types

import gast
import numpy as np
from numba.np.ufunc.dufunc import DUFunc

from ..language.core import Alloc, Const, Var, walk, written
from ..language.errors import MissingRule, SourceUnavailable, TypeConflict, UnsupportedSyntax
from ..language.ops import CALLABLES, OPS
from ..source.definitions import complaint, definition, outer_names, plain_function, signature_of
from .arrays import ZERO, describe
from .declared import loop_of
from .frames import Frame
from .indexing import Slice
from .integers import same_dtype
from .list_operators import kind_of
from .liveness import Liveness, use_counts, whole_body
from .messages import name_of
from .outside import Place
from .points import OF_NUMBERS, is_point, like
from .purity import Purity
from .values import (
    UNSET,
    Applied,
    Array,
    Bound,
    Closure,
    Delayed,
    Either,
    Generator,
    GrowList,
    Mapping,
    Parent,
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


class Calls(Purity):
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
                return self.call_method(owner, name, list(args), kwargs)
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
                                     "this form of the call is not supported") from None
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
            return self.call_python(body, self.as_taken(target, args), kwargs)
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
                node.liveness = Liveness(node)
                node.uses = use_counts(node)
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

    def call_vectorized(self, function, otypes, args, kwargs=None):
        """A function of numbers (a value), called for every element, as np.vectorize and numba.vectorize do.

        `otypes`: the dtypes that np.vectorize was given; None for Numba's.
        """
        if kwargs:
            raise self.error(UnsupportedSyntax, "keywords of a vectorized function are not supported", "pass by position")
        def apply(atoms):
            with self.no_draws("a vectorized function, which NumPy calls once more to learn its type", "write the loop"):
                return self.call(function, [Scalar(a) for a in atoms], {})
        arrays = [self.array(a) for a in args]
        if all(a.rank == 0 for a in arrays):
            return apply([self.atom(a) for a in args])
        here = self.b
        self.b = here.child(loop=True)
        try:
            kind = self.dtype_of(apply([self.stand_in(a.dtype) for a in arrays]))
        finally:
            self.b = here
        if otypes:
            kind = self.dtype_argument(Static(np.dtype(otypes[0])))
        made = self.map_arrays(lambda lo, atoms: lo.atom(apply(atoms), kind), arrays, kind)
        if otypes == ():                    # NumPy learns the type by a call of its own
            for size in made.shape:
                self.require(size, "ne", ZERO, "ValueError", NOTHING)
        return self.force(made)

    # -- NumPy ufuncs -----------------------------------------------------------------------------------------
    def call_ufunc(self, name: str, args, kwargs, called=None) -> Value:
        """The operation `name`, as `called` means it where all is known now."""
        kwargs = dict(kwargs)
        out = kwargs.pop("out", None)
        where = kwargs.pop("where", None)
        dtype = kwargs.pop("dtype", None)
        arity = OPS[name].arity
        if isinstance(called, np.ufunc) and OPS[name].kind == "float" and all(
                self.dtype_of(a) == "bool" if isinstance(a, Array) else is_number(a) and any(
                    kind == "bool" for kind, _ in self.kinds_of(a)) for a in args) and \
                called.resolve_dtypes((np.dtype(bool),) * len(args) + (None,) * called.nout)[-1] == np.float16:
            raise self.error(TypeConflict, f"{name_of(called)} of booleans is float16 in NumPy", "convert them: float(...)")
        if called is math.log and len(args) == 2:
            return self.elementwise("div", *(self.call_static(math.log, [a], {}) for a in args))
        if len(args) == arity + 1 and out is None:
            *args, out = args
        if kwargs:
            raise self.error(UnsupportedSyntax, f"`{next(iter(kwargs))}=` is not supported here")
        if isinstance(out, Sequence):
            out = out.items[0]
        if all(isinstance(a, Static) for a in args) and out is None:
            from ..language.build import FOLD
            fold = FOLD.get(name)
            values = [a.value for a in args]
            if fold and OPS[name].kind != "logic" and all(isinstance(v, (int, float, bool, complex)) for v in values):
                return self.wrap(fold(*values))
            return self.call_now(called or next(t for t, n in CALLABLES.items() if n == name), args, {})
        if called is abs or getattr(called, "__module__", "") == "math":
            for a in args:
                self.refuse_unary(f"{called.__name__}()", a)
        kind = None if dtype is None else self.dtype_argument(dtype)
        if kind and OPS[name].kind not in ("compare", "bool", "logic"):
            args = [a if isinstance(a, Static) else self.convert(a, kind) for a in args]
        result = self.elementwise(name, *args)
        if kind:
            result = self.convert(result, kind)
        if out is not None and not (isinstance(out, Static) and out.value is None):
            self.to_be_written(out)
            target = self.array(out)
            if where is not None:
                result = self.where(where, result, target)
            self.check_output(target, result)
            self.assign(target, result)
            return out
        if where is not None:
            raise self.error(UnsupportedSyntax, "`where=` without `out=` leaves elements undefined", "use np.where")
        return result

    def convert(self, value: Value, dtype: str) -> Value:
        """A number or array in another dtype."""
        if isinstance(value, Array) and value.rank:
            if same_dtype(value.dtype, dtype):
                return value
            return self.map_arrays(lambda lo, atoms: lo.truth(atoms[0]) if dtype == "bool" else
                                   lo.cast(atoms[0], dtype), (value,), dtype)
        atom = self.atom(value)
        return Scalar(self.truth(atom) if dtype == "bool" else self.cast(atom, dtype))

    # -- methods ----------------------------------------------------------------------------------------------
    def call_method(self, owner: Value, name: str, args, kwargs) -> Value:
        if kind_of(owner) is not None and (made := self.run_time_method(owner, name, args, kwargs)) is not None:
            return made
        match owner:
            case Parent():
                return self.parent_method(owner, name, args, kwargs)
            case Either():
                return self.split(owner, lambda v: self.call_method(v, name, args, kwargs), raises="AttributeError")
            case Array() if owner.is_list and name == "copy":
                return self.slice_of_list(owner, (Slice(None, None, None),))
            case Array() if owner.is_list:
                raise self.no_attribute(owner, name)
            case Array() | Scalar():
                return self.array_method(owner, name, args, kwargs)
            case Table() if name == "append":
                self.append_row(owner, args[0])
                return Static(None)
            case Table() if name == "pop":
                return self.pop_row(owner, args)
            case GrowList() if name == "append":
                self.append(owner, args[0])
                return Static(None)
            case GrowList() if name == "pop":
                return self.pop(owner, args)
            case GrowList() if name == "copy":
                return self.slice_of_list(owner, (Slice(None, None, None),))
            case Sequence() if owner.kind is list:
                return self.list_method(owner, name, args)
            case Sequence():
                if name in ("index", "count") and all(isinstance(i, Static) for i in owner.items):
                    return Static(getattr(tuple(i.value for i in owner.items), name)(args[0].value))
            case Mapping():
                return self.dict_method(owner, name, args, kwargs)
            case Record():
                return self.record_method(owner, name, args, kwargs)
            case Generator():
                return self.generator_method(owner, name, args, kwargs)
            case Static(value=v):
                return self.call_static(getattr(v, name), args, kwargs)
        raise self.error(UnsupportedSyntax, f"{describe(owner)} has no method `{name}` here")

    def array_method(self, owner, name, args, kwargs):
        target = ARRAY_METHODS.get(name)
        if target is not None:
            return self.call_static(target, [owner, *args], kwargs)
        if name == "flatten":
            return self.copied(self.call_static(np.ravel, [owner, *args], kwargs))
        if name == "copy" and isinstance(owner, Scalar) and not owner.boxed:
            return owner
        if name == "copy":
            return like(self.call_static(np.copy, [owner, *(args or [kwargs.get("order", Static("C"))])], {}), owner)
        if name == "compress":
            return self.call_static(np.compress, [args[0], owner, *args[1:]], kwargs)
        if name == "astype":
            made = self.convert(owner, self.dtype_argument(args[0] if args else kwargs.get("dtype")))
            kept = "copy" in kwargs and isinstance(kwargs["copy"], Static) and not kwargs["copy"].value
            if is_point(owner):
                return owner if kept and same_dtype(made.dtype, owner.dtype) else like(self.point(made), owner)
            if made is owner and not kept:
                return self.copied(made, None) if isinstance(made, Array) else made
            return made
        if name == "tolist" and isinstance(owner, Array) and owner.rank:
            return self.as_list(self.force(owner, copy=True), self.node)
        if name in ("item", "tolist", "__float__") and not args:
            if isinstance(owner, Array) and owner.rank == 0 or isinstance(owner, Scalar):
                return self.pythons_own(self.atom(owner))
            if isinstance(owner, Array) and name == "item":
                return self.pythons_own(owner.element(self, tuple(Const(0, "int64") for _ in owner.shape)))
        if name == "item":
            if len(args) == 1 and is_number(args[0]):
                found = self.index_array(self.call_static(np.ravel, [owner], {}), (args[0],))
            else:
                found = self.index_array(owner, self.index_parts(args[0]) if len(args) == 1 else tuple(args))
            return self.pythons_own(self.atom(found))
        if name in ("fill", "sort"):
            self.to_be_written(owner)
            if isinstance(owner, Scalar):
                raise self.error(TypeConflict, f"a number is not changed by `{name}`", "use an array")
        if name == "fill":
            self.assign(owner, args[0])
            return Static(None)
        if name == "view" and not args:
            return owner
        if name == "sort":
            kwargs = {"axis": args[0], **kwargs} if args else kwargs
            self.assign(owner, self.call_static(np.sort, [owner], kwargs))
            return Static(None)
        raise self.error(MissingRule, f"the array method `{name}` is not supported",
                         "use the NumPy function or indexing instead")


NOTHING = "cannot call `vectorize` on size 0 inputs unless `otypes` is set"
TAKES_ANYTHING = {print, dict, callable, functools.partial}
NEEDS_NUMBERS = {len, float, int, abs, round, range, sum, divmod, pow}
ARRAY_METHODS = {name: getattr(np, name) for name in (
    "sum", "prod", "mean", "var", "std", "max", "min", "argmax", "argmin", "any", "all", "cumsum", "cumprod", "dot",
    "reshape", "ravel", "squeeze", "transpose", "swapaxes", "clip", "round", "repeat", "diagonal", "trace",
    "take", "argsort", "searchsorted", "ptp", "nonzero", "choose", "put", "argpartition")}
ARRAY_METHODS["conj"] = ARRAY_METHODS["conjugate"] = np.conjugate


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
