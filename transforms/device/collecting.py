"""Additions sorted by who collects them: every element gets a thread of its own, which adds up all that goes there.

    for i in range(n):                          for p in range(n):              # threads
        for j in range(n):                          for j in range(n):
            g = f(x[i] - x[j])        becomes           x_bar[p] += f(x[p] - x[j])
            x_bar[i] += g                           for i in range(n):
            x_bar[j] -= g                               x_bar[p] -= f(x[i] - x[p])

An addition at the indices of some of the loops around it gets a nest of its own with those loops outermost; the others add
up inside. Additions at `i - 1`, `i`, `i + 1` are moved against each other, so that one thread collects them all. What they
need is computed again for each; values of outer loops that are dear are kept in an array instead. No two threads then add
to one element, and the order of each sum is fixed.

Source: for the neighbours, N. Kukreja et al., High-level automatic differentiation of stencil loops ("PerforAD"), ICPP 2019,
section 3, with conditions in the place of peeled borders.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, integer
from ..language.core import Const, Function, Merge, Var, walk
from ..language.emit import Statements
from ..language.facts import Facts, combine
from ..language.motion import facts_of
from ..language.names import defined_in
from ..language.queries import is_branch, is_check, is_store, stores
from ..language.rewrite import top_down
from ..language.substitution import substitute
from .nests import is_nest
from .roles import Group, Nest, groups_of, path_statements


def collect(function: Function) -> Function:
    """The program with every addition that allows it in a nest whose threads own the elements."""
    last = max((k for k, s in enumerate(function.body) if is_check(s)), default=-1) + 1
    before, after = function.body[:last], function.body[last:]
    early = collected(before, facts_of(function, checks=False))
    return replace(function, body=(*early, *collected(after, facts_of(function))))


def collected(block, facts: Facts) -> tuple:
    return top_down(block, lambda s: distributed(s, facts) if is_nest(s, facts) else None)


def distributed(loop, facts: Facts) -> list:
    """The nest, with additions that other threads than its own should collect in nests of their own."""
    nest = Nest(loop, facts)
    groups = groups_of(loop, nest, facts)
    if not groups:
        return [loop]
    b = Builder(facts)
    arrays: dict = {}
    for g in groups:
        for v, made in g.kept.items():
            if v not in arrays:
                loops = nest.place[made].loops
                arrays[v] = b.alloc(v.hint, v.dtype, [b.imax(b.isub(s.stop, s.start), 0) for s in loops])
    taken = {s for g in groups for s in g.stores}
    gathered([g for g in groups if not g.kept], nest, arrays, b)
    rest = remaining((loop,), taken, arrays, nest)[0]
    if rest.carries or stores(walk((rest,))):
        b.add(rest)
    gathered([g for g in groups if g.kept], nest, arrays, b)
    return b.stmts


def remaining(block, taken: set, arrays: dict, nest: Nest) -> tuple:
    """The nest without the additions that others collect; values they need are stored when they are known."""
    out: list = []
    for s in block:
        if s in taken:
            continue
        out.append(core.with_blocks(s, lambda inner: remaining(inner, taken, arrays, nest)))
        for v in core.defined(s):
            if v in arrays:
                b, index = element(nest.place[s].loops, nest.facts)
                b.store(arrays[v], index, v)
                out += b.stmts
    return tuple(out)


def element(loops, facts: Facts):
    """(builder, subscripts): where an array over the iterations of loops has the present one's element."""
    b = Builder(facts)
    return b, tuple(b.isub(s.index, s.start) for s in loops)


# -- the nests of collectors --------------------------------------------------------------------------------------
def gathered(groups: list[Group], nest: Nest, arrays: dict, b: Builder) -> None:
    """Nests for the groups, those over nearly the same elements in one."""
    frames: list[list[Group]] = []
    for g in groups:
        frame = next((f for f in frames if near(f[0], g, nest.facts)), None)
        if frame is None:
            frames.append([g])
        else:
            frame.append(g)
    for frame in frames:
        collectors(frame, nest, arrays, b)


def near(a: Group, b: Group, facts: Facts) -> bool:
    """Whether the elements of two groups differ by borders of a known width."""
    return len(a.owners) == len(b.owners) and all(
        not combine(x, y, -1)[1] for p, q in zip(limits(a, facts), limits(b, facts), strict=True)
        for x, y in zip(p, q, strict=True))


def limits(group: Group, facts: Facts) -> list:
    """For each owner the affine forms of the first element and the one after the last."""
    out = []
    for loop, (constant, terms, width) in zip(group.owners, group.shifts, strict=True):
        shift = (constant, dict(terms)) if width is None else (0, {})
        out.append((combine(facts.affine(loop.start), shift, 1), combine(facts.affine(loop.stop), shift, 1)))
    return out


def atom_of(b: Builder, form):
    """An affine form as a value."""
    constant, terms = form
    total: core.Atom = integer(0)
    for v, c in terms.items():
        total = b.iadd(total, b.imul(v, c))
    return b.iadd(total, integer(constant))


def collectors(frame: list[Group], nest: Nest, arrays: dict, b: Builder) -> None:
    """One nest over the elements of all groups; each adds where it has something to add."""
    facts = nest.facts
    bounds = [limits(g, facts) for g in frame]
    loops = []
    for k, owner in enumerate(frame[0].owners):
        low = min((x[k][0] for x in bounds), key=lambda form: form[0])
        high = max((x[k][1] for x in bounds), key=lambda form: form[0])
        index = Var(owner.index.hint, "int64")
        facts.number(index)
        start, stop = atom_of(b, low), atom_of(b, high)
        facts.range[index] = (start, b.isub(stop, 1))
        loops.append((index, start, stop, low, high))
    inner = b.child(loop=True)
    for g, limit in zip(frame, bounds, strict=True):
        contribution(g, limit, loops, nest, arrays, inner)
    body = inner.block()
    for index, start, stop, _, _ in reversed(loops):
        around = Statements()
        around.repeat(index, start, stop, body, loc=nest.loop.loc, origin="reverse")
        body = tuple(around.stmts)
    b.stmts += body


def contribution(g: Group, limit, loops, nest: Nest, arrays: dict, b: Builder) -> None:
    """What one group adds to the element of a thread."""
    cond: core.Atom = Const(True, "bool")
    for (index, _, _, low, high), (first, last) in zip(loops, limit, strict=True):
        if first != low:
            cond = b.let("and", cond, b.compare("ge", index, atom_of(b, first)), dtype="bool")
        if last != high:
            cond = b.let("and", cond, b.compare("lt", index, atom_of(b, last)), dtype="bool")
    guarded = not isinstance(cond, Const)
    into = b.child() if guarded else b
    mapping: dict = {}
    for (index, *_), owner, (constant, terms, width) in zip(loops, g.owners, g.shifts, strict=True):
        place = into.isub(index, atom_of(into, (constant, dict(terms))))
        mapping[owner.index] = place if width is None else into.let("mod", place, width, dtype="int64")
    here = [index for index, *_ in loops]
    body = rebuilt((nest.loop,), g, path_statements(g.path), nest, arrays, here)
    into.stmts.extend(substitute(body, mapping))
    if guarded:
        everywhere = all(exists_everywhere(s.array, g.axes, loops, nest.facts) for s in g.stores)
        if everywhere:
            guarded_by(b, cond, into.block())
        else:
            b.branch(cond, into.block())


def exists_everywhere(array: core.Arr, axes, loops, facts: Facts) -> bool:
    """Whether an array has an element for each thread: other groups of the nest may add to a longer one."""
    return all(facts.at_least(start) and facts.at_most(stop, array.shape[axis])
               for axis, (_, start, stop, _, _) in zip(axes, loops, strict=True))


def guarded_by(b: Builder, cond, body: tuple) -> None:
    """Emit statements under a condition; what they add to a thread's own element is 0 where it fails, and added once."""
    direct, own = stores(body), defined_in(body)
    if len(stores(walk(body))) > len(direct) or any(i in own for s in direct for i in s.index):
        return b.branch(cond, body)
    merges = [Merge(Var(s.array.hint, s.array.dtype), s.value, Const(0.0, s.array.dtype)) for s in direct]
    b.branch(cond, tuple(s for s in body if not is_store(s)), (), tuple(merges))
    b.stmts.extend(replace(s, value=m.var) for s, m in zip(direct, merges, strict=True))


def replaced(store, g: Group, here):
    """An addition at the element of the thread."""
    index = list(store.index)
    for axis, p in zip(g.axes, here, strict=True):
        index[axis] = p
    return replace(store, index=tuple(index))


def rebuilt(block, g: Group, path: list, nest: Nest, arrays: dict, here) -> tuple:
    """The statements of a nest that a group needs: its own loops are gone, the others and branches stay."""
    out: list = []
    for s in block:
        if path and s is path[0]:
            inner = next(block for stmt, block in g.path if stmt is s)
            body = rebuilt(inner, g, path[1:], nest, arrays, here)
            if is_branch(s):
                sides = (body, ()) if inner is s.then else ((), body)
                out.append(replace(s, then=sides[0], orelse=sides[1], merges=()))
            elif s in g.owners:
                out.extend(body)
            else:
                out.append(replace(s, carries=(), body=body, origin="reverse"))
        elif s in g.needed:
            out.append(s)
        elif s in g.stores:
            out.append(replaced(s, g, here))
        else:
            for v in core.defined(s):
                if v in g.kept:
                    b, index = element(nest.place[s].loops, nest.facts)
                    b.read(v, arrays[v], index)
                    out += b.stmts
    return tuple(out)


__all__ = ["collect"]
