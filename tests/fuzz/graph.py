"""Random short programs of Tensors: operations, views, changes in place, grad modes, hooks, compiled functions, Functions.

A program is text that runs with Tensors and with hyper-dual numbers (`hyperdual.py`), which share memory as NumPy does:
values, gradients and second derivatives must agree. An error that the documents name (a saved value that changed, a leaf
changed in place) is a refusal.
"""

from __future__ import annotations

import contextlib
import random
import textwrap
import traceback

import numpy as np

import autodiff as ad

from . import hyperdual
from .checks import Outcome

SHAPES = [(2, 3), (3,), (2,), (3, 2), ()]
REFUSALS = ("in-place operation", "modified by an inplace operation", "made inside no_grad", "multiple views",
            "Inference tensors")
FRESH = ["sin({a})", "cos({a})", "tanh({a})", "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} * {a}", "{a} / (1.0 + {b} * {b})",
         "-{a}", "0.5 * {a} + 1.0", "{a} @ {b}", "{a}.sum()", "{a}.sum(0)", "{a}.clone()", "stack([{a}, {b}])",
         "concatenate([{a}, {b}])", "where({a_mask}, {a}, {b})", "{a}[[1, 0]]", "{a}[{a_mask}]", "slope({a})",
         "compiled({a}, {b})", "Product.apply({a}, {b})", "compiled({a}, {a})"]
VIEWS = ["{a}[0]", "{a}[1:]", "{a}[None]", "{a}.reshape(-1)", "{a}.T", "{a}[:, 1]", "{a}[...]", "{a}[::2]", "{a}.detach()"]
CHANGES = ["{a} += {b}", "{a} *= {b}", "{a}.mul_(0.5)", "{a}.add_({b})", "{a}.sin_()", "{a}.tanh_()", "{a}[0] = {b}",
           "{a}[1:] = {b}", "{a}[{a_mask}] = 0.25", "{a}[[1, 0]] = {b}", "{a}.zero_()", "{a}[...] = {b}", "{a}[1:] *= {b}"]


@ad.differentiable(mode="python")
def compiled(a, b):
    return np.sin(a) * b + a * a


def compiled_by_hand(a, b):
    return hyperdual.sin(a) * b + a * a


class Product(ad.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a


class ProductByHand:
    @staticmethod
    def apply(a, b):
        return a * b


def slope(a):
    """cos(a), as a derivative."""
    if not ad.is_grad_enabled() or not a.requires_grad:
        return np.cos(a)
    b = a * 1.0                                         # which has no hooks
    return ad.grad(np.sin(b).sum(), b, create_graph=True)[0]


def of_tensors(values) -> dict:
    """The names of a program, for Tensors."""
    return {"leaf": lambda k: ad.tensor(values[k], requires_grad=True), "fixed": lambda k: ad.tensor(values[k]),
            **{n: getattr(np, n) for n in ("sin", "cos", "tanh", "stack", "concatenate", "where")},
            "no_grad": ad.no_grad, "inference_mode": ad.inference_mode, "slope": slope, "compiled": compiled,
            "Product": Product,
            "copies": lambda: ad.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t),
            "packed": lambda: ad.graph.saved_tensors_hooks(lambda t: t, lambda t: t)}


def of_duals(values, first=None, second=None) -> dict:
    """The names of a program, for hyper-dual numbers with these directions of leaves."""
    def leaf(k):
        zero = np.zeros(values[k].shape)
        one, two = (d.get(k, zero) if d else zero for d in (first, second))
        return hyperdual.Hyper(values[k].copy(), one.copy(), two.copy(), zero.copy())
    return {"leaf": leaf, "fixed": lambda k: hyperdual.Hyper(values[k].copy()), "slope": hyperdual.cos,
            "compiled": compiled_by_hand, "Product": ProductByHand, "copies": contextlib.nullcontext,
            "packed": contextlib.nullcontext, "inference_mode": hyperdual.no_grad,
            **{n: getattr(hyperdual, n) for n in hyperdual.__all__ if n != "Hyper"}}


class Writer:
    """A random program, written while it runs on hyper-dual numbers: statements whose shapes do not fit are left out."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        draw = np.random.default_rng(seed)
        self.values = [np.round(draw.uniform(-1.5, 1.5, self.random.choice(SHAPES[:4] if k < 2 else SHAPES)), 3)
                       for k in range(4)]
        self.leaves = self.random.choice([1, 2, 2, 3])
        self.lines: list[str] = []
        ways = directions(self.values, seed)
        self.env = {"np": np, **of_duals(self.values, ways, ways)}
        self.names: list[str] = []
        self.frozen: set = set()
        self.hooked = False
        self.made = 0
        for k in range(4):
            self.keep(f"x{k} = {'leaf' if k < self.leaves else 'fixed'}({k})")
            self.names.append(f"x{k}")
        for _ in range(self.random.randint(3, 9)):
            self.step()
        used = self.random.sample(self.names, min(len(self.names), self.random.randint(1, 3)))
        active = [n for n in self.names if np.any(self.env[n].parts[1]) and n not in used]
        used += self.random.sample(active, min(len(active), 2))
        self.keep("loss = " + " + ".join(f"(tanh({n}) * {round(self.random.uniform(-2, 2), 2)}).sum()" for n in used))

    def runs(self, text: str) -> bool:
        """Run a statement, whose result becomes a name that others may use; False where the shapes do not fit."""
        try:
            with np.errstate(all="ignore"):
                exec(text, self.env)
        except (ValueError, IndexError, TypeError):
            return False
        name = text.split("\n")[-1].strip().partition(" = ")[0]
        if name.isidentifier() and name[0] == "t":
            if self.env[name].value.size == 0:
                return False
            self.names.append(name)
        return True

    def keep(self, text: str) -> bool:
        done = self.runs(text)
        if done:
            self.lines.append(text)
        return done

    def step(self) -> None:
        choice = self.random.random()
        if choice < 0.12:
            mode = self.random.choice(["no_grad", "no_grad", "inference_mode", "copies", "packed"])
            kept = []
            for _ in range(self.random.randint(1, 3)):
                text = self.statement()
                if text is not None and self.runs(f"with {mode}():\n    {text}"):
                    kept.append(text)
            if kept:
                self.lines.append(f"with {mode}():\n" + textwrap.indent("\n".join(kept), "    "))
        elif choice < 0.16 and self.leaves > 1 and not self.frozen:
            k = self.random.randrange(self.leaves)
            if f"x{k}" in self.names:
                self.keep(f"x{k}.requires_grad_(False)")
                self.frozen.add(k)
                self.names.remove(f"x{k}") if self.random.random() < 0.5 and len(self.names) > 2 else None
        else:
            text = self.statement()
            if text is not None and self.keep(text) and text.startswith(f"{self.names[-1]} = ") and choice > 0.9 \
                    and not text.endswith(("]", ")", ".T")):
                name = self.names[-1]           # not a view, and used by nobody yet
                self.keep(f"if {name}.requires_grad:\n    {name}.register_hook(lambda g: g * 2.0)")
                self.hooked = True

    def statement(self) -> str | None:
        kind = self.random.random()
        forms = FRESH if kind < 0.45 else VIEWS if kind < 0.65 else CHANGES
        a, b = self.random.choice(self.names), self.random.choice(self.names)
        changes = forms is CHANGES
        if changes:                                     # leaves refuse: mostly something else is changed
            leaves = [self.env[f"x{k}"].value for k in range(self.leaves)]
            made = [n for n in self.names if not any(np.may_share_memory(v, self.env[n].value) for v in leaves)]
            a = self.random.choice(made) if made and self.random.random() < 0.97 else a
            if a in {f"x{k}" for k in self.frozen}:
                return None
        shape = self.env[a].value.shape
        if not shape:
            forms = [f for f in forms if "mask" not in f]
        mask = (np.arange(int(np.prod(shape))).reshape(shape) % 2 == 0).tolist()
        text = self.random.choice(forms).format(a=a, b=b, a_mask=f"np.array({mask})")
        if changes:
            return text
        self.made += 1
        return f"t{self.made} = {text}"

    def text(self) -> str:
        return "\n".join(self.lines)


def directions(values, seed: int) -> dict:
    draw = np.random.default_rng(seed)
    return {k: draw.standard_normal(v.shape) for k, v in enumerate(values)}


def script(writer: Writer, seed: int) -> str:
    return f"""import numpy as np
import autodiff as ad
from tests.fuzz.graph import of_tensors
values = [np.array(v) for v in {[v.tolist() for v in writer.values]}]
globals().update(of_tensors(values))        # from tests.fuzz.graph import attempt; attempt({seed})
{writer.text()}
loss.backward()
"""


def ran(text: str, names: dict) -> dict:
    env = {"np": np, **names}
    with np.errstate(all="ignore"):
        exec(text, env)
    return env


def attempt(seed: int) -> tuple[Outcome, str]:
    """Write and check the program of a seed."""
    writer = Writer(seed)
    shown = script(writer, seed)
    try:
        return check(writer, seed), shown
    except RuntimeError as e:
        if any(r in str(e) for r in REFUSALS):
            return Outcome("refused", next(r for r in REFUSALS if r in str(e)), str(e)), shown
        return Outcome("failed", type(e).__name__, traceback.format_exc()), shown
    except Exception as e:
        return Outcome("failed", type(e).__name__, traceback.format_exc()), shown


def differs(a, b) -> bool:
    return not np.allclose(a, b, rtol=1e-8, atol=1e-8, equal_nan=True)


def check(writer: Writer, seed: int) -> Outcome:
    text, values = writer.text(), writer.values
    tensors, duals = ran(text, of_tensors(values)), ran(text, of_duals(values))
    for name in [*writer.names, "loss"]:
        if name in tensors and differs(tensors[name].detach().numpy(), duals[name].value):
            return Outcome("failed", "value", f"{name}: {tensors[name]} for {duals[name].value}")
    loss = tensors["loss"]
    if not loss.requires_grad:
        return gradient_free(writer, values)
    leaves = {k: tensors[f"x{k}"] for k in range(writer.leaves)}
    way = np.random.default_rng(seed)
    d1, d2 = directions(values, seed), directions(values, seed + 1)
    expected = {k: float(ran(text, of_duals(values, {k: d1[k]}))["loss"].parts[1]) for k in leaves}
    second = not writer.frozen and not writer.hooked and way.random() < 0.6
    if second:
        inputs = list(leaves.values())
        found = ad.grad(loss, inputs, create_graph=True, allow_unused=True)
        got = {k: 0.0 if g is None else float((g.detach().numpy() * d1[k]).sum())
               for k, g in zip(leaves, found, strict=True)}
    else:
        times = int(way.integers(1, 3))
        for n in range(times):
            loss.backward(retain_graph=n + 1 < times)
        got = {k: 0.0 if t.grad is None else float((t.grad.numpy() * d1[k]).sum()) / times for k, t in leaves.items()}
        for k in writer.frozen:
            if leaves[k].grad is not None:
                return Outcome("failed", "a frozen leaf has a grad", f"x{k}")
            del expected[k]
    for k, e in expected.items():
        if differs(got[k], e):
            return Outcome("failed", "gradient", f"x{k}: {got[k]} for {e}")
    if not second:
        return Outcome("ok")
    slopes = [(g * ad.tensor(d1[k])).sum() for k, g in zip(leaves, found, strict=True) if g is not None and g.requires_grad]
    whole = float(ran(text, of_duals(values, {k: d1[k] for k in leaves}, {k: d2[k] for k in leaves}))["loss"].parts[3])
    mixed = 0.0
    if slopes:
        again = ad.grad(slopes, inputs, allow_unused=True)
        mixed = sum(float((h.numpy() * d2[k]).sum()) for k, h in zip(leaves, again, strict=True) if h is not None)
    return Outcome("failed", "second derivative", f"{mixed} for {whole}") if differs(mixed, whole) else Outcome("ok")


def gradient_free(writer: Writer, values) -> Outcome:
    """A loss that requires no grad: nothing that it was computed from may have had a derivative."""
    d = directions(values, 0)
    slope = ran(writer.text(), of_duals(values, {k: d[k] for k in range(writer.leaves)}))["loss"].parts[1]
    return Outcome("failed", "no gradient", f"0 for {slope}") if differs(slope, 0.0) else Outcome("skipped", "constant")
