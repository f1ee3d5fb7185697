"""Hooks on adjoints: a value that is what it was, whose adjoint passes through statements of the user's.

A hook is a library call, `y = x`, that brings the program of its own pullback. Reversed, it leaves that program in the
reverse sweep and a copy in the forward sweep: a derivative of a derivative is that of what the gradient computes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..language import core
from ..language.build import Builder, loops
from ..language.core import Arr, Function, Ref, Var
from ..language.facts import Facts
from ..language.names import defined_in, mentioned
from ..language.queries import called, calls_in
from ..language.rewrite import top_down
from ..language.substitution import substitute

HOOK = "rule:on_gradient"


@dataclass(eq=False)
class Hook:
    """The pullback of one call: statements that add to the adjoint of its operand. Fields as those of rules' programs."""

    body: tuple
    out_bars: tuple
    outs: tuple
    args: tuple
    arg_bars: tuple
    scalar_bars: tuple
    used: set

    def of(self, mask) -> Hook:
        """The pullback where the operands in `mask` have adjoints."""
        if mask[1]:
            return self
        nothing = (None,) * len(self.args)
        return replace(self, body=(), arg_bars=nothing, scalar_bars=nothing, used=set())


def hook_call(b: Builder, x, body, seed, result) -> Arr | Var:
    """Emit the call for the operand `x`, a buffer or number.

    body: statements from the adjoint `seed` to the adjoint of the operand, which they add to `result` if that is a buffer.
    What else they read becomes further operands, so that it is there when they run. Returns the value of the call.
    """
    own = defined_in(body) | {seed, result}
    read = [v for v in dict.fromkeys(mentioned(body)) if v not in own]
    read += [s for a in read if isinstance(a, Arr) for s in a.shape if isinstance(s, Var) and s not in read]
    arrays = [a for a in (seed, result, *read) if isinstance(a, Arr)]
    sizes = [s for a in arrays for s in a.shape if isinstance(s, Var)]
    read = list(dict.fromkeys([*read, *sizes]))
    mapping: dict = {v: Var(v.hint, v.dtype) for v in read if isinstance(v, Var)}
    for a in arrays:
        mapping[a] = Arr(a.hint, a.dtype, tuple(mapping.get(s, s) for s in a.shape), a.why)
    if isinstance(seed, Var):
        mapping[seed] = Var(seed.hint, seed.dtype)
    made = substitute(body, mapping)
    array = isinstance(x, Arr)
    bar = mapping.get(result, result)
    spare = Arr("value", x.dtype, x.shape) if array else Var("value", x.dtype)
    params = tuple(mapping[v] for v in read)
    others = (None,) * len(read)
    value = Arr("y", x.dtype, x.shape) if array else Var("y", x.dtype)
    used = {m for s in core.walk(made) for m in core.operands(s)} | set(params)
    hook = Hook(made, (mapping[seed],), (value,), (spare, spare, *params), (None, bar if array else None, *others),
                (None, None if array else bar, *others), used - {spare, value})
    out = b.alloc("v", x.dtype, x.shape) if array else Var("v", x.dtype)
    if isinstance(out, Var):
        b.facts.number(out)
    operands = tuple(Ref(v) if isinstance(v, Arr) else v for v in (x, x, *read))
    b.call((out,), HOOK, operands, (hook,))
    return out


def without_hooks(block) -> tuple:
    """Statements with copies in the places of hooks."""
    def copied(s):
        if called(s) != HOOK:
            return None
        (target,), source, b = s.outs, s.args[0], Builder(Facts())
        if isinstance(target, Var):
            b.bind(target, "link", source, core.Const(1.0, source.dtype), source, loc=s.loc)
            return b.stmts
        where, whence = (r if isinstance(r, Ref) else Ref(r) for r in (target, source))
        loops(b, where.shape, lambda bb, index: bb.store(
            where.array, (*where.prefix, *index), bb.load(whence.array, (*whence.prefix, *index), "t")))
        return b.stmts
    return top_down(block, copied)


def has_hooks(function: Function) -> bool:
    return any(s.op == HOOK for s in calls_in(function.body))


__all__ = ["HOOK", "Hook", "has_hooks", "hook_call", "without_hooks"]
