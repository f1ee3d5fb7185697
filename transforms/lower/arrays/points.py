"""Arrays of rank 0. NumPy changes them in place, as it does other arrays; numbers (its own, such as `x[0]`, and Python's) it
replaces.

Such an array is a number here while nothing can tell: `boxed` then says where it was made. Where it is written while
another name may see it, the program is lowered again, with memory for what is made there.
"""

from __future__ import annotations

import numpy as np

from ...language.build import ONE, ZERO
from ...language.errors import ShapeMismatch, TypeConflict
from ...language.ops import Narrow, exact, is_complex, is_inexact
from ..checks import show_shape
from ..functions.frames import site_of
from ..numbers.conversions import cast, common_dtype, dtype_of, is_weak, truth
from ..numbers.integer_operations import check_fitting
from ..numbers.kinds_on_paths import check_written, item_of, kinds_of, own_on_paths
from ..state import Lowering
from ..syntax.unbound import held
from ..table import NAMES
from ..values import Array, Buffer, Closure, Scalar, Sequence, Static, Value, View, is_number, leaves
from .broadcasting import map_arrays
from .memory import give_memory, store_element
from .writing import check_writable, need_memory, unwritable

OUTSIDE = ("outside", "")               # an array that exists outside the function
BY_PATH = frozenset([("by path",)])      # an array of rank 0 or a number, by the way the program goes
OF_NUMBERS = {np.round, np.around, np.clip, np.nan_to_num, np.fix, np.sinc, np.isclose}   # no ufuncs; they give NumPy's
MAKERS = {np.where, np.select, np.piecewise, np.roll, np.tensordot, np.cov, np.cross, np.apply_along_axis, np.i0,
          np.real_if_close}
SAME = {np.squeeze, np.reshape, np.transpose, np.real, np.moveaxis, np.swapaxes}        # of an array of rank 0: a view of it


def make_point(lo: Lowering, value: Value, site: tuple = ()) -> Scalar | Array:
    """A new array of rank 0 that holds a number; made at `site`, by default where the program is."""
    site = site or ("point", *site_of(lo, lo.node))
    value = numpys_number(lo, value, frozenset([site]))
    if site not in lo.widened:
        return value
    arr = lo.b.alloc("v", value.dtype, ())
    store_element(lo, arr, (), value.atom)
    return Buffer(arr)


def numpys_number(lo: Lowering, value: Value, boxed: frozenset = frozenset()) -> Scalar:
    """A number as NumPy's, in an array of rank 0 where `boxed` says so; of the dtypes that it has by path."""
    kinds = frozenset((kind, False) for kind, _ in kinds_of(lo, value))
    return Scalar(lo.atom(value), False, kinds if len(kinds) > 1 else False, boxed)


def point_outside(lo: Lowering, number: Value) -> Value:
    """The number of an array of rank 0 that exists outside the function, which must not write it."""
    return Scalar(lo.atom(number), getattr(number, "weak", True), boxed=frozenset([OUTSIDE]))


def point_view(lo: Lowering, owner: Array, view: View) -> Value:
    """An element of `owner` as an array of rank 0 that is a view of it."""
    if not owner.has_memory and not view.read_only:
        if (site := ("point", *site_of(lo, lo.node))) not in lo.widened:
            made = item_of(lo, view.element(lo, ()), owner)
            made.boxed = owner.boxed | {site}
            return made
        give_memory(lo, owner)
        view.writable = owner.has_memory
    return view


def made_by(lo: Lowering, target, args, made: Value) -> Value:
    """What a function of NumPy has made: a number it gives as an array of rank 0 is marked so."""
    if isinstance(made, Static) and is_number(made) and (target in OF_NUMBERS or isinstance(target, np.ufunc)):
        return Scalar(lo.atom(made))
    if not isinstance(made, (Scalar, Array)) or isinstance(made, Array) and (made.rank or made.has_memory):
        return made
    if target is np.real and is_complex(dtype_of(lo, args[0])):        # a part of it: a view that is not followed
        return Scalar(lo.atom(made), boxed=BY_PATH) if is_point(args[0]) else made
    if target in SAME and is_point(args[0]):
        return args[0]
    if target in SAME and is_number(args[0]):           # NumPy's own numbers stay numbers
        if own_on_paths(lo, args[0]) == (True, False):
            return numpys_number(lo, args[0], BY_PATH)
        if is_weak(lo, args[0]):
            return made if target is np.real else make_point(lo, args[0])
        return numpys_number(lo, args[0])
    if target in OF_NUMBERS and isinstance(made, Scalar):
        return numpys_number(lo, made)
    return make_point(lo, made) if target in MAKERS else made


def perhaps_point(value: Value) -> bool:
    """Whether what may be an array of rank 0 may as well be a number, by the way the program goes."""
    return any(site in BY_PATH or site[0] == "perhaps" for site in getattr(value, "boxed", ()))


def numpys_own(lo: Lowering, target, made: Value) -> Value:
    """What a definition of ours gives for a function of NumPy or SciPy: numbers as NumPy's, which are no arrays."""
    if isinstance(made, Sequence):
        return Sequence(tuple(numpys_own(lo, target, item) for item in made.items), made.kind)
    number = is_number(made) or isinstance(made, Array) and not made.rank
    if not number or isinstance(made, Static) and isinstance(made.value, bool):
        return made
    if target in MAKERS:
        return made if is_point(made) and not perhaps_point(made) else make_point(lo, made)
    home = (getattr(target, "__module__", None) or "").split(".")[0]
    own = isinstance(target, np.ufunc) or home in ("numpy", "scipy")
    if own:
        return numpys_number(lo, made)
    return Scalar(lo.atom(made), is_weak(lo, made)) if getattr(made, "boxed", False) else made


# -- writing ----------------------------------------------------------------------------------------------
def changes_in_place(lo: Lowering, old: Value, name: str = "") -> bool:
    """Whether `old op= value` writes an array, where `old` is what `name` holds; a number is replaced."""
    if not isinstance(old, (Array, Scalar)) or old.is_list or old.is_flat:
        return False
    if isinstance(old, Array) and old.rank:
        return True
    if old.boxed & (BY_PATH | {OUTSIDE}):
        need_memory(lo, old)
    lo.changed_points |= old.boxed
    if old.boxed and (old.boxed & lo.kept_points or point_seen(lo, old, name)):
        need_memory(lo, old)
    if old.boxed and not has_memory(old):
        return False
    if isinstance(old, View):
        give_memory(lo, old)
    return has_memory(old) or isinstance(old, View)


def point_seen(lo: Lowering, point: Scalar | Array, name: str) -> bool:
    """Whether another name may see an array of rank 0, or a view of it."""
    frames = dict.fromkeys((*lo.frames, *lo.kept_frames))
    seen = [v for frame in frames for other, v in frame.env.items() if not (frame is lo.frame and other == name)]
    seen += lo.around.temporaries
    made = [c for c in map(held, seen) if isinstance(c, Closure) and c.frame not in frames]
    seen += [v for c in made for v in c.frame.env.values()]
    return any(isinstance(leaf, (Scalar, Array)) and leaf.boxed & point.boxed for v in seen for leaf in leaves(v))


def augment_point(lo: Lowering, target: Array, function, value: Value) -> None:
    """`target op= value` for an array of rank 0."""
    name = NAMES[function]
    if not is_number(value) and lo.array(value).rank:
        shape = show_shape(lo, lo.array(value).shape)
        raise lo.error(ShapeMismatch, "non-broadcastable output operand with shape () doesn't match the broadcast "
                       f"shape {shape}")
    if name in ("add", "sub") and target.dtype == "float64" and dtype_of(lo, value) == "float64":
        return store_number(lo, target, value, name)
    return store_number(lo, target, in_dtype(lo, target, lo.binary(function, target, value), name), "")


def in_dtype(lo: Lowering, target: Scalar | Array, made: Value, name: str) -> Scalar:
    """What `target op= value` makes of an array of rank 0: of its dtype, if NumPy casts it so."""
    kind = exact(dtype_of(lo, made))
    if not np.can_cast(kind, exact(target.dtype), "same_kind"):
        raise lo.error(TypeConflict, f"Cannot cast ufunc '{name}' output from dtype('{kind}') to "
                       f"dtype('{exact(target.dtype)}') with casting rule 'same_kind'",
                       "make the array float first: x = x.astype(float)")
    return Scalar(lo.atom(made, target.dtype), boxed=target.boxed)


def sites_of(name: str, *values: Value) -> frozenset:
    """Where a number was made that is one of these by the way the program goes; marked if one is no array of rank 0."""
    boxes: list[frozenset] = [getattr(v, "boxed", frozenset()) for v in values]
    return frozenset().union(*boxes, [("perhaps", name)] if any(boxes) and not all(boxes) else [])


def like(made: Value, old: Scalar | Array) -> Value:
    """What a method of `old` has made: where that is an array of rank 0 or a number by path, so is this."""
    if isinstance(made, (Scalar, Array)) and any(site[0] != "point" for site in old.boxed):
        made.boxed |= BY_PATH
    return made


def has_memory(value: Value) -> bool:
    return isinstance(value, Array) and value.has_memory


def is_point(value: Value) -> bool:
    """Whether a value is known to be an array of rank 0, not a number."""
    return isinstance(value, (Scalar, Array)) and not getattr(value, "rank", 0) and (
        bool(value.boxed) or isinstance(value, (Buffer, View)))


def store_number(lo: Lowering, target, value, name):
    if isinstance(value, Array) and value.rank:
        if all(s == ONE for s in value.shape):
            value = Scalar(value.element(lo, (ZERO,) * value.rank))
        else:
            raise lo.error(ShapeMismatch, "setting an array element with a sequence")
    place = target.place(lo, ()) if target.has_memory else None
    if place is None:
        raise unwritable(lo, target)
    arr, index = place
    check_written(lo, {arr}, value)
    check_writable(lo, arr)
    kind = target.dtype
    if type(kind) is Narrow and not name:
        check_fitting(lo, (value,), kind)
    atom = lo.atom(value)
    if kind in ("int64", "bool") and is_inexact(atom.dtype) and name:
        raise lo.error(TypeConflict, f"cannot cast the result of an in-place operation from {atom.dtype} to "
                                     f"{exact(kind)}", "make the array float first: x = x.astype(float)")
    if name in ("add", "sub") and is_inexact(kind):
        atom = cast(lo, atom, kind)
        if name == "sub":
            atom = lo.b.let("neg", atom, dtype=kind)
        store_element(lo, arr, index, atom, accumulate=True)
        return
    if name:
        old = lo.b.load(arr, index)
        both = common_dtype(lo, (Scalar(old), value))
        atom = lo.operate(name, (old, atom), both)
    atom = truth(lo, atom) if kind == "bool" else cast(lo, atom, kind)
    store_element(lo, arr, index, atom)


def fresh(lo: Lowering, value):
    """A copy of an array that the program may write, made when it must be."""
    if not isinstance(value, Array):
        return value
    if not value.rank:
        return lo.array(make_point(lo, value))
    return map_arrays(lo, lambda lo, atoms: atoms[0], (value,), value.dtype)


__all__ = ["BY_PATH", "OF_NUMBERS", "is_point", "like", "perhaps_point", "sites_of"]
