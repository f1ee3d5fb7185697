"""What was computed from an array, or picked from a view of it, keeps its values when the array is written afterwards."""

import numpy as np
import pytest

from autodiff import AutodiffError, value_and_grad

from .fuzz.places import attempt

X = np.array([1.0, 2.0, -0.5])

FIRST = ("np.zeros((2, 3)) + x[0]", "np.outer(x[:2], x)")
VIEWS = ("v", "v[0]", "v.T", "v.ravel()", "np.diag(v)", "v.diagonal()", "np.broadcast_to(v, (2, *v.shape))",
         "np.lib.stride_tricks.sliding_window_view(v, 1, axis=0)", "np.swapaxes(v, 0, 1)", "np.einsum('ij->ji', v)",
         "np.meshgrid(v[0], v[0], copy=False)[0]")
MADE = ("w * 2.0", "np.take(w, [0], axis=0)", "w[[0]]", "(w * 2.0) + 1.0", "w[::-1] * 3.0", "[w + w][0]")


@pytest.mark.parametrize("first", FIRST)
def test_written_later(first, tmp_path):
    """Every way to see the array, and everything made of it; then it is written."""
    lines = ["import numpy as np\n\n"]
    for k, view in enumerate(VIEWS):
        made = [f"    m{j} = {text}" for j, text in enumerate(MADE)]
        total = " + ".join(f"{j + 1} * np.sum(m{j})" for j in range(len(MADE)))
        lines += [f"def f{k}(x):", f"    v = {first}", f"    w = {view}", *made, "    v *= 2.0", f"    return {total}\n\n"]
    (tmp_path / "written.py").write_text("\n".join(lines))
    space: dict = {"__name__": "written"}
    exec(compile((tmp_path / "written.py").read_text(), str(tmp_path / "written.py"), "exec"), space)
    for k in range(len(VIEWS)):
        assert value_and_grad(space[f"f{k}"], mode="python")(X)[0] == pytest.approx(space[f"f{k}"](X.copy())), VIEWS[k]


def test_what_is_read_only_is_not_written():
    def f(x):
        v = np.diag(np.outer(x, x))
        v[1:-1] += v[2:] - v[:-2]
        return np.sum(v)
    with pytest.raises(AutodiffError, match="read-only"):
        value_and_grad(f, mode="python")(X)


def test_random_programs():
    for seed in range(12):
        outcome, text = attempt(seed)
        assert outcome.verdict != "failed", f"{outcome.kind}: {outcome.text}\n{text}"
