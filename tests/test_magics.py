"""`%load_ext autodiff` in IPython: what `%%autodiff` runs and shows, and errors in cells."""

import re
import sys
import types

import numpy as np
import pytest

from autodiff import grad
from autodiff.inspecting.sources import Source

pytest.importorskip("IPython")
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
BEGIN = "import numpy as np\nfrom autodiff import AutodiffError, differentiable, grad, vjp\n%load_ext autodiff"


class Session:
    """A shell and what its cells print and show."""

    def __init__(self, shell):
        self.shell, self.space = shell, shell.user_ns

    def __call__(self, cell: str):
        """(the value of the cell, what it shows as text, the pages of views), its errors among the text."""
        with capture_output() as captured:
            done = self.shell.run_cell(cell, store_history=True)
        self.error = done.error_in_exec or done.error_before_exec
        self.pages = [out.data["text/html"] for out in captured.outputs if "text/html" in out.data]
        shown = "".join(out.data.get("text/plain", "") for out in captured.outputs)
        self.text = COLOURS.sub("", captured.stdout + captured.stderr + shown)
        return done.result


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    before = dict(vars(sys))
    shell = InteractiveShell.instance(user_module=types.ModuleType("cells"))
    try:
        made = Session(shell)
        made(BEGIN)
        assert not made.error
        yield made
    finally:
        InteractiveShell.clear_instance()
        for name in ("displayhook", "excepthook", "last_type", "last_value", "last_traceback"):
            setattr(sys, name, before.get(name))


ENERGY = """%%autodiff
@grad(mode="python")
def energy(x, k):
    e = 0.0
    for i in range(x.shape[0] - 1):
        e += 0.5 * k * (x[i + 1] - x[i]) ** 2
    return e

energy(np.arange(4.0), 2.0)"""


def test_a_cell_shows_the_derivatives_that_it_makes(session):
    value = session(ENERGY)
    assert value.tolist() == [-2.0, 0.0, 0.0, 2.0] and not session.error
    page, = session.pages
    assert "gradient of energy" in page and "iframe" in page
    number = session.shell.execution_count - 1
    assert f"# In[{number}]:6    e += 0.5 * k" in session.text             # the line as the notebook counts it
    session("energy.source")
    assert f"# In[{number}]:6    e += 0.5 * k" in session.text
    session("%autodiff energy --stage lower")
    assert "def energy(x, k):" in session.text and len(session.pages) == 1
    assert "_autodiff_noted" not in session.space


def test_plain_functions_are_shown_where_the_cell_calls_them(session):
    session("%%autodiff\ndef wave(x, n, k=1.0):\n    return np.sin(x) * k * n\n"
            "y = [wave(np.ones(3), n, k=2.0) for n in range(2)]")
    assert not session.error and "def wave_pullback(x, n, k" in session.text and "x_bar" in session.text
    assert "k_bar" in session.text and "n_bar" not in session.text
    session("%%autodiff --wrt k\ndef total(x, k):\n    return np.sum(x) * k\ntotal(np.ones(3), 2.0)")
    assert "def total_grad(x, k):" in session.text and "return s" in session.text
    session("%%autodiff\ndef total(x, k):\n    return np.sum(x) * k\n"
            "g = grad(total, mode='python')\nh = total(g(np.ones(2), 1.0), 2.0)")
    assert len(session.pages) == 1 and "total_grad" in session.text                 # once, though both are called
    session("%%autodiff\ngrad(total, wrt=1, mode='python')(np.ones(3), 2.0)")
    assert len(session.pages) == 1 and "return s" in session.text           # one without a name


def test_times(session):
    session("%%autodiff --time\n@grad(mode='python')\ndef energy(x):\n    return np.sum(x * x)\n\nenergy(np.arange(4.0))")
    page, = session.pages
    assert '&quot;call&quot;: ' in page and not session.error
    session("%%autodiff --time --types 'float64[::1]'\ndef other(x):\n    return np.sum(x)\n")
    assert isinstance(session.error, UsageError) and "not called" in session.text


def test_types_for_what_is_not_called(session):
    cell = "\ndef area(r, h):\n    return np.sum(r) * h\n"
    session("%%autodiff" + cell)
    assert "nothing to show" in session.text and not session.pages
    session("%%autodiff --types 'float64[::1]; float64'" + cell)
    assert "def area_grad(r, h):" in session.text
    session("%autodiff area")
    assert isinstance(session.error, UsageError) and "--types" in session.text
    session("%%autodiff\n@grad(mode='python')\ndef power(a: float, n: int):\n    return a ** n")
    assert "def power_grad(a, n):" in session.text
    for line, said in (("--types 'nothing; float64'", "'nothing' is no Numba type"),
                       ("--types 'float64'", "has 1 types, and area takes 2"), ("--bad", "unrecognized"),
                       ("--time --types 'float64[::1]; float64'", "--time"), ("'", "quotation"),
                       ("--stage no --types 'float64[::1]; float64'", "no stage 'no'"),
                       ("missing", "there is no `missing`")):
        session(f"%%autodiff {line}{cell}")
        assert isinstance(session.error, UsageError) and said in session.text, line


def test_a_function_without_a_derivative_is_no_error_of_the_cell(session):
    value = session("%%autodiff\nn = 0\ndef counted(x):\n    global n\n    n += 1\n    return x * x\ncounted(3.0)")
    assert value == 9.0 and not session.error and session.space["n"] == 1
    assert "UnsupportedSyntax" in session.text and "line 5, in counted" in session.text and "Try: " in session.text


def test_errors_show_the_lines_of_the_cell_only(session):
    session("def inner(x):\n    return x[7] * x[0]")
    cell, = {session.shell.execution_count - 1}
    for call in ("y = 1\ngrad(inner, mode='python')(np.ones(3))", "%%autodiff\ngrad(inner, mode='python')(np.ones(3))"):
        session(call)
        assert isinstance(session.error, IndexError) and "----> 2 grad(inner" in session.text
        assert session.text.rstrip().endswith(f"index 7 is out of bounds for axis 0 with size 3\n  In[{cell}]:2, in inner")
        frames = re.findall("^(Cell|File) ", session.text, re.M)
        assert len(frames) == (1 if sys.version_info >= (3, 11) or call.startswith("%%") else 2)
    session("%%autodiff\ndef divided(x):\n    return x / 0\ndivided(1)")
    assert isinstance(session.error, ZeroDivisionError) and "----> 3     return x / 0" in session.text
    assert len(re.findall("^(Cell|File) ", session.text, re.M)) == 2
    session("def refused(x):\n    global n\n    n = 1\n    return x\n")
    session("grad(refused, mode='python')(1.0)")
    assert f"  Cell In[{cell + 4}], line 3, in refused\n" in session.text
    session("try:\n    grad(refused, mode='python')(1.0)\nexcept AutodiffError as e:\n    error = e\nerror")
    assert f"UnsupportedSyntax: {session.space['error']}" == session.text.strip() or session.text.startswith("Out")
    session("%%autodiff\ndef wrong(:\n    pass")
    assert isinstance(session.error, SyntaxError) and "def wrong(:" in session.text


PIECES = [
    "f = lambda x: x * 2.0", "a = f(a)",
    "def g(x, *more, **named):\n    return f(x) + len(more) + sum(named.values())", "a = g(a, 1, b=2.0)",
    "later = (g(a) for _ in range(2))", "b = [g(v) for v in (1.0, a)]", "c = sum(later) + c",
    "class K:\n    n = g(1.0)\n    def m(self):\n        return g(self.n)", "c = K().m() + c",
    "a = (lambda v: g(v))(a)", "for i in range(2):\n    a = g(a) / 3", "if a > 0:\n    b.append(f(a))",
    "b = sorted(b, key=f)", "b, c = list(map(f, b)), g(*b)", "@grad(mode='python')\ndef h(x):\n    return g(x) * x",
    "a = h(a) / 4", "with np.errstate(all='ignore'):\n    c = g(c)", "a = print(f(a)) or a",
    "d = {k: g(float(len(k))) for k in locals() if len(k) == 1}", "c = eval('g(c)')"]


def test_cells_run_as_without_the_magic(session):
    """Statements in any order: the same values, the same output, the same errors."""
    draw = np.random.default_rng(3)
    session(PIECES[0] + "\n" + PIECES[2] + "\n" + PIECES[4].replace("g(a)", "1.0") + "\n" + PIECES[7])
    errors = 0
    for _ in range(12):
        body = "\n".join(draw.choice(PIECES, draw.integers(1, 6), replace=False))
        found = []
        for cell in (body, "%%autodiff\n" + body):
            session.space.update(a=1.5, b=[1.0, 2.0], c=0.5, later=iter([1.0]))
            session(cell + "\nprint('done')\n(a, b, c)")
            printed = session.text.split("done")[0] if not session.error else ""
            after = session("list(later)"), *(session.space[name] for name in "abc")
            found.append((type(session.error), str(session.error), printed, after))
        assert found[0] == found[1], body
        errors += found[0][0] is not type(None)
    assert errors < 6


def test_the_extension_is_no_name_of_the_package():
    import autodiff
    assert "load_ipython_extension" not in dir(autodiff) and hasattr(autodiff, "load_ipython_extension")
    assert isinstance(grad(lambda x: x * x, mode="python").specialize(1.0).source, Source)
