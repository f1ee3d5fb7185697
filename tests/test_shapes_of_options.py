"""Arrays given as options of NumPy's functions, and values of `ufunc.at`, must have the shapes that NumPy takes."""

import numpy as np
import pytest

from autodiff import AutodiffError, differentiable

from .support import from_text

STATEMENTS = """np.sum(x, -1, where=v > 0.5)|np.sum(x, where=v > 0.5)|np.prod(s, axis=(0, 1), where=v > 0.5)
np.mean(x, where=v > 0.5)|np.max(x, where=v > 0.5, initial=0.0)|np.sum(x, where=x[0] > 0.5)
np.sum(x, where=x[:, :1] > 2.5)|np.sum(v, where=x > 0.5)|np.mean(x, axis=0, where=x[:, :1] > 2.5)
np.var(x, where=v > 0.5)|np.any(x, where=v > 0.5)|np.sum(x[0], where=s[0] > 0.5)|np.add.at(x, [0, 1], v)
np.add.at(v, [0, 1, 2], x[0])|np.add.at(v, [0, 1], x[0])|np.add.at(v, [0, 0], x[0, :2])
np.add.at(v, [0, 1, 2, 3], x[0, :2])|np.add.at(x, (slice(None), [0, 1]), v)
np.subtract.at(v, [0, 0], x[0])|np.multiply.at(v, [0], x[0])|np.multiply.at(x, [0, 0], x[1])
np.maximum.at(v, [0, 1], x[0])|np.add.at(x, [[0], [1]], x[0])|np.add.at(v, [0, 0], x[:2, :2])
np.sum(x, axis=0, out=v)|np.sum(x, out=v)|np.sum(x, axis=0, out=x)|np.mean(x, axis=1, out=x[0])
np.max(x, axis=0, out=x[1])|np.sum(x, axis=0, keepdims=True, out=x)|np.median(x, axis=0, out=x)
np.take(x, [0, 1], out=v)|np.clip(x, 0, 1, out=v)|np.add(v, x, out=x)|np.dot(x, x.T, out=x)
np.cumsum(x, axis=0, out=v)|np.trace(x, out=v)|np.take(v, [7], mode="edge")
np.choose([0, 1], [v[:2], v[1:3]], mode="edge")|np.correlate(v, v, "edge")|np.mean(x, axis=5)
np.nanmedian(x, axis=1)|np.nanquantile(x, 0.3, axis=0)
np.nanpercentile(s, 20, axis=(0, 2), keepdims=True)|np.copyto(x, v)|np.quantile(x, 0.5, method="edge")
np.sort(x, axis=3)|np.roll(x, 1, axis=(0, 5))|np.cov(x, ddof=5)""".replace("\n", "|").split("|")


@pytest.mark.parametrize("statement", STATEMENTS)
def test_as_numpy(statement):
    f = from_text(f"<options {statement}>", "import numpy as np\n\n\ndef f(x, v, s):\n"
                  f"    made = {statement}\n    return (made if made is not None else 0.0), x, v\n")
    args = np.arange(12.0).reshape(3, 4), np.arange(1.0, 6.0), np.arange(24.0).reshape(2, 3, 4)
    with np.errstate(all="ignore"):
        try:
            expected = f(*(a.copy() for a in args))
        except (ValueError, TypeError, IndexError):
            with pytest.raises((ValueError, TypeError, IndexError, AutodiffError)):
                differentiable(f, mode="python")(*(a.copy() for a in args))
            return
        found = differentiable(f, mode="python")(*(a.copy() for a in args))
    for a, b in zip(found[:1], expected[:1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
