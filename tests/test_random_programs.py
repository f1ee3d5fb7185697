"""Random programs: a fixed range of seeds here, more with `python -m tests.fuzz`; and what they have found."""

import ast

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, hvp, value_and_grad, vjp

from .fuzz.checks import outcome
from .fuzz.programs import Program, program
from .fuzz.shrink import script, shrink
from .support import assert_gradient, assert_slope


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::SyntaxWarning")
@pytest.mark.parametrize("start", range(0, 30, 15))
def test_random_programs(start):
    results = [(seed, outcome(program(seed), level=2 if seed % 10 == 0 else 1)) for seed in range(start, start + 15)]
    wrong = [script(program(seed), o.kind, o.text) for seed, o in results if o.verdict == "failed"]
    assert not wrong, "\n".join(wrong)
    assert sum(o.verdict == "ok" for _, o in results) >= 10


# ---- the fuzzer itself ---------------------------------------------------------------------------------
WRONG = """
import numpy as np
from autodiff.rules import partials

def bent(u):
    return u * u

@partials(bent)
def bent_partials(r, u):
    return 3.0 * u

def f(x, a):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0.1:
            s += np.sin(x[i]) * a
        s += bent(x[i] + a) * 0.5
    return s + np.sum(x) * a
"""


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_a_wrong_derivative_is_found_and_shrunk():
    wrong = Program(1, WRONG, '{"x": np.array([0.3, 0.7]), "a": 0.4}')
    found = outcome(wrong)
    assert (found.verdict, found.kind) == ("failed", "gradient")
    small = shrink(wrong, lambda p: outcome(p).kind == "gradient", seconds=20.0)
    assert outcome(small).kind == "gradient"
    body = ast.parse(small.source).body[-1]
    assert "bent" in ast.unparse(body) and len(ast.unparse(body)) < 100
    assert "sin" not in small.source
    compile(script(small, "gradient", found.text), "script", "exec")


def test_a_right_program_passes_all_checks():
    right = Program(1, WRONG.replace("3.0", "2.0"), '{"x": np.array([0.3, 0.7]), "a": 0.4}')
    found = outcome(right, level=2)
    assert found.verdict == "ok"
    assert {"split", "joint", "gradient", "forward", "second order"} <= set(found.checks)


def test_refusals_are_not_failures():
    assert outcome(Program(1, "def f(x):\n    global y\n    y = x\n    return x * 2.0\n", '{"x": 0.5}')
                   ).verdict == "refused"
    assert outcome(Program(1, "def f(x):\n    return y\n", '{"x": 0.5}')).verdict == "skipped"


# ---- what random programs have found -------------------------------------------------------------------
def sizes_of_a_dropped_loop(x, y, a, b):
    """A reverse loop without statements takes with it the sizes it had computed for later loops."""
    x[-1] = a / (1.5 + y[1] ** 2)
    zeros = np.zeros(len(y))
    if np.tanh(b) - 0.5 * sum(zeros) > 0.2:
        x[1:] += y[:-1]
        x[:] = x * y * y + a
    joined = np.concatenate([zeros[1:], np.array([a])])
    a -= joined[0]
    return np.sum(x * y) + a * b + a / (1.5 + np.tanh(joined[2]) ** 2)


def list_on_one_path_only_longer(x, a):
    """Structures that differ on inner paths are not a name without a value."""
    items = [a, a * a, 0.5]
    if a > 0.2:
        if x[0] > 0.1:
            for i in range(len(x)):
                items += [items[i] * x[i]]
    else:
        items = [v * 0.5 for v in items]
    items += [items[1]]
    return np.tanh(sum(items))


def test_sizes_of_a_dropped_loop():
    args = (np.array([0.3, 0.5, 0.7, 0.2]), np.array([0.4, -0.3, 0.6, 0.1]), 0.4, 0.7)

    def copied(x, y, a, b):
        return sizes_of_a_dropped_loop(x.copy(), y, a, b)
    assert_gradient(copied, args, (0, 1, 2, 3), "python")


@pytest.mark.parametrize("first", [0.3, 0.05])
@pytest.mark.parametrize("a", [0.4, 0.1])
def test_list_on_one_path_only_longer(first, a):
    args = (np.array([first, 0.5, 0.7]), a)
    assert_gradient(list_on_one_path_only_longer, args, (0, 1), "python")
    value, _ = value_and_grad(list_on_one_path_only_longer)(*args)
    np.testing.assert_allclose(value, list_on_one_path_only_longer(*args))


def items_of_what_the_name_saw_first(x, y):
    """A loop runs over the array its name saw before the loop, whatever the name is bound to in it."""
    s = 0.0
    for _ in range(2):
        x = y * 1.0
        for e in x:
            x = x * 0.5
            s = s * 0.9 + e * e
    return s + np.sum(x)


def items_while_names_change_places(x, y):
    s = 0.0
    for k in range(len(x)):
        for e, g in zip(x, y):
            x, y = y, x
            s = s * 0.9 + e * g * x[k]
    for k, e in enumerate(x[::-1]):
        x, y = y, x * 0.5
        s = s * 0.9 + k * e * e
    return s


def indices_from_many_sizes(x, y):
    """Slices of arrays whose sizes come from slices: proofs about them once took minutes."""
    x[::-1] -= np.array([u * 0.5 for u in y]) * np.maximum(np.concatenate((x[::2], y[:-2])), np.sin(x[:]))
    w = x[-2:]
    return -0.7 + np.sum(x * x) + np.sum(w * w)


def test_sizes_from_sizes():
    args = (np.array([0.653, -0.332, -0.287]), np.array([0.262, 0.851, -0.293]))
    assert_gradient(indices_from_many_sizes, args, (0, 1), "python")


def items_of_an_expression(x, y):
    """An expression a loop runs over is computed before what it reads is written."""
    s = 0.0
    for e in x * y:
        x[:] = np.sin(y)
        s = s * 0.9 + e * x[1]
    return s


def places_in_a_dict(x, y):
    """An array in a dict changes places with another one."""
    state = {"place": x, "speed": 0.5}
    for k in range(len(y)):
        y, state["place"] = state["place"] * y[k], y
    return np.sum(y * state["place"]) * state["speed"]


def swapped_in_a_dict(x, y):
    state = {"place": np.sin(x), "speed": 0.5}
    for k in range(len(y)):
        y, state["place"] = state["place"], y
        if y[k] > 0.0:
            y = y * 2.0
    return np.sum(y * y[::-1] * state["place"]) * state["speed"]


@pytest.mark.parametrize("function", [places_in_a_dict, swapped_in_a_dict, items_of_what_the_name_saw_first,
                                      items_while_names_change_places, items_of_an_expression])
def test_items_of_loops(function):
    x = np.array([0.2, -0.9, 0.4, 0.1])

    def copied(x, y):
        return function(x.copy(), y)
    copied = function if function is not items_of_an_expression else copied
    assert_gradient(copied, (x, x[::-1] * 0.7 + 0.1), (0, 1), "python")


def written_before_names_change_places(x, y):
    first = y
    for _ in range(len(x)):
        x *= 0.5
        x, y = y, x
    return np.sum(first)


def written_while_a_loop_runs_over_it(x, y):
    for e in y:
        x *= e
        x, y = y, x
    return np.sum(y)


def second_name_from_the_iteration_before(x, y):
    s = 0.0
    for _ in range(len(x)):
        y[0] += 1.0
        s += x[0]
        x = y
    return s


def written_after_the_loop(x, y):
    for _ in range(len(x)):
        x = y
    y[0] = 5.0
    return np.sum(x)


def written_after_the_branch(x, y):
    if y[0] > 0.0:
        x = y
    y[0] = 5.0
    return np.sum(x)


@pytest.mark.parametrize("function", [written_before_names_change_places, written_while_a_loop_runs_over_it,
                                      written_after_the_loop, second_name_from_the_iteration_before,
                                      written_after_the_branch])
def test_memory_that_cannot_be_followed_is_refused(function):
    """Two names that see one memory in NumPy, but two buffers here: no write may go to one of them."""
    with pytest.raises(UnsupportedSyntax):
        vjp(function, np.ones(3), np.ones(3) * 0.3, mode="python")


def places_changed_on_one_path(x, y):
    """Memory that changes hands, in loops and branches, but has one name at a time, may be written."""
    for k in range(len(x)):
        if x[k] < 0.3:
            x, y = y, x * 1.0
        y[k] *= 0.5 + x[0]
    if x[0] > 0.0:
        x, y = y, x
    x[1] += y[0]
    return np.sum(x * x) + np.sum(y)


def bound_and_written_after(x, y):
    """What is written is new in every iteration: nothing to refuse."""
    for _ in range(len(x)):
        x[0] += 0.1
        z = y * x
        x = z
        z[1] += x[0]
    w = x
    x = w * 0.5
    x[-1] = 0.3
    return np.sum(y) + np.sum(x * x) + np.sum(w)


def part_of_itself_subtracted(x, y):
    """What an expression in a dict or list is changed by reads the memory that is changed."""
    state, rows = {"place": np.maximum(np.outer(x, y), 0.1)}, [x * y, y]
    state["place"] -= state["place"][0]
    rows[0] -= rows[0][1]
    return np.sum(state["place"] * state["place"].T) + np.sum(rows[0] ** 2)


def raised(row, by):
    row[1] = by


def view_of_an_item_written(x, y):
    """A view of an expression in a dict or list is a view of what the container holds."""
    state, rows = {"place": x * y, "speed": 0.5}, [x - y, y]
    raised(state["place"][1:], y[0])
    tail = rows[0][::-1]
    tail[0] = x[2]
    return np.sum(state["place"] ** 2) * state["speed"] + np.sum(rows[0] * y)


@pytest.mark.parametrize("function", [bound_and_written_after, places_changed_on_one_path, view_of_an_item_written,
                                      part_of_itself_subtracted])
def test_memory_with_one_name_is_written(function):
    x = np.array([0.2, -0.9, 0.4, 0.1])
    assert_gradient(lambda x, y: function(x.copy(), y.copy()), (x, x[::-1] * 0.7 + 0.1), (0, 1), "python")


def sizes_between_loops(x, A, b):
    """What stands between two loops that are joined is not computed in the joint loop, which may not run at all."""
    x[:] = np.sqrt(b)
    x[:] = b
    return np.sum(x) + np.sum(A)


def test_sizes_between_loops():
    for n in (0, 3):
        value, (x_bar, a_bar, b_bar) = value_and_grad(sizes_between_loops, wrt=(0, 1, 2), mode="python", debug=True)(
            np.zeros(n), np.zeros((2, 0)), 0.3)
        assert (value, x_bar.shape, a_bar.shape) == (0.3 * n, (n,), (2, 0))
        assert b_bar == n


def branch_inside_its_own_condition(y, b, at):
    """Branches are joined one inside the other; what the inner ones need is known by its new name."""
    if b > 0.2:
        return np.mean(y)
    y[at[1]] -= 0.5 if b > 0.2 else b
    return 0.0


@pytest.mark.parametrize("b", [0.7, -0.3])
def test_branch_inside_its_own_condition(b):
    args = (np.array([0.3, -0.2, 0.5]), b, np.array([1, 2]))
    value, gradients = value_and_grad(branch_inside_its_own_condition, wrt=(0, 1), mode="python", debug=True)(*args)
    assert_gradient(lambda y, b, at: branch_inside_its_own_condition(y.copy(), b, at), args, (0, 1), "python")
    np.testing.assert_allclose(value, branch_inside_its_own_condition(args[0].copy(), *args[1:]))


def test_deviation_of_equal_numbers():
    """As torch's, the standard deviation has derivative 0 where it is 0."""
    value, (a_bar, x_bar) = value_and_grad(lambda a, x: np.std(a) + np.sum(np.std(x, axis=1)), wrt=(0, 1), mode="python")(
        0.3, np.array([[0.5, 0.5], [1.0, 3.0]]))
    assert (value, a_bar) == (1.0, 0.0)
    np.testing.assert_allclose(x_bar, [[0.0, 0.0], [-0.5, 0.5]])


def test_second_order_of_a_constant():
    """Sizes that only the adjoints need are kept for the second derivative."""
    product = hvp(lambda x, y: 0.5, mode="python", debug=True)(np.ones(3), np.ones(2), np.ones(3))
    np.testing.assert_array_equal(product, np.zeros(3))


def empty_slices_on_two_paths(x, A):
    if np.sum(x) > 0.0:
        return A[0:3]
    return A[0:3] * 2.0


def test_empty_slices_on_two_paths():
    out, pull = vjp(empty_slices_on_two_paths, np.ones(2), np.zeros((4, 0)), mode="python", debug=True)
    assert out.shape == (3, 0)
    assert pull(out)[1].shape == (4, 0)


def counted_in_a_call(v):
    w = np.array([v, v, (np.zeros(3) + v) @ np.full(3, v)])
    for i in range(2):
        w[w > 0.5] = v
        v = abs(np.arctan2(v, 2.0 + (i % 1) ** 2)) * 0.7
    return np.sum(w * w)


def called_with_and_without_derivative(x, a, b):
    if counted_in_a_call(a) > 0.1:
        x = x * 2.0
    x[x > 0.3] = counted_in_a_call(b)
    return np.sum(x)


def test_one_call_with_and_one_without_a_derivative():
    """What is made of a unit for one of them must not change the other's sizes."""
    args = np.array([-0.514, -0.864, 0.594, -0.134]), 0.3, 0.7
    value, pull = vjp(called_with_and_without_derivative, *args, mode="python", debug=True)
    assert np.isclose(value, called_with_and_without_derivative(*args))
    assert_slope(pull(1.0)[2], called_with_and_without_derivative, args, 2, 1.0)
