"""gradcheck and gradgradcheck: the pullbacks of a function of Tensors against central differences."""

from __future__ import annotations

import warnings

import numpy as np

from . import modes
from .autograd import grad
from .tensor import Tensor, wrap


class GradcheckError(RuntimeError):
    """The pullbacks and the differences do not agree."""


def gradcheck(func, inputs, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True,
              nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
              check_batched_grad: bool = False, fast_mode: bool = False) -> bool:
    """Whether the gradients of `func(*inputs)` agree with central differences of step `eps`.

    inputs: a Tensor or a tuple; those that require grad are checked, and should be float64 or complex128.
    Agreement: |analytical - numerical| <= atol + rtol |numerical|. For complex numbers, real and imaginary parts are
    stepped apart, and the gradient of a real loss is dL/da + i dL/db.
    nondet_tol: how much two runs of the pullback may differ.
    Raises GradcheckError (or returns False without `raise_exception`), ValueError if no input requires grad.
    """
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    checked = [i for i in inputs if isinstance(i, Tensor) and i.requires_grad]
    if not checked:
        raise ValueError("gradcheck expects at least one input Tensor to require grad")
    for t in checked:
        if t.dtype not in (np.float64, np.complex128):
            warnings.warn(f"an input of gradcheck is {t.dtype}: differences need double precision", UserWarning,
                          stacklevel=2)
    try:
        compare(func, inputs, checked, eps, atol, rtol, nondet_tol)
        if check_batched_grad:
            compare_batched(func, inputs, checked)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def results(func, inputs):
    out = func(*inputs)
    return out if isinstance(out, (tuple, list)) else (out,)


def compare(func, inputs, checked, eps, atol, rtol, nondet_tol) -> None:
    with modes.enable_grad():
        outs = [o for o in results(func, inputs) if isinstance(o, Tensor) and o.requires_grad]
    numbers = [k for k, o in enumerate(results(func, inputs)) if isinstance(o, Tensor) and o.requires_grad]
    if not outs:
        raise ValueError("gradcheck: no output of the function requires grad")
    for number, out in zip(numbers, outs, strict=True):
        units = [1.0, 1j] if out.dtype.kind == "c" else [1.0]
        for unit in units:
            analytical, again = (rows(out, checked, unit) for _ in range(2))
            for a, b in zip(analytical, again, strict=True):
                if not np.allclose(a, b, rtol=0, atol=nondet_tol, equal_nan=True):
                    raise GradcheckError("the backward is not reentrant: it gives different results for the same input, by "
                                         f"more than nondet_tol={nondet_tol}")
            for k, (t, a) in enumerate(zip(checked, analytical, strict=True)):
                n = differences(func, inputs, t, number, unit, eps).reshape(a.shape)
                if not np.allclose(a, n, rtol=rtol, atol=atol, equal_nan=True):
                    raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {k}\nnumerical: "
                                         f"{n}\nanalytical: {a}")


def rows(out, checked, unit):
    """For each input, the gradients of Re(conj(unit) out_j), one row for each element j."""
    found: list = [[] for _ in checked]
    for j in range(out.size):
        seed = np.zeros(out.size, out.dtype)
        seed[j] = unit
        gs = grad(out, checked, wrap(seed.reshape(out.shape)), retain_graph=True, allow_unused=True)
        for k, (g, t) in enumerate(zip(gs, checked, strict=True)):
            found[k].append(np.zeros(t.size, t.dtype) if g is None else g.detach().numpy().ravel())
    return [np.array(f).reshape(out.size, -1) for f in found]


def differences(func, inputs, t: Tensor, number: int, unit, eps):
    def values():
        out = results(func, inputs)[number]
        return np.real(np.conj(unit) * out.detach()._array).ravel().astype(float)
    columns = []
    original = t._array
    work = np.array(original)
    t._array = work
    try:
        with modes.no_grad():
            for k in range(work.size):
                parts = []
                for step in ([eps, 1j * eps] if work.dtype.kind == "c" else [eps]):
                    old = work.flat[k]
                    work.flat[k] = old + step
                    above = values()
                    work.flat[k] = old - step
                    parts.append((above - values()) / (2 * eps))
                    work.flat[k] = old
                columns.append(parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1])
    finally:
        t._array = original
    return np.array(columns).T if columns else np.zeros((values().size, 0))


def compare_batched(func, inputs, checked) -> None:
    for out in results(func, inputs):
        if not isinstance(out, Tensor) or not out.requires_grad:
            continue
        seeds = np.random.default_rng(0).standard_normal((3, *out.shape)).astype(out.dtype)
        batched = grad(out, checked, wrap(seeds), retain_graph=True, allow_unused=True, is_grads_batched=True)
        for k in range(3):
            single = grad(out, checked, wrap(seeds[k]), retain_graph=True, allow_unused=True)
            for b, s in zip(batched, single, strict=True):
                if b is not None and not np.allclose(b._array[k], s._array):
                    raise GradcheckError("the batched gradient differs from the single ones")


def gradgradcheck(func, inputs, grad_outputs=None, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
                  gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0,
                  check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
                  fast_mode: bool = False) -> bool:
    """`gradcheck` of the gradient of `func`, with respect to its inputs and its cotangents (random unless given)."""
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    checked = [i for i in inputs if isinstance(i, Tensor) and i.requires_grad]
    if not checked:
        raise ValueError("gradgradcheck expects at least one input Tensor to require grad")
    outs = [o for o in results(func, inputs) if isinstance(o, Tensor) and o.requires_grad]
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        seeds = []
        for o in outs:
            data = rng.standard_normal(o.shape)
            data = data + 1j * rng.standard_normal(o.shape) if o.dtype.kind == "c" else data
            seeds.append(wrap(np.asarray(data, o.dtype)).requires_grad_())
        grad_outputs = tuple(seeds)
    grad_outputs = tuple(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)
    count = len(inputs)

    def gradient(*args):
        xs, seeds = args[:count], args[count:]
        found = [o for o in results(func, xs) if isinstance(o, Tensor) and o.requires_grad]
        wanted = [x for x in xs if isinstance(x, Tensor) and x.requires_grad]
        if not found:
            return tuple(wrap(np.zeros(w.shape, w.dtype)) for w in checked)
        return tuple(grad(found, wanted, seeds, create_graph=True, allow_unused=True, materialize_grads=True))
    return gradcheck(modes.enable_grad()(gradient), (*inputs, *grad_outputs), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception, nondet_tol=nondet_tol, check_batched_grad=check_batched_grad)


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
