"""Files read for the sake of their functions: what of them is run, and the arguments of calls in them."""

import random
import sys
import textwrap

import numpy as np
import pytest

from autodiff.survey.called import arguments_in
from autodiff.survey.scripts import Mistake, Script


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Make a Script of a text."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)

    def make(text, name="a_script.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return Script(str(path))
    yield make
    for name in set(sys.modules) - known:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def test_what_is_run(script, capsys):
    s = script('''
        """A script."""
        from __future__ import annotations
        import sys, numpy as np
        import no_such_module_anywhere
        sys.path.insert(0, "/nowhere/at/all")
        try:
            import no_such_module_either as fast
        except ImportError:
            print("slow")
            fast = None
        TABLE = []
        for k in range(5):
            print(k)
            TABLE.append(2.0 * k)
            if k == 3:
                break
        W = np.array(TABLE)
        W[0] = 7.0
        SCALE: float = 3.0
        assert False
        raise_it = 1 / 0
        if fast:
            FACTOR = 2.0
        else:
            FACTOR = 4.0
            1 / 0
        def helper(v):
            return np.sum(v * W) * SCALE
        def energy(x, k):
            return helper(x) * k * FACTOR
        def other():
            return raise_it
        x = np.zeros(3)
        while True:
            x = x + energy(x, 2.0)
        print(energy(x, 1.0))
        open("/nowhere/file", "w").write("x")
        energy.made = 3
        if __name__ == "__main__":
            W = None
            1 / 0
    ''')
    module = s.run({"energy"})
    assert capsys.readouterr().out == ""
    np.testing.assert_array_equal(module.W, [7.0, 2.0, 4.0, 6.0])
    assert module.energy(np.ones(4), 2.0) == 19.0 * 3.0 * 2.0 * 4.0 and module.energy.made == 3
    assert "/nowhere/at/all" in sys.path and not hasattr(module, "x") and module.__doc__ == "A script."
    assert s.functions() == ["helper", "energy", "other"]
    with pytest.raises(Mistake, match=r"a_script.py:22: ZeroDivisionError"):
        s.run({"other"})


@pytest.mark.parametrize("text, problem", [
    ("def f(:\n", r"a_script.py:1: SyntaxError"),
    ("def f(x):\n    return A * x\nA = B\n", r"a_script.py:3: NameError: name 'B' is not defined \(of a file, only"),
    ("from no_such_module_anywhere import A\ndef f(x):\n    return A * x\n", r"a_script.py:1: ModuleNotFoundError"),
    ("from no_such_module_anywhere import *\ndef f(x):\n    return x\n", r"a_script.py:1: ModuleNotFoundError"),
    ("import sys\nA = sys.exit(3)\ndef f(x):\n    return A\n", r"a_script.py:2: SystemExit: 3"),
    ("\0", r"not a Python file|SyntaxError"),
])
def test_mistakes(script, text, problem):
    with pytest.raises(Mistake, match=problem):
        script(text).run({"f"})
    with pytest.raises(Mistake, match="there is no Python file no/such/file.py"):
        Script("no/such/file.py")


def test_rules_are_given_and_arguments_hidden(script, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["autodiff", "show", "--wrt", "x"])
    s = script('''
        import argparse
        import autodiff as ad
        import autodiff.rules
        from autodiff.rules import constant, pullback
        def step(x):
            return float(x > 0)
        def twice(x):
            return 2.0 * x
        def rule(y_bar, y, x):
            return 5.0 * y_bar
        constant(step)
        autodiff.rules.pullback(twice)(rule)
        parser = argparse.ArgumentParser()
        parser.add_argument("--size", type=float, default=3.0)
        SIZE = parser.parse_args().size
        def f(x):
            return twice(x) * SIZE + step(x)
    ''')
    from autodiff import grad
    assert grad(s.run({"f"}).f, mode="python")(1.0) == 15.0
    assert sys.argv[1] == "show"


def test_files_of_packages(script):
    script("from .c import f, TWO\nONE = 1.0\n", "a_package_of_tests/__init__.py")
    script("TWO = 2.0\n", "a_package_of_tests/b.py")
    text = "from .b import TWO\nfrom . import b\nONE = b.TWO - 1\ndef f(x):\n    return x * ONE * TWO\n"
    s = script(text, "a_package_of_tests/c.py")
    assert s.run({"f"}).f(3.0) == 6.0 and s.module.__name__ == "a_package_of_tests.c"
    script("import no_such_module\n", "broken_package_of_tests/__init__.py")
    assert script("A = 2.0\ndef f(x):\n    return x * A\n", "broken_package_of_tests/d.py").run({"f"}).f(3.0) == 6.0
    with pytest.raises(Mistake, match="e.py:1: ModuleNotFoundError: No module named 'no_such_module'"):
        script("from . import d\ndef f(x):\n    return d.f(x)\n", "broken_package_of_tests/e.py").run({"f"})


# -- random scripts -----------------------------------------------------------------------------------------------


class Writer:
    """Scripts of assignments, changes, loops and prints, which end with a function that reads some of their names."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers, self.lists = ["n0"], ["l0"]

    def expression(self):
        r = self.random
        return r.choice([f"{r.randint(1, 5)}", r.choice(self.numbers), f"len({r.choice(self.lists)})",
                         f"{r.choice(self.numbers)} + {r.randint(1, 3)}", f"sum({r.choice(self.lists)})",
                         f"own({r.choice(self.numbers)})"])

    def statement(self, depth):
        r = self.random
        kind = r.randrange(16 if depth < 2 else 11)
        name, row = r.choice(self.numbers), r.choice(self.lists)
        match kind:
            case 0 | 1:
                name = f"n{len(self.numbers)}" if depth == 0 and r.random() < 0.6 else name
                lines = [f"{name} = {self.expression()}"]
                self.numbers += [name] * (name not in self.numbers)
            case 2:
                lines = [f"{name} += {self.expression()}"]
            case 3 | 4:
                lines = [f"{row}.append({self.expression()})"]
            case 5:
                lines = [f"{row}[0] = {self.expression()}"]
            case 6:
                new = f"l{len(self.lists)}" if depth == 0 else row
                lines = [f"{new} = {r.choice([f'list({row})', row, f'[{self.expression()}]', f'{row} + [1]'])}"]
                self.lists += [new] * (new not in self.lists)
            case 7:
                lines = [f"{name}, *{row} = {self.expression()}, {self.expression()}, 3"]
            case 8 | 9:
                lines = [f"print({self.expression()})"]
            case 10:
                lines = [r.choice([f"{row}.sort()", f"{row} += [{self.expression()}]", f"del {row}[1:]", "tell()"])]
            case 11 | 12:
                lines = [f"for i in range({r.randint(1, 4)}):", *self.block(depth + 1)]
                if r.random() < 0.5:
                    way = r.choice(["break", "continue"])
                    lines += [f"    if {self.expression()} > {r.randint(1, 9)}:", f"        {way}", *self.block(depth + 1)]
            case 13:
                lines = [f"if {self.expression()} > {r.randint(1, 9)}:", *self.block(depth + 1)]
                lines += ["else:", *self.block(depth + 1)] * (r.random() < 0.5)
            case 14:
                lines = ["try:", *self.block(depth + 1), f"    {row}[{r.randint(0, 99)}]", "except IndexError:",
                         *self.block(depth + 1)]
            case _:
                lines = ["with nullcontext() as n0:", f"    n0 = {self.expression()}", *self.block(depth + 1)]
        return lines

    def block(self, depth):
        lines = [line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth)]
        return ["    " + line for line in lines]

    def text(self):
        lines = ["from contextlib import nullcontext", "n0, l0 = 2, [1, 2, 3]",
                 "def own(k):", "    return k * 2 + n0", "def tell():", "    print('told')", "    return l0"]
        for _ in range(self.random.randint(4, 14)):
            lines += self.statement(0)
        read = self.random.sample(self.numbers + self.lists, min(3, len(self.numbers + self.lists)))
        return "\n".join([*lines, "def wanted():", f"    return {', '.join(read)},", "print(wanted())"]) + "\n"


@pytest.mark.parametrize("first", range(0, 240, 80))
def test_random_scripts(first, script, capsys):
    """What the function reads is what it is after all of the script has run, and nothing is printed."""
    less = 0
    for seed in range(first, first + 80):
        text = Writer(seed).text()
        space = {"__name__": "other"}
        try:
            exec(text, space)
        except (IndexError, TypeError, RecursionError):
            continue
        expected = space["wanted"]()
        capsys.readouterr()
        s = script(text)
        assert s.run({"wanted"}).wanted() == expected, text
        assert capsys.readouterr().out == "", text
        less += len(s.needed({"wanted"})[1]) < len(s.tree.body) - 1
    assert less > 20


# -- calls in files -----------------------------------------------------------------------------------------------


HEAD = """import argparse, dataclasses
import numpy as np
from autodiff import grad, value_and_grad, hvp, jvp, vjp, check_grads
from scipy.optimize import minimize

def f(x, k=1.0):
    return k * np.sum(x * x)

"""
X = np.arange(3.0)
CALLS = {
    "f(np.arange(3.0), 2.0)": (X, 2.0),
    "print(f(np.arange(3.0), k=2.0))": (X, {"k": 2.0}),
    "x = np.arange(3.0)\ny = x * 2\nprint(1)\nf(y)": (2 * X,),
    "x = np.arange(3.0)\nx[1] = 7.0\ng = grad(f)\nprint(g(x, 3.0, out=None))": (np.array([0.0, 7.0, 2.0]), 3.0),
    "grad(f, wrt='k')(np.arange(3.0), 5.0)": (X, 5.0),
    "hvp(f)(np.arange(3.0), 5.0, np.ones(3))": (X, 5.0),
    "vjp(f, np.arange(3.0), 2.0, mode='python')": (X, 2.0),
    "jvp(f, (np.arange(3.0), 2.0), (np.ones(3), None))": (X, 2.0),
    "check_grads(f, [np.arange(3.0)])": (X,),
    "minimize(value_and_grad(f), np.arange(3.0), args=(4.0,), jac=True)": (X, 4.0),
    "loss, h = value_and_grad(f), hvp(f)\nminimize(loss, np.arange(3.0), args=4.0)": (X, 4.0),
    "if __name__ == '__main__':\n    x = np.arange(3.0)\n    for k in (1, 2):\n        f(x, k)": (X, 1),
    "def main(n=3):\n    x = np.arange(float(n))\n    return f(x)\nmain()": (X,),
    "def main(n):\n    return f(np.arange(n), 1)\nmain(3.0)": (X, 1),
    "def main(n):\n    def inner(y):\n        return f(y, n)\n    return inner(np.arange(n))\nmain(3.0)": (X, 3.0),
    "def made(n):\n    return np.arange(float(n))\nf(made(3))": (X,),
    "p = argparse.ArgumentParser()\np.add_argument('n', nargs='?', default=3.0)\nf(np.arange(p.parse_args().n))": (X,),
    "A = np.zeros(3)\ndef main(n, *, by=1.0):\n    A[:] += np.arange(n) * by\n    f(A)\nmain(3)": (X,),
    "rng = np.random.default_rng(0)\nf(rng.permutation(3) * 0.0 + np.arange(3.0))": (X,),
    "x = np.loadtxt('nofile')\nf(x)\nf(np.arange(3.0), 6.0)": (X, 6.0),
    "@dataclasses.dataclass\nclass P:\n    a: float\n\nf(P(np.arange(3.0)).a)": (X,),
    "x = np.ones(5)\nfor _ in range(9):\n    x = x - f(x) * 0.1": (np.ones(5),),
}


@pytest.mark.parametrize("text", CALLS)
def test_calls(script, text, capsys):
    expected = CALLS[text]
    keywords = expected[-1] if isinstance(expected[-1], dict) else {}
    s = script(HEAD + text + "\n")
    s.run({"f"})
    args, given, line = arguments_in(s, "f")
    np.testing.assert_equal(args, tuple(e for e in expected if e is not keywords))
    assert given == keywords and s.text.decode().split("\n")[line - 1].count("(")
    assert capsys.readouterr().out == ""


def test_arguments_leave_the_file_as_it_is(script):
    s = script(HEAD + "A = np.zeros(3)\ndef g(x):\n    return f(x * A)\ndef main():\n    A[:] += 2.0\n    return g(A)\n")
    module = s.run({"g"})
    (found,), _, _ = arguments_in(s, "g")
    assert list(found) == [2.0] * 3 and not np.any(module.A)


@pytest.mark.parametrize("text", [
    "f(*[1.0])", "f(**{'x': 1.0})", "f(x)", "x = open('nofile').read()\nf(x)", "x = input()\nf(x)", "f(print(3))",
    "x = minimize(lambda v: v[0], np.ones(3)).x\nf(x, 1.0)", "def main(n):\n    f(n)", "def r(n):\n    f(n)\n    r(n)",
    "while True:\n    x = 1.0\nf(x)", "class A:\n    def __init__(self):\n        print(1)\nf(A())",
    "def loud():\n    print(1)\n    return 2.0\nf(loud())", "def loud():\n    global f\n    return 2.0\nf(loud())",
    "x = np.ones(3)\nx.tofile('nofile')\nf(eval('x'))", "import os\nf(os.getcwd())", "f(__import__('os').getpid())",
    "f((lambda: print('x'))())", "f(list(map(print, [1])))", "g = print\nf(g(1))", "x = [print(1) for _ in range(2)]\nf(x)",
    "def h(x):\n    return x\nf(grad(h)(3.0))", "async def m():\n    f(await m())", "with open('nofile') as x:\n    f(x)",
    "def m(n):\n    def i(y=print(1)):\n        f(y)\n    i()\nm(2)",
])
def test_calls_that_tell_nothing(script, text, capsys, monkeypatch):
    monkeypatch.setattr("autodiff.survey.called.SECONDS", 0.2)
    s = script(HEAD + text + "\n")
    s.run({"f"})
    assert arguments_in(s, "f") is None
    assert capsys.readouterr().out == ""


def test_other_statements(script):
    lines = ["x = 1", "del x", "x: int", "async def a():", "    await b", "match 3:", "    case 3:", "        y = 2",
             "    case _:", "        y = 3", "lambda: (yield)", "global q", "print(e := 3)", "while False:", "    v = 1",
             "else:", "    v = 2"]
    if sys.version_info >= (3, 11):
        lines += ["try:", "    w = int('1')", "except* ValueError:", "    w = 2"]
    else:
        lines += ["w = 1"]
    lines += ["type T = int" if sys.version_info >= (3, 12) else "T = int", "def f():", "    return y, w, v, T"]
    assert script("\n".join(lines) + "\n").run({"f"}).f()[:3] == (2, 1, 2)
