"""Which class a value has: what `isinstance`, `type`, `callable` and `hasattr` answer, and whether `+=` changes it in place,
against Python."""

import warnings

import numpy as np
import pytest

from autodiff import AutodiffError, differentiable, value_and_grad

from .fuzz import values
from .fuzz.values import ITERATORS, MADE, SPACE
from .support import from_text

BY_PATH = """(x[0] if x[0] > 0 else 1.0) + 1; (x[0] if x[0] < 0 else 1.0) + 1; -(x[0] if x[0] < 0 else 1.0)
2 * max(x[0], 1.0); (x[0] if x[0] < 0 else 1.0) > 0; (True if x[0] < 0 else x[0] > 0) & True
(x[0] > 0 > x[1]) ^ (0.5 < 0.2); abs(max(0.1, x[0])); (2 if x[0] > 0 else np.int64(1)) * 3
x[0] if x[0] > 0 else 1.0; x[0] and 1.0; (x[0] if x[0] > 0 else 1.0) * x[1]
np.sin(x[0] if x[0] > 0 else 1.0); math.sin(x[0] if x[0] > 0 else 1.0); float(x[0] if x[0] > 0 else 1.0)""".replace(
    "\n", "; ").split("; ")
CLASSES = """object str int float complex bool list tuple dict set frozenset slice range type np.ndarray np.generic
np.number np.integer np.inexact np.floating np.float64 np.float32 np.int64 np.bool_ np.ufunc np.vectorize
np.random.Generator np.flatiter types.FunctionType types.MethodType types.BuiltinFunctionType
types.ModuleType types.GeneratorType functools.partial zip enumerate map filter reversed itertools.chain
collections.OrderedDict collections.defaultdict collections.deque collections.abc.Callable
collections.abc.Iterable collections.abc.Sequence collections.abc.Mapping collections.abc.Iterator
collections.abc.Hashable collections.abc.Set numbers.Number numbers.Real enum.Enum Plain Pair Fields""".split()
NAMES = "shape dtype append keys item real __call__ __iter__ __len__ start send T upper mro".split()


ARGS = np.array([0.5, 1.0, 1.2]), np.array([[2.0, 0.3], [0.4, 1.0]])


def program(made: str, lines: str):
    f = from_text(f"<class of {made}>", "import numpy as np\n\n\ndef f(x, A):\n    def inner(v):\n        return v\n"
                  f"    o = {made}\n{lines}")
    f.__globals__.update(SPACE)
    return f


def same_answers(made: str, questions) -> None:
    again = f"    o = {made}\n" if made in ITERATORS else ""             # their names can be read once
    lines = "".join(f"{again}    number += {2 ** k} if {question} else 0\n" for k, question in enumerate(questions))
    f = program(made, f"    number = 0\n{lines}    return number * x[1]\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, found = f(*ARGS), differentiable(f, mode="python")(*ARGS)
    assert [q for k, q in enumerate(questions) if int(found) >> k & 1 != int(expected) >> k & 1] == []


@pytest.mark.parametrize("made", MADE)
def test_instances(made):
    for k in range(0, len(CLASSES), 29):
        same_answers(made, [f"isinstance(o, {c})" for c in CLASSES[k:k + 29]])


@pytest.mark.parametrize("made", MADE)
def test_other_questions(made):
    same_answers(made, ["callable(o)", *(f"hasattr(o, {name!r})" for name in NAMES)])
    same_answers(made, [f"type(o) is {c}" for c in "float int bool np.float64 np.ndarray tuple list dict".split()])


@pytest.mark.parametrize("made", BY_PATH)
def test_by_path(made):
    """What differs by path is refused, never answered wrongly."""
    for question in ("isinstance(o, np.generic)", "type(o) is float", "isinstance(o, bool)", "isinstance(o, int)"):
        try:
            same_answers(made, [question])
        except AutodiffError as e:
            assert "by the way the program goes" in str(e)


@pytest.mark.parametrize("made", [m for m in MADE if m.startswith(("np.", "x.", "scipy.", "max", "sum", "A."))])
def test_in_place(made):
    """Numbers are replaced by `+=`, arrays of rank 0 are changed."""
    f = program(made, "    b = o\n    o += 1\n    return np.sum(b) * x[1]\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = f(*(a.copy() for a in ARGS))
        except (TypeError, ValueError, AttributeError):
            return
        try:
            found = value_and_grad(f, mode="python")(*ARGS)[0]
        except AutodiffError as e:
            assert "rank 0 on one path" in str(e)
        else:
            assert np.isclose(found, expected)


@pytest.mark.parametrize("seed", range(120))
def test_random_uses(seed):
    """Values of every kind, changed and used at random: the same number, or the error that Python raises."""
    outcome, text = values.attempt(seed)
    assert outcome.kind != "failed", f"{outcome}\n{text}"
