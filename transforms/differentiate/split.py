"""Splitting a joint program into a forward part that returns its tape and a linear part, a pullback say, that reads it."""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder
from ..language.core import Arr, Function, Var, defined, walk
from ..language.names import defined_in, names_in
from ..language.queries import allocations, is_size, operation
from ..language.substitution import substitute
from ..optimise.simplify import remove_dead, resolve_links


def split(program: Function, forward_size: int, params: int, results: int, name: str,
          kind: str = "pullback") -> tuple[Function, Function]:
    """(forward, pullback): forward returns the results, then the residuals; the pullback takes residuals, then seeds.

    kind: what the second part is called.
    The pullback leaves its residuals as they are: buffers that it restores or swaps are copied first.
    """
    forward_size -= sum(operation(s) in ("link", "stop") for s in program.body[:forward_size])
    program = resolve_links(program)                # which drops those statements
    forward_body, linear_body = program.body[:forward_size], program.body[forward_size:]
    bars = program.returns[results:]
    seeds = program.params[params:]
    inner = remove_dead(Function("linear", program.params, linear_body, bars)).body
    wanted = names_in(inner) | {b for b in bars if isinstance(b, (Var, Arr))}
    shapes = {s for a in wanted if isinstance(a, Arr) for s in a.shape if isinstance(s, Var)}
    own = defined_in(inner)
    residuals = [x for x in ordered(forward_body, program.params[:params]) if x in (wanted | shapes) and x not in own]
    sized = dict.fromkeys(stmt.args[0] for stmt in walk(inner) if is_size(stmt))
    residuals += [a for a in sized if a not in residuals and a not in own]
    forward = Function(f"{name}_forward", program.params[:params], forward_body,
                       program.returns[:results] + tuple(residuals), program.copied - frozenset(seeds))
    written = core.written(inner)
    changed = [a for a in residuals if a in written and not core.is_generator(a)]       # a generator's state is put back
    mapping: dict = {}
    copies = Builder()
    grown = {stmt.array for stmt in walk(forward_body) if isinstance(stmt, core.Resize)}
    for a in changed:
        shape = a.shape
        if a in grown:
            length = Var(f"{a.hint}_length", "int64")
            copies.size(length, a, 0)
            shape = (length, *shape[1:])
        twin = copies.make(Arr(a.hint, a.dtype, shape))
        copy_into(copies, twin, a)
        mapping[a] = twin
    body = tuple(copies.stmts) + (substitute(inner, mapping, fresh=False) if mapping else tuple(inner))
    back = Function(f"{name}_{kind}", tuple(residuals) + tuple(seeds), body,
                    tuple(mapping.get(b, b) for b in bars), program.copied & frozenset(seeds))
    return forward, back


def ordered(body, params):
    """Parameters, then everything the top block of `body` defines, in order."""
    return dict.fromkeys((*params, *(x for stmt in body for x in (*defined(stmt), *allocations((stmt,))))))


def copy_into(b: Builder, target: Arr, source: Arr, index=()) -> None:
    if len(index) == len(target.shape):
        return b.store(target, index, b.load(source, index))
    i = Var("ijkl"[len(index) % 4], "int64")
    inner = b.child(loop=True)
    copy_into(inner, target, source, (*index, i))
    b.repeat(i, 0, target.shape[len(index)], inner.block(), origin="array")


__all__ = ["replace", "split"]
