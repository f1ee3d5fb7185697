"""`out=`: what NumPy does not cast into it is refused, what it cuts off is cut off."""

import numpy as np
import pytest

from autodiff import AutodiffError, value_and_grad

from .support import from_text

FILLED = {name: np.zeros(shape) for name, shape in (("o", 3), ("m", (3, 3)), ("s", ()))}
CALLS = """np.clip(x, 0.1, 0.9, out=o);np.round(x, out=o);np.stack([x, x, x], out=m)
np.concatenate([x], out=o);np.add(x, 1, out=o);np.sum(x, out=s);np.mean(x, out=s);np.max(x, out=s)
np.cumsum(x, out=o);np.dot(m, x, out=o);np.matmul(m, x, out=o);np.take(x, [0, 1, 2], out=o)
np.einsum('ij,j->i', m, x, out=o);np.outer(x, x, out=m);np.compress([1, 1, 1], x, out=o)
np.nansum(x, out=s);np.std(x, out=s);np.median(x, out=s);np.prod(x, out=s);np.any(x, out=s)
np.argmax(x, out=s);np.ptp(x, out=s);np.quantile(x, .5, out=s);np.linalg.multi_dot([m, m, x], out=o)
np.multiply.reduce(x, out=s);x.clip(0, 1, out=o);x.round(out=o);np.floor(x, out=o);np.less(x, 1, out=o)
np.nanmax(x, out=s)""".replace("\n", ";").split(";")


@pytest.mark.parametrize("call", CALLS)
def test_as_numpy(call):
    for kind in ("int", "np.float32", "bool")[:2 + len(call) % 2]:
        made = "".join(f"    {name} = np.zeros({a.shape}, {kind})\n" for name, a in FILLED.items() if f"out={name}" in call)
        known = "".join(f"    {name} = np.ones({a.shape})\n" for name, a in FILLED.items() if f"out={name}" not in call)
        text = f"import numpy as np\n\n\ndef f(x):\n{made}{known}    {call}\n    return x[0] + np.abs(np.sum({call[-2]}))\n"
        f = from_text(f"<out {call} {kind}>", text)
        x = np.array([0.6, 1.2, 1.7])
        try:
            expected = f(x)
        except (TypeError, ValueError) as e:
            with pytest.raises((TypeError, ValueError), match="(?i)cast|not acceptable|datatype|dtype"):
                value_and_grad(f, mode="python")(x)
            assert e
        else:
            np.testing.assert_allclose(value_and_grad(f, mode="python")(x)[0], expected, rtol=1e-6)


@pytest.mark.parametrize("call", ["np.sum(x, where=w)", "np.mean(x, where=w)", "np.max(x, where=w, initial=0.0)",
                                  "np.var(x, where=w)"])
def test_arrays_of_numbers_are_no_masks(call):
    for mask in ("[1, 0, 1]", "2.0", "np.array([1, 0, 1])", "np.array([True, False, True])", "np.array([1.0, 0.0, 1.0])"):
        f = from_text(f"<mask {call} {mask}>", f"import numpy as np\n\n\ndef f(x):\n    w = {mask}\n    return {call}\n")
        x = np.array([0.6, 1.2, 1.7])
        try:
            expected = f(x)
        except TypeError:
            with pytest.raises((TypeError, AutodiffError)):
                value_and_grad(f, mode="python")(x)
        else:
            np.testing.assert_allclose(value_and_grad(f, mode="python")(x)[0], expected)


def test_sums_are_held_in_the_wider_dtype_of_out():
    def f(x):
        o, p, q = np.zeros(4), np.zeros(4), np.zeros(())
        np.sum(np.full((4, 4), 2 ** 62), axis=0, out=o)
        np.cumprod(np.arange(4) + 2 ** 40, out=p)
        np.sum(np.full(4, 3e38, np.float32), out=q)
        return np.sum(o) * 1e-20 + np.sum(p) * 1e-40 + q * 1e-38 + x
    assert value_and_grad(f, mode="python")(0.5)[0] == pytest.approx(f(0.5), rel=1e-12)
