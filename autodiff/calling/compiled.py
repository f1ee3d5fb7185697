"""A function and its specialisations: binding arguments, generating, compiling, calling, looking inside."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numba
from numba.extending import typeof_impl

from .. import pipeline
from ..arguments import kinds as argument_kinds
from ..arguments.kinds import key_of, rebuild, shared_generators
from ..arguments.packing import ITEMS, ONE_BY_ONE, holds_packed, in_arrays
from ..habits import explained
from ..inspecting.inspected import Inspected
from ..options import DEFAULT, Options
from ..rules.lifting import of_inner
from ..runtime.machine_code.apart import apart
from ..targets import target_of
from ..transforms.language.draws import drawn_from
from ..transforms.language.errors import AutodiffError, TypeConflict
from ..transforms.lower.checks import CAREFUL
from ..transforms.lower.needs import AlwaysRaises, NeedsStatic
from ..transforms.lower.values import Static
from ..transforms.source.definitions import first_line, plain_function
from .binding import Binding
from .building import ByThreads, compile_programs, narrow_places, narrowed, run
from .debugged import Debugged
from .fastcalls import MISS, Form, remember
from .guards import holding
from .inside_numba import numba_type, typing_of
from .long_tapes import AtFirstCall, ShortTape
from .pickling import Reference, importable, load_global, rebuild_compiled
from .printed import prints
from .progress import progress
from .running import chosen, guarded
from .specialisations import Specialisation, Specialisations, specialisations_of
from .timing import Timed
from .tracebacks import KEEPS_FRAMES, entry, shortened

F = TypeVar("F", bound=Callable[..., Any])
DEEPEST = 4000                  # calls of Python that a program may need to be lowered; deeper ones take minutes


class Compiled(Inspected, Debugged, Timed, Binding):
    """Base of the compiled objects: a Python function seen through one derivative operator.

    Partial applications, bound methods and objects with `__call__` are unwrapped: what they hold comes first among the
    arguments, and is not counted by `wrt`.
    """

    kind = "primal"
    _packed = False                         # whether the program being made has packed lists outside
    worth_threads: int | None = None        # elements from which on threads are worth it; None: `ByThreads.LARGE`
    form = Form                             # what writes the function for calls like the latest one
    alike = True                            # whether objects of one function and of the same parameters make calls alike
    packs = False                           # whether long lists of alike items among the arguments may be arrays

    def __init__(self, function, options: Options = DEFAULT):
        if type(function) is Differentiable:
            function = vars(function)["function"]
        if not callable(function):
            raise TypeError(f"a function is needed, not {type(function).__name__}")
        self.function, self.options = function, options
        self._latest: Specialisation | None = None
        self._checked: dict[tuple, Compiled] = {}
        self._settle()
        self.__wrapped__ = function
        self.__name__ = getattr(self.target, "__name__", type(self.target).__name__)
        self.__qualname__ = getattr(self.target, "__qualname__", self.__name__)
        self.__doc__ = getattr(self.target, "__doc__", None)
        self.__module__ = getattr(self.target, "__module__", __name__)
        self._numba_type: Any = None

    def _settle(self) -> None:
        """Find the function behind what was given, and what was compiled of it."""
        super()._settle()
        self._specialisations = specialisations_of(self.target, type(self), self.options, repr(self._parameters()),
                                                   len(self._prefix), tuple(self._keywords))
        plain = not (self._partials or self._prefix or self._keywords or self._calls or isinstance(self.target, Binding))
        known = self._specialisations if plain and self.alike else Specialisations()
        self._fast, self._forms = known.fast, known.forms

    def _typing(self):
        """The function by which Numba types calls of this object in compiled code; None if there are none."""
        return typing_of(self) if self.options.mode == "numba" else None

    def _leaves(self, made: Specialisation, names, values) -> list:
        """All that compiled code receives."""
        return made.leaves(names, values)

    # -- specialising -----------------------------------------------------------------------------------------
    @entry
    def specialize(self, *args, **kwargs) -> Compiled:
        """Generate and compile for these arguments (arrays, numbers or Numba types) without running anything."""
        made = self._latest = self._chosen(*self._taken(args, kwargs))
        for program in made.generated.programs:
            made.functions[program.name]            # which compiles what waits for its first call
        return self

    def _chosen(self, names, values) -> Specialisation:
        return chosen(self, names, values)

    def _find(self, names, values) -> Specialisation:
        kinds: tuple = (tuple(names), tuple(key_of(v, False, self.packs) for v in values))
        inner = self.target
        while isinstance(inner, Binding):
            kinds, inner = (*kinds, inner._others), inner.target
        cache = self._specialisations
        found = cache.known(cache.key(kinds, names, values, self.packs))
        if (found is None or len(found.drawn) > 1) and (shared := shared_generators(values)):
            kinds = (*kinds, shared)
            found = cache.known(cache.key(kinds, names, values, self.packs))
        if found is not None:
            return found
        wanted = kinds, names, values, self.packs, self._specialise_told
        try:
            return cache.known_or_made(*wanted)
        except RecursionError:                  # the program is deep, or the caller
            pass
        try:
            return apart(cache.known_or_made, *wanted, depth=DEEPEST)
        except RecursionError:
            raise too_deep(f"`{self.__name__}` nests too deeply: expressions in expressions, or calls in calls",
                           innermost(self)._plain) from None

    def _specialise_told(self, kinds, names, values) -> Specialisation:
        """A new specialisation, with a line for who waits for it."""
        with progress(f"differentiating {self.__name__}") as note:
            made = self._specialise(kinds, names, values)
            note.loops = made.generated.lowered.written_out
        return made

    def _specialise(self, kinds, names, values) -> Specialisation:
        # long lists are arrays, to begin with: not in calls from compiled code
        packing = self.packs and self.options.target == "cpu" and not any(isinstance(v, numba.types.Type) for v in values)
        static = self._specialisations.static.get(kinds, frozenset() if packing else ONE_BY_ONE)
        while True:
            innermost(self)._packed = False
            try:
                made = self._generate(names, values, static)
                break
            except AlwaysRaises as e:
                made = self._compile(pipeline.primal(e.lowered, self.options), Static(None))
                made.extra["raises"] = True
                break
            except Exception as e:
                if ITEMS not in static and not isinstance(e, (RecursionError, MemoryError)) and (
                        getattr(e, "packed", False) or innermost(self)._packed or holds_packed(values)):
                    static = self._items_needed(kinds, static)
                    continue
                if not isinstance(e, AutodiffError):
                    raise
                name = getattr(e, "static_parameter", None)
                if name is not None and name not in static and name in names:
                    static = static | {name}
                elif changing(self):                          # the program wants one of them as a constant
                    innermost(self)._specialisations.met.update(dict.fromkeys(changing(self)))
                else:
                    raise
        self._specialisations.static[kinds] = static if self.packs else static - ONE_BY_ONE
        made.static, made.packs = static - ONE_BY_ONE, ITEMS not in static
        made.holds = holding(made.reads)
        innermost(self)._specialisations.note(made.reads.numbers)
        return made

    def _items_needed(self, kinds, static) -> frozenset:
        """The names of static parameters where the program does with a list what only its items allow."""
        return static | ONE_BY_ONE

    def _lower(self, names, values, static, boundscheck=None):
        """The core program of the function; `boundscheck` is that of an operator around this one."""
        boundscheck = boundscheck if boundscheck in CAREFUL else self.options.boundscheck
        positional, keyword = self._trees(names, values, static)
        if hasattr(self.target, "__autodiff_program__"):
            lowered = self.target.__autodiff_program__(names, values, static, boundscheck)
            lowered.offset = len(self._given[0])
            return lowered
        try:
            lowered = pipeline.lower(self.target, positional, keyword, boundscheck, self.options.outputs,
                                     self.options.debug, changing(self), ITEMS not in static,
                                     self.options.target == "cpu", not self.options.parallel)
        except NeedsStatic as e:
            raise e.error from None
        self._packed = any(c.kind == "packed" for c in lowered.reads.conditions.values())
        lowered.offset = len(self._prefix)
        return lowered

    def _generate(self, names, values, static) -> Specialisation:
        lowered = self._lower(names, values, static)
        return self._compile(pipeline.primal(lowered, self.options), lowered.result)

    @property
    def returns_lists(self) -> bool:
        """Whether lists that the function makes at run time come back as lists, not as arrays."""
        return self.options.target == "cpu"

    def _compile(self, generated, result) -> Specialisation:
        names = [p.name for p in generated.programs]
        target = target_of(self.options) if self.options.target != "cpu" else None
        if target is not None and target.functions is not None:
            functions = target.functions(generated, self.options)
        else:
            alone = bool(drawn_from(generated.programs[0])) or prints(generated)       # nothing may come between its draws
            make = functools.partial(compile_programs, generated.text, generated.programs, self.options,
                                     generated.lowered.mutated, nogil=not alone)
            functions = AtFirstCall(make) if generated.question else make()
        lowered = generated.lowered
        result = result if self.returns_lists else in_arrays(result)
        made = Specialisation(generated, functions, tuple(lowered.leaves), result, lowered.reads, lowered.hidden)
        made.call = ShortTape(generated.question, functions, names[0]) if generated.question else functions[names[0]]
        made.prints = prints(generated)
        threads = generated.threads
        if threads is not None and self.options.mode == "numba":
            main = threads.programs[-1]
            made.call = ByThreads(made.call, lambda: compile_programs(
                threads.text, [main], self.options, lowered.mutated, names=threads.names, parallel=threads.loops)[main.name],
                self.worth_threads)
        made.narrow = narrow_places(generated.programs[0].returns)
        drawn = drawn_from(generated.programs[0])
        made.drawn = tuple(k for k, p in enumerate(generated.programs[0].params) if p in drawn)
        return made

    # -- running ----------------------------------------------------------------------------------------------
    def __call__(self, *args, **kwargs):
        for fast in self._fast:
            result = fast(self, args, kwargs)
            if result is not MISS:
                return result
        try:
            hook = argument_kinds.TENSORS
            if hook is not None and argument_kinds.holds(hook[0], args, kwargs):
                return hook[1](self, args, kwargs)
            if self.options.target != "cpu":
                return target_of(self.options).call(self, args, kwargs)
            return self._call_with(args, kwargs)
        except Exception as e:
            shortened(e, self.options.debug)
            if KEEPS_FRAMES:
                __tracebackhide__ = not self.options.debug           # pytest and IPython read it
                raise e
            raise                               # bare: it adds no frame of its own

    def _call_with(self, args, kwargs):
        """A call that is not the repetition of the last one."""
        names, values = self._taken(args, kwargs)
        made, raw = guarded(self, lambda made: run(made.call, self._leaves(made, names, values)), names, values)
        if made.narrow:                         # Numba gives float32 back as Python's float
            raw = narrowed(raw, made.narrow)
        remember(self, made, args, kwargs)
        return self._finish(made, raw)

    def _finish(self, made, raw):
        return rebuild(made.result, iter(raw if isinstance(raw, tuple) else (raw,)))

    def _alike(self, made, leaves) -> list:
        """Pairs of arguments that must have one shape, of those that compiled code receives."""
        return []

    @functools.cached_property
    def primal(self) -> Differentiable:
        """The user's function, compiled."""
        return Differentiable(self.function, self.options)

    def __repr__(self):
        return f"<{self.kind} of {self.__qualname__}>"

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return functools.partial(self, instance)

    def _parameters(self) -> dict:
        """What the operator takes besides the function and the options."""
        return {}

    def _like(self, **changes) -> Compiled:
        """The same operator on the same function, with some options changed."""
        made = type(self)(self.function, **self._parameters(), options=replace(self.options, **changes))
        made.packs = self.packs
        made._fast, made._forms = [], {}
        return made

    def __reduce__(self):
        if importable(self) is self:
            return load_global, (self.__module__, self.__qualname__)
        return rebuild_compiled, (type(self), Reference(self._pickled()), self._parameters(), self.options)

    def __copy__(self):
        if importable(self) is self:
            return self
        return rebuild_compiled(type(self), self._pickled(), self._parameters(), self.options)

    def _pickled(self):
        """The function that an equal object is made of."""
        return self.function


@typeof_impl.register(Compiled)
def _typed(compiled, context):
    return numba_type(compiled, context)


class Differentiable(Compiled):
    """A function compiled as it is, with its pullback at hand: `f(x)`, `f.vjp(x)`."""

    kind = "primal"
    packs = True

    def vjp(self, *primals, **options):
        """(result, pullback) at `primals`; see `autodiff.vjp`."""
        if not options:
            return self._vjp(*primals)
        from ..operators.splits import vjp  # which is made of this
        own = self.options
        return vjp(self.function, *primals, mode=own.mode, outputs=own.outputs, target=own.target, **options)

    @functools.cached_property
    def _vjp(self):
        from ..operators.pullbacks import Vjp  # which is made of this
        return made_for(Vjp, self.function, Options(self.options.mode, outputs=self.options.outputs,
                                                    target=self.options.target), copy=True)

    def __autodiff_lower__(self, lo, args, kwargs):
        return lo.call_static(plain_function(self.function), args, kwargs)


def too_deep(problem: str, function) -> TypeConflict:
    """The error for a function that would take more calls of Python to compile than there can be."""
    return TypeConflict(problem, first_line(function),
                        "split long expressions into several statements, make functions of parts of it, or loops")


def innermost(compiled: Compiled) -> Compiled:
    """The compiled object that lowers the user's function."""
    while isinstance(compiled.target, Compiled):
        compiled = compiled.target
    return compiled


def changing(compiled: Compiled) -> frozenset:
    """Where numbers stand outside that have had several values: they become parameters."""
    return innermost(compiled)._specialisations.changing() if compiled.options.target == "cpu" else frozenset()


def operator(function: F) -> F:
    """Mark a function that makes compiled objects: called in a differentiated function, it runs while that is lowered."""
    made: Any = entry(explained(function))
    made.__autodiff_operator__ = True
    made.__autodiff_inside__ = functools.partial(of_inner, made)
    return made


def decorated(make, function, options: Options, **parameters):
    """An operator on a function, or a decorator that makes it if there is no function yet."""
    if function is None:
        return lambda f: make(f, **parameters, options=options)
    return make(function, **parameters, options=options)


@functools.lru_cache(maxsize=256)
def _made(cls, function, options: Options, parameters: tuple):
    return cls(function, **dict(parameters), options=options)


def made_for(cls, function, options: Options = DEFAULT, **parameters):
    """The one object of a class for this function and these options, while it is among the latest."""
    try:
        hash((function, options, *parameters.values()))
    except TypeError:                               # a function that cannot be hashed
        return cls(function, **parameters, options=options)
    return _made(cls, function, options, tuple(sorted(parameters.items())))


__all__ = ["Compiled", "Differentiable", "decorated", "made_for", "operator"]
