"""Python's built-in functions and the small ones of math and numba."""

from __future__ import annotations

import collections
import functools
import itertools
import math
import operator
import sys
from dataclasses import replace

import numba
import numpy as np

from ...runtime.checkpoint import checkpoint, parse_bytes
from ..language.build import integer
from ..language.core import Const
from ..language.errors import MissingAttribute, NonDifferentiable, TypeConflict, UnsupportedSyntax
from ..language.ops import Narrow
from ..source.definitions import MISSING, own
from .arrays import ONE, ZERO, describe
from .list_operators import kind_of
from .outside import Place
from .packing import LEAST
from .records import as_tuple
from .reductions import into, is_true
from .table import lowers
from .values import (
    UNMARKED,
    Applied,
    Array,
    Buffer,
    Closure,
    Delayed,
    Either,
    Generator,
    GrowList,
    Iterable,
    Mapping,
    Range,
    Record,
    Scalar,
    Sequence,
    Series,
    Slice,
    Static,
    Table,
    Undefined,
    Value,
    Vectorized,
    as_range,
    is_number,
    leaves,
)

EMPTY = Sequence(())


@lowers(range, numba.prange)
def lower_range(lo, *args):
    if len(args) == 1:
        parts = (Static(0), args[0], Static(1))
    elif len(args) == 2:
        parts = (*args, Static(1))
    else:
        parts = args
    for p in parts:
        if not is_number(p) or lo.dtype_of(p) != "int64":
            raise lo.error(TypeConflict, f"range() needs integers, not {describe(p)}", "convert it: int(n)")
    return Range(*(lo.whole_number(p.atom) if isinstance(p, Scalar) and type(p.dtype) is Narrow else p for p in parts))


@lowers(checkpoint)
def lower_checkpoint(lo, iterations, snapshots=Static(None), budget=Static(None)):
    condition = is_number(iterations) and lo.loop_mark != UNMARKED
    iterations = iterations if condition else as_range(iterations)
    given = [p for p in (snapshots, budget) if not (isinstance(p, Static) and p.value is None)]
    if not (condition or isinstance(iterations, Range)) or len(given) != 1:
        raise lo.error(TypeConflict, "checkpoint() takes a range, or the condition of a `while`, and either snapshots= or "
                                     "budget=", "for t in checkpoint(range(T), snapshots=10), "
                                                "or while checkpoint(error > tolerance, budget='200MB')")
    if given[0] is snapshots:
        if isinstance(snapshots, Static) and snapshots.value < 1:
            raise lo.error(TypeConflict, f"checkpoint() keeps at least one snapshot, not {snapshots.value}")
        return marked(lo, iterations, ("snapshots", lo.atom(snapshots, "int64")))
    if isinstance(budget, Static):
        try:
            budget = Static(parse_bytes(budget.value))
        except (ValueError, AttributeError):
            raise lo.error(TypeConflict, f"{budget.value!r} is not a number of bytes", "write budget='200MB'") from None
    return marked(lo, iterations, ("bytes", lo.atom(budget, "int64")))


def marked(lo, iterations, kept):
    if isinstance(iterations, Range):
        return replace(iterations, checkpoint=kept)
    lo.loop_mark = kept
    return iterations


@lowers(len)
def lower_len(lo, x):
    if isinstance(x, Record) and (made := lo.special(x, "__len__")) is not None:
        return made
    x = as_tuple(x)
    match x:
        case Sequence(items=items) | Mapping(items=items):
            return Static(len(items))
        case GrowList(count=count):
            return lo.number(count)
        case Table() | Series():
            return lo.number(x.count)
        case Array() if x.rank:
            return lo.number(x.shape[0])
        case Static(value=v):
            made = lo.by_method("__len__", x)
            return Static(len(v)) if made is None else made
        case Range():
            return lo.number(lo.iterate(x).length)
    raise lo.error(TypeConflict, f"object of type {describe(x)} has no len()")


@lowers(enumerate)
def lower_enumerate(lo, x, start=Static(0)):
    it = lo.iterate(x)
    if it.static is not None:
        items = tuple(Sequence((lo.binary_add(Static(k), start), v)) for k, v in enumerate(it.static))
        return Sequence(items)
    first = lo.atom(start, "int64")
    return Iterable(it.length, lambda k: Sequence((lo.number(lo.b.iadd(k, first)), it.item(k))), arrays=it.arrays)


@lowers(zip)
def lower_zip(lo, *xs, strict=None):
    its = [lo.iterate(x) for x in xs]
    if is_true(strict):
        for it in its[1:]:
            lo.require_same(its[0].length, it.length, "zip() arguments have different lengths")
    known = [len(it.static) for it in its if it.static is not None]
    if known and min(known) >= LEAST and (long := [x for x in xs if isinstance(x, Series)]):
        raise lo.itemise(long[0])               # which may be shorter
    if known:
        n = min([*known, *(it.length.value for it in its if isinstance(it.length, Const))])
        items = tuple(Sequence(tuple(it.static[k] if it.static is not None else it.item(integer(k)) for it in its))
                      for k in range(n))
        return Sequence(items)
    length = its[0].length
    for it in its[1:]:
        length = lo.b.imin(length, it.length)
    return Iterable(length, lambda k: Sequence(tuple(it.item(k) for it in its)),
                    arrays=tuple(a for it in its for a in (*it.arrays, *leaves(Sequence(it.static or ())))))


@lowers(reversed)
def lower_reversed(lo, x):
    x = as_range(x)
    if isinstance(x, Range) and isinstance(x.step, Static) and x.step.value in (1, -1) and x.checkpoint is None:
        step = x.step.value                             # an empty one stays empty
        first, stop = (lo.b.isub(lo.atom(end, "int64"), step) for end in (x.stop, x.start))
        return replace(x, start=Scalar(first), stop=Scalar(stop), step=Static(-step))
    it = lo.iterate(x)
    if it.static is not None:
        return Sequence(it.static[::-1])
    last = lo.b.isub(it.length, 1)
    return Iterable(it.length, lambda k: it.item(lo.b.isub(last, k)), arrays=it.arrays)


@lowers(float)
def lower_float(lo, x=Static(0.0)):
    if isinstance(x, Static):
        made = lo.by_method("__float__", x)
        return Static(float(x.value)) if made is None else made
    if (made := lo.special(x, "__float__")) is not None:
        x = made
    return Scalar(lo.atom(x, "float64"), True)


@lowers(int)
def lower_int(lo, x=Static(0)):
    if isinstance(x, Static):
        made = lo.by_method("__int__", x)
        return Static(int(x.value)) if made is None else made
    if (made := lo.special(x, "__int__")) is not None:
        return made
    return lo.whole_number(lo.atom(x))


@lowers(bool)
def lower_bool(lo, x=Static(False)):
    cond = lo.condition(x)
    return Static(cond.value) if isinstance(cond, Const) else Scalar(cond, True)


@lowers(tuple)
def lower_tuple(lo, x=EMPTY):
    return lo.items_anew(x, tuple)


@lowers(list)
def lower_list(lo, x=EMPTY):
    return lo.items_anew(x, list)


@lowers(collections.deque)
def lower_deque(lo, *args, **kwargs):
    raise lo.error(UnsupportedSyntax, "collections.deque is not supported", "use a list: q.append(x), q.pop(0)")


@lowers(collections.defaultdict, collections.Counter)
def lower_default(lo, *args, **kwargs):
    raise lo.error(UnsupportedSyntax, "dicts that make missing items are not supported",
                   "make a plain dict, and read it by d.get(key, 0.0)")


def classes_of(lo, x) -> list[type]:
    """The class of a number, or those that it may have by the way the program goes."""
    own = {"bool": bool, "int64": int, "complex128": complex}
    return [own.get(name, float) if weak else np.dtype(name).type for name, weak in sorted(lo.kinds_of(x))]


def by_path(lo, what: str, classes):
    return lo.error(TypeConflict, f"{what} differs by the way the program goes: " + " or ".join(
        ("a Python " if c.__module__ == "builtins" else "a NumPy ") + c.__name__ for c in classes),
        "give it one type: float(...)")


@lowers(type)
def lower_type(lo, x, *rest):
    if rest:
        raise lo.error(UnsupportedSyntax, "classes cannot be made inside a differentiated function",
                       "define it at module level")
    match x:
        case Either():
            return lo.split(x, lambda v: lower_type(lo, v))
        case Static(value=v):
            return Static(lo.class_of(v))
        case Record(cls=cls):
            return Static(cls)
        case Mapping():
            return Static(dict)
        case Scalar():
            classes = classes_of(lo, x)
            if len(classes) > 1:
                raise by_path(lo, "the type of this number", classes)
            return Static(*classes)
    if (kind := kind_of(x)) is not None:
        return Static(kind)
    if isinstance(x, Array):
        return Static(np.ndarray)
    raise lo.error(UnsupportedSyntax, f"type() of {describe(x)} is not supported", "use isinstance")


@lowers(dict, collections.OrderedDict)
def lower_dict(lo, x=None, **kwargs):
    return Mapping({**(lo.dict_of(x) if x is not None else {}), **kwargs})


@lowers(print)
def lower_print(lo, *args, sep=Static(None), end=Static(None), file=Static(None), flush=None):
    given = [v.value if isinstance(v, Static) else MISSING for v in (sep, end, file)]
    if given[0] not in (None, " ") and len(args) > 1 or given[1] not in (None, "\n") or given[2] not in (None, sys.stdout):
        raise lo.error(UnsupportedSyntax, "print() with sep=, end= or file= of its own is not supported",
                       "print a line at a time to the standard output, or what the function returns")
    lo.print_values(args)
    return Static(None)


@lowers(isinstance)
def lower_isinstance(lo, x, kinds):
    if isinstance(kinds, Sequence):
        classes = tuple(i.value for i in kinds.items)
    else:
        classes = kinds.value if isinstance(kinds.value, tuple) else (kinds.value,)
    match x:
        case Undefined():
            raise lo.error(TypeConflict, describe(x))
        case Static(value=v):
            lo.class_of(v)
            return Static(isinstance(v, classes))
        case Scalar():
            answers = {issubclass(own, classes) for own in classes_of(lo, x)}
            if len(answers) > 1:
                raise by_path(lo, "whether this number is an instance", classes_of(lo, x))
            return Static(*answers)
        case Array() if not x.is_list:
            return Static(any(issubclass(np.ndarray, c) for c in classes))
        case Mapping():
            return Static(any(issubclass(dict, c) for c in classes))
        case Record(cls=cls):
            return Static(any(issubclass(cls, c) for c in classes))
        case Generator():
            return Static(any(issubclass(np.random.Generator, c) for c in classes))
    kind = kind_of(x)
    return Static(kind is not None and any(issubclass(kind, c) for c in classes))


@lowers(callable)
def lower_callable(lo, x):
    return Static(isinstance(x, Closure) or (isinstance(x, Static) and callable(x.value)))


@lowers(divmod)
def lower_divmod(lo, a, b):
    if isinstance(a, Record) or isinstance(b, Record):
        made = lo.record_operator("divmod", a, b)
        if made is not None:
            return made
    return Sequence((lo.binary(operator.floordiv, a, b), lo.binary(operator.mod, a, b)))


@lowers(pow)
def lower_pow(lo, a, b, mod=Static(None)):
    import operator
    if not (isinstance(mod, Static) and mod.value is None):
        if all(isinstance(v, Static) for v in (a, b, mod)):
            return Static(pow(a.value, b.value, mod.value))
        raise lo.error(UnsupportedSyntax, "pow() with a modulus needs numbers known before the program runs")
    return lo.binary(operator.pow, a, b)


def truths(lo, x: Value) -> Value:
    """The items that Python's `any` and `all` ask for their truth."""
    if isinstance(x, (Sequence, Mapping)):
        return Sequence(lo.items_of(x))
    if isinstance(x, Table):
        raise lo.error(UnsupportedSyntax, "any() and all() of tuples are not supported", "write a loop")
    made = lo.series_numbers(x) if isinstance(x, Series) else lo.as_array(x)
    if made.rank > 1:
        raise lo.error(NonDifferentiable, "the truth value of an array with more than one element is ambiguous",
                       "use np.any or np.all")
    return made


@lowers(any)
def lower_python_any(lo, x):
    return of_class(bool, logical(lo, truths(lo, x), None, None, "or"))


@lowers(all)
def lower_python_all(lo, x):
    return of_class(bool, logical(lo, truths(lo, x), None, None, "and"))


@lowers(np.any)
def lower_any(lo, x, axis=None, keepdims=None, out=None):
    return into(lo, out, of_class(np.bool_, logical(lo, x, axis, keepdims, "or")))


@lowers(np.all)
def lower_all(lo, x, axis=None, keepdims=None, out=None):
    return into(lo, out, of_class(np.bool_, logical(lo, x, axis, keepdims, "and")))


def of_class(kind, value: Value) -> Value:
    """A truth value as Python's own, or as NumPy's."""
    if isinstance(value, Static):
        return value if kind is bool else Scalar(Const(value.value, "bool"))
    return Scalar(value.atom, kind is bool) if isinstance(value, Scalar) else value


def logical(lo, x, axis, keepdims, op):
    if isinstance(x, Sequence):
        cond = Const(op == "and", "bool")
        for item in x.items:
            cond = lo.b.let(op, cond, lo.condition(item), dtype="bool")
        return Static(cond.value) if isinstance(cond, Const) else Scalar(cond, True)
    from .reductions import reduce
    a = lo.as_array(x)
    return reduce(lo, a, axis, keepdims, Const(op == "and", "bool"), "bool",
                  lambda lo, acc, v: lo.b.let(op, acc, lo.truth(v), dtype="bool"), hint=op)


@lowers(round)
def lower_python_round(lo, x, ndigits=Static(None)):
    if isinstance(x, Array):
        raise lo.error(TypeConflict, "type numpy.ndarray doesn't define __round__ method", "write np.round(x)")
    if (made := lo.special(x, "__round__", ndigits)) is not None:
        return made
    if isinstance(x, Static) and isinstance(ndigits, Static):
        return Static(round(x.value, ndigits.value))
    if isinstance(x, Scalar) and x.dtype == "bool" and not x.weak:
        raise lo.error(TypeConflict, "type numpy.bool doesn't define __round__ method", "write int(x)")
    if isinstance(x, Scalar) and isinstance(ndigits, Static) and ndigits.value is None:
        return lo.whole_number(lo.atom(x) if x.dtype in ("int64", "bool") else lo.operate("rint", (lo.atom(x),), x.dtype))
    return lower_round(lo, x, Static(0) if isinstance(ndigits, Static) and ndigits.value is None else ndigits)


@lowers(np.round, np.around)
def lower_round(lo, x, decimals=Static(0), **kwargs):
    d = lo.static_int(decimals, "decimals") or 0
    if lo.dtype_of(x) == "bool":
        lo.float_of("rint", "bool")
    if isinstance(x, Static):
        return Static(round(x.value, d))
    if lo.dtype_of(x) == "int64" and d >= 0:
        return x
    if d == 0:
        return lo.elementwise("rint", x)
    if lo.dtype_of(x) == "int64":               # to tens, hundreds, ...: by way of floats
        scale = Static(10.0 ** -d)
        tens = lo.elementwise("rint", lo.elementwise("div", lo.convert(x, "float64"), scale))
        made = lo.convert(lo.convert(lo.elementwise("mul", tens, scale), "int64"), lo.dtype_of(x))
        return Scalar(lo.atom(made), lo.is_weak(x)) if is_number(x) else made
    scale = Static(10.0 ** d)
    return lo.elementwise("div", lo.elementwise("rint", lo.elementwise("mul", x, scale)), scale)


@lowers(map)
def lower_map(lo, function, *xs):
    def one(row):
        with lo.no_draws("a function given to map(), which is called when its results are asked for", "write a list: [...]"):
            return lo.call(function, list(row.items), {})
    pairs = lower_zip(lo, *xs)
    if isinstance(pairs, Iterable):
        return Iterable(pairs.length, lambda k: one(pairs.item(k)), arrays=pairs.arrays)
    return Sequence(tuple(map(one, pairs.items)), list)


def reduce_items(function, iterable, start):
    total = start
    for item in iterable:
        total = function(total, item)
    return total


@lowers(functools.reduce)
def lower_reduce(lo, function, iterable, initial=None):
    if initial is None:
        if not isinstance(iterable, (Sequence, Series)):
            iterable = lo.as_array(iterable)
        initial = lo.get_item(iterable, Static(0))
        iterable = lo.get_item(iterable, Slice(Static(1), None, None))
    return lo.call_python(reduce_items, [function, iterable, initial], {})


@lowers(np.ndindex)
def lower_ndindex(lo, *shape):
    if len(shape) == 1 and not is_number(shape[0]):
        shape = lo.items_of(shape[0])
    return index_product(lo, [lo.atom(s, "int64") for s in shape], lambda index: Sequence(tuple(map(lo.number, index))))


@lowers(np.ndenumerate)
def lower_ndenumerate(lo, x):
    a = lo.force(lo.array(x))
    return index_product(lo, a.shape, lambda index: Sequence((
        Sequence(tuple(map(lo.number, index))), Scalar(a.element(lo, index)))))


@lowers(itertools.product)
def lower_product(lo, *xs, repeat=Static(1)):
    its = [lo.iterate(x) for x in xs] * lo.static_int(repeat, "repeat")
    if all(isinstance(it.length, Const) for it in its):
        pools = [it.static or tuple(it.item(integer(k)) for k in range(it.length.value)) for it in its]
        return Sequence(tuple(Sequence(row) for row in itertools.product(*pools)))
    return index_product(lo, [it.length for it in its], lambda index: Sequence(tuple(
        it.item(i) for it, i in zip(its, index, strict=True))))


def index_product(lo, sizes, item) -> Iterable:
    """An iteration over all indices of a shape, the last index fastest."""
    from .shaping import mark

    def at(k):
        index = []
        for s in reversed(sizes[1:]):
            i = lo.b.let("mod", k, s, dtype="int64")
            mark(lo, i, s)
            index.append(i)
            k = lo.b.let("floordiv", k, s, dtype="int64")
        mark(lo, k, sizes[0])
        return item((k, *reversed(index)))
    return Iterable(lo.size(sizes), at)


def over_items(function):
    """Iterators over choices of items of known number."""
    def lower(lo, x, r=None):
        items = lo.items_of(x)
        count = len(items) if r is None else lo.static_int(r, "the number of items chosen")
        return Sequence(tuple(Sequence(row) for row in function(items, count)))
    return lower


for _iterator in (itertools.combinations, itertools.permutations, itertools.combinations_with_replacement):
    lowers(_iterator)(over_items(_iterator))


@lowers(itertools.chain)
def lower_chain(lo, *xs):
    return Sequence(tuple(item for x in xs for item in lo.items_of(x)))


@lowers(functools.partial)
def lower_partial(lo, function, *args, **kwargs):
    return Applied(function, args, kwargs)


@lowers(sorted)
def lower_sorted(lo, x, *, key=Static(None), reverse=Static(False)):
    if not isinstance(reverse, Static):
        raise lo.needs_static(reverse, "reverse=")
    x = lo.unpacked(x)
    by_value = isinstance(key, Static) and key.value is None
    if not isinstance(x, (Sequence, Mapping, Static)) and not (by_value and not lo.has_rows(x)):
        return lo.sorted_rows(x, key, bool(reverse.value))
    items = lo.items_of(x) if isinstance(x, (Sequence, Mapping, Static)) else (x,)
    keys = items if by_value else [lo.call(key, [item], {}) for item in items]
    if isinstance(x, (Sequence, Mapping, Static)) and all(isinstance(k, Static) for k in keys):
        order = sorted(range(len(items)), key=lambda i: keys[i].value, reverse=bool(reverse.value))
        return Sequence(tuple(items[i] for i in order), list)
    if not by_value:
        raise lo.error(UnsupportedSyntax, "sorted(key=...) of values known only when the program runs is not supported",
                       "use np.argsort of the keys")
    whole = lo.series_numbers(x) if isinstance(x, Series) else lo.as_array(x)
    if whole.rank != 1:
        raise lo.error(UnsupportedSyntax, "sorted() of lists or arrays is not supported", "use np.argsort of a key")
    made = lo.call_static(np.sort, [whole], {})
    made = lo.get_item(made, Slice(None, None, Static(-1))) if reverse.value else made
    return lo.as_list(lo.force(made, copy=True), lo.node)


@lowers(np.vectorize)
def lower_vectorize(lo, pyfunc):
    return Vectorized(pyfunc)


@lowers(slice)
def lower_slice(lo, *parts):
    none = lambda p: None if isinstance(p, Static) and p.value is None else p  # noqa: E731
    start, stop, step = (None, *parts, None) if len(parts) == 1 else (*parts, None)[:3]
    return Slice(*(none(p) if p is not None else None for p in (start, stop, step)))


def attribute_name(lo, name) -> str:
    """The name of an attribute, which must be a text known now."""
    if not isinstance(name, Static) or not isinstance(name.value, str):
        raise lo.error(TypeConflict, "the name of an attribute must be a string known before the program runs")
    return name.value


@lowers(setattr)
def lower_setattr(lo, x, name, value):
    lo.set_attribute(x, attribute_name(lo, name), value)
    return Static(None)


@lowers(getattr)
def lower_getattr(lo, x, name, *default):
    try:
        return lo.attribute(x, attribute_name(lo, name))
    except MissingAttribute:
        if not default:
            raise
        return default[0]


@lowers(hasattr)
def lower_hasattr(lo, x, name):
    match x:
        case Undefined():
            raise lo.error(TypeConflict, describe(x))
        case Static(value=v):
            found = lo.attribute_now(v, name.value) is not MISSING
            lo.reads.need(Place.of(v).attribute(name.value), "there" if found else "missing")
            return Static(found)
        case Array() if not x.is_list:
            return Static(hasattr(np.ndarray, name.value))
        case Scalar(weak=weak):
            return Static(hasattr(float if weak else np.float64, name.value))
        case Record(fields=fields, cls=cls):
            if own(cls, "__getattr__") is not None or own(cls, "__getattribute__") is not None:
                raise lo.error(UnsupportedSyntax, f"hasattr() of a {cls.__name__}, whose class looks attributes up itself, "
                                                  "is not supported", "use try, or a field")
            return Static(name.value in fields or lo.class_attribute(cls, name.value) is not MISSING)
    return Static(hasattr(kind_of(x) or dict, name.value))


def _to_integer(op):
    def lower(lo, x):
        if isinstance(x, Static):
            return Static(int(getattr(math, op)(x.value)))
        return lo.whole_number(lo.operate(op, (lo.atom(x),), "float64"))
    return lower


for _name in ("floor", "ceil", "trunc"):
    lowers(getattr(math, _name))(_to_integer(_name))


@lowers(math.fsum)
def lower_fsum(lo, x):
    numbers = lo.series_numbers(x) if isinstance(x, Series) else lo.as_array(x)
    return Scalar(lo.atom(lo.call_static(np.sum, [lo.convert(numbers, "float64")], {})), True)


@lowers(math.prod)
def lower_math_prod(lo, x, start=Static(1)):
    product = start
    for item in lo.items_of(x) if isinstance(x, Sequence) else ():
        product = lo.binary(operator.mul, product, item)
    if isinstance(x, Sequence):
        return product
    numbers = lo.series_numbers(x) if isinstance(x, Series) else lo.as_array(x)
    whole = lo.call_static(np.prod, [numbers], {"dtype": lo.items_dtype(numbers)})
    return lo.binary(operator.mul, start, Scalar(lo.atom(whole), True) if isinstance(x, Series) else whole)


@lowers(math.hypot)
def lower_hypot(lo, *coordinates):
    if all(isinstance(x, Static) for x in coordinates):
        return lo.call_now(math.hypot, coordinates, {})
    size = lo.elementwise("abs", lo.convert(coordinates[0], "float64"))
    for x in coordinates[1:]:
        size = lo.elementwise("hypot", size, x)
    return Scalar(lo.atom(size), True)


@lowers(math.dist)
def lower_dist(lo, a, b):
    a, b = lo.convert(lo.as_array(a), "float64"), lo.convert(lo.as_array(b), "float64")
    lo.require_same(a.shape[0], b.shape[0], "both points must have the same number of dimensions")
    d = lo.call_static(np.subtract, [a, b], {})
    size = lo.call_static(np.sqrt, [lo.call_static(np.sum, [lo.call_static(np.multiply, [d, d], {})], {})], {})
    return Scalar(lo.atom(size), True)


@lowers(np.isclose)
def lower_isclose(lo, a, b, rtol=Static(1e-5), atol=Static(1e-8), equal_nan=None):
    gap = lo.elementwise("abs", lo.elementwise("sub", a, b))
    room = lo.elementwise("add", atol, lo.elementwise("mul", rtol, lo.elementwise("abs", b)))
    near = lo.elementwise("and", lo.elementwise("le", gap, room), lo.elementwise("isfinite", b))
    same = lo.elementwise("eq", a, b)
    if is_true(equal_nan):
        same = lo.elementwise("or", same, lo.elementwise("and", lo.elementwise("isnan", a), lo.elementwise("isnan", b)))
    return lo.elementwise("or", near, same)


@lowers(math.isclose)
def lower_math_isclose(lo, a, b, rel_tol=Static(1e-9), abs_tol=Static(0.0)):
    gap = lo.elementwise("abs", lo.elementwise("sub", a, b))
    larger = lo.elementwise("maximum", lo.elementwise("abs", a), lo.elementwise("abs", b))
    room = lo.elementwise("maximum", lo.elementwise("mul", rel_tol, larger), abs_tol)
    near = lo.elementwise("and", lo.elementwise("le", gap, room), lo.elementwise("isfinite", larger))
    return lo.elementwise("or", near, lo.elementwise("eq", a, b))


@lowers(np.allclose)
def lower_allclose(lo, a, b, **kwargs):
    return lower_all(lo, lo.array(lower_isclose(lo, a, b, **kwargs)))


@lowers(np.shape)
def lower_shape(lo, x):
    return lo.array_attribute(lo.array(x), "shape")


@lowers(np.ndim)
def lower_ndim(lo, x):
    return Static(lo.array(x).rank)


@lowers(np.size)
def lower_size(lo, x, axis=None):
    a = lo.array(x)
    if axis is not None and axis.value is not None:
        return lo.number(a.shape[axis.value])
    return lo.array_attribute(a, "size")


class Helpers:
    """Lowering helpers that belong to no other part."""

    def binary_add(self, a, b):
        import operator
        return self.binary(operator.add, a, b)

    def stand_in(self, dtype):
        """A number that stands for any other, to find out what a computation gives."""
        probe = self.b.var("probe", dtype)
        self.b.facts.number(probe)
        return probe

    def as_array(self, x):
        """An array from anything iterable: generators, ranges and lists included."""
        if isinstance(x, Range):
            it = self.iterate(x)
            return Delayed((it.length,), "int64", lambda lo, index: lo.atom(it.item(index[0])))
        if isinstance(x, Iterable):
            if x.static is not None:
                return self.array(Sequence(x.static))
            probe = self.stand_in("int64")
            self.b.facts.range[probe] = (ZERO, self.b.isub(x.length, ONE))
            here, self.b = self.b, self.b.child(loop=True)
            try:
                dtype = self.dtype_of(x.item(probe))
            finally:
                self.b = here
            arr = self.b.alloc("v", dtype, (x.length,))
            self.nest((x.length,), lambda index: self.store_element(arr, index, self.atom(x.item(index[0]), dtype)))
            return Buffer(arr)
        return self.array(x)


__all__ = ["Helpers", "leaves"]
