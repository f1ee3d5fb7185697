"""np.einsum: a view, a matrix product, or loops over all letters."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...language.errors import ShapeMismatch, UnsupportedSyntax
from ...language.ops import promote
from ..arrays.broadcasting import broadcast_shapes, is_unit, move, require_same, same_size
from ..arrays.loop_nests import fold_nest, nest
from ..arrays.memory import delayed, force, store_element
from ..checks import CAREFUL
from ..containers.containers import items_of
from ..numbers.conversions import cast, static_int
from ..table import lowers
from ..values import Buffer, Delayed, Scalar, Sequence, Static, View
from .products import lower_matmul, zero
from .reductions import into
from .shaping import permuted

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@lowers(np.einsum)
def lower_einsum(lo, *operands, out=None, optimize=None):
    text, arrays = subscripts_of(lo, operands)
    terms, output = written_out(lo, text, arrays)
    sizes = sizes_of(lo, terms, arrays)
    if any(c not in sizes for c in output) or len(set(output)) < len(output):
        raise lo.error(ShapeMismatch, "einsum: the output subscripts name a letter twice, or one that no operand has")
    if len(arrays) == 1 and set(output) == set(terms[0]):
        return into(lo, out, view_of(lo, arrays[0], terms[0], output), "safe")
    if len(arrays) == 2 and matrix_like(lo, arrays, terms, output):
        return into(lo, out, as_product(lo, arrays, terms, output), "safe")
    return into(lo, out, by_loops(lo, arrays, terms, output, sizes), "safe")


def subscripts_of(lo, operands):
    """The subscripts as text, and the arrays; np.einsum also takes array, list, array, list, ..."""
    first, *rest = operands
    if isinstance(first, Static) and isinstance(first.value, str):
        return first.value.replace(" ", ""), [lo.array(x) for x in rest]
    if len(operands) < 2 or not isinstance(operands[1], Sequence):
        raise lo.error(UnsupportedSyntax, "einsum needs its subscripts as a literal string, or as lists of numbers")
    pairs = len(operands) // 2

    def letter(i) -> str:
        return "..." if isinstance(i, Static) and i.value is Ellipsis else LETTERS[static_int(lo, i, "a subscript")]
    terms = ["".join(map(letter, items_of(lo, s))) for s in (*operands[1:2 * pairs:2], *operands[2 * pairs:])]
    arrays = [lo.array(x) for x in operands[:2 * pairs:2]]
    return ",".join(terms[:pairs]) + ("->" + terms[pairs] if len(operands) % 2 else ""), arrays


def written_out(lo, text: str, arrays) -> tuple[list[str], str]:
    """The letters of each operand and of the output, ellipses and an implicit output written out."""
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(arrays):
        raise lo.error(ShapeMismatch, "einsum: the number of operands does not match the subscripts")
    spare = iter(c for c in reversed(LETTERS) if c not in text)
    names = ""
    if "..." in text:
        width = max(a.rank - len(t.replace("...", "")) for t, a in zip(terms, arrays, strict=True) if "..." in t)
        names = "".join(next(spare) for _ in range(width))
        missing = [width - a.rank + len(t.replace("...", "")) for t, a in zip(terms, arrays, strict=True)]
        terms = [t.replace("...", names[k:]) if "..." in t else t for t, k in zip(terms, missing, strict=True)]
    if arrow:
        output = output.replace("...", names)
    else:
        every = "".join(terms)
        output = names + "".join(sorted(c for c in set(every) - set(names) if every.count(c) == 1))
    for t, a in zip(terms, arrays, strict=True):
        if len(t) != a.rank:
            raise lo.error(ShapeMismatch, f"einsum: operand of rank {a.rank} has subscripts '{t}'")
    return terms, output


def sizes_of(lo, terms, arrays) -> dict:
    """The size of each letter: an axis 1 long goes with any other, of another operand."""
    sizes: dict = {}
    for t, a in zip(terms, arrays, strict=True):
        own: dict = {}
        for c, s in zip(t, a.shape, strict=True):
            if c in own:
                require_same(lo, own[c], s, f"dimensions in single operand for collapsing index '{c}' don't match")
            own.setdefault(c, s)
        for c, s in own.items():
            sizes[c] = broadcast_shapes(lo, [(sizes[c],), (s,)])[0] if c in sizes else s
    return sizes


def view_of(lo, a, term: str, output: str) -> View:
    """Axes in another order, and diagonals: NumPy gives a view, which can be written."""
    def index_map(lo, index):
        at = dict(zip(output, index, strict=True))
        return tuple(at[c] for c in term)
    axes = [(tuple(k for k, d in enumerate(term) if d == c), 1) for c in output]
    made = View(a, tuple(a.shape[along[0]] for along, _ in axes), index_map, axes=axes)
    made.read_only = a.read_only
    return made


def by_loops(lo, arrays, terms, output: str, sizes: dict):
    kind = promote(*(a.dtype for a in arrays))
    arrays = [force(lo, a) if isinstance(a, Delayed) and a.rank else a for a in arrays]
    summed = [c for c in dict.fromkeys("".join(terms)) if c not in output]
    moves = [[move(lo, s, sizes[c]) for c, s in zip(t, a.shape, strict=True)] for t, a in zip(terms, arrays, strict=True)]

    def product(at):
        value = None
        for t, a, moved in zip(terms, arrays, moves, strict=True):
            place = tuple(lo.b.imul(at[c], m) for c, m in zip(t, moved, strict=True))
            v = cast(lo, a.element(lo, place), kind)
            value = v if value is None else lo.operate("mul", (value, v), kind)
        return value

    def total(outer):
        def step(index, s):
            v = product({**outer, **dict(zip(summed, index, strict=True))})
            return (lo.b.let("or", s[0], v, dtype=kind) if kind == "bool" else lo.b.sum(s[0], v, kind),)
        return fold_nest(lo, [sizes[c] for c in summed], (zero(kind),), step, ("s",))[0]
    if not output:
        return Scalar(total({}))
    shape = tuple(sizes[c] for c in output)
    if not summed:
        return delayed(lo, shape, kind, lambda lo, index: product(dict(zip(output, index, strict=True))), arrays)
    arr = lo.b.alloc("v", kind, shape)
    nest(lo, shape, lambda index: store_element(lo, arr, index, total(dict(zip(output, index, strict=True)))))
    return Buffer(arr)


def matrix_like(lo, arrays, terms, output) -> bool:
    a, b = terms
    shared = set(a) & set(b)
    if not (len(a) == len(set(a)) == 2 and len(b) == len(set(b)) == 2 and len(shared) == 1
            and sorted(output) == sorted((set(a) | set(b)) - shared)):
        return False
    sizes = [x.shape[t.index(c)] for x, t in zip(arrays, terms, strict=True) for c in shared]
    return same_size(lo, *sizes) or lo.boundscheck not in CAREFUL and not any(map(partial(is_unit, lo), sizes))


def as_product(lo, arrays, terms, output):
    a, b = arrays
    s = (set(terms[0]) & set(terms[1])).pop()
    left = a if terms[0][1] == s else permuted(lo, a, [1, 0])
    right = b if terms[1][0] == s else permuted(lo, b, [1, 0])
    result = lower_matmul(lo, left, right)
    first = terms[0].replace(s, "")
    return result if output[0] == first else permuted(lo, result, [1, 0])
