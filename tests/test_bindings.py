"""Names that only some paths bind, and what names stand for: as in Python, or an error of Python's."""

import numpy as np
import pytest

from autodiff import AutodiffError, value_and_grad

from .fuzz.bindings import attempt

POINTS = (np.array([1.0, 2.0, -0.5]), np.array([-1.0, 2.0, 0.5]), np.array([-1.0, -2.0, -0.5]))
ON_ONE_PATH = {
    "a lambda": ("f = lambda t: t * t", "f(x[1])"),
    "a default": ("f = lambda t, k=2.0 * x[1]: t * k", "f(x[1])"),
    "a function": ("def f(t): return t * x[2]", "f(x[1])"),
    "a list": ("v = [x[1], x[2]]", "v[0] * v[1]"),
    "a tuple": ("v = (x[1], x[2])", "v[0] * v[1]"),
    "a dict": ("v = {'a': x[1]}", "v['a'] ** 2"),
    "a growing list": ("v = [u * u for u in x if u > 0.0]", "sum(v)"),
    "a slice": ("v = slice(int(x[1] > 5.0), None)", "np.sum(x[v])"),
    "a range": ("v = range(len(x))", "sum([x[k] for k in v])"),
    "None": ("v = None", "0.0 if v is None else 1.0"),
    "an array": ("v = x * x", "np.sum(v)"),
    "a number": ("v = x[1]", "v * v"),
    "read in a function": ("v = x[1]", "(lambda t: t * v)(2.0)"),
    "read in a comprehension": ("v = x[1]", "sum([v * u for u in x])"),
    "read in a loop": ("v = x[1]", "mean(lambda k: x[k] * v)"),
}
PLACES = {"branch": "if x[0] > 0.0:", "loop": "for i in range(int(x[0] > 0.0)):",
          "iteration": "for i in x:\n        if i > 1.5:",
          "while": "k = 0\n    while k < x[0]:\n        k += 1\n        if k:", "deleted": ""}


HEAD = """import numpy as np

def mean(f):
    s = 0.0
    for k in range(3):
        s = s + f(k)
    return s

"""


def function_of(text: str, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(HEAD + text)
    space: dict = {"__name__": "program"}
    exec(compile(file.read_text(), str(file), "exec"), space)
    return space["f"]


def as_in_python(f, points=POINTS):
    """Value, gradient against differences, or the class of what Python raises."""
    for x in points:
        try:
            expected = f(x.copy())
        except Exception as e:
            with pytest.raises(type(e)) as raised:
                value_and_grad(f, mode="python")(x.copy())
            assert isinstance(raised.value, AutodiffError) or "program.py:" in str(raised.value)
            continue
        value, slope = value_and_grad(f, mode="python")(x.copy())
        assert value == pytest.approx(expected)
        steps = 1e-6 * np.eye(3)
        assert slope == pytest.approx([(f(x + h) - f(x - h)) / 2e-6 for h in steps], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("place", PLACES)
def test_bound_on_some_paths(place, tmp_path):
    for bound, read in ON_ONE_PATH.values():
        name = "f" if "f(" in read or "f =" in bound else "v"
        if place == "deleted":
            body = f"    {bound}\n    if x[0] < 0.0:\n        del {name}"
        else:
            head = PLACES[place]
            inner = "    " * (2 + head.count("\n        if"))
            body = f"    {head}\n{inner}{bound}"
        as_in_python(function_of(f"def f(x):\n{body}\n    return {read}\n".replace("def f(t)", "def g(t)").replace(
            "f = lambda", "g = lambda").replace("f(x[1])", "g(x[1])").replace("del f", "del g"), tmp_path), POINTS[:2])


def bound_later(x):
    s = 0.0
    for i in range(len(x)):
        if i > 0:
            s += t * x[i]  # noqa: F821
        t = x[i] * x[i]
    return s + t


def function_bound_later(x):
    s = 0.0
    for i in range(len(x)):
        if i == 0:
            s += 1.0
        else:
            s += g(x[i])  # noqa: F821

        def g(v, k=x[i]):
            return v * v * k
    return s


def list_bound_later(x):
    i, s = 0, 0.0
    while i < 3:
        if i:
            s += items[0] * x[i]  # noqa: F821
        items = [x[i], 1.0]
        i += 1
    return s + len(items)


def read_too_early(x):
    s = 0.0
    for i in range(len(x)):
        s += t * x[i]  # noqa: F821
        t = x[i]  # noqa: F841
    return s


def first_of(x):
    for i in range(len(x)):
        if x[i] < -0.7:
            found = x[i]
            break
    return found * found


def deleted_in_some_iterations(x):
    t, s = x[1], 0.0
    for i in range(len(x)):
        s += t
        if x[i] > 1.5:
            del t
        else:
            t = x[i]
    return s


def a_deleted_argument(x):
    if x[0] > 0.0:
        del x
    return np.sum(x * x)


def defaults_by_iteration(x):
    s = 0.0
    f = lambda v: v
    for i in range(len(x)):
        s += f(x[i])
        f = lambda v, k=x[i]: v * k
    return s + f(0.5)


@pytest.mark.parametrize("f", [bound_later, function_bound_later, list_bound_later, deleted_in_some_iterations,
                               a_deleted_argument, read_too_early, first_of, defaults_by_iteration])
def test_bound_by_iterations(f):
    for x in POINTS:
        try:
            expected = f(x.copy())
        except UnboundLocalError:
            with pytest.raises(UnboundLocalError, match=r"cannot access local variable[\s\S]*test_bindings.py:"):
                value_and_grad(f, mode="python")(x.copy())
            continue
        value, slope = value_and_grad(f, mode="python")(x.copy())
        assert value == pytest.approx(expected)
        assert slope == pytest.approx([(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)], rel=1e-5, abs=1e-6)


def left_behind_a_branch(x):
    z = x[0]
    for i in range(4):
        if x[1] > i:
            if x[2] > 0.0 or i == 1:
                break
        else:
            z = z * x[2]
        z = x[1] + i
    return z * x[2]


def gone_on_behind_a_branch(x):
    z, u, k = x * 1.0, 0.0, 0
    while k < 6:
        u += z[0] * k
        k += 1
        if k % 2:
            z = z * x
            if k == 3:
                continue
        else:
            z = z + 1.0
            if k == 4:
                break
        z = np.sin(x) * k
    return np.sum(z) + u


def left_in_the_else_of_a_loop(x):
    z = x[0]
    for i in range(5):
        z = z * 1.5
        if x[0] < 0.0:
            for u in x:
                if u > i + 1.5:
                    break
                z = z + x[2]
            else:
                if i > 1:
                    break
        else:
            z = 2.0
        z = x[2] * i
    return z * z


def left_by_a_handler(x):
    z, s = x[0], 0.0
    for i in range(3):
        try:
            s += 1.0 / (i - 1)
        except ZeroDivisionError:
            if x[0] < 0.0:
                z = z + 1.0
                if x[2] > 0.0:
                    break
            else:
                z = x[2]
            z = 3.0
        finally:
            s += z
        z = x[1] + i
    return z * s


@pytest.mark.parametrize("f", (left_behind_a_branch, gone_on_behind_a_branch, left_in_the_else_of_a_loop, left_by_a_handler))
def test_read_where_a_break_or_continue_leads_and_bound_behind_it(f):
    as_in_python(f)


def test_compiled():
    x = POINTS[0]
    assert value_and_grad(bound_later)(x)[0] == pytest.approx(bound_later(x))
    with pytest.raises(UnboundLocalError, match="'found'"):
        value_and_grad(first_of)(x)


def test_random_programs():
    for seed in range(12):
        outcome, text = attempt(seed)
        assert outcome.verdict != "failed", f"{outcome.kind}: {outcome.text}\n{text}"


def slices_of_a_list(x):
    items = [x[0], x[1], x[2]]
    items[0:1] = [x[1], 2.0 * x[1]]
    items[3:] = []
    items[::2] = (1.0, x[0])
    return sum([k * v for k, v in enumerate(items)])


def slices_of_a_list_made_when_it_runs(x):
    items = [v * v for v in x]
    items[1:2] = [x[0], x[1], 3.0]
    items[:1] = items
    items[-1:] = (x[0],)
    return sum(items) * len(items) + items[1] * items[-1]


def slices_at_run_time_places(x):
    items = [x[0]]
    for i in range(len(x)):
        items[i:i + 1] = [x[i], 2.0 * x[i]]
    return sum([k * v for k, v in enumerate(items)])


def another_list_in_each_iteration(x):
    items, three = [x[0], 0.5], [x[0], x[1], 0.25]
    for i in range(len(x)):
        items = list(three)
        items.append(x[i])
    return sum(items)


def an_item_that_is_not_there(x):
    items = [x[1]]
    if x[0] < 0.0:
        return items[2] + items.pop(3)
    return sum(items)


def an_option_from_before(x):
    s = 0.0
    pair = (x[0], 0.5)
    for i in range(2):
        for v in x:
            s += pair[0] * pair[-1]
            pair = None if v > 5.0 else (x[1], v)
        pair = (x[0], x[1], 0.5)
    return s


def one_list_on_one_path(x):
    items = [x[0], x[1]]
    if x[0] > 0.0:
        same = items
    same.append(3.0)
    same[0] = x[2]
    return items[0] * items[1] * len(items)


def one_array_on_one_path(x):
    y = x * 2.0
    if x[0] > 0.0:
        same = y
    y[1] = 5.0
    return np.sum(same * same)


def one_list_in_short_loops(x):
    mine, other = [x[0]], [x[1], x[2]]
    for i in range(3):
        mine.append(x[i])
        mine = other
    return sum(mine) * len(other) + sum(other)


def taken_over(x):
    mine, other = [x[0]], [x[1], x[2]]
    for v in x:
        mine.append(v)
        mine = other
    return sum(mine) * len(other)


def bound_in_the_loop(x):
    other = [x[1], x[2]]
    for i in range(len(x)):
        if i:
            mine[0] = x[i]  # noqa: F821
        mine = other
    return sum(mine) + sum(other)


def bound_in_some_iterations(x):
    other = [x[0], x[1]]
    for v in x:
        if v > 0.0:
            mine = other
    mine[1] = x[0]
    return other[0] * other[1]


def changed_as_another(x):
    mine, other = [x[0]], [x[1], x[2]]
    for v in x:
        mine = other
        mine.append(v)
    return sum(mine) * len(other)


@pytest.mark.parametrize("f", [taken_over, bound_in_the_loop, bound_in_some_iterations, changed_as_another])
def test_objects_of_other_names_are_followed_or_refused(f):
    x = POINTS[0]
    try:
        assert value_and_grad(f, mode="python")(x)[0] == pytest.approx(f(x))
    except AutodiffError:
        pass


@pytest.mark.parametrize("f", [one_list_on_one_path, one_array_on_one_path, one_list_in_short_loops, slices_of_a_list,
                               slices_of_a_list_made_when_it_runs, slices_at_run_time_places,
                               another_list_in_each_iteration, an_item_that_is_not_there, an_option_from_before])
def test_lists(f):
    for x in POINTS[:2]:
        try:
            expected = f(x.copy())
        except (IndexError, UnboundLocalError) as e:
            with pytest.raises(type(e), match=str(e)):
                value_and_grad(f, mode="python")(x.copy())
            continue
        value, slope = value_and_grad(f, mode="python")(x.copy())
        assert value == pytest.approx(expected)
        assert slope == pytest.approx([(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)], rel=1e-5, abs=1e-6)
