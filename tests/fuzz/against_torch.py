"""`python -m tests.fuzz.against_torch --programs 2000`: the programs of `graph.py` in torch, where it is installed.

Values, gradients, which tensors require grad, and whether a program is refused must agree. `--torch FOLDER` names a folder
that torch was installed into. For development: no test needs torch. Known differences: a view made in no_grad of what
requires grad does so in torch; a quotient saves its result here, and refuses its change; a pack hook that copies nothing
hides a change from torch, which then gives a wrong gradient.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter

import numpy as np

from .graph import Writer, of_tensors, script


def of_torch(values) -> dict:
    """The names of a program, for torch."""
    import torch

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return (g * b).sum_to_size(a.shape), (g * a).sum_to_size(b.shape)

    def slope(a):
        if not torch.is_grad_enabled() or not a.requires_grad:
            return torch.cos(a)
        b = a * 1.0
        return torch.autograd.grad(torch.sin(b).sum(), b, create_graph=True)[0]
    hooks = torch.autograd.graph.saved_tensors_hooks
    return {"leaf": lambda k: torch.tensor(values[k], requires_grad=True), "fixed": lambda k: torch.tensor(values[k]),
            "sin": torch.sin, "cos": torch.cos, "tanh": torch.tanh, "stack": torch.stack, "concatenate": torch.concatenate,
            "where": lambda m, a, b: torch.where(torch.as_tensor(m), a, b), "no_grad": torch.no_grad,
            "inference_mode": torch.inference_mode, "slope": slope, "compiled": lambda a, b: torch.sin(a) * b + a * a,
            "Product": Product, "copies": lambda: hooks(lambda t: t.clone(), lambda t: t),
            "packed": lambda: hooks(lambda t: t, lambda t: t)}


def ran(text: str, names: dict) -> tuple:
    """(the names after the program and its backward, the error that stopped it)."""
    env = {"np": np, **names}
    try:
        exec(text, env)
        if env["loss"].requires_grad:
            env["loss"].backward()
    except Exception as e:
        return env, e
    return env, None


def compared(seed: int) -> tuple[str, str]:
    """(what differs, the details) for the program of a seed; ("ok", "") where nothing does."""
    writer = Writer(seed)
    values, text = writer.values, writer.text()
    (ours, error), (theirs, other) = ran(text, of_tensors(values)), ran(text, of_torch(values))
    if error is not None or other is not None:
        if error is not None and other is not None:
            return "both refuse", ""
        return ("only torch refuses", repr(other)[:300]) if error is None else ("only autodiff refuses", repr(error)[:300])
    for name in [*writer.names, *(f"x{k}" for k in range(4))]:
        a, b = ours[name], theirs[name]
        if a._fixed == "no_grad":
            continue
        if not np.allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-9, equal_nan=True):
            return "value", f"{name}: {a} for {b}"
        if a.requires_grad != b.requires_grad:
            return "requires_grad", f"{name}: {a.requires_grad} for {b.requires_grad}"
        if a.is_leaf != b.is_leaf:
            return "is_leaf", f"{name}: {a.is_leaf} for {b.is_leaf}"
    for k in range(writer.leaves):
        a, b = ours[f"x{k}"].grad, theirs[f"x{k}"].grad
        if (a is None) != (b is None) or a is not None and not np.allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-9):
            return "gradient", f"x{k}: {a} for {b}"
    return "ok", ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.against_torch", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--torch", help="a folder that torch was installed into")
    parser.add_argument("--show", type=int, default=2, help="programs to print of each kind of difference")
    options = parser.parse_args()
    if options.torch:
        sys.path.append(options.torch)
    warnings.simplefilter("ignore")
    found: Counter = Counter()
    for k in range(options.programs):
        seed = options.seed * 1_000_000 + k
        kind, details = compared(seed)
        found[kind] += 1
        if kind not in ("ok", "both refuse") and found[kind] <= options.show:
            print("-" * 100, script(Writer(seed), seed), kind, details, sep="\n")
    print(", ".join(f"{n} {kind}" for kind, n in found.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
