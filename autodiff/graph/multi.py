"""Hooks on several Tensors at once."""

from __future__ import annotations

import threading

from .engine import current_sweep


class MultiHandle:
    """Removes the hooks that `register_multi_grad_hook` placed."""

    def __init__(self, handles):
        self.handles = handles

    def remove(self) -> None:
        for h in self.handles:
            h.remove()


def register_multi_grad_hook(tensors, fn, *, mode: str = "all") -> MultiHandle:
    """Call `fn` in each backward pass once the gradients of several Tensors are there.

    mode "all": `fn(grads)`, a list in the order of `tensors` with None for those that got none, after the last of them
    has arrived; "any": `fn(grad)` with the first. Raises ValueError for another mode.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"mode must be 'all' or 'any', not {mode!r}")
    tensors = tuple(tensors)
    state = threading.local()

    def of(k):
        def hook(grad):
            sweep = current_sweep()
            assert sweep is not None
            if getattr(state, "sweep", None) is not sweep:
                state.sweep, state.grads = sweep, [None] * len(tensors)
                state.waiting = sum(sweep.reaches(t._edge()[0]) for t in tensors)
                state.done = False
            state.grads[k] = grad
            state.waiting -= 1
            if state.done:
                return
            if mode == "any":
                state.done = True
                fn(grad)
            elif state.waiting == 0:
                state.done = True
                fn(state.grads)
        return hook
    return MultiHandle([t.register_hook(of(k)) for k, t in enumerate(tensors)])


__all__ = ["MultiHandle", "register_multi_grad_hook"]
