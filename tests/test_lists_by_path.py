"""Lists outside of a function, of different lengths, one of which a name means by the way the program went."""

import pytest

from autodiff import AutodiffError, check_grads, grad, value_and_grad

from .support import module_of

SHORT, LONG = [0.5, 4.0], [1.0, 2.0, 3.0]
LIMITS, ROWS = [0.3, 0.6, 1.0], [[1.0, 2.0], [3.0, 4.0, 5.0], [0.5]]


def horner(coefficients, x):
    total = 0.0
    for c in coefficients:
        total = total * x + c
    return total


def by_branch(x):
    if 0.0 <= x <= 0.7:
        p, offset = LONG, 0.26
    elif x < 0.99:
        p, offset = SHORT, 0.3
    else:
        raise ValueError("only below 0.99")
    return horner(p, x - offset) * len(p)


def by_search(x):
    for i in range(len(LIMITS)):
        if x <= LIMITS[i]:
            row = ROWS[i]
            break
        elif i == len(LIMITS) - 1:
            row = ROWS[-1]
    return horner(row, x) + row[-1] * x


def in_a_loop(x):
    s = 0.0
    for k in range(5):
        if x * k < 1.0:
            p = LONG
        elif x * k < 1.5:
            p = SHORT
        else:
            p = [x, x * x]
        s += horner(p, x)
    return s


def copied(x):
    p = LONG
    if x < 0.5:
        p = SHORT
    own = list(p)
    own.append(x)
    return horner(own, x) + horner(p + [x], x) + sum(p)


@pytest.mark.parametrize("function", [by_branch, by_search, in_a_loop, copied])
def test_reading(function):
    for x in (0.2, 0.43, 0.8):
        assert value_and_grad(function, mode="python")(x)[0] == pytest.approx(function(x), rel=1e-14)
        check_grads(function, (x,), modes=("fwd", "rev"), mode="python")
    if function is by_branch:
        with pytest.raises(ValueError, match="below 0.99"):
            grad(function, mode="python")(1.2)


CHANGES = ["p.append(x)", "p[0] = x", "p[0] += x", "p.sort()", "p.pop()", "del p[0]", "p.extend([x])", "p.insert(0, x)",
           "q = p; q.append(x)", "change(p)"]


def change(items):
    items.append(1.0)


@pytest.mark.parametrize("statement", CHANGES)
def test_changes_are_refused(statement):
    """They would change the list outside."""
    text = f"def f(x):\n    p = LONG\n    if x < 0.5:\n        p = SHORT\n    {statement}\n    return horner(p, x)\n"
    space = module_of("change_of_a_list", text, dict(globals()))
    with pytest.raises(AutodiffError, match="exists outside"):
        grad(space["f"], mode="python")(0.4)
    assert (SHORT, LONG) == ([0.5, 4.0], [1.0, 2.0, 3.0])


def changed_before(x):
    p = [x, 1.0]
    for k in range(3):
        p.append(2.0)
        if x < k:
            p = SHORT
        elif x > 1.0:
            p = LONG
    return horner(p, x)


def test_a_change_in_the_next_iteration_is_refused():
    with pytest.raises(AutodiffError, match="exists outside"):
        grad(changed_before, mode="python")(0.4)
