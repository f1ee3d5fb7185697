"""The program that is differentiated is the one that is loaded, wherever its text stands now."""

import doctest
import functools
import importlib
import inspect
import itertools
import linecache
import os
import py_compile
import runpy
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pytest

import autodiff
from autodiff import SourceUnavailable, TypeConflict, grad, value_and_grad
from autodiff.transforms.source.same_code import functions_of, is_program_of

from .fuzz.source import attempt

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}

NUMBERS = itertools.count()


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write (and import, under a name that no other test has) a module; `write.again` changes its file alone."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def make(text, encoding="utf8", newline=None):
        path = tmp_path / f"written_{os.getpid()}_{next(NUMBERS)}.py"
        path.write_text(text, encoding=encoding, newline=newline)
        importlib.invalidate_caches()
        module = importlib.import_module(path.stem)
        module.again = lambda text: path.write_text(text)
        return module
    return make


def slope(function, *args):
    return value_and_grad(function, mode="python")(*args)


POWERS = "def h(x):\n    return x*x\n\ndef h2(x):\n    return x*x*x\n"


def test_a_file_that_changed_gives_no_other_function(write):
    m = write(POWERS)
    m.again(POWERS.replace("x*x\n\n", "5*x*x\n\n"))
    with pytest.raises(SourceUnavailable, match=r"changed since `h` was imported(.|\n)*reload"):
        slope(m.h, 1.0)
    assert slope(m.h2, 1.0) == (1.0, 3.0)
    m.again("")
    assert slope(m.h2, 1.0) == (1.0, 3.0)                   # known
    m = write(POWERS)
    m.again("def h(x):\n    return x*x*x\n\ndef h2(x):\n    return x*x\n")
    for function in (m.h, m.h2):
        with pytest.raises(SourceUnavailable):
            slope(function, 1.0)
    m = write(POWERS)
    m.again("def h(x:\n")
    with pytest.raises(SourceUnavailable):
        slope(m.h, 1.0)


def test_a_helper_that_changed(write):
    m = write("def helper(x):\n    return x*x\n\nclass Model:\n    def value(self, x):\n        return helper(x) + x\n")
    m.again("def helper(x):\n    return x*x*x\n\nclass Model:\n    def value(self, x):\n        return helper(x) + x\n")
    with pytest.raises(SourceUnavailable, match="`helper`"):
        slope(m.Model().value, 2.0)


def test_lines_that_moved(write):
    m = write(POWERS)
    m.again("# a comment\n\nimport os\n\n" + POWERS.replace("x*x\n\n", "5*x*x\n\n"))
    assert slope(m.h2, 1.0) == (1.0, 3.0)
    m = write("def f(x):\n    return iter(x)\n")
    m.again("# one more line\ndef f(x):\n    return iter(x)\n")
    with pytest.raises(autodiff.AutodiffError, match="line 3, in f"):
        slope(m.f, 1.0)


@pytest.mark.parametrize("before, after", [
    ("0.0", "-0.0"), ("1", "1.0"), ("1", "True"), ("2.0", "2"), ("(0.0, 1)[0]", "(-0.0, 1)[0]"),
    ("x in {0.0, 1}", "x in {0, 1}"),
    ("(lambda: 0.0)()", "(lambda: -0.0)()"), ("np.sin(x)", "np.cos(x)"), ("y", "x"), ("1e400 - 1e400", "1e400"),
])
def test_constants_and_names_that_changed(before, after):
    text = "import numpy as np\ndef f(x, y=1.0):\n    return x * ({})\n"
    space: dict = {}
    exec(text.format(before), space)
    place, = functions_of(text.format(before), False).places["f"]
    assert is_program_of(place, space["f"].__code__, {"np"})
    place, = functions_of(text.format(after), False).places["f"]
    assert not is_program_of(place, space["f"].__code__, {"np"})


def test_reload(write):
    m = write("K = 1.0\ndef h(x):\n    return K*x*x\n")
    def f(x):
        return m.h(x)
    gradient = grad(f, mode="python")
    old = m.h
    assert gradient(1.0) == 2.0 and slope(old, 1.0) == (1.0, 2.0)
    m.again("# edited\nK = 1.0\ndef h(x):\n    return 5*K*x*x  # edited\n")
    importlib.reload(m)
    assert slope(m.h, 1.0) == (5.0, 10.0)
    assert grad(f, mode="python")(1.0) == 10.0
    assert slope(old, 1.0) == (1.0, 2.0)


def test_the_old_function_after_a_reload(write):
    m = write(POWERS)
    old, kept = m.h, m.h2
    m.again(POWERS.replace("x*x\n\n", "5*x*x\n\n"))
    importlib.reload(m)
    assert slope(m.h, 1.0) == (5.0, 10.0) and slope(kept, 1.0) == (1.0, 3.0)
    with pytest.raises(SourceUnavailable):
        slope(old, 1.0)


def test_code_that_was_replaced():
    def one(x):
        return x * x

    def other(x):
        return x ** 3
    assert grad(one, mode="python")(2.0) == 4.0
    one.__code__ = other.__code__
    assert autodiff.grad(lambda x: one(x), mode="python")(2.0) == 12.0
    zero, minus = (lambda x: x * 0.0), (lambda x: x * -0.0)
    assert slope(zero, 1.0)[0] == 0.0 and np.signbit(slope(minus, 1.0)[0])


LAYOUTS = '''\
import numpy as np
from functools import lru_cache as cached

def kept(*given):
    return lambda f: f

class A:
    """The comment stands at column 0."""
    def f(self, x):
# a comment
        y = x * 2.0
    # another
        return y * y

    @kept(1,
 2,
      lambda x: 3)
    def g(self, x, n=len("""
ab""")):
        return n * x

    def __private(self, x):
        return self.__slope * x
    __slope = 7.0
    def through(self, x):
        return self.__private(x)

class Tabs:
\tdef tabs(self, x):
\t\treturn 5.0 * x

class B:
    def f(self, x): return 3.0 * x
    class A:
        def f(self, x): return 4.0 * x

def texts(x):
    if True:
        text = """
first
    second"""
    return len(text) * x

def continued(x):
    y = x + \\
x
    return (y *
y)

\x0cdef after_a_form_feed(x):
    return 11.0 * x

def outer(k):
    def inner(x):
        return k * x
    def f(x): return k * k * x
    return inner, f

def one(x): y = 2.0 * x; return y * y
two, three = lambda x: 2 * x, lambda x: 3 * x
same, floats = lambda x: 2 * x, lambda x: 2.0 * x
if len("ab") == 3:
    def chosen(x):
        return x
else:
    def chosen(x):
        return 13.0 * x
def chosen_2(x): return x
def chosen_2(x): return 17.0 * x
@cached
def remembered(x): return 19.0 * x
async_names = [f for f in (lambda x: 23.0 * x,)]
'''
SLOPES = {"A().f": 8.0, "A().g": 3.0, "A().through": 7.0, "Tabs().tabs": 5.0, "B().f": 3.0, "B.A().f": 4.0, "texts": 17.0,
          "continued": 8.0, "after_a_form_feed": 11.0, "outer(3.0)[0]": 3.0, "outer(3.0)[1]": 9.0, "one": 8.0, "two": 2.0,
          "three": 3.0, "same": 2.0, "floats": 2.0, "chosen": 13.0, "chosen_2": 17.0, "remembered": 19.0,
          "async_names[0]": 23.0}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_layouts(write, newline):
    m = write(LAYOUTS, newline=newline)
    for name, expected in SLOPES.items():
        assert slope(eval(name, vars(m)), 1.0)[1] == expected, name
    m = write(LAYOUTS, newline=newline)
    m.again("# moved\n\n" + LAYOUTS)
    for name, expected in SLOPES.items():
        assert slope(eval(name, vars(m)), 1.0)[1] == expected, name


def test_other_encodings(write):
    m = write("# -*- coding: latin-1 -*-\ndef f(x):\n    return len('\xe4\xf6') * x\n", encoding="latin-1")
    assert slope(m.f, 1.0) == (2.0, 2.0)
    broken = write("def f(x):\n    return 2 * x\n")
    with open(broken.__file__, "wb") as file:
        file.write(b"def f(x):\n    return '\xff' * x\n")
    with pytest.raises(SourceUnavailable):
        slope(broken.f, 1.0)


UNREADABLE = ("def f(x):\n  return 2 * x\n return\n",
              "def f(x):\n\treturn 2\n        return x", "\0", "(" * 500, "'''", "\\")


def test_texts_that_cannot_be_read(write):
    m = write("def f(x):\n    return 2 * x\n")
    for text in UNREADABLE:
        m.again(text)
        with pytest.raises(SourceUnavailable):
            slope(m.f, 1.0)


def test_assertions_of_pytest(write):
    def f(x, y=3.0):
        def inner(x):
            assert x > 0.0, f"{x} must be positive"
            return x * y
        assert x < 10.0 and [x] != [], "small"
        return inner(x)
    assert "@pytest_ar" in f.__code__.co_names
    assert slope(f, 2.0) == (6.0, 3.0)
    with pytest.raises(AssertionError):
        slope(f, -1.0)


def test_future_statements(write):
    m = write("from __future__ import annotations\ndef f(x: a):\n    def g(y: b) -> c:\n        return y * y\n"
              "    return g(x)\n")
    assert slope(m.f, 2.0) == (4.0, 4.0)


def test_machine_code_of_other_text(tmp_path, monkeypatch):
    """A .pyc that is not checked against its source is what runs."""
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / f"precompiled_{os.getpid()}.py"
    path.write_text(POWERS)
    py_compile.compile(path, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    path.write_text(POWERS.replace("x*x\n\n", "5*x*x\n\n"))
    importlib.invalidate_caches()
    m = importlib.import_module(path.stem)
    assert m.h(1.0) == 1.0 and slope(m.h2, 1.0) == (1.0, 3.0)
    with pytest.raises(SourceUnavailable):
        slope(m.h, 1.0)


def test_archives(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as file:
        file.writestr(f"zipped_{os.getpid()}.py", POWERS)
    monkeypatch.syspath_prepend(tmp_path / "archive.zip")
    assert slope(importlib.import_module(f"zipped_{os.getpid()}").h2, 1.0) == (1.0, 3.0)


def test_text_in_linecache():
    for name in ("<made>", "ipykernel_7/1234.py", "cell"):
        linecache.cache[name] = (len(POWERS), None, POWERS.splitlines(True), name)
        space: dict = {}
        exec(compile(POWERS + "k = [lambda x: 2 * x, lambda x: 3 * x]", name, "exec"), space)
        assert slope(space["h2"], 1.0) == (1.0, 3.0)
        with pytest.raises(SourceUnavailable):
            slope(space["k"][0], 1.0)
    exec("def nowhere(x): return x", space)
    with pytest.raises(SourceUnavailable, match="`nowhere` is not available"):
        slope(space["nowhere"], 1.0)


TYPED = "from autodiff import grad\ndef f(x):\n    return x * x\n\nprint(grad(f, mode='python')(3.0))\n"


def run(*args, **options):
    done = subprocess.run([sys.executable, *args], env=ENVIRONMENT, capture_output=True, text=True, **options)
    return done.stdout.split() or [done.stderr]


def test_programs_of_the_command_line(tmp_path, monkeypatch):
    path = tmp_path / "typed.py"
    path.write_text(TYPED)
    assert run("-c", TYPED) == ["6.0"]
    with open(path) as file:
        assert run(stdin=file) == ["6.0"]
    for number, words in enumerate((["-W", "ignore", "-Bc"], ["-c"], ["-Bc"])):
        text = f"def f(x):\n    return x * {number}.0\n"
        together = [words[-1] + text] if number == 1 else [words[-1], text]
        monkeypatch.setattr(sys, "orig_argv", ["python", *words[:-1], *together, "argument"])
        space: dict = {}
        exec(compile(text, "<string>", "exec"), space)
        assert slope(space["f"], 2.0) == (2.0 * number, number)
    assert slope(runpy.run_path(str(path))["f"], 3.0) == (9.0, 6.0)


def test_asserting_is_left_out_as_python_does(tmp_path):
    path = tmp_path / "asserting.py"
    path.write_text("from autodiff import grad\ndef f(x):\n    assert x > 0\n    return x * x\n"
                    "print(grad(f, mode='python')(-3.0))\n")
    assert run("-O", path) == ["-6.0"]


def test_doctests(tmp_path):
    path = tmp_path / "documented.txt"
    path.write_text(textwrap.dedent("""
        >>> from autodiff import grad
        >>> def f(x):
        ...     return x * x
        >>> float(grad(f, mode="python")(3.0))
        6.0
        >>> float(grad(lambda x: x * x * x, mode="python")(1.0))
        3.0
    """))
    assert doctest.testfile(str(path), module_relative=False).failed == 0


class Doubling:
    """Its call is not that of the function it was made from."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, x):
        return 2.0 * self.function(x)


def tripling(function):
    @functools.wraps(function)
    def run(x):
        return 3.0 * function(x)
    return run


@Doubling
def doubled(x):
    return x * x


@tripling
def tripled(x):
    return x * x


@tripling
@functools.lru_cache
def tripled_cache(x):
    return x * x


def test_wrappers_are_the_programs_they_run():
    for function, factor in ((doubled, 2.0), (tripled, 3.0), (tripled_cache, 3.0)):
        assert slope(function, 3.0) == (9.0 * factor, 6.0 * factor)
        assert slope(lambda x, function=function: function(x) + x, 3.0) == (9.0 * factor + 3.0, 6.0 * factor + 1.0)


class Session:
    """What is asked of IPython: the cells that were run, as Python, and how another is made Python of."""

    def __init__(self, *cells):
        self.input_hist_parsed = list(cells)
        self.history_manager = self

    def get_ipython(self):
        return self

    def transform_cell(self, cell):
        return cell


def test_statements_given_to_magics(monkeypatch):
    defined = "def f(x):\n    return x * x\n"
    cells = (f"get_ipython().run_cell_magic('time', '', {defined!r})\n", "x = 1\n", "get_ipython().run_cell_magic(",
             "get_ipython().run_line_magic('timeit', '-n 1 -r1 g = lambda x: 5.0 * x')\n")
    monkeypatch.setitem(sys.modules, "IPython", Session(*cells))
    space: dict = {}
    exec(compile(defined + "g = lambda x: 5.0 * x\nh = lambda x: 6.0 * x\n", "<timed exec>", "exec"), space)
    assert slope(space["f"], 3.0) == (9.0, 6.0) and slope(space["g"], 1.0) == (5.0, 5.0)
    with pytest.raises(SourceUnavailable):
        slope(space["h"], 1.0)


class History:
    """What is asked of `readline`."""

    def __init__(self, *lines):
        self.lines = lines

    def get_current_history_length(self):
        return len(self.lines)

    def get_history_item(self, k):
        return self.lines[k - 1] if 0 < k <= len(self.lines) else None


def test_statements_that_were_typed(monkeypatch):
    lines = ("x = (", "def f(x):", "    return 3.0 * x", "def f(x):", "    return x * x", "class A:", "    def f(self, x):",
             "        return 4.0 * x", "def f(x", "print(1)")
    monkeypatch.setitem(sys.modules, "readline", History(*lines))
    space: dict = {}
    for statement in ("\n".join(lines[3:5]), "\n".join(lines[5:8])):
        exec(compile(statement, "<stdin>", "exec"), space)
    assert slope(space["f"], 3.0) == (9.0, 6.0) and slope(space["A"]().f, 1.0) == (4.0, 4.0)


def test_random_changes_of_modules():
    for seed in range(8):
        found, story = attempt(seed)
        assert found.verdict != "failed", story


AROUND = '''
@given(lambda x: [x for _ in x])
def f(a=lambda x: [x for _ in x], *, b: t(lambda y: [y for _ in y]) = 1):
    return lambda x: [x for _ in x]


class A(base(lambda x: [x for _ in x])):
    g = lambda x: [x for _ in x]
'''


def test_names_of_what_stands_around_a_function():
    """Decorators, defaults, annotations and bases are not inside; Python says what all are called."""
    expected: list[str] = []

    def names(code, prefix=""):
        for inner in filter(inspect.iscode, code.co_consts):
            name = prefix + inner.co_name
            if inner.co_name == "<lambda>":
                expected.append(name)
            names(inner, f"{name}." if inner.co_name == "A" else f"{name}.<locals>.")
    names(compile(AROUND, "<text>", "exec"))
    assert sorted(p.name for p in functions_of(AROUND, True).places["<lambda>"]) == sorted(expected)


def long_sum(terms: int, place: Path):
    """A function of one expression that nests as deep as it has terms, in a file."""
    place.write_text("def f(x):\n    return " + " + ".join(f"x*{k}.0" for k in range(terms)) + "\n")
    space = {"__name__": "made"}
    exec(compile(place.read_text(), str(place), "exec"), space)
    return space["f"]


def at_depth(depth: int, call, *args):
    return at_depth(depth - 1, call, *args) if depth else call(*args)


@pytest.mark.parametrize("depth", [0, 100, 400])
@pytest.mark.parametrize("terms", [300, 900, 1000])
def test_long_expressions_are_read_wherever_they_are_called(terms, depth, tmp_path):
    f = long_sum(terms, tmp_path / "sums.py")
    assert at_depth(depth, grad(f, mode="python"), 3.0) == f(1.0)


@pytest.mark.parametrize("depth", [0, 100])
def test_what_nests_too_deeply_is_told_as_that(depth, tmp_path):
    f = long_sum(2000, tmp_path / "sums.py")
    with pytest.raises(TypeConflict, match=r"`f` nests too deeply[\s\S]*sums.py\", line 1, in f[\s\S]*split long"):
        at_depth(depth, grad(f, mode="python"), 3.0)
