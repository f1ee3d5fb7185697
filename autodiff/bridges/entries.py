"""A derivative as one compiled function of flat numbers and arrays: what bridges to other tools stand on."""

from __future__ import annotations

import functools
import hashlib
import keyword
import pickle
import uuid
from typing import Any

import numba
import numpy as np
from numba.core.errors import TypingError

from ..arguments.kinds import flatten, joined, numeric, passes
from ..arguments.positions import own_leaves
from ..calling.compiled import Compiled, Differentiable
from ..calling.failures import placed
from ..calling.inside_numba import Raw, apart_lines, bound, passing, run_lines, settled, tangent_shape_lines
from ..calling.tracebacks import entry as outermost
from ..inspecting.bills import known_sizes, size_formulas
from ..inspecting.sources import Source
from ..operators.gradients import Gradient, definition_place, wrt_names
from ..operators.joint_pullbacks import JointPullback
from ..operators.pushforwards import Pushforward
from ..options import DEFAULT, Options
from ..transforms.language.core import Arr, Var
from ..transforms.language.errors import NonDifferentiable, ShapeMismatch, TypeConflict
from ..transforms.language.ops import exact, is_complex, is_inexact
from .leaves import Place, array_of, as_kinds, beside, leaves_at, paths, unique

COMPLEX = {"float32": "complex64", "float64": "complex128"}


class Entry:
    """What `entry` gives: a compiled function of flat numbers and arrays.

    function: a Numba dispatcher, callable in `@njit` functions and from Python, that returns a tuple of the results. It
        takes arrays in C order that can be written to, of the dtypes of the examples.
    signature: the Numba types of its arguments. arguments, results: a `Place(name, path, dtype, rank)` for each of them.
    source: the generated program behind it.

    What the function writes to is a copy: the caller's arrays stay as they are. Called itself, an entry converts what is not
    as `function` wants it: other dtypes, memory in another order or read-only.
    """

    def __init__(self, compiled: Compiled, names, values, own: list, ready: bool = True):
        self._parts = compiled, names, values, own, ready
        try:
            self._made = made = settled(compiled, compiled._find(names, values), names, values)
        except TypingError as e:
            raise TypeConflict(str(e), None, "an entry is code without Python: call the derivative itself") from None
        self.source = Source(made.generated.text)
        first, named = compiled._given
        self._bound = [[x for value in values for x in flatten(value) if passes(x)] for values in (first, named.values())]
        self._own = len(own)
        further = with_seeds(made) if isinstance(compiled, JointPullback) else []
        if isinstance(compiled, Pushforward):
            floats = [(path, kind) for path, kind in own if is_inexact(str(getattr(kind, "dtype", kind)))]
            further = [(beside(path, "dot"), kind) for path, kind in (floats[k] for k in compiled.needs)]
        taken = [*own, *further]
        self.signature = tuple(kind for _, kind in taken)
        self.arguments = tuple(Place(name, path, str(getattr(kind, "dtype", kind)), getattr(kind, "ndim", 0)) for name, (
            path, kind) in zip(unique([path for path, _ in taken], keyword.kwlist), taken, strict=True))
        written = {name for name, _ in made.generated.lowered.written}
        self._written = [path.split(".")[0].split("[")[0] in written for path, _ in own]
        self._results = raw_results(compiled, made, own)
        names = unique([path for path, _, _, _ in self._results], keyword.kwlist)
        self.results = tuple(Place(n, *place[:3]) for n, place in zip(names, self._results, strict=True))
        self._compiled = compiled
        if ready:
            self.function  # noqa: B018 (compiled now, so that what is wrong is raised here)

    def __reduce__(self):
        return type(self), self._parts

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    @functools.cached_property
    def function(self):
        return numba.njit(self.signature)(self._flat(self._compiled, self._made))

    def _flat(self, compiled, made):
        """The Python function of flat arguments, which calls the generated one."""
        names = [f"x{k}" for k in range(len(self.signature))]
        namespace: dict[str, Any] = {"np": np}
        first, named = compiled._given
        taken = list(zip(names, self.signature, strict=True))
        own, further = taken[:self._own], taken[self._own:]
        leaves = [*bound(first, "first", namespace), *own, *bound(named.values(), "named", namespace)]
        lines = [f"def flat({', '.join(names)}):"]
        if isinstance(compiled, Pushforward):
            lines += tangent_shape_lines(compiled._alike(made, [*leaves, *further]))
            leaves, further = [*leaves, *further], []
        arrays = [(writes, *leaf) for writes, leaf in zip(self._written, own, strict=True)
                  if isinstance(leaf[1], numba.types.Array)]
        places = dict(zip(names, (f"`{p.path}`" for p in self.arguments), strict=True))
        lines += apart_lines(arrays, namespace, places)
        lines += run_lines(made, [passing(*leaf) for leaf in leaves], namespace, [passing(*leaf) for leaf in further])
        lines.append(f"    return ({''.join(text + ', ' for *_, text in self._results)})")
        exec("\n".join(lines) + "\n", namespace)
        return namespace["flat"]

    def __call__(self, *args):
        if len(args) != len(self.signature):
            names = ", ".join(p.name for p in self.arguments)
            raise TypeError(f"the entry takes {len(self.signature)} arguments ({names}), not {len(args)}")
        try:
            return self.function(*(self._fitted(k, a) for k, a in enumerate(args)))
        except np.linalg.LinAlgError as e:
            raise placed(e, self._made) from None

    def _fitted(self, k: int, value):
        """An argument as the compiled function wants it."""
        place = self.arguments[k]
        array = np.asarray(value)
        if array.ndim != place.rank:
            raise ShapeMismatch(f"`{place.path}` has {array.ndim} axes, the entry was made for {place.rank}")
        try:
            made = np.require(array.astype(place.dtype, casting="same_kind", copy=False), requirements=["C", "W"])
        except TypeError:
            raise TypeConflict(f"`{place.path}` is {array.dtype}, the entry was made for {place.dtype}") from None
        return made if place.rank else made[()]

    def result_shapes(self, *arguments) -> tuple:
        """The shape of each result, without running anything; None where data decide.

        arguments: as `arguments` says, for an array its shape (a tuple) or an array of that shape, for a number its value
            (None if it is not known). Cotangents and tangents may be left out.
        Raises ShapeMismatch where the entry was made for another size.
        """
        if not self._own <= len(arguments) <= len(self.signature):
            raise TypeError(f"result_shapes() takes {self._own} shapes or numbers, not {len(arguments)}")
        made, given = self._made, []
        for place, value in zip(self.arguments[:self._own], arguments, strict=False):
            shape = value if isinstance(value, tuple) else np.shape(value)
            if len(shape) != place.rank:
                raise ShapeMismatch(f"`{place.path}` has {len(shape)} axes, the entry was made for {place.rank}")
            given.append(np.broadcast_to(np.zeros(()), shape) if place.rank else value if numeric(value) else None)
        first, named = self._bound
        outside = [value if origin is None else origin.now() for _, origin, value in made.hidden]
        params = [*made.params, *(arr for arr, _, _ in made.hidden)]
        try:
            known = known_sizes(params, [*first, *given, *named, *outside])
        except ValueError as e:
            raise ShapeMismatch(str(e)) from None
        program = made.generated.programs[0]
        formulas = size_formulas(program, known)
        shapes = []
        for place, returned in zip(self.results, program.returns, strict=True):
            shape = formulas(returned)[:place.rank] if isinstance(returned, Arr) else ()
            shapes.append(None if None in shape else shape)
        return tuple(shapes)

    def identity(self, *more) -> str:
        """A name that only this program has, in every process: a digest of all that it computes with, and of `more`."""
        try:
            outside = pickle.dumps([value if origin is None else origin.now() for _, origin, value in self._made.hidden]
                                   + self._bound)
        except Exception:                           # what cannot be told apart by its content
            outside = uuid.uuid4().bytes
        content = repr((self.source, self.signature, self.results, *more)).encode() + outside
        return hashlib.sha256(content).hexdigest()[:32]

    def symbolic_shapes(self, shapes, values, operations: dict) -> list[tuple]:
        """The sizes of each result as expressions of symbols, None for one that is not known.

        shapes: of each argument of the function, () for a number. values: what an argument is, where it is an integer (a
            symbol or a number); None for others. operations: what computes with sizes, as `bills.EVALUATE` with numbers.
        """
        made = self._made
        first, named = ([(np.shape(v), v) for v in values] for values in self._bound)
        hidden = [(np.shape(value), value) for value in (v if o is None else o.now() for _, o, v in made.hidden)]
        own = list(zip(shapes, values, strict=True))[:self._own]            # cotangents and tangents are as large
        known: dict = {}
        for param, (shape, value) in zip([*made.params, *(arr for arr, _, _ in made.hidden)],
                                         [*first, *own, *named, *hidden], strict=True):
            if isinstance(param, Arr):
                shape = (*shape, 2) if param.pairs else shape
                known.update({("dim", param, axis): n for axis, n in enumerate(shape)})
                known.update({size: n for size, n in zip(param.shape, shape, strict=True) if isinstance(size, Var)})
            elif param.dtype == "int64" and value is not None:
                known[param] = value
        program = made.generated.programs[0]
        found: list[tuple] = []
        for place, returned in zip(self.results, program.returns, strict=True):
            try:
                sizes = size_formulas(program, dict(known), operations)(returned) if isinstance(returned, Arr) else ()
            except (TypeError, ValueError):         # a formula that compares, which needs numbers
                sizes = (None,) * place.rank
            found.append(sizes[:place.rank])
        return found


def with_seeds(made) -> list:
    """(path, Numba type) of the cotangent of each float result."""
    return [(beside(path, "bar"), array_of(getattr(numba, leaf.dtype), getattr(leaf, "rank", 0)))
            for path, leaf in leaves_at(made.result, "result") if is_inexact(leaf.dtype)]


def raw_results(compiled, made, own) -> list[tuple[str, str, int, str]]:
    """(path, dtype, rank, expression) of each result of a specialisation; own: (path, Numba type) of its arguments."""
    program = made.generated.programs[0]
    if isinstance(compiled, Pushforward):
        primal, dots = made.result.items
        found = [*leaves_at(primal, "result"), *((beside(path, "dot"), k) for path, k in leaves_at(dots, "result"))]
    else:
        found = list(leaves_at(made.result, "result"))[:made.extra.get("kept", len(program.returns))]
        params = own_leaves(made.generated.lowered, compiled._given[1])
        of_params = {p: path for p, (path, _) in zip(params, own, strict=False)}
        found += [(beside(of_params[p], "bar"), p) for p in made.extra.get("leaves", ())]
    results = []
    for k, ((path, kind), returned) in enumerate(zip(found, program.returns, strict=True)):
        place = f"raw[{k}]" if len(program.returns) > 1 else "raw"
        if isinstance(returned, Arr) and returned in program.params:        # the caller's own memory
            place += ".copy()"
        dtype, rank = exact(kind.dtype), len(returned.shape) if isinstance(returned, Arr) else 0
        if isinstance(kind, Arr) and kind.pairs:
            dtype, rank = COMPLEX[dtype], rank - 1
        elif is_complex(dtype):
            rank -= 1
        results.append((path, dtype, rank, joined(Raw(place), kind).place))
    return results


@outermost
def entry(function, *examples, wrt=None, kind: str = "value_and_grad", boundscheck: bool = True, fastmath: bool = False,
          precise: bool = False) -> Entry:
    """A derivative of `function` as one compiled function of flat numbers and arrays, without Python in a call.

    examples: what the arguments are: arrays, numbers, Numba types, anything with `shape` and `dtype`, and tuples, lists,
        dicts and dataclasses of these. Strings, None and what else is neither number nor array are built in as they are, and
        so is what the function reads outside.
    kind: what it returns.
        "value": the results. "value_and_grad": a number and its gradient.
        "vjp": from the arguments, and a cotangent for each float result, the cotangents of the arguments, by a forward and a
        reverse sweep in one; a cotangent of another shape than its result is a ValueError.
        "jvp": from the arguments, and a tangent for each float among them, the results and their tangents.
    wrt: position, name or tuple of them, of what is differentiated; by default the first argument for "value_and_grad" and
        all that hold floats for the others.
    The other options are those of `grad`. Raises ValueError for another kind, TypeError where the examples do not fit the
    function, TypeConflict where the program needs Python (a value known before it runs, several random generators), and
    AutodiffErrors as `grad` does.
    """
    options = Options(boundscheck=boundscheck, fastmath=fastmath, precise=precise)
    kinds = tuple(map(as_kinds, examples))
    compiled = made_of(function, kinds, wrt, kind, options)
    names, values = compiled._bind(kinds, {})
    return Entry(compiled, names, values, own_of(compiled, names, values))


def own_of(compiled, names, values) -> list:
    """(path, Numba type) of the numbers and arrays that a call passes."""
    first, named = compiled._given
    return [leaf for k, (name, value) in enumerate(zip(names, values, strict=True))
            if k >= len(first) and name not in named for leaf in paths(value, name)]


def made_of(function, kinds, wrt, kind: str, options: Options = DEFAULT) -> Compiled:
    """The operator of this kind, for arguments of these kinds."""
    if kind == "value":
        if wrt is not None:
            raise ValueError("wrt= says what is differentiated; kind=\"value\" differentiates nothing")
        return Differentiable(function, options)
    if kind == "value_and_grad":
        return Gradient(function, 0 if wrt is None else wrt, with_value=True, options=options)
    if kind == "vjp":
        return JointPullback(function, wrt, options)
    if kind != "jvp":
        raise ValueError(f"kind={kind!r}: \"value\", \"value_and_grad\", \"vjp\" or \"jvp\"")
    primal = Differentiable(function, options)
    names, values = primal._bind(kinds, {})
    first, named = primal._given
    chosen = names[len(first):]
    if wrt is not None:
        chosen = wrt_names(wrt, chosen, primal.__name__, definition_place(primal.target))
    needs, count = [], 0
    for k, (name, value) in enumerate(zip(names, values, strict=True)):
        for _, leaf in paths(value, name) if k >= len(first) and name not in named else ():
            if is_inexact(str(getattr(leaf, "dtype", leaf))):
                needs += [count] if name in chosen else []
                count += 1
    if not needs:
        raise NonDifferentiable(f"nothing that `{primal.__name__}` is differentiated in holds floats",
                                definition_place(primal.target), "give examples that are floats, and choose with wrt=")
    return Pushforward(function, tuple(needs), options=options)


__all__ = ["Entry", "entry"]
