"""Questions about a derivative: why it is zero, what memory it takes, where it is wrong."""

import numpy as np
import pytest

from autodiff import AutodiffWarning, NonDifferentiable, TypeConflict, checkpoint, grad
from autodiff.rules import constant

X = np.array([0.3, 0.2, 0.5])


def rounded(x):
    return np.round(x)


constant(rounded)


def integer_cast(x, y):
    s = 0.0
    for i in range(int(x[0] * 9.0)):
        s += y[i]
    return s


def branch(x, y):
    if x[0] > 0.2:
        return np.sum(y)
    return np.sum(y * 2.0)


def floored(x, y):
    return np.sum(y) + np.floor(x[0]) * 2.0


def overwritten(x, y):
    x[:] = y
    return np.sum(x * y)


def unread(x, y):
    return np.sum(y)


def sized(x, y):
    return np.sum(y) / len(x)


def position(x, y):
    z = np.sin(x)
    return np.sum(y) + y[np.argmax(z)]


def sorting(x, y):
    order = np.argsort(x * 2.0)
    return np.sum(y[order] * np.arange(3.0))


def declared(x, y):
    return np.sum(y) * rounded(x[1] + 1.0)


def unused(x, y):
    w = np.sin(x[0])
    w = y[1]
    return w


def iterations(x, y):
    s, t = x[0], 0.0
    while s < 3.0:
        s = s * 2.0
        t += y[0]
    return t


CUT = [(integer_cast, "integer", "int(x[0] * 9.0)"), (branch, "compared", "if x[0] > 0.2:"),
       (floored, "rounded", "np.floor"),
       (overwritten, "overwritten", "x[:] = y"), (unread, "never read", ""), (sized, "its size", ""),
       (position, "compared", "np.argmax(z)"), (sorting, "positions", "np.argsort"),
       (declared, "constant", "rounded(x[1] + 1.0)"),
       (unused, "not part of the result", "np.sin(x[0])"), (iterations, "compared", "while s < 3.0:")]


@pytest.mark.parametrize("function, reason, line", CUT, ids=lambda f: getattr(f, "__name__", ""))
def test_why_it_is_zero(function, reason, line):
    gradient = grad(function, wrt=("x", "y"), mode="python")
    x_bar, y_bar = gradient(X.copy(), np.array([0.7, 0.4, 0.1]))
    assert not x_bar.any() and y_bar.any()
    found = gradient.why("x")
    assert not found.depends
    assert reason in str(found)
    assert line in str(found) and (not line or f"test_answers.py:{found.steps[0].loc.line}" in str(found))
    assert gradient.why("y").depends


def test_why_it_is_not():
    def flowing(x, y):
        z = np.sin(x[0])
        seen = np.cos(x[1])
        if seen > 2.0:
            z += 1.0
        for i in range(len(y)):
            if y[i] > 0.0:
                z += y[i] * 0.5
        return z * 2.0 + len(y)
    gradient = grad(flowing, mode="python").specialize(X, X)
    found = gradient.why("x")
    assert found.depends and found.reason == ""
    assert [s.loc.text.strip() for s in found.steps] == ["z = np.sin(x[0])", "z += 1.0", "z += y[i] * 0.5",
                                                         "return z * 2.0 + len(y)"]
    assert str(found).startswith("the gradient of `x` flows through")
    assert str(gradient.why(1)) == str(gradient.why("y"))


def test_why_of_structures_and_of_what_has_no_gradient():
    def f(state, n):
        return state["a"] ** 2 * n + np.floor(state["b"])
    gradient = grad(f, mode="python").specialize({"a": 1.0, "b": 2.0}, 3)
    assert gradient.why("state").depends
    with pytest.raises(NonDifferentiable):
        gradient.why("n")
    with pytest.raises(TypeConflict):
        gradient.why("other")


# ---- the bill ------------------------------------------------------------------------------------------
def recurrent(W, x, steps):
    h = np.zeros(W.shape[0])
    for t in range(steps):
        h = np.tanh(W @ h + x[t])
    return np.sum(h)


def test_bill_is_what_the_run_allocates():
    """The sizes on the bill are those of the arrays that the generated program makes."""
    gradient = grad(recurrent, wrt=("W", "x"), mode="python")
    gradient(np.eye(9), np.ones((7, 9)), 7)
    bill = gradient.tape.bill((200, 200), (50, 200), 50)
    saved = {item.name: item for item in bill if item.holds.startswith("saved")}
    assert saved.keys() == {entry.name for entry in gradient.tape}
    assert {item.bytes for item in saved.values()} == {51 * 200 * 8}          # each state, and the one in front
    assert all("test_answers.py:" in item.where for item in saved.values())
    assert next(item for item in bill if item.name == "W_bar").bytes == 200 * 200 * 8
    assert bill.total == sum(item.bytes for item in bill) and not bill.unknown
    assert str(bill).splitlines()[-1] == f"{bill.total:,}" + str(bill).splitlines()[-1][len(f"{bill.total:,}"):]
    assert gradient.tape.bill(np.eye(9), np.ones((7, 9)), 7).total == gradient.tape.bill((9, 9), (7, 9), 7).total
    with pytest.raises(ValueError, match="specialize"):
        grad(recurrent, mode="python").specialize(np.eye(2), np.ones((0, 2)), 7).tape.bill((5, 5), (7, 5), 7)


def test_bill_of_what_the_run_decides():
    def marched(x, dt):
        t = 0.0
        while t < 1.0:
            x = x + dt * np.sin(x)
            t += dt
        return np.sum(x)
    gradient = grad(marched, mode="python").specialize(np.ones(20), 0.1)
    bill = gradient.tape.bill((30,), 0.1)
    assert [item.name for item in bill.unknown] == [entry.name for entry in gradient.tape]
    assert bill[0].bytes is None and str(bill).lstrip().startswith("?")
    assert bill.total % (30 * 8) == 0 and bill.total > 0


def test_bill_of_checkpoints():
    def simulated(u, c, steps):
        for _ in checkpoint(range(steps), snapshots=20):
            u = u + c * np.sin(np.roll(u, 1) - u)
        return np.sum(u * u)
    gradient = grad(simulated, mode="python").specialize(np.ones(20), 0.1, 1000)
    copies = [item for item in gradient.tape.bill((500,), 0.1, 1000) if item.holds.startswith("saved: copies")]
    assert [item.bytes for item in copies] == [20 * 500 * 8]


def test_bill_of_complex_arrays():
    """A complex number is two real ones."""
    def f(z):
        w = z * 1.0
        for _ in range(3):
            w = w * w
        return np.sum(np.abs(w))
    z = np.array([0.3 + 0.1j, 0.2 - 0.4j, 0.5 + 0.0j])
    gradient = grad(f, mode="python")
    gradient.specialize(z)
    assert gradient.tape.bill(z).total == gradient.tape.bill((3,)).total > 0


def test_lines_of_expressions_that_a_later_sum_computes():
    """Array expressions run where their elements are needed; the lines named are those where they stand."""
    def total(x, y, z):
        rounded = np.round(y)
        scaled = x * rounded
        shifted = scaled + z
        return np.sum(shifted)

    gradient = grad(total, wrt=(0, 1, 2), mode="python")
    gradient(np.arange(3.0), np.ones(3), 2.0)
    lines = {name: [step.loc.text.strip() for step in gradient.why(name).steps] for name in "xyz"}
    assert lines == {"x": ["scaled = x * rounded", "shifted = scaled + z", "return np.sum(shifted)"],
                     "y": ["rounded = np.round(y)"], "z": ["shifted = scaled + z", "return np.sum(shifted)"]}
    assert "return np.sum(shifted)" in gradient.source and "scaled = x" not in gradient.source


def test_what_decides_over_loops_that_write_arrays():
    """A loop inside of a branch, and an array that a library call reads from a place."""
    def in_a_branch(x, w):
        y = np.zeros(3)
        if x[0] > 0.2:
            for i in range(3):
                y[i] = w[i] * 2.0
        return np.sum(y)

    gradient = grad(in_a_branch, mode="python")
    with pytest.warns(AutodiffWarning):
        gradient(np.ones(2), np.ones(3))
    found = gradient.why("x")
    assert not found.depends and "only compared" in str(found)

    def of_a_place(x, a):
        k = int(x[0])
        return np.sum(np.linalg.inv(a[k]))

    gradient = grad(of_a_place, mode="python")
    gradient(np.ones(2), np.stack([np.eye(3), 2.0 * np.eye(3)]))
    assert "integer" in str(gradient.why("x")) and not gradient.why("x").depends

