"""Choosing among values, and taking elements out or putting them in."""

import numpy as np

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from .out import stored


@defines(np.select)
def select(condlist, choicelist, default=0):
    """The first choice whose condition holds; only the chosen one is evaluated."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    result = default
    for cond, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = np.where(cond, choice, result)
    return result


@defines(np.piecewise)
def piecewise(x, condlist, funclist, *args):
    """Each function sees the elements where its condition holds, as in NumPy."""
    y = np.zeros_like(x)
    if isinstance(condlist, (list, tuple)):
        several = np.ndim(x) == 0 or isinstance(condlist[0], (list, np.ndarray))
        conditions = condlist if several else [np.array(condlist)]
    elif np.ndim(condlist) > 1:
        return unsupported("np.piecewise with its conditions in one array", "give a list of conditions")
    else:
        conditions = [condlist]
    count = len(conditions)
    if len(funclist) != count and len(funclist) != count + 1:
        raise ValueError(f"with {count} condition(s), either {count} or {count + 1} functions are expected")
    if len(funclist) == count + 1:
        rest = np.logical_not(conditions[0])
        for cond in conditions[1:]:
            rest = np.logical_and(rest, np.logical_not(cond))
        y = piece(y, x, rest, funclist[-1], args)
    for cond, function in zip(conditions, funclist, strict=False):
        y = piece(y, x, cond, function, args)
    return y


def piece(y, x, cond, function, args):
    mask = np.asarray(cond)
    if np.ndim(x) == 0:                         # the other functions are not called
        if mask:
            y = np.asarray(function(x, *args) if callable(function) else function).astype(y.dtype)
        return y
    y[mask] = function(x[mask], *args) if callable(function) else function
    return y


@defines(np.choose)
def choose(a, choices, out=None, mode="raise"):
    n = len(choices)
    if n == 0:
        raise ValueError("0-length sequence.")
    place = np.asarray(a)
    if mode == "wrap":
        place = place % n
    elif mode == "clip":
        place = np.clip(place, 0, n - 1)
    elif mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    elif np.any((place < 0) | (place >= n)):
        raise ValueError("invalid entry in choice array")
    result = choices[n - 1]
    for k in range(n - 1):
        result = np.where(place == n - 2 - k, choices[n - 2 - k], result)
    return stored(out, result, "unsafe")


@defines(np.compress)
def compress(condition, a, axis=None, out=None):
    return stored(out, np.take(np.asarray(a), np.flatnonzero(np.asarray(condition)), axis=axis), "unsafe")


@defines(np.extract)
def extract(condition, arr):
    return np.ravel(arr)[np.flatnonzero(np.asarray(condition))]


def places_of(obj, n):
    """The places that an index of np.insert or np.delete names, as an array; a list without items names none."""
    if isinstance(obj, slice):
        return np.arange(n)[obj]
    if isinstance(obj, (list, tuple)) and len(obj) == 0:
        return np.zeros(0, dtype=int)
    places = np.asarray(obj)
    if places.dtype.kind not in "iub":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return places


@defines(np.delete)
def delete(arr, obj, axis=None):
    if axis is None:
        return delete(np.ravel(arr), obj, 0)
    last = np.moveaxis(arr, axis, -1)
    n = last.shape[-1]
    if not isinstance(obj, slice) and np.ndim(obj) == 0:
        if obj < -n or obj >= n:
            raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {n}")
        place = obj if obj >= 0 else obj + n
        result = np.concatenate((last[..., :place], last[..., place + 1:]), axis=-1)
    else:
        keep = np.ones(n, dtype=bool)
        places = places_of(obj, n)
        if places.dtype.kind == "b":
            if places.shape != (n,):
                raise ValueError("boolean array argument obj to delete must be one dimensional and match the axis "
                                 f"length of {n}")
            keep = np.logical_not(places)
        else:
            keep[places] = False
        result = last[..., keep]
    return np.moveaxis(result, -1, axis)


def put_between(last, new, place, told, axis):
    """Values put into the last axis, all at one place, which an error calls `told`."""
    n = last.shape[-1]
    if place < -n or place > n:
        raise IndexError(f"index {told} is out of bounds for axis {axis} with size {n}")
    place = place if place >= 0 else place + n
    new = np.broadcast_to(new, (*last.shape[:-1], new.shape[-1]))
    return np.concatenate((last[..., :place], new, last[..., place:]), axis=-1)


@defines(np.insert)
def insert(arr, obj, values, axis=None):
    if axis is None:
        return insert(np.ravel(arr), obj, values, 0)
    last = np.moveaxis(arr, axis, -1)
    n = last.shape[-1]
    given = np.asarray(values).astype(arr.dtype)
    given = given.reshape((1,) * (arr.ndim - given.ndim) + given.shape)
    if not isinstance(obj, slice) and np.ndim(obj) == 0:
        result = put_between(last, np.moveaxis(given, 0, -1), obj, obj, axis)
    elif isinstance(obj, (list, tuple)) and len(obj) == 1 and not isinstance(obj[0], bool):    # all values, at one place
        result = put_between(last, np.moveaxis(given, axis, -1), obj[0], [obj[0]], axis)
    else:
        places = places_of(obj, n)
        if places.dtype.kind == "b":
            places = np.flatnonzero(places)
        count = places.shape[0]
        if count == 1 and (places[0] < -n or places[0] > n):
            raise IndexError(f"index [{places[0]}] is out of bounds for axis {axis} with size {n}")
        places = np.where(places < 0, places + n, places)
        order = np.argsort(places, kind="stable")
        target = np.zeros(count, dtype=int)
        target[order] = places[order] + np.arange(count)
        keep = np.ones(n + count, dtype=bool)
        keep[target] = False
        result = np.zeros((*last.shape[:-1], n + count), dtype=arr.dtype)
        result[..., target] = np.moveaxis(given, axis, -1)
        result[..., keep] = last
    return np.moveaxis(result, -1, axis)


@defines(np.put_along_axis)
def put_along_axis(arr, indices, values, axis):
    if np.ndim(indices) != arr.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    places = np.moveaxis(np.asarray(indices), axis, -1)
    target = np.moveaxis(arr, axis, -1)
    for k in range(arr.ndim - 1):
        if places.shape[k] != 1 and target.shape[k] != 1 and places.shape[k] != target.shape[k]:
            raise IndexError("shape mismatch: indexing arrays could not be broadcast together")
    places = np.broadcast_to(places, (*target.shape[:-1], places.shape[-1]))
    given = np.moveaxis(np.broadcast_to(np.asarray(values), np.shape(indices)), axis, -1)
    grid = [np.arange(s).reshape((-1,) + (1,) * (places.ndim - k - 1)) for k, s in enumerate(places.shape[:-1])]
    target[(*grid, places)] = given


@defines(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr, *args):
    last = np.moveaxis(np.asarray(arr), axis, -1)
    lead = last.shape[:-1]
    count = 1
    for size in lead:
        if size == 0:
            raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
        count *= size
    rows = last.reshape((count, last.shape[-1]))
    result = np.array([func1d(row, *args) for row in rows])
    if result.ndim == 1:
        return result.reshape(lead)
    first, made = axis % last.ndim, result.ndim - 1
    return np.moveaxis(result.reshape((*lead, *result.shape[1:])), list(range(-made, 0)), list(range(first, first + made)))


@defines(np.array_equal)
def array_equal(a1, a2) -> bool:
    a, b = np.asarray(a1), np.asarray(a2)
    if a.ndim != b.ndim:
        return False
    for p, q in zip(a.shape, b.shape, strict=True):
        if p != q:
            return False
    return bool(np.all(a == b))


@defines(np.put)
def put(a, ind, v):
    places = np.asarray(ind)
    values = np.ravel(v)
    flat = a.flat
    if places.size and not a.size:
        raise IndexError("cannot replace elements of an empty array")
    for k in range(places.size):
        flat[np.ravel(places)[k]] = values[k % values.shape[0]]


@defines(np.putmask)
def putmask(a, mask, values):
    """Values are repeated by position in the array, as in NumPy."""
    given = np.asarray(values)
    a[...] = np.where(mask, given if given.ndim == 0 else np.resize(given, a.shape), a)


@defines(np.place)
def place(arr, mask, vals):
    """Values are repeated by count of true places, as in NumPy."""
    given = np.ravel(vals)
    flat, hit = arr.flat, np.ravel(mask)
    if given.size == 0 and np.any(hit):
        raise ValueError("Cannot insert from an empty array!")
    count = 0
    for k in range(flat.shape[0]):
        if hit[k]:
            flat[k] = given[count % given.shape[0]]
            count += 1


@defines(np.union1d)
def union1d(ar1, ar2):
    return np.unique(np.concatenate((np.ravel(ar1), np.ravel(ar2))))


def members(ar, assume_unique):
    return np.ravel(ar) if assume_unique else np.unique(ar)


@defines(np.setdiff1d)
def setdiff1d(ar1, ar2, assume_unique=False):
    own = members(ar1, assume_unique)
    return own[np.isin(own, ar2, invert=True)]


@defines(np.intersect1d)
def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    if return_indices:
        return unsupported("np.intersect1d with return_indices=True", "find the places with np.searchsorted")
    both = np.sort(np.concatenate((members(ar1, assume_unique), members(ar2, assume_unique))))
    return both[:-1][both[1:] == both[:-1]]


@defines(np.setxor1d)
def setxor1d(ar1, ar2, assume_unique=False):
    both = np.sort(np.concatenate((members(ar1, assume_unique), members(ar2, assume_unique))))
    if both.size == 0:
        return both
    changes = np.concatenate((np.array([True]), both[1:] != both[:-1], np.array([True])))
    return both[changes[1:] & changes[:-1]]


@defines(np.rollaxis)
def rollaxis(a, axis, start=0):
    rank = np.ndim(a)
    source = axis + rank if axis < 0 else axis
    target = start + rank if start < 0 else start
    if target < 0:
        target = -rank - 1                  # which np.moveaxis refuses
    return np.moveaxis(a, source, target - 1 if source < target else target)


@defines(np.divmod)
def divmod_(x1, x2):
    return np.floor_divide(x1, x2), np.mod(x1, x2)


@defines(np.modf)
def modf(x):
    whole = np.trunc(x)
    return np.copysign(x - whole, x), whole


@defines(np.fromiter)
def fromiter(iter, dtype, count=-1):
    if count < 0:
        return np.array(iter, dtype=dtype)
    found = np.array(iter, dtype=dtype)
    if found.size < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {found.size} items.")
    return found[:count].copy()


@defines(np.isin)
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    found = are_among(np.asarray(element), np.ravel(np.asarray(test_elements)))
    return np.logical_not(found) if invert else found


def are_among(x, given):
    """Whether each element is among those of a vector: compared with each, looked up in a table, or searched for."""
    if given.shape[0] <= 8:
        return np.any(x[..., None] == given, axis=-1)
    if x.dtype.kind in "iub" and given.dtype.kind in "iub" and x.dtype != np.uint64 and given.dtype != np.uint64:
        low, high = np.min(given), np.max(given)
        if float(high) - float(low) <= 6.0 * (x.size + given.size):
            table = np.zeros(int(high) - int(low) + 1, dtype=bool)
            table[given.astype(np.int64) - int(low)] = True
            inside = (x >= low) & (x <= high)
            return table[np.where(inside, x.astype(np.int64) - int(low), 0)] & inside
    ordered = np.sort(given)
    return ordered[np.minimum(np.searchsorted(ordered, x), given.shape[0] - 1)] == x
