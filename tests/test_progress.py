"""The line that tells of a long compilation, and the hint of loops that are written out."""

import io
import re
import threading
import time
import types

import numpy as np
import pytest

from autodiff import grad, jacobian
from autodiff.calling import progress as module
from autodiff.calling.progress import LINE, progress


class Terminal(io.StringIO):
    terminal = True

    def isatty(self):
        return self.terminal


@pytest.fixture
def terminal(monkeypatch):
    """The standard error as a terminal, at a prompt, with no patience."""
    stream = Terminal()
    monkeypatch.setattr(module, "sys", types.SimpleNamespace(stderr=stream, ps1=">>> "))
    monkeypatch.setattr(module, "DELAY", 0.02)
    monkeypatch.setattr(module, "EVERY", 0.01)
    monkeypatch.setattr(LINE, "told", set())
    monkeypatch.delenv("AUTODIFF_PROGRESS", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    return stream


def screen(text):
    """The last line that a terminal shows after this text."""
    line = ""
    for part in text.split("\n")[-1].split("\r"):
        line = part + line[len(part):]
    return line.rstrip()


def shown_within(stream, text):
    end = time.monotonic() + 10.0
    while text not in stream.getvalue():
        assert time.monotonic() < end, stream.getvalue()
        time.sleep(0.005)


def test_it_is_shown_and_erased(terminal):
    with progress("differentiating f"):
        shown_within(terminal, "\rdifferentiating f ... 0 s")
        with progress("compiling f_grad: 12 lines"):
            shown_within(terminal, "\rcompiling f_grad: 12 lines ... 0 s")
            assert screen(terminal.getvalue()).startswith("compiling")
        with pytest.raises(ZeroDivisionError), progress("x"):
            shown_within(terminal, "\rx ... 0 s")
            assert screen(terminal.getvalue()) == "x ... 0 s"       # nothing is left of the longer line
            1 / 0       # noqa: B018
    assert screen(terminal.getvalue()) == "" and "\n" not in terminal.getvalue()
    assert not LINE.tasks
    told = terminal.getvalue()
    time.sleep(0.05)
    assert terminal.getvalue() == told


def test_two_threads_share_the_line(terminal):
    go, on = threading.Event(), threading.Event()

    def other():
        with progress("the other"):
            on.set()
            go.wait(10.0)
    thread = threading.Thread(target=other)
    with progress("the first"):
        thread.start()
        on.wait(10.0)
    shown_within(terminal, "\rthe other ... ")
    assert screen(terminal.getvalue())
    go.set()
    thread.join()
    assert screen(terminal.getvalue()) == "" and not LINE.tasks


@pytest.mark.parametrize("why", ["no prompt", "no terminal", "off", "quick", "no stream"])
def test_nothing_is_shown(terminal, monkeypatch, why):
    if why == "no prompt":
        del module.sys.ps1
    elif why == "no terminal":
        terminal.terminal = False
    elif why == "off":
        monkeypatch.setenv("AUTODIFF_PROGRESS", "0")
    elif why == "no stream":
        module.sys.stderr = None
    with progress("compiling"):
        time.sleep(0.0 if why == "quick" else 0.06)
    assert terminal.getvalue() == ""


def test_scripts_and_commands_may_have_it(terminal, monkeypatch):
    del module.sys.ps1
    for name in ("script", "command"):
        if name == "script":
            monkeypatch.setenv("AUTODIFF_PROGRESS", "1")
        else:
            monkeypatch.delenv("AUTODIFF_PROGRESS")
            monkeypatch.setattr(LINE, "command", True)
        with progress(name):
            shown_within(terminal, f"\r{name} ... 0 s")


def test_long_lines_are_cut(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    with progress("compiling " + "f" * 40):
        shown_within(terminal, "\r")
    assert max(map(len, terminal.getvalue().split("\r"))) <= 19


def layers_of(x, layers):
    s = 0.0
    for w in layers:                                    # + 2
        s += np.sum(np.tanh(w * x))
    few = [np.sum(w) for w in layers[:3]]
    for k in range(5):
        s = s * x
    return s + sum(np.sum(w * w * x) for w in layers) + sum(few)        # + 7


def test_loops_that_are_written_out(terminal, monkeypatch):
    unlike = [np.ones(3 if k % 2 else 4) for k in range(20)]
    alike = [np.ones(3) for k in range(20)]
    first = layers_of.__code__.co_firstlineno
    monkeypatch.setattr(module, "DELAY", 0.0)
    grad(layers_of, mode="python")(2.0, alike)
    assert "written out" not in terminal.getvalue()
    grad(layers_of, mode="python")(2.0, unlike)
    hints = re.findall(r"^\r?.*?autodiff: test_progress.py:(\d+): this loop is written out (\d+) times", terminal.getvalue(),
                       re.MULTILINE)
    assert hints == [(str(first + 2), "20"), (str(first + 7), "20")]
    before = terminal.getvalue()
    grad(layers_of, mode="python", fastmath=True)(2.0, unlike)          # made anew: they were told of
    assert "written out" not in terminal.getvalue()[len(before):]
    LINE.told.clear()
    jacobian(layers_of, mode="python")(2.0, unlike)
    assert "written out 20 times" in terminal.getvalue()[len(before):]


def test_compilations_are_told(terminal, monkeypatch):
    """With the lines of the text, and the name of what is compiled."""
    told = []
    monkeypatch.setattr(LINE, "begin", lambda text, reader: told.append(text) or [text])
    f = grad(lambda x: np.sum(x * x), mode="python")
    f(np.ones(3))
    assert told == ["differentiating <lambda>", f"compiling primal_grad: {f.source.count(chr(10))} lines"]
    f(np.ones(3))
    assert len(told) == 2


class Notebook:
    """A kernel's shell, as far as a line needs it: what is below the cell, by the display that is updated."""

    kernel = object()

    def __init__(self):
        self.display_pub, self.texts, self.gone = self, [], False

    def publish(self, data, transient, update):
        assert update == bool(self.texts) and set(data) == {"text/plain", "text/html"}
        self.texts.append((transient["display_id"], data["text/plain"], data["text/html"]))
        if self.gone:
            raise OSError("nobody there")


def test_a_notebook_has_the_line_below_the_cell(terminal, monkeypatch):
    shell = Notebook()
    monkeypatch.setattr(module, "session", lambda: shell)
    terminal.terminal = False                           # as the streams of kernels are none
    del module.sys.ps1
    with progress("compiling <f>_grad: 12 lines"):
        end = time.monotonic() + 10.0
        while len(shell.texts) < 3 and time.monotonic() < end:
            time.sleep(0.005)
    ids, texts, pages = zip(*shell.texts, strict=True)
    assert len(set(ids)) == 1 and texts[0] == "compiling <f>_grad: 12 lines ... 0 s" and "&lt;f&gt;_grad" in pages[0]
    assert texts[-1] == pages[-1] == "" and "" not in texts[:-1]        # nothing is left
    assert terminal.getvalue() == "" and not LINE.tasks
    shell.gone = True
    shell.texts.clear()
    with progress("compiling"):
        time.sleep(0.06)
    monkeypatch.setenv("AUTODIFF_PROGRESS", "0")
    shell.texts.clear()
    with progress("compiling"):
        time.sleep(0.06)
    assert not shell.texts
