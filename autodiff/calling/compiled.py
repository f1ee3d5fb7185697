"""A function and its specialisations: binding arguments, generating, compiling, calling, looking inside."""

from __future__ import annotations

import functools
import types
import weakref
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba.extending import typeof_impl

from .. import pipeline
from ..arguments import kinds as argument_kinds
from ..arguments.kinds import (
    as_passed,
    flatten,
    key_of,
    passes,
    rebuild,
    shared_generators,
)
from ..arguments.packing import ITEMS, ONE_BY_ONE, holds_packed, in_arrays
from ..runtime.apart import apart
from ..runtime.forks import new_lock
from ..transforms.language.draws import drawn_from
from ..transforms.language.errors import AutodiffError, TypeConflict
from ..transforms.language.python_text import signature_of
from ..transforms.lower.arrays import UNASSIGNED, UNBROADCAST, UNINDEXED
from ..transforms.lower.checks import CAREFUL, EACH_AND_POWERS, NEGATIVE_POWER
from ..transforms.lower.indexing import UNPROVEN
from ..transforms.lower.needs import AlwaysRaises, NeedsStatic
from ..transforms.lower.outside import Reads
from ..transforms.lower.values import Static
from ..transforms.source.definitions import plain_function
from .binding import Binding
from .building import ByThreads, check_aliases, check_generators, compile_text, narrow_places, narrowed
from .collecting import rarely
from .failures import placed
from .fastcalls import MISS, remember
from .guards import holding
from .pickling import Reference, importable, load_global, rebuild_compiled
from .printed import noted_output, prints
from .tracebacks import entry, shortened

if TYPE_CHECKING:
    from ..inspecting.tapes import Tape

MODES = ("numba", "python")
TARGETS = ("cpu", "cuda", "auto")
DEEPEST = 4000                  # calls of Python that a program may need to be lowered; deeper ones take minutes
KEPT = 8            # how many specialisations are kept for the same kinds of arguments, made for other things outside
SEVERAL = 3         # after how many values a number outside becomes a parameter
SILENT = nullcontext()
_SHARED: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()            # of what is no plain function


class Shared(dict):
    """What was compiled of a function, kept with it: what refers to it again goes when nothing else does.

    A wrapper that has copied the function's attributes, and a function in another process, start with an empty one.
    """

    NAME = "__autodiff_compiled__"

    def __init__(self, function=None):
        super().__init__()
        self.owner = weakref.ref(function) if function is not None else lambda: None

    def __reduce__(self):
        return Shared, ()

    @staticmethod
    def of(function) -> dict:
        """Of this function; raises TypeError if it cannot be hashed or referred to weakly."""
        if type(function) is not types.FunctionType:
            return _SHARED.setdefault(function, {})
        found = vars(function).get(Shared.NAME)
        if found is None or found.owner() is not function:
            found = vars(function)[Shared.NAME] = Shared(function)
        return found


@dataclass(eq=False)
class Specialisation:
    """Compiled code for one combination of argument kinds."""

    generated: pipeline.Generated
    functions: dict[str, Any]
    params: tuple
    result: Any
    reads: Reads
    hidden: list
    call: Any = None
    holds: Any = None                       # whether all that was read outside is as it was
    static: frozenset = frozenset()
    packs: bool = False                     # whether long lists of alike items are arrays
    narrow: tuple = ()                      # which of the values returned are float32 numbers
    prints: bool = False
    drawn: tuple = ()                       # the places of random generators drawn from among what compiled code receives
    extra: dict = field(default_factory=dict)


class Compiled(Binding):
    """Base of the compiled objects: a Python function seen through one derivative operator.

    Partial applications, bound methods and objects with `__call__` are unwrapped: what they hold comes first among the
    arguments, and is not counted by `wrt`.
    """

    kind = "primal"
    _packed = False                         # whether the program being made has packed lists outside
    packs = False                           # whether long lists of alike items among the arguments may be arrays

    def __init__(self, function, mode: str = "numba", boundscheck: bool = True, fastmath: bool = False,
                 outputs=(), debug: bool = False, precise: bool = False, parallel: bool = False, target: str = "cpu",
                 deterministic: bool = False):
        if mode not in MODES:
            raise ValueError(f"mode must be 'numba' or 'python', not {mode!r}")
        if target not in TARGETS:
            raise ValueError(f"target must be 'cpu', 'cuda' or 'auto', not {target!r}")
        if type(function) is Differentiable:
            function = vars(function)["function"]
        if not callable(function):
            raise TypeError(f"a function is needed, not {type(function).__name__}")
        self.function = function
        self.mode, self.boundscheck, self.fastmath, self.debug = mode, boundscheck, fastmath, debug
        self.precise, self.parallel = precise, parallel
        self.platform, self.deterministic = target, deterministic
        self.outputs = (outputs,) if isinstance(outputs, str) else tuple(outputs)
        self._latest: Specialisation | None = None
        self._checked: dict[str, Compiled] = {}
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
        self._specialisations: dict = {}        # by key those made, the one that held last first
        self._static_names: dict = {}
        self._met: dict = {}                    # the floats met at a place outside; None where they must be constants
        self._fast: list = []                   # functions for calls like the latest ones
        self._forms: dict = {}                  # these functions by what they are for
        self._lock = new_lock()
        self._share()

    def _share(self) -> None:
        """Objects made of one function with the same options share what was compiled: `grad(f)(x)` in a loop is cheap."""
        try:
            known = Shared.of(self.target)
            options = (type(self), repr(sorted(self._options().items(), key=lambda item: item[0])), self.debug,
                       len(self._prefix), tuple(self._keywords))
        except TypeError:                       # not hashable, or no weak references to it
            return
        self._specialisations, self._static_names, self._met, self._lock = known.setdefault(
            options, (self._specialisations, self._static_names, self._met, self._lock))

    def _typing(self):
        """The function by which Numba types calls of this object in compiled code; None if there are none."""
        from .inside_numba import typing_of
        return typing_of(self) if self.mode == "numba" else None

    # -- arguments --------------------------------------------------------------------------------------------
    def _numbers(self, made: Specialisation, names, values) -> list:
        """The numbers and arrays among the arguments that compiled code receives."""
        numbers: list = []
        for name, value in zip(names, values, strict=True):
            fixed = (int, np.integer) if name in made.static else ()
            numbers += (v for v in flatten(value, made.packs and not fixed) if passes(v) and not isinstance(v, fixed))
        return numbers

    def _leaves(self, made: Specialisation, names, values) -> list:
        numbers = self._numbers(made, names, values)
        passed = [as_passed(x, p) for x, p in zip(numbers, made.params, strict="raises" not in made.extra)]
        for arr, origin, value in made.hidden:
            passed.append(as_passed(value if origin is None else origin.now(), arr))
        if len(made.drawn) > 1:
            check_generators([passed[k] for k in made.drawn])
        if made.generated.lowered.mutated:
            check_aliases(numbers[:len(made.params) - len(made.extra.get("pushed", ()))], made)
        return passed

    # -- specialising -----------------------------------------------------------------------------------------
    @entry
    def specialize(self, *args, **kwargs) -> Compiled:
        """Generate and compile for these arguments (arrays, numbers or Numba types) without running anything."""
        self._latest = self._find(*self._bind(args, kwargs))
        return self

    def _find(self, names, values) -> Specialisation:
        kinds: tuple = (tuple(names), tuple(key_of(v, False, self.packs) for v in values))
        found = self._known(kinds, names, values)
        if (found is None or len(found.drawn) > 1) and (shared := shared_generators(values)):
            kinds = (*kinds, shared)
            found = self._known(kinds, names, values)
        if found is not None:
            return found
        try:
            return self._made(kinds, names, values)
        except RecursionError:                  # the program is deep, or the caller
            pass
        try:
            return apart(self._made, kinds, names, values, depth=DEEPEST)
        except RecursionError:
            raise TypeConflict("the program nests too deeply", None, "make functions of parts of it, or loops") from None

    def _made(self, kinds, names, values) -> Specialisation:
        with self._lock:
            found = self._known(kinds, names, values)
            if found is None:
                with rarely():
                    found = self._specialise(kinds, names, values)
                key = self._key(kinds, names, values)
                self._specialisations[key] = (found, *self._specialisations.get(key, ()))[:KEPT]
            return found

    def _known(self, kinds, names, values) -> Specialisation | None:
        """A specialisation for these kinds of arguments that holds, with what it reads outside as it is now."""
        key = self._key(kinds, names, values)
        found = self._specialisations.get(key, ())
        for k, made in enumerate(found):
            if made.holds():
                if k:
                    with self._lock:
                        rest = [other for other in self._specialisations.get(key, ()) if other is not made]
                        self._specialisations[key] = (made, *rest)[:KEPT]
                return made
        return None

    def _key(self, kinds, names, values):
        static = self._static_names.get(kinds)
        if not static:
            return kinds
        lists = tuple(key_of(v) for n, v in zip(names, values, strict=True) if n in static or ITEMS in static) \
            if self.packs else ()
        return kinds, lists, tuple(int(i) for n, v in zip(names, values, strict=True) if n in static
                            for i in flatten(v) if isinstance(i, (int, np.integer)))

    def _specialise(self, kinds, names, values) -> Specialisation:
        static = self._static_names.get(kinds, frozenset() if self._packing(values) else ONE_BY_ONE)
        while True:
            self._innermost._packed = False
            try:
                made = self._generate(names, values, static)
                break
            except AlwaysRaises as e:
                made = self._compile(pipeline.primal(e.lowered, self.debug, self._for), Static(None))
                made.extra["raises"] = True
                break
            except Exception as e:
                if ITEMS not in static and not isinstance(e, (RecursionError, MemoryError)) and (
                        getattr(e, "packed", False) or self._innermost._packed or holds_packed(values)):
                    static = self._items_needed(kinds, static)
                    continue
                if not isinstance(e, AutodiffError):
                    raise
                name = getattr(e, "static_parameter", None)
                if name is not None and name not in static and name in names:
                    static = static | {name}
                elif self._changing():                          # the program wants one of them as a constant
                    self._innermost._met.update(dict.fromkeys(self._changing()))
                else:
                    raise
        self._static_names[kinds] = static if self.packs else static - ONE_BY_ONE
        made.static, made.packs = static - ONE_BY_ONE, ITEMS not in static
        made.holds = holding(made.reads)
        numbers = self._innermost._met
        for key, value in made.reads.numbers.items():
            if (known := numbers.setdefault(key, set())) is not None:
                known.add(value)
        return made

    def _items_needed(self, kinds, static) -> frozenset:
        """The names of static parameters where the program does with a list what only its items allow."""
        return static | ONE_BY_ONE

    def _packing(self, values) -> bool:
        """Whether long lists are arrays, to begin with: not in calls from compiled code."""
        return self.packs and self.platform == "cpu" and not any(isinstance(v, numba.types.Type) for v in values)

    @property
    def _innermost(self) -> Compiled:
        """The compiled object that lowers the user's function."""
        return self.target._innermost if isinstance(self.target, Compiled) else self

    def _changing(self) -> frozenset:
        """Where numbers stand outside that have had several values: they become parameters."""
        if self.platform != "cpu":
            return frozenset()
        return frozenset(key for key, known in self._innermost._met.items() if known is not None and len(known) >= SEVERAL)

    def _lower(self, names, values, static, boundscheck=None):
        """The core program of the function; `boundscheck` is that of an operator around this one."""
        boundscheck = boundscheck if boundscheck in CAREFUL else self.boundscheck
        positional, keyword = self._trees(names, values, static)
        if hasattr(self.target, "__autodiff_program__"):
            return self.target.__autodiff_program__(names, values, static, boundscheck)
        try:
            lowered = pipeline.lower(self.target, positional, keyword, boundscheck, self.outputs,
                                     self.debug, self._changing(), ITEMS not in static)
        except NeedsStatic as e:
            raise e.error from None
        self._packed = any(c.kind == "packed" for c in lowered.reads.conditions.values())
        lowered.offset = len(self._prefix)
        return lowered

    def _generate(self, names, values, static) -> Specialisation:
        lowered = self._lower(names, values, static)
        return self._compile(pipeline.primal(lowered, self.debug, self._for), lowered.result)

    @property
    def returns_lists(self) -> bool:
        """Whether lists that the function makes at run time come back as lists, not as arrays."""
        return self.platform == "cpu"

    @property
    def _for(self) -> pipeline.Target:
        """What programs are finished for."""
        return pipeline.Target(self.platform, self.parallel, self.deterministic)

    def _compile(self, generated, result) -> Specialisation:
        names = [p.name for p in generated.programs]
        if self.platform == "cuda":
            from ..cuda.calls import device_functions
            functions = device_functions(generated, self.fastmath)
        else:
            signatures = {p.name: signature_of(p.params) for p in generated.programs}
            functions = compile_text(generated.text, names, self.mode, signatures, self.fastmath, self.precise)
        lowered = generated.lowered
        result = result if self.returns_lists else in_arrays(result)
        made = Specialisation(generated, functions, tuple(lowered.leaves), result, lowered.reads, lowered.hidden)
        made.call = functions[names[0]]
        made.prints = prints(generated)
        threads = generated.threads
        if threads is not None and self.mode == "numba":
            entry = threads.program.name
            made.call = ByThreads(made.call, lambda: compile_text(
                threads.text, threads.names, "numba", {entry: signature_of(threads.program.params)}, self.fastmath,
                self.precise, parallel=threads.loops)[entry])
        made.narrow = narrow_places(generated.programs[0].returns)
        drawn = drawn_from(generated.programs[0])
        made.drawn = tuple(k for k, p in enumerate(generated.programs[0].params) if p in drawn)
        return made

    def _careful(self, error, tried: list) -> Compiled:
        """Where a check of sizes fails: the function with programs that check every access, and broadcast axes that are 1
        long; where an integer has a negative power: that and powers as floats. tried: the ones that did not do."""
        text = str(error.args[0]) if error.args else ""
        kind = EACH_AND_POWERS if text.startswith(NEGATIVE_POWER) else "each"
        known = kind != "each" or text.startswith(UNPROVEN) or (
            text.startswith((UNBROADCAST, UNASSIGNED, UNINDEXED)) and self.boundscheck is True)
        if not known or kind in tried or EACH_AND_POWERS in tried or self.boundscheck in CAREFUL:
            raise error
        tried.append(kind)
        with self._lock:
            if kind not in self._checked:
                self._checked[kind] = type(self)(self.function, **{**self._options(), "boundscheck": kind})
                self._checked[kind].packs = self.packs
        return self._checked[kind]

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
            if self.platform != "cpu":
                from ..cuda.calls import on_platform
                return on_platform(self, args, kwargs)
            return self._call_with(args, kwargs)
        except Exception as e:
            raise shortened(e, self.debug) from e.__cause__

    def _call_with(self, args, kwargs):
        """A call that is not the repetition of the last one."""
        made, raw = self._execute(args, kwargs)
        remember(self, made, args, kwargs)
        return self._finish(made, raw)

    def _execute(self, args, kwargs) -> tuple[Specialisation, Any]:
        """Find or make the specialisation for these arguments and run its (first) function."""
        names, values = self._bind(args, kwargs)
        made, raw = self._guarded(lambda made: made.call(*self._leaves(made, names, values)), names, values)
        if made.narrow:                         # Numba gives float32 back as Python's float
            raw = narrowed(raw, made.narrow)
        return made, raw

    def _guarded(self, run, names, values) -> tuple[Specialisation, Any]:
        """`run` of the specialisation for these arguments, and of the careful one where its checks fail."""
        made = self._find(names, values)
        if "raises" in made.extra:              # the function's own program, whatever operator this is
            def run(made):
                return made.call(*Compiled._leaves(self, made, names, values))
        states = self._states(made, values) if made.drawn else []
        tried: list[str] = []
        with noted_output() if made.prints else SILENT as output:
            while True:
                try:
                    raw = run(made)
                    break
                except (IndexError, ValueError) as e:
                    if isinstance(e, np.linalg.LinAlgError):
                        raise placed(e, made) from None
                    made = self._careful(e, tried)._find(names, values)
                    for bits, state in states:
                        bits.state = state
                    if output is not None:
                        output.again()
        self._latest = made
        return made, raw

    def _states(self, made, values) -> list:
        """The bit generators that a call draws from, and their states now: should it run again, it draws the same."""
        found = [*flatten(list(values)), *(value if origin is None else origin.now() for _, origin, value in made.hidden)]
        bits = [x.bit_generator for x in found if isinstance(x, np.random.Generator)]
        return [(b, b.state) for b in bits]

    def _finish(self, made, raw):
        return rebuild(made.result, iter(raw if isinstance(raw, tuple) else (raw,)))

    def _alike(self, made, leaves) -> list:
        """Pairs of arguments that must have one shape, of those that compiled code receives."""
        return []

    # -- looking inside ---------------------------------------------------------------------------------------
    def _inspect(self) -> Specialisation:
        if self._latest is None:                # an equal object may have been called: they share what was compiled
            self._latest = next((made[0] for made in reversed(self._specialisations.values())), None)
        if self._latest is None:
            raise RuntimeError(f"`{self.__name__}` has not been called yet: call it, or `specialize` it on example "
                               "arguments, to see the generated code")
        return self._latest

    @property
    def source(self) -> str:
        """The generated Python source for the latest call; with `parallel=True`, that for several threads."""
        generated = self._inspect().generated
        return generated.text if generated.threads is None else generated.threads.text

    @property
    def stages(self) -> dict:
        """Every intermediate program of the latest call, by pass name; each prints as Python."""
        return self._inspect().generated.stages

    def ptx(self, cc: tuple[int, int] | None = None) -> dict[str, str]:
        """With `target="cuda"`, the PTX of each kernel of the latest call, for a compute capability (the GPU's, or 9.0).

        Raises CudaUnavailable without numba-cuda or NVVM, and under the simulator.
        """
        from ..cuda.inspection import ptx_of
        return ptx_of(self._kernels(), cc, self.fastmath)

    @property
    def resources(self) -> dict:
        """With `target="cuda"`, what each kernel of the latest call takes: `runtime.cuda.assembly.Resources` by name.

        Raises CudaUnavailable as `ptx` does, and without NVIDIA's assembler ptxas.
        """
        from ..cuda.inspection import resources_of
        return resources_of(self._kernels(), None, self.fastmath)

    def _kernels(self) -> Specialisation:
        made = self._inspect()
        if not made.generated.device:
            raise RuntimeError(f"`{self.__name__}` has no kernels: it was not made with target=\"cuda\"")
        return made

    @property
    def tape(self) -> Tape:
        """What the reverse sweep reads from the forward sweep: name, shape, bytes and why, for the latest call."""
        from ..inspecting.bills import bill
        from ..inspecting.tapes import Tape
        made = self._inspect()
        return Tape(made.generated.tape, lambda args, kwargs: bill(made, *self._bind(args, kwargs)))

    @functools.cached_property
    def primal(self) -> Differentiable:
        """The user's function, compiled."""
        return Differentiable(self.function, mode=self.mode, boundscheck=self.boundscheck, fastmath=self.fastmath,
                              outputs=self.outputs, precise=self.precise, parallel=self.parallel, target=self.platform,
                              deterministic=self.deterministic)

    def __repr__(self):
        return f"<{self.kind} of {self.__qualname__}>"

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return functools.partial(self, instance)

    def _options(self) -> dict:
        return {"mode": self.mode, "boundscheck": self.boundscheck, "fastmath": self.fastmath,
                "outputs": self.outputs, "precise": self.precise, "parallel": self.parallel, "target": self.platform,
                "deterministic": self.deterministic}

    def __reduce__(self):
        if importable(self) is self:
            return load_global, (self.__module__, self.__qualname__)
        return rebuild_compiled, (type(self), Reference(self._pickled()), self._options())

    def __copy__(self):
        return self if importable(self) is self else rebuild_compiled(type(self), self._pickled(), self._options())

    def _pickled(self):
        """The function that an equal object is made of."""
        return self.function


@typeof_impl.register(Compiled)
def _typed(compiled, context):
    from .inside_numba import numba_type
    return numba_type(compiled, context)


class Differentiable(Compiled):
    """A function compiled as it is, with its pullback at hand: `f(x)`, `f.vjp(x)`."""

    kind = "primal"
    packs = True

    def vjp(self, *primals, **options):
        """(result, pullback) at `primals`; see `autodiff.vjp`."""
        from ..operators.splits import vjp
        return vjp(self.function, *primals, mode=self.mode, outputs=self.outputs, target=self.platform, **options)

    def __autodiff_lower__(self, lo, args, kwargs):
        return lo.call_static(plain_function(self.function), args, kwargs)


def operator(function):
    """Mark a function that makes compiled objects: called in a differentiated function, it runs while that is lowered."""
    function.__autodiff_operator__ = True
    return function


def decorated(make, function, options):
    """`make(function, **options)`, or a decorator that does so if there is no function yet."""
    if function is None:
        return lambda f: make(f, **options)
    return make(function, **options)


@functools.lru_cache(maxsize=256)
def _made(cls, function, options: tuple):
    return cls(function, **dict(options))


def made_for(cls, function, **options):
    """The one object of a class for this function and these options, while it is among the latest."""
    try:
        hash((function, *options.values()))
    except TypeError:                               # a function that cannot be hashed
        return cls(function, **options)
    return _made(cls, function, tuple(sorted(options.items())))


__all__ = ["Compiled", "Differentiable", "Specialisation", "decorated", "made_for", "operator"]
