"""A function and its specialisations: calling, source, stages, tape, pickling."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import operator
import threading
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np

from . import pipeline
from .arguments import Position, as_passed, describe, flatten, key_of, rebuild, select_leaves
from .runtime import jit, store
from .transforms.core import Arr, Const
from .transforms.errors import AutodiffError, CompilationError, NonDifferentiable, TypeConflict, UnsupportedSyntax
from .transforms.lower.indexing import UNPROVEN
from .transforms.lower.loops import NeedsStatic
from .transforms.lower.values import Array, Scalar, Sequence
from .transforms.source import MISSING, plain_function

VERSION = "1"
MODES = ("numba", "python")
SIGNATURE_TYPES = {"float64": "float64", "float32": "float32", "int64": "int64", "bool": "boolean"}


def signature_of(params) -> str:
    parts = []
    for p in params:
        base = SIGNATURE_TYPES[p.dtype]
        parts.append(f"{base}[{', '.join([':'] * (len(p.shape) - 1) + ['::1'])}]" if isinstance(p, Arr) else base)
    return f"({', '.join(parts)},)" if len(parts) == 1 else f"({', '.join(parts)})"


@dataclass(eq=False)
class Specialisation:
    """Compiled code for one combination of argument kinds."""

    generated: pipeline.Generated
    functions: dict[str, Any]
    params: tuple
    result: Any
    captured: list
    hidden: list
    call: Any = None
    static: frozenset = frozenset()
    extra: dict = field(default_factory=dict)


class Compiled:
    """Base of the compiled objects: a Python function seen through one derivative operator."""

    kind = "primal"

    def __init__(self, function, mode: str = "numba", boundscheck: bool = True, fastmath: bool = False,
                 outputs=(), debug: bool = False):
        if mode not in MODES:
            raise ValueError(f"mode must be 'numba' or 'python', not {mode!r}")
        if isinstance(function, Differentiable) and type(function) is Differentiable:
            function = function.function
        if not callable(function):
            raise TypeError(f"a function is needed, not {type(function).__name__}")
        self.function = function
        self.mode, self.boundscheck, self.fastmath, self.debug = mode, boundscheck, fastmath, debug
        self.outputs = (outputs,) if isinstance(outputs, str) else tuple(outputs)
        self._specialisations: dict = {}
        self._fast: tuple | None = None
        self._latest: Specialisation | None = None
        self._lock = threading.RLock()
        self._checked: Compiled | None = None
        self.__wrapped__ = function
        plain = plain_function(self.function)
        self.__name__ = getattr(plain, "__name__", type(plain).__name__)
        self.__qualname__ = getattr(plain, "__qualname__", self.__name__)
        self.__doc__ = getattr(plain, "__doc__", None)
        self.__module__ = getattr(plain, "__module__", __name__)

    # -- specialising -----------------------------------------------------------------------------------------
    def specialize(self, *args, **kwargs) -> Compiled:
        """Generate and compile for these arguments (arrays, numbers or Numba types) without running anything."""
        args = tuple(example_of(a) for a in args)
        kwargs = {k: example_of(v) for k, v in kwargs.items()}
        self._latest = self._find(args, kwargs)
        return self

    def _find(self, args, kwargs) -> Specialisation:
        key = (tuple(map(key_of, args)), tuple((k, key_of(v)) for k, v in sorted(kwargs.items())))
        found = self._specialisations.get(key)
        if isinstance(found, frozenset):
            key, found = self._static_key(key, found, args, kwargs)
        if found is not None and not self._outdated(found):
            return found
        with self._lock:
            found = self._specialisations.get(key)
            if isinstance(found, Specialisation) and not self._outdated(found):
                return found
            return self._specialise(key, args, kwargs)

    def _static_key(self, key, names, args, kwargs):
        values = self._named(args, kwargs)
        key = (key, tuple((n, values[n]) for n in sorted(names)))
        return key, self._specialisations.get(key)

    def _named(self, args, kwargs) -> dict:
        try:
            return inspect.signature(plain_function(self.function)).bind(*args, **kwargs).arguments
        except TypeError:
            return {}

    def _specialise(self, key, args, kwargs, static=frozenset()) -> Specialisation:
        while True:
            try:
                made = self._generate(args, kwargs, static)
                break
            except _MustBeStatic as e:
                if e.name in static:
                    raise e.error from None
                static = static | {e.name}
        if static:
            self._specialisations[key] = static
            key, _ = self._static_key(key, static, args, kwargs)
        made.static = static
        self._specialisations[key] = made
        return made

    def _lower(self, args, kwargs, static):
        named = {}
        if static:
            named = self._named(args, kwargs)
            by_identity = {id(v) for k, v in named.items() if k in static}
        else:
            by_identity = set()
        is_static = lambda v: isinstance(v, (int, np.integer)) and id(v) in by_identity  # noqa: E731
        arg_trees = [describe(a, is_static(a)) for a in args]
        kwarg_trees = {k: describe(v, is_static(v)) for k, v in kwargs.items()}
        function = self.function
        if hasattr(function, "__autodiff_program__"):
            return function.__autodiff_program__(arg_trees, kwarg_trees, args, kwargs)
        plain = plain_function(function)
        target, extra = (plain.__func__, [describe(plain.__self__)]) if inspect.ismethod(plain) else (plain, [])
        if not hasattr(target, "__code__") and hasattr(type(target), "__call__"):
            target, extra = type(target).__call__, [describe(target)]
        try:
            lowered = pipeline.lower(target, extra + arg_trees, kwarg_trees, self.boundscheck, self.outputs,
                                     self.debug)
        except NeedsStatic as e:
            raise e.error from None
        except AutodiffError as e:
            name = getattr(e, "static_parameter", None)
            if name is not None and name not in static:
                raise _MustBeStatic(name, e) from None
            raise
        return lowered

    def _trees(self, lowered, args, kwargs) -> dict:
        return lowered.trees

    def _generate(self, args, kwargs, static) -> Specialisation:
        lowered = self._lower(args, kwargs, static)
        generated = pipeline.primal(lowered, self.debug)
        return self._compile(generated, lowered.result)

    def _compile(self, generated, result) -> Specialisation:
        names = [p.name for p in generated.programs]
        signatures = {generated.programs[0].name: signature_of(generated.programs[0].params)}
        if len(names) > 1:
            signatures = {p.name: signature_of(p.params) for p in generated.programs}
        functions = compile_text(generated.text, names, self.mode, signatures, self.fastmath)
        lowered = generated.lowered
        made = Specialisation(generated, functions, tuple(lowered.leaves), result, lowered.captured, lowered.hidden)
        made.call = functions[names[0]]
        return made

    def _outdated(self, made: Specialisation) -> bool:
        """Whether a global or closure value the code was specialised on has changed."""
        for space, name, value in made.captured:
            if isinstance(value, np.ndarray):
                continue
            now = current(space, name)
            if now is not value and not same(now, value):
                return True
        return False

    # -- running ----------------------------------------------------------------------------------------------
    def _run(self, made: Specialisation, function, args, kwargs):
        leaves = self._leaves(made, args, kwargs)
        return function(*leaves)

    def _leaves(self, made, args, kwargs) -> list:
        if kwargs or len(args) != made.extra.get("arity", len(args)):
            args = self._ordered(args, kwargs)
        found = [leaf for a in args for leaf in flatten(a)]
        found = [x for x in found if not isinstance(x, (bool, np.bool_, str)) and x is not None]
        numbers = [x for x in found if isinstance(x, (int, float, np.generic, np.ndarray))]
        if made.static:
            named = self._named(args, kwargs)
            skip = {id(named[n]) for n in made.static}
            numbers = [x for x in numbers if id(x) not in skip]
        passed = [as_passed(x, p) for x, p in zip(numbers, made.params, strict=True)]
        for arr, origin, value in made.hidden:
            now = current_path(origin, value)
            passed.append(as_passed(now, arr))
        if made.generated.lowered.mutated:
            check_aliases(passed, made)
        return passed

    def _ordered(self, args, kwargs) -> list:
        if not kwargs:
            return list(args)
        names = list(inspect.signature(plain_function(self.function)).parameters)
        out = list(args)
        rest = dict(kwargs)
        for n in names[len(args):]:
            if n in rest:
                out.append(rest.pop(n))
        return out + list(rest.values())

    def __call__(self, *args, **kwargs):
        fast = self._fast
        if fast is not None and not kwargs:
            types, call, arrays = fast
            if tuple(map(type, args)) == types:
                for k in arrays:
                    shape = args[k].shape
                    if 0 in shape or 1 in shape:
                        break
                else:
                    try:
                        return call(*args)
                    except (TypeError, IndexError):
                        pass            # another dtype or layout, or an error: the general path sees to it
        made = self._find(args, kwargs)
        self._latest = made
        try:
            raw = self._run(made, made.call, args, kwargs)
        except IndexError as e:
            made = self._careful(e, args, kwargs)
            raw = self._run(made, made.call, args, kwargs)
        out = self._finish(made, raw)
        self._remember(made, args, kwargs)
        return out

    def _careful(self, error, args, kwargs) -> Specialisation:
        """Where a check of sizes at the head of the program fails: the program that checks every access."""
        if str(error) != UNPROVEN:
            raise error
        with self._lock:
            if self._checked is None:
                options = {**self._options(), "boundscheck": "each"}
                self._checked = type(self)(self.function, **options)
        return self._checked._find(args, kwargs)

    def _remember(self, made, args, kwargs) -> None:
        """Use this specialisation first at the next call, where nothing but Numba's own type check is needed."""
        simple = (self.mode == "numba" and not kwargs and not made.hidden and not made.static and not made.captured
                  and not made.generated.lowered.mutated and all(type(a) in (float, np.ndarray) for a in args)
                  and len(args) == len(made.params) and not any(
                      isinstance(a, np.ndarray) and (0 in a.shape or 1 in a.shape or a.ndim == 0) for a in args)
                  and "fast" in made.extra)
        if simple:
            arrays = tuple(k for k, a in enumerate(args) if isinstance(a, np.ndarray))
            self._fast = (tuple(map(type, args)), made.extra["fast"], arrays)
        else:
            self._fast = None

    def _finish(self, made, raw):
        results = iter(raw if isinstance(raw, tuple) else (raw,))
        return rebuild(made.result, results)

    # -- looking inside ---------------------------------------------------------------------------------------
    def _inspect(self) -> Specialisation:
        latest = self._latest
        if latest is None:
            raise RuntimeError(f"`{self.__name__}` has not been called yet: call it, or `specialize` it on example "
                               "arguments, to see the generated code")
        return latest

    @property
    def source(self) -> str:
        """The generated Python source for the latest call."""
        return self._inspect().generated.text

    @property
    def stages(self) -> dict:
        """Every intermediate program of the latest call, by pass name; each prints as Python."""
        return self._inspect().generated.stages

    @property
    def tape(self) -> Tape:
        """What the reverse sweep reads from the forward sweep: name, shape, bytes and why, for the latest call."""
        return Tape(self._inspect().generated.tape)

    @property
    def primal(self) -> Differentiable:
        """The user's function, compiled."""
        if not hasattr(self, "_primal"):
            self._primal = Differentiable(self.function, mode=self.mode, boundscheck=self.boundscheck,
                                          fastmath=self.fastmath, outputs=self.outputs)
        return self._primal

    def __repr__(self):
        return f"<{self.kind} of {self.__qualname__}>"

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        import types
        return types.MethodType(self, instance)

    # -- pickling ---------------------------------------------------------------------------------------------
    def _options(self) -> dict:
        return {"mode": self.mode, "boundscheck": self.boundscheck, "fastmath": self.fastmath, "outputs": self.outputs}

    def __reduce__(self):
        module, name = self.__module__, self.__qualname__
        found = find_global(module, name)
        if found is self:
            return _load_global, (module, name)
        return _rebuild, (type(self), _Reference(self.function), self._options())


class Differentiable(Compiled):
    """A function compiled as it is, with its pullback at hand: `f(x)`, `f.vjp(x)`."""

    kind = "primal"

    def _finish(self, made, raw):
        return super()._finish(made, raw)

    def _generate(self, args, kwargs, static):
        made = super()._generate(args, kwargs, static)
        if isinstance(made.result, (Scalar, Array)):
            made.extra["fast"] = made.call
        return made

    def vjp(self, *primals, **kwargs):
        """(result, pullback) at `primals`."""
        from .api import vjp
        return vjp(self.function, *primals, mode=self.mode, outputs=self.outputs, **kwargs)

    def __autodiff_lower__(self, lo, args, kwargs):
        return lo.call_static(plain_function(self.function), args, kwargs)


class Gradient(Compiled):
    """The gradient of a scalar function with respect to some arguments."""

    kind = "gradient"

    def __init__(self, function, wrt=0, with_value=False, has_aux=False, allow_unused=True, **options):
        super().__init__(function, **options)
        self.wrt, self.with_value, self.has_aux, self.allow_unused = wrt, with_value, has_aux, allow_unused
        self.single = isinstance(wrt, (int, str))

    def _options(self):
        return {**super()._options(), "wrt": self.wrt, "with_value": self.with_value, "has_aux": self.has_aux,
                "allow_unused": self.allow_unused}

    def _generate(self, args, kwargs, static):
        lowered = self._lower(args, kwargs, static)
        lowered, wanted, shapes = self.choose(lowered)
        name = f"{lowered.function.name}_{'value_and_grad' if self.with_value else 'grad'}"
        keep = self.with_value or self.has_aux
        generated = pipeline.gradient(lowered, wanted, keep, name, debug=self.debug)
        if not self.allow_unused:
            self.refuse_unused(generated, wanted)
        made = self._compile(generated, lowered.result)
        made.extra["shapes"] = shapes
        made.extra["wanted"] = len(wanted)
        made.extra["kept"] = len(lowered.function.returns) if keep else 0
        plain = all(isinstance(s, Position) for s in shapes) and not keep
        if plain and (self.single or len(shapes) > 1):
            made.extra["fast"] = made.call
        return made

    def choose(self, lowered):
        """Check the loss and pick the core parameters to differentiate with respect to."""
        result = lowered.result
        if self.has_aux:
            if not isinstance(result, Sequence) or len(result.items) != 2:
                raise NonDifferentiable(f"with has_aux=True `{self.__name__}` must return (loss, aux)", None,
                                        "return a pair")
            result = result.items[0]
        check_loss(result, self.__name__)
        names = wrt_names(self.wrt, lowered.trees, self.__name__)
        wanted, shapes = select_leaves({}, lowered.trees, lowered.leaves, names)
        function = lowered.function
        if self.has_aux:
            from dataclasses import replace
            function = replace(function, notes=function.notes)
        lowered.loss_only = True
        return lowered, wanted, shapes

    def refuse_unused(self, generated, wanted) -> None:
        program = generated.programs[0]
        bars = program.returns[-len(wanted):]
        for p, bar in zip(wanted, bars, strict=True):
            if isinstance(bar, Const):
                raise NonDifferentiable(f"`{self.__name__}` does not depend on `{p.hint}`", None,
                                        "leave it out of wrt=, or allow_unused=True for zeros")

    def _finish(self, made, raw):
        raw = raw if isinstance(raw, tuple) else (raw,)
        kept = made.extra["kept"]
        gradients = iter(raw[kept:])
        parts = tuple(rebuild_positions(s, gradients) for s in made.extra["shapes"])
        gradient = parts[0] if self.single else parts
        if not kept:
            return gradient
        value = rebuild(made.result, iter(raw[:kept]))
        if self.with_value:
            return value, gradient
        return gradient, value[1]

    def __autodiff_program__(self, arg_trees, kwarg_trees, args, kwargs):
        """The lowered program of this gradient, for differentiating it again."""
        from .nesting import lowered_gradient
        return lowered_gradient(self, args, kwargs)

    def __autodiff_lower__(self, lo, args, kwargs):
        from .nesting import inline_gradient
        return inline_gradient(self, lo, args, kwargs)


class Tape(tuple):
    """The saved quantities of a reverse sweep; prints as a table."""

    def __new__(cls, entries):
        from .tapes import describe_entry
        return super().__new__(cls, tuple(describe_entry(*e) for e in entries))

    def __str__(self):
        if not self:
            return "the tape is empty: everything the reverse sweep needs is recomputed or still in memory"
        return "\n".join(map(str, self))

    __repr__ = __str__


class _MustBeStatic(Exception):
    def __init__(self, name, error):
        self.name, self.error = name, error


class _Reference:
    """A function pickled by name where a decorated object stands in its place."""

    def __init__(self, function):
        self.function = function

    def __reduce__(self):
        f = plain_function(self.function)
        module, name = getattr(f, "__module__", None), getattr(f, "__qualname__", None)
        found = find_global(module, name)
        if found is not MISSING and (found is self.function or plain_function(found) is f):
            return _load_global, (module, name)
        if isinstance(found, Compiled) and plain_function(found.function) is f:
            return _inner_function, (module, name)
        return _same, (self.function,)


def find_global(module, name):
    try:
        return operator.attrgetter(name)(importlib.import_module(module))
    except Exception:
        return MISSING


def _load_global(module, name):
    return operator.attrgetter(name)(importlib.import_module(module))


def _inner_function(module, name):
    return _load_global(module, name).function


def _same(function):
    return function


def _rebuild(cls, function, options):
    return cls(function, **options)


def rebuild_positions(tree, results):
    from .arguments import Position
    from .transforms.lower.values import Mapping, Record
    match tree:
        case Position():
            return next(results)
        case Sequence(items=items, kind=kind):
            return kind(rebuild_positions(i, results) for i in items)
        case Mapping(items=items):
            return {k: rebuild_positions(v, results) for k, v in items.items()}
        case Record(cls=cls, fields=fields):
            return cls(**{k: rebuild_positions(v, results) for k, v in fields.items()})
    return None


def wrt_names(wrt, trees: dict, function: str) -> list[str]:
    names = list(trees)
    out = []
    for w in (wrt if isinstance(wrt, (tuple, list)) else (wrt,)):
        if isinstance(w, str):
            if w not in trees:
                raise TypeConflict(f"{function}() has no argument `{w}`", None, f"it has {', '.join(names)}")
            out.append(w)
        else:
            if not -len(names) <= w < len(names):
                raise TypeConflict(f"wrt={w}: {function}() was called with {len(names)} arguments", None,
                                   "positions count from 0; names work too")
            out.append(names[w])
    return out


def check_loss(result, name: str) -> None:
    if isinstance(result, Array):
        raise NonDifferentiable(
            f"grad needs a scalar loss, but `{name}` returns an array of rank {result.rank}", None,
            f"reduce it (np.sum), or pass a cotangent: out, pullback = vjp({name}, ...); pullback(np.ones_like(out))")
    if not isinstance(result, Scalar):
        raise NonDifferentiable(f"grad needs a scalar loss, but `{name}` returns several values or nothing", None,
                                "return one number, use has_aux=True for (loss, aux), or vjp for a cotangent of any shape")
    if result.dtype not in ("float64", "float32"):
        raise NonDifferentiable(f"`{name}` returns an integer ({result.dtype}); only floating point results have "
                                "derivatives", None, "compute the loss in float")


def current(space, name):
    """What a captured name holds now."""
    if isinstance(name, str) and name.startswith("."):
        return getattr(space, name[1:], MISSING)
    if isinstance(space, dict):
        return space.get(name, MISSING)
    try:
        return space.cell_contents
    except ValueError:
        return MISSING


def current_path(origin, value):
    """The array a hidden argument stands for now."""
    if origin is None or not origin or origin[0] == "default":
        return value
    now = current(origin[0], origin[1])
    for step in origin[2:]:
        now = getattr(now, step) if isinstance(step, str) and not isinstance(now, dict) else now[step]
    return now if isinstance(now, np.ndarray) else value


def same(a, b) -> bool:
    if type(a) is not type(b):
        return False
    try:
        if isinstance(a, (list, tuple)):
            return len(a) == len(b) and all(x is y or same(x, y) for x, y in zip(a, b, strict=True))
        if isinstance(a, dict):
            return a.keys() == b.keys() and all(a[k] is b[k] or same(a[k], b[k]) for k in a)
        if isinstance(a, np.ndarray):
            return a.dtype == b.dtype and a.shape == b.shape
        return bool(a == b)
    except Exception:
        return False


def check_aliases(passed, made) -> None:
    """Arguments that share memory are right unless the function writes to one of them."""
    arrays = [(p, x) for p, x in zip(made.params, passed, strict=False) if isinstance(x, np.ndarray)]
    mutated = made.generated.lowered.mutated
    for i, (p, x) in enumerate(arrays):
        for q, y in arrays[i + 1:]:
            if (p in mutated or q in mutated) and np.may_share_memory(x, y):
                raise UnsupportedSyntax(f"the arguments `{p.hint}` and `{q.hint}` share memory, and the function writes "
                                        "to it", None, "pass copies: x.copy()")


def example_of(value):
    """A small array or number of a Numba type; anything else is itself."""
    if isinstance(value, numba.types.Array):
        return np.zeros((2,) * value.ndim, dtype=str(value.dtype))
    if isinstance(value, numba.types.Float):
        return np.float32(0.5) if str(value) == "float32" else 0.5
    if isinstance(value, numba.types.Boolean):
        return False
    if isinstance(value, numba.types.Integer):
        return 2
    return value


def compile_text(text: str, names, mode: str, signatures, fastmath):
    """Store, load and compile a generated module."""
    digest = hashlib.sha256(f"{VERSION}|{fastmath}|{text}".encode()).hexdigest()[:24]
    key = f"{names[0]}:{digest}"
    path = store.write_module(key, text)
    module = store.load_module(path, key)
    try:
        functions = jit.jit_functions(module, list(names), mode=mode, signatures=signatures, fastmath=fastmath)
    except jit.CompilationFailed as e:
        raise CompilationError(f"Numba refused the generated code, which is a mistake of autodiff: {e}", None,
                               f"please report it with the file {path}; mode='python' may work meanwhile") from e
    if mode == "python":
        return {n: quiet(f) for n, f in functions.items()}
    return functions


def quiet(function):
    """Python mode: NumPy's scalar semantics, without its warnings."""
    def run(*args):
        args = tuple(np.float64(a) if type(a) is float else a for a in args)
        with np.errstate(all="ignore"):
            return function(*args)
    return run
