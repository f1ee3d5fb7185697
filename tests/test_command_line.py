"""`python -m autodiff`: what its commands print, where types come from, and what they say of mistakes."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import types

from autodiff.__main__ import amount, main
from autodiff.calling.progress import LINE
from autodiff.survey.kinds import has_floats, of_annotation, shown

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TEXT = '''
import numpy as np
from autodiff import grad, jacobian, value_and_grad

START = {"a": 2.0, "b": np.ones(3)}


def annotated(x: "float64[:, ::1]", n: int, k: float) -> float:
    return k * np.sum(x[n] ** 2)


def called(p, kind, w=3.0):
    s = p["a"] * np.sum(p["b"]) * w
    return s if kind == "plain" else s * s


def guessed(n, x, k):
    s = 0.0
    for i in range(n):
        s += k * x[i, i] ** 2
    return s


def vectors(x):
    return np.sin(x)


def refused(x: float):
    return open("x") * x


def object_of(tank):
    return tank.volume


@value_and_grad(wrt="k")
def decorated(x: float, k: float):
    return x * k


def with_defaults(x=np.ones(3), k=2.0):
    return np.sum(x) * k


class Shapes:
    @staticmethod
    def square(a: float):
        return a * a


NUMBER = 3
print("this must not be printed")
print(called(START, "squared"))
'''


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "a_file_of_commands.py"
    path.write_text(TEXT, encoding="utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(LINE, "command", False)
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    yield path
    sys.modules.pop(path.stem, None)


@pytest.fixture
def run(file, capsys):
    """(exit status, standard output, standard error) of a command; FILE stands for the file's name."""
    def run(*arguments):
        status = main([a.replace("FILE", file.name) for a in arguments])
        told = capsys.readouterr()
        return status, told.out, told.err
    return run


# -- types --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, wanted, error", [
    (["FILE:annotated"], 'annotated_grad(x, n, k): """Returns x_bar (x_0, x_1).', ""),
    (["FILE:annotated", "--wrt", "k"], 'annotated_grad(x, n, k): """Returns s (number).', ""),
    (["FILE:annotated", "--wrt", "0, k"], "Returns x_bar (x_0, x_1), s (number).", ""),
    (["FILE:called"], "Returns a number, p_1_bar (p_1_size,).", ""),
    (["FILE:called", "--types", "START; 'plain'; float64", "--wrt", "w"], "def called_grad(p_0, p_1, w):", ""),
    (["FILE:guessed"], "Returns x_bar (x_0, x_1).",
     "guessed (n: int64, x: float64[:, ::1], k: float64); for others say --types 'int64; float64[:, ::1]; float64'"),
    (["FILE:vectors", "--types", "float32[:]"], "def vectors_pullback(", "this is its pullback (--of vjp)"),
    (["FILE:vectors", "--types", "float32[:]", "--of", "jacobian"], "def vectors_jacobian(x):", ""),
    (["FILE:decorated"], 'decorated_value_and_grad(x, k): """Returns a number, x (number).', ""),
    (["FILE:decorated", "--wrt", "x"], 'decorated_grad(x, k): """Returns k (number).', ""),
    (["FILE:decorated", "--of", "primal"], "def decorated(x, k):", ""),
    (["FILE:decorated", "--of", "hessian"], "def decorated_grad_jacobian(x, k):", ""),
    (["FILE:with_defaults"], "Returns x_bar (x.shape[0],).", ""),
    (["FILE:Shapes.square", "--stage", "lower"], "def square(a):", ""),
    (["scipy.optimize._optimize:rosen", "--types", "float64[:]"], "def primal_grad(args):", ""),
])
def test_show(run, arguments, wanted, error):
    status, out, told = run("show", *arguments)
    assert status == 0 and " ".join(wanted.split()) in " ".join(out.split()), out + told
    assert told.count("\n") == bool(error) and error in told
    assert "\x1b" not in out


@pytest.mark.parametrize("annotation, kind", [
    (float, types.float64), (int, types.int64), ("float", types.float64), (np.float32, types.float32), (np.ndarray, None),
    ("Missing", None), (np.random.Generator, types.npy_rng), (tuple[float, int], types.Tuple((types.float64, types.int64))),
    (tuple[float, ...], None), (complex, types.complex128), ("float64[:, :]", types.float64[:, :]), (str, None),
    (list[float], None), (np.str_, None), (types.float32[:], types.float32[:]), ("tuple[float, list]", None),
    (np.int16, types.int16),
])
def test_annotations(annotation, kind):
    assert of_annotation(annotation, {}) == kind


def test_types_as_they_are_shown():
    for value, text in ((np.ones((2, 3)), "float64[:, ::1]"), (np.ones(2, "f4"), "float32[::1]"), (1, "int64"),
                        (2.0, "float64"), (True, "boolean"), (1j, "complex128"), ("a", "'a'"), (np.float32(1), "float32")):
        assert shown(value) == text
    for value, has in ((1, False), (1.0, True), ({"a": [np.ones(3)]}, True), ("a", False), (np.arange(3), False),
                       (object(), False)):
        assert has_floats(value) is has
    for text, has in (("float64[:]", True), ("int64[:]", False), ("complex64", True), ("Tuple((int64, float32[:]))", True)):
        assert has_floats(of_annotation(text, {})) is has


@pytest.mark.parametrize("name", ["bundle_adjustment.py:residuals", "hamiltonian_monte_carlo.py:posterior",
                                  "option_calibration.py:misfit", "quickstart.py:thurber", "readme_example.py:energy"])
def test_examples(name, run):
    status, out, told = run("show", f"{EXAMPLES}/{name}")
    assert status == 0 and "_bar" in out
    assert told.count("guessed") == (name == "quickstart.py:thurber")


# -- mistakes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, told", [
    (["show", "none.py:f"], "there is no Python file none.py"),
    (["show", "FILE"], "names no function: say FILE.py:FUNCTION; it has annotated, called, guessed"),
    (["show", "FILE:"], "has no function ; it has"),
    (["show", "FILE:missing"], "has no function missing; it has annotated,"),
    (["show", "FILE:Shapes"], "is no function with Python source: it is the class Shapes"),
    (["show", "FILE:NUMBER"], "is no function with Python source: it is of type int"),
    (["show", "FILE:annotated", "--types", "float64[; int64; int64"], "--types: 'float64[' is no Numba type (SyntaxError"),
    (["show", "FILE:annotated", "--types", "flaot64; int64; int64"], "'flaot64' is no Numba type (NameError"),
    (["show", "FILE:annotated", "--types", "np; int64; int64"], "'np' is no Numba type, but a module"),
    (["show", "FILE:annotated", "--types", "float64"], "--types has 1 types, and annotated takes 3 arguments: x, n, k"),
    (["show", "FILE:called", "--types", "START; 'a'; 1.0; 2.0"], "--types has 4 types, and called takes 2 to 3 arguments"),
    (["show", "FILE:annotated", "--wrt", "y"], "--wrt: annotated has no argument y; it has x, n, k"),
    (["show", "FILE:annotated", "--wrt", "3"], "--wrt: annotated has no argument 3"),
    (["show", "FILE:annotated", "--stage", "nothing"], "there is no stage nothing; there are lower,"),
    (["show", "FILE:object_of"], "arguments of object_of are not known: `tank` is an object with an attribute `volume`"),
    (["show", "no_package_here.at_all:f"], "no Python file no_package_here.at_all, and importing it says ModuleNotFound"),
    (["view", "FILE:annotated", "-o", "nowhere/out.html"], "nowhere/out.html cannot be written: No such file or directory"),
    (["check", "none.py"], "there is no Python file none.py"),
    (["check", "no_package_here"], "No module named 'no_package_here'"),
    (["show", "broken.py:f"], "broken.py:2: SyntaxError: "),
    (["check", "broken.py"], "broken.py:2: SyntaxError: "),
    (["show", "fails.py:f"], "fails.py:1: ZeroDivisionError: division by zero"),
    (["show", "a_folder.py:f"], "a_folder.py cannot be read: Is a directory"),
])
def test_mistakes(run, arguments, told, tmp_path):
    (tmp_path / "broken.py").write_text("x = 1\ndef f(:\n", encoding="utf-8")
    (tmp_path / "fails.py").write_text("A = 1 / 0\ndef f(x):\n    return A * x\n", encoding="utf-8")
    (tmp_path / "a_folder.py").mkdir()
    status, out, error = run(*arguments)
    assert status == 2 and told in error and error.startswith("autodiff: ") and error.count("\n") == 1, error
    assert out == ""


def test_wrong_options_have_status_2(run, capsys):
    for arguments in (["show"], ["nothing"], [], ["cache", "burn"], ["show", "FILE:f", "--of", "love"]):
        with pytest.raises(SystemExit) as e:
            run(*arguments)
        assert e.value.code == 2
    with pytest.raises(SystemExit) as e:
        main(["--help"])
    told = capsys.readouterr().out
    assert e.value.code == 0 and "is not run as a script is" in told and "AUTODIFF_CACHE_DIR" in told


def test_refusals_have_status_1(run):
    status, out, error = run("show", "FILE:refused")
    assert (status, out) == (1, "") and "a_file_of_commands.py" in error
    status, _, error = run("show", "FILE:vectors", "--of", "grad", "--types", "float64[:]")
    assert status == 1 and "grad needs a scalar loss" in error
    status, _, error = run("show", "FILE:guessed", "--types", "float64; float64; float64")
    assert status == 1 and "guessed" not in error.split("\n")[0]


# -- the rest -----------------------------------------------------------------------------------------------------


def test_colours_are_for_terminals(run, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, out, _ = run("show", "FILE:annotated")
    assert "\x1b[36mx_bar\x1b[0m" in out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("show", "FILE:annotated")[1]
    assert LINE.command


def test_view(run, tmp_path):
    status, out, _ = run("view", "FILE:called")
    assert (status, out) == (0, "called.html\n") and "called_grad" in (tmp_path / "called.html").read_text(encoding="utf-8")
    status, out, _ = run("view", "FILE:vectors", "--types", "float64[:]", "-o", "v.html")
    assert status == 0 and "vectors_pullback" in (tmp_path / "v.html").read_text(encoding="utf-8")


def test_check(run):
    status, out, told = run("check", "FILE", "--all")
    assert status == 0 and told == "" and "this must not be printed" not in out
    assert "annotated: differentiates in" in out and "Shapes.square: differentiates" in out and "refused: refused" in out


def test_check_of_a_file_of_which_parts_fail(run, tmp_path):
    text = "import no_such_module\nA = 1 / 0\ndef f(x):\n    return x * x\ndef g(x):\n    return A\n"
    (tmp_path / "parts.py").write_text(text, encoding="utf-8")
    status, out, told = run("check", "parts.py")
    assert status == 0 and out.startswith("2 functions: 1 differentiates") and told.count("\n") == 2
    assert "autodiff: parts.py:1: ModuleNotFoundError" in told and "autodiff: parts.py:2: ZeroDivisionError" in told


def test_cache(run, monkeypatch, tmp_path):
    monkeypatch.setenv("AUTODIFF_CACHE_DIR", str(tmp_path / "store"))
    monkeypatch.setattr("autodiff.runtime.machine_code.contents.places_of_numba", list)
    run("show", "FILE:annotated")
    status, out, _ = run("cache")
    assert status == 0 and re.search(rf"^{re.escape(str(tmp_path / 'store'))}\n  generated modules +1 files", out)
    status, out, _ = run("cache", "clear")
    assert status == 0 and out.startswith("removed 1 files, ")
    assert re.search("generated modules +0 files +0 B", run("cache")[1])
    assert list(map(amount, (0, 999, 1000, 12_345_678, 5 * 10 ** 12))) == ["0 B", "999 B", "1.0 kB", "12.3 MB", "5000.0 GB"]


def test_a_reader_that_has_enough(run, monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

        def fileno(self):
            return os.open(os.devnull, os.O_WRONLY)
    monkeypatch.setattr(sys, "stdout", Closed())
    assert main(["cache"]) == 0


def test_the_module_itself(file):
    command = [sys.executable, "-m", "autodiff", "show", "none.py:f"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "autodiff: there is no Python file none.py\n")


def test_the_page_with_times(run, tmp_path):
    status, out, error = run("view", "FILE:called", "--time", "--types", "START; 'squared'; 2.0", "-o", "timed.html")
    assert (status, error) == (0, "") and '"call": ' in (tmp_path / "timed.html").read_text(encoding="utf-8")
    for arguments in (["FILE:annotated"], ["FILE:guessed"], ["FILE:with_defaults", "--types", "float64[:]; float64"]):
        status, out, error = run("view", *arguments, "--time", "-o", "none.html")
        assert status == 2 and "arguments must be known" in error and not (tmp_path / "none.html").exists()
