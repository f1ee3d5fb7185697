"""Joint iterations: a loop and its reverse become one, where each iteration can be reversed as soon as it has run.

    e_tape = empty(n)                                                 s = 0.0
    s = 0.0                                                           w_bar = 0.0
    for i in range(n):                                                for i in range(n):
        e = np.exp(w * x[i])                                              x_1 = x[i]
        e_tape[i] = e                                                     e = np.exp(w * x_1)
        s = np.add(s, e)                                   becomes        s = np.add(s, e)
    w_bar = 0.0                                                           w_bar = np.add(w_bar, s_bar * e * x_1)
    # ---- reverse sweep ----                                         return s, w_bar
    for i in range(n):
        w_bar = np.add(w_bar, s_bar * e_tape[i] * x[i])
    return s, w_bar

The reverse loop may need nothing that the whole forward loop leaves behind but rows of tapes, each read by the iteration
that wrote it; such tapes shrink to one row or vanish. What the reverse iteration computes again is taken from the forward.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import integer
from ..language.core import Alloc, Arr, Comment, For, Function, Let, Load, Ref, Resize, Swap, Var, walk
from ..language.motion import Touches, facts_of, own_axes
from ..language.names import names_in
from ..language.queries import accesses, allocated_in, allocations, called, is_access, is_size, loaded_in, loads, stores
from ..language.rewrite import top_down, without
from ..language.substitution import renamed, substitute

IMPURE = ("dim", "link", "stop")


class Joining:
    """What joining loops needs to know of a program. `rows`: tape -> what is left of it, for those that lost an axis."""

    def __init__(self, function: Function, rows: dict):
        self.facts, self.rows, self.touches = facts_of(function), rows, Touches()
        self.kept = {r for r in function.returns if isinstance(r, Arr)} | set(function.params)


def join(function: Function, rows: dict | None = None) -> Function:
    """The program with every loop that can be joined with its reverse joined, outer loops first; fills `rows`."""
    known = Joining(function, {} if rows is None else rows)
    return replace(function, body=joined_block(function.body, known))


def without_tail(function: Function) -> Function:
    """The program without comments at its end: headings of what has moved into joint loops."""
    body = function.body
    while body and isinstance(body[-1], Comment):
        body = body[:-1]
    return replace(function, body=body)


def joined_block(block, known: Joining) -> tuple:
    position = 0
    while position < len(block):
        made = pair_with_forward(block, position, known)
        block, position = (block, position + 1) if made is None else made
    return tuple(core.with_blocks(s, lambda inner: joined_block(inner, known)) for s in block)


def pair_with_forward(block, position: int, known: Joining) -> tuple[tuple, int] | None:
    """(the block with the reverse loop at `position` joined with an earlier loop, from where on it is another one); None if
    there is none."""
    reverse = block[position]
    if not (isinstance(reverse, For) and reverse.origin == "reverse" and reverse.exit is None and plain(reverse)):
        return None
    for k in range(position - 1, -1, -1):
        forward = block[k]
        if isinstance(forward, For) and forward.origin != "reverse" and forward.exit is None and forward.trip is None \
                and forward.loc == reverse.loc and same_range(forward, reverse, known.facts) and plain(forward):
            early = known.touches.movable(block[k + 1:position], forward, reverse)
            if early is not None and compatible(forward, reverse):
                late = tuple(s for s in block[k + 1:position] if s not in early)
                merged = (*block[:k], *early, together(forward, reverse), *late, *block[position + 1:])
                made = contracted(merged, merged[k + len(early)], known)
                return made, next((i for i, (s, t) in enumerate(zip(block, made, strict=False)) if s is not t), 0)
    return None


def plain(loop: For) -> bool:
    return not any(isinstance(s, (Swap, Resize, core.Print)) for s in walk(loop.body))


def same_range(a: For, b: For, facts) -> bool:
    return a.step == b.step == integer(1) and facts.same(a.start, b.start) and facts.same(a.stop, b.stop)


def compatible(forward: For, reverse: For) -> bool:
    """Whether buffers that both loops touch, and one writes, are touched row by row, by the iteration that owns the row."""
    writes = core.written(forward.body) | core.written(reverse.body)
    both = names_in(forward.body) & names_in(reverse.body)
    private = allocated_in((*forward.body, *reverse.body))
    for array in (writes & both) - private:
        if 0 not in own_axes(forward, array) & own_axes(reverse, array):
            return False
    return True


def together(forward: For, reverse: For) -> For:
    """One loop that does both; what the second part computes again is taken from the first."""
    tail = substitute(reverse.body, {reverse.index: forward.index}, fresh=False)
    carries = tuple(replace(c, next=forward.index if c.next is reverse.index else c.next) for c in reverse.carries)
    body = (*forward.body, Comment("this iteration reversed", True), *tail)
    return without_repeats(replace(forward, carries=(*forward.carries, *carries), body=body))


def without_repeats(loop: For) -> For:
    """The loop without operations and loads whose value an earlier one in the same iteration has."""
    mapping: dict = {}
    body = shared(loop.body, {}, mapping, names_in(loop.body) - core.written(loop.body))
    made, = substitute((replace(loop, body=body),), mapping, fresh=False) if mapping else (loop,)
    return made


def merge_repeated(function: Function) -> Function:
    """The program without operations, and loads of buffers that are never written, whose value is known already."""
    mapping: dict = {}
    body = shared(function.body, {}, mapping, names_in(function.body) - core.written(function.body))
    return renamed(function, body, mapping)


def shared(block, known: dict, mapping: dict, constant: set) -> tuple:
    """Drop operations and loads whose value is known already; `mapping` says what stands for them."""
    get = lambda x: mapping.get(x, x) if isinstance(x, Var) else x  # noqa: E731
    out = []
    for s in block:
        match s:
            case Let(var=v, op=op, args=args) if op not in IMPURE:
                key = (op, v.dtype, *map(get, args))
            case Load(var=v, array=a, index=index) if a in constant:
                key = ("load", a, *map(get, index))
            case _:
                out.append(core.with_blocks(s, lambda inner: shared(inner, dict(known), mapping, constant)))
                continue
        if known.setdefault(key, v) is v:
            out.append(s)
        else:
            mapping[v] = known[key]
    return tuple(out)


# -- tapes of a joint loop ----------------------------------------------------------------------------------------
def contracted(block, loop: For, known: Joining) -> tuple:
    """Tapes that only the joint loop uses, row by row, lose their first axis, or vanish where they hold one number a row."""
    allocs = {a: s for a, s in allocations(block).items() if s.fill is None and a not in known.kept}
    outside = names_in(tuple(s for s in block if s is not loop and not isinstance(s, Alloc)))
    for array in list(allocs):
        if array in outside or array not in core.written(loop.body) or escapes(block, array) \
                or 0 not in own_axes(loop, array):
            continue
        position = next(k for k, s in enumerate(block) if s is loop)
        if len(array.shape) == 1:
            made = forwarded(loop, array)
            if made is None:
                continue
            block = tuple(s for s in (*block[:position], made, *block[position + 1:])
                          if not (isinstance(s, Alloc) and s.array is array))
        else:
            row = Arr(array.hint, array.dtype, array.shape[1:], array.why)
            known.rows[array] = row
            made = replace(loop, body=without_axis(loop.body, array, 0, row))
            block = tuple(replace(s, array=row) if isinstance(s, Alloc) and s.array is array else s
                          for s in (*block[:position], made, *block[position + 1:]))
        loop = made
    return tuple(without_repeats(s) if s is loop else s for s in block)


def escapes(block, array) -> bool:
    """Whether a buffer's size is asked for, or another buffer's shape depends on it."""
    return any(is_size(s) and s.args[0] is array for s in walk(block))


def forwarded(loop: For, array) -> For | None:
    """The loop with the only number a row of a tape passed on as a scalar; None if it is not always written first."""
    touches = accesses(walk(loop.body), array)
    written = stores(touches)
    if len(written) != 1 or written[0].accumulate or written[0] not in loop.body:
        return None
    before = loop.body[:loop.body.index(written[0])]
    if array in loaded_in(before) or any(isinstance(x, Ref) and x.array is array
                                         for s in walk(loop.body) if called(s) for x in (*s.args, *s.outs)):
        return None
    mapping = {s.var: written[0].value for s in loads(touches)}
    body = without(loop.body, lambda s: s in touches)
    made, = substitute((replace(loop, body=body),), mapping, fresh=False)
    return made


def without_axis(block, array: Arr, axis: int, row: Arr) -> tuple:
    """The block with `row` for `array`, one subscript less in each access."""
    less = lambda index: (*index[:axis], *index[axis + 1:])  # noqa: E731
    cut = lambda x: Ref(row, less(x.prefix), x.transposed) if isinstance(x, Ref) and x.array is array else x  # noqa: E731

    def change(s):
        if called(s):
            return (replace(s, args=tuple(map(cut, s.args)), outs=tuple(map(cut, s.outs))),)
        return (replace(s, array=row, index=less(s.index)),) if is_access(s) and s.array is array else None
    return top_down(block, change)


__all__ = ["join", "merge_repeated", "without_axis", "without_tail"]
