"""Functions inside JAX: called by compiled XLA programs, with derivatives that JAX knows."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np
from numba.core.errors import NumbaNotImplementedError

from ..calling.compiled import Differentiable
from ..calling.tracebacks import entry as outermost
from ..transforms.language.errors import ShapeMismatch, TypeConflict
from ..transforms.language.ops import is_complex, is_inexact
from .derived import Outside
from .entries import Entry, entry
from .leaves import array_of, paths, with_kinds
from .structures import parts_of, pulled, pushed, structured, text_of, with_constants, with_parts
from .wrapped import Sendable
from .xla import register, version

MODES = ("reverse", "forward")
METHODS = ("expand_dims", "broadcast_all", "sequential")


class Level:
    """A function of flat arrays that JAX may call and differentiate; its derivative is the level above.

    function: what it is to autodiff, of arguments with these `kinds` (Numba types in the user's structures). primal: its
    entry. called: as a JAX function from the numbers and arrays in the arguments to a tuple of those in the result.
    """

    def __init__(self, function, kinds: tuple, primal: Entry, mode: str, method: str, options: dict, taken: Outside):
        self.function, self.kinds, self.primal, self.outside = function, kinds, primal, taken
        self.mode, self.method, self.options = mode, method, options
        own = [(k, dtype_of(leaf)) for k, kind in enumerate(kinds) for _, leaf in paths(kind, "")]
        self.owners = [k for k, _ in own]           # the argument of each leaf
        self.floats = [k for k, (_, dtype) in enumerate(own) if is_inexact(dtype)]
        self.complex = [is_complex(dtype) for _, dtype in own]
        self.above: dict[tuple, Level] = {}
        self.called = jax.jit(self._reverse() if mode == "reverse" else self._forward())

    # -- values -----------------------------------------------------------------------------------------------
    def run(self, *leaves):
        """Call the entry."""
        made, shapes = self.primal, self.primal.result_shapes(*(tuple(x.shape) for x in leaves))
        for place, shape in zip(made.results, shapes, strict=True):
            if shape is None:
                raise ShapeMismatch(f"the shape of `{place.path}` depends on the data, and JAX must know it beforehand",
                                    None, "return an array whose size shapes of arguments give, or Python's integers, "
                                    "under jit those in static_argnums")
        given = [jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(place.dtype))
                 for place, shape in zip(made.results, shapes, strict=True)]

        def by_xla(*leaves):
            dtypes = [str(x.dtype) for x in leaves], [str(x.dtype) for x in given]
            return jax.ffi.ffi_call(register(made, *dtypes, api), given, vmap_method=self.method)(*leaves)

        def by_python(*leaves):
            return jax.pure_callback(functools.partial(on_host, made, given), given, *leaves, vmap_method="sequential")

        api = version() or (0, 0)
        if api == (0, 0):
            return tuple(by_python(*leaves))
        if all(device.platform == "cpu" for device in jax.devices()):
            return tuple(by_xla(*leaves))
        return tuple(jax.lax.platform_dependent(*leaves, cpu=by_xla, default=by_python))

    # -- derivatives ------------------------------------------------------------------------------------------
    def _reverse(self):
        called = jax.custom_vjp(self.run)

        def forward(*primals):
            values = tuple(p.value for p in primals)
            return called(*values), (values, [() if p.perturbed else None for p in primals])     # marks without arrays

        def backward(kept, cotangents):
            values, marks = kept
            wanted = [k for k, mark in enumerate(marks) if mark is not None and k in self.floats]
            chosen = tuple(dict.fromkeys(self.owners[k] for k in wanted))
            bars: list[Any] = [None] * len(values)
            if chosen:
                places = [k for k in self.floats if self.owners[k] in chosen]
                found = self.pullback(chosen).called(*values, *self.seeds(cotangents))
                for k, bar in zip(places, found, strict=True):
                    bars[k] = jnp.conj(bar) if self.complex[k] else bar
            return tuple(bars)
        called.defvjp(forward, backward, symbolic_zeros=True)
        return called

    def seeds(self, cotangents) -> list:
        """Cotangents of float results, as autodiff means them: JAX's of complex numbers are their conjugates."""
        seeds = []
        for place, bar in zip(self.primal.results, cotangents, strict=True):
            if is_inexact(place.dtype):
                bar = jnp.zeros(bar.shape, bar.dtype) if isinstance(bar, jax.custom_derivatives.SymbolicZero) else bar
                seeds.append(jnp.conj(bar) if is_complex(place.dtype) else bar)
        return seeds

    def pullback(self, chosen: tuple[int, ...]) -> Level:
        """From arguments and cotangents of float results to cotangents of the chosen arguments."""
        if chosen not in self.above:
            self.outside.check()
            floats = [place for place in self.primal.results if is_inexact(place.dtype)]
            function = pulled(self.function, len(self.kinds), [place.path for place in floats], chosen)
            kinds = (*self.kinds, *(array_of(getattr(numba, p.dtype), p.rank) for p in floats))
            if any(owner in chosen and k not in self.floats for k, owner in enumerate(self.owners)):
                back = entry(function, *kinds, kind="value", **self.options)        # of a structure with integers in it
            else:
                back = entry(self.function, *self.kinds, kind="vjp", wrt=chosen, **self.options)
            self.above[chosen] = Level(function, kinds, back, self.mode, self.method, self.options, self.outside)
        return self.above[chosen]

    def _forward(self):
        called = jax.custom_jvp(self.run)

        @called.defjvp
        def rule(primals, tangents):
            values = called(*primals)               # apart: many tangents of one point are no batch of values
            dots = iter(())
            if self.floats:
                found = self.pushforward().called(*primals, *(tangents[k] for k in self.floats))
                dots = iter(found[len(self.primal.results):])
            return values, tuple(next(dots) if is_inexact(place.dtype) else np.zeros(value.shape, jax.dtypes.float0)
                                        for place, value in zip(self.primal.results, values, strict=True))
        return called

    def pushforward(self) -> Level:
        """From arguments and tangents of their floats to results and the tangents of their floats."""
        if () not in self.above:
            self.outside.check()
            push = entry(self.function, *self.kinds, kind="jvp", **self.options)
            given = iter(push.signature[len(self.owners):])
            tangents = tuple(with_kinds(kind, lambda leaf: next(given) if is_inexact(dtype_of(leaf)) else None)
                             for kind in self.kinds)
            function = pushed(self.function, len(self.kinds), range(len(self.kinds)))
            self.above[()] = Level(function, (*self.kinds, *tangents), push, self.mode, self.method, self.options,
                                   self.outside)
        return self.above[()]


def dtype_of(kind) -> str:
    return str(getattr(kind, "dtype", kind))


def on_host(made: Entry, given, *leaves):
    """What `jax.pure_callback` calls."""
    found = made(*(np.asarray(x) for x in leaves))
    return [np.asarray(value, like.dtype) for value, like in zip(found, given, strict=True)]


class Wrapped(Sendable):
    """What `wrap` gives; see there."""

    def __init__(self, function, mode: str, method: str, options: dict):
        functools.update_wrapper(self, function, updated=())
        self.function, self.mode, self.method, self.options = function, mode, method, options
        self._compiled = Differentiable(function)
        self._levels: dict = {}
        self._fixed: dict[tuple, Any] = {}

    def options_of(self) -> dict:
        return {"mode": self.mode, "method": self.method, "options": self.options}

    @outermost
    def __call__(self, *args, **kwargs):
        args = self._positional(args, kwargs)
        level, leaves = self._level(self._compiled, args)
        if level is None:                           # an integer that decides a shape, or that must be known otherwise
            key = tuple(text_of(x, f"a{k}") for k, x in enumerate(args))
            if key not in self._fixed:
                self._fixed[key] = Differentiable(with_constants(self.function, key))
            level, leaves = self._level(self._fixed[key], args, last=True)
        return structured(level.primal._made.result, iter(level.called(*leaves)))

    def _positional(self, args, kwargs) -> tuple:
        """The arguments in the order of the parameters."""
        if not kwargs:
            return args
        given = inspect.signature(self.function).bind(*args, **kwargs)
        given.apply_defaults()
        if given.kwargs:
            raise TypeError(f"`{self._compiled.__name__}` takes {', '.join(given.kwargs)} by keyword alone: wrap a function "
                            "that passes it")
        return given.args

    def _level(self, compiled, args, last: bool = False):
        """(level, leaves) of a call; (None, ...) if an integer must be a constant. last: raise then."""
        leaves = [as_array(x) for x in parts_of(args)]
        following = iter(leaves)
        kinds = tuple(with_parts(checked(a), lambda x: kind_of(next(following))) for a in args)
        try:
            taken = Outside(compiled, kinds)
            if (key := taken.key) not in self._levels:
                made = entry(compiled, *kinds, kind="value", **self.options)
                known = made.result_shapes(*(tuple(x.shape) for x in leaves))
                level = Level(compiled.function, kinds, made, self.mode, self.method, self.options, taken)
                if None in known and not last and holds_integers(args):
                    return None, leaves
                self._levels[key] = level
        except TypeConflict:
            if last or not holds_integers(args):
                raise
            return None, leaves
        return self._levels[key], leaves


def holds_integers(args) -> bool:
    """Whether Python's integers are among the arguments: they may be constants."""
    return any(text_of(x, "a") != "a" for x in args)


def as_array(value):
    """A number or array as JAX has it."""
    try:
        return jnp.asarray(value)
    except TypeError as e:
        raise TypeConflict(str(e), None, "pass floats, complex numbers, integers or booleans, and arrays of them") from None


def kind_of(array):
    """The Numba type of a JAX array, or of one that is traced."""
    try:
        return array_of(numba.from_dtype(np.dtype(array.dtype)), array.ndim)
    except (NumbaNotImplementedError, TypeError):
        raise TypeConflict(f"arrays of dtype {array.dtype} are not supported", None,
                           "use float64, float32, complex numbers, integers or booleans") from None


def checked(value):
    """An argument without arrays in places that autodiff does not see."""
    known, seen = (sum(isinstance(x, jax.Array) for x in found) for found in (jax.tree.leaves(value), parts_of(value)))
    if known > seen:
        raise TypeConflict(f"an argument, a {type(value).__name__}, holds arrays of JAX that autodiff "
                           "does not see: other nodes of pytrees", None,
                           "pass tuples, lists, dicts, dataclasses or namedtuples of them")
    return value


def wrap(function=None, *, mode: str = "reverse", vmap_method: str = "expand_dims", **options) -> Any:
    """`function`, compiled by autodiff, as a function of JAX arrays: under `jit`, `grad`, `vmap`, `scan`, and in eager code.

    function: any that `autodiff.entry` takes: NumPy code and loops of numbers and arrays, with tuples, lists, dicts and
        dataclasses of these in and out. Also as a decorator.
    mode: "reverse": JAX's `grad` and `vjp` of it run the generated pullback (jax.custom_vjp). "forward": `jvp` and `jacfwd`
        run the generated pushforward (jax.custom_jvp). JAX allows one of them. Both may be nested to any order.
    vmap_method: "expand_dims" (one call runs over the batch, nothing is copied), "broadcast_all", or "sequential" (a call
        for each element).
    options: `boundscheck`, `fastmath`, `precise`, as of `grad`.

    On the CPU it is a custom call of XLA to a pointer that Numba compiled, without Python; on other devices, or where the
    version of XLA's interface is not known, `jax.pure_callback` calls it. Dtypes are those that JAX has for NumPy's
    (without `jax_enable_x64` float64 is float32). What it reads outside its arguments is as it was when JAX traced it.
    Python integers are values of the run, or constants of the program where a shape depends on them.
    Raises AutodiffErrors as `grad` does, while JAX traces; errors of the run are JAX's, with the text of yours.
    """
    if function is None:
        return functools.partial(wrap, mode=mode, vmap_method=vmap_method, **options)
    if mode not in MODES:
        raise ValueError(f"mode={mode!r}: \"reverse\" or \"forward\"")
    if vmap_method not in METHODS:
        raise ValueError(f"vmap_method={vmap_method!r}: one of {', '.join(map(repr, METHODS))}")
    return Wrapped(function, mode, vmap_method, options)


__all__ = ["wrap"]
