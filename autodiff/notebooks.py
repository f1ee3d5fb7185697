"""`%load_ext autodiff`: `%%autodiff` runs a cell of a notebook and shows the derivatives of its functions beside them.

    %%autodiff
    @grad
    def energy(x, k):
        return 0.5 * k * np.sum((x[1:] - x[:-1]) ** 2)

    energy(np.arange(4.0), 2.0)

Shown are derivatives that are bound or called in the cell, and plain functions of the cell that it calls, differentiated by
all arguments with floats. What is not called is shown for the types that `--types` or annotations give.
`%autodiff energy` shows a function of an earlier cell.
"""

from __future__ import annotations

import argparse
import ast
import functools
import linecache
import shlex
import sys
import types
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import no_var_expand
from IPython.display import display

from .arguments.kinds import is_floating
from .calling.compiled import Compiled
from .calling.tracebacks import of_users
from .inspecting.view import View
from .operators.gradients import Gradient
from .operators.joint_pullbacks import JointPullback
from .options import Options
from .survey.kinds import said
from .survey.scripts import Mistake
from .transforms.language.cells import cell as known_cell
from .transforms.language.errors import AutodiffError, NonDifferentiable
from .transforms.source.definitions import plain_function

NOTED = "_autodiff_noted"           # what the calls of a cell go through while it runs
LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.GeneratorExp)        # these run when asked


class Arguments(argparse.ArgumentParser):
    """Those of the magics; what is wrong with them is IPython's UsageError."""

    def error(self, message):
        raise UsageError(f"%%autodiff: {message}")


OPTIONS = Arguments(prog="%%autodiff", add_help=False,
                    description="Run the cell, and show its functions beside their derivatives.")
OPTIONS.add_argument("function", nargs="?", help="show this one only; `%%autodiff NAME` shows one of an earlier cell")
OPTIONS.add_argument("--types", default="",
                     help="Numba types of the arguments of what is not called: 'float64[:,::1]; float64'")
OPTIONS.add_argument("--stage", default="source",
                     help="the program to begin with: lower, fuse, reverse, any later pass (default: source)")
OPTIONS.add_argument("--time", action="store_true", help="measure how long each line takes, for the arguments of a call")
OPTIONS.add_argument("--wrt", default="",
                     help="of plain functions: names or positions, separated by commas (default: all with floats)")


class Calls:
    """The first call of each derivative and each function of a cell, while its statements run."""

    def __init__(self, file: str):
        self.file = file
        self.found: dict[int, tuple[Any, tuple, dict]] = {}

    def __call__(self, called):
        """What is called in its place: itself, if nothing is to be noted."""
        own = isinstance(called, types.FunctionType) and called.__code__.co_filename == self.file
        if id(called) in self.found or not (own or isinstance(called, Compiled)):
            return called

        def noted(*args, **kwargs):
            self.found[id(called)] = called, args, kwargs
            try:
                return called(*args, **kwargs)
            except Exception as e:
                e.__traceback__ = e.__traceback__ and e.__traceback__.tb_next
                raise
        return noted

    def of(self, function) -> tuple[tuple, dict]:
        """The arguments of a function's first call; none if there was none."""
        _, args, kwargs = self.found.get(id(function), (None, (), {}))
        return args, kwargs


class Noting(ast.NodeTransformer):
    """What runs at once in a cell, with its calls noted; functions stay as they are, for their source is theirs."""

    def visit(self, node):
        return node if isinstance(node, LATER) else super().visit(node)

    def visit_Call(self, node):
        node = self.generic_visit(node)
        function = ast.Call(ast.Name(NOTED, ast.Load()), [node.func], [])
        return ast.copy_location(ast.Call(ast.copy_location(function, node.func), node.args, node.keywords), node)


def run(shell, cell: str) -> tuple[Any, Calls, list[str]]:
    """Run a cell whose first line is a magic; (the value of its last expression, its calls, the names that it binds).

    Errors show the lines of the cell only, at their numbers in it.
    """
    text = "\n" + shell.transform_cell(cell)                    # the magic is the first line
    file = file_of(shell, text)
    tree = shell.transform_ast(shell.compile.ast_parse(text, file))
    calls, space = Calls(file), shell.user_ns
    names = [name for statement in tree.body for name in bound_by(statement)]
    tree = ast.fix_missing_locations(Noting().visit(tree))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    space[NOTED] = calls
    try:
        exec(shell.compile(tree, file, "exec"), space)
        value = eval(shell.compile(ast.Expression(last.value), file, "eval"), space) if last is not None else None
    except Exception as e:
        e._render_traceback_ = functools.partial(       # type: ignore[attr-defined]    # which IPython asks
            shell.InteractiveTB.structured_traceback, type(e), e, of_users(e.__traceback__), tb_offset=0)
        raise
    finally:
        space.pop(NOTED, None)
    return value, calls, names


def file_of(shell, text: str) -> str:
    """The file that the cell around a magic is compiled as, which has this text from now on."""
    frame: types.FrameType | None = sys._getframe()
    while frame is not None and not known_cell(frame.f_code.co_filename, shell):
        frame = frame.f_back
    if frame is None:                                           # it is none: run by a program
        return shell.compile.cache(text, shell.execution_count)
    file = frame.f_code.co_filename
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    return file


def bound_by(statement) -> list[str]:
    """The names that a statement of a cell binds, in the order of the text."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return [statement.name]
    return [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def shown(shell, options, calls: Calls, names: list[str]) -> list[tuple[Any, tuple, dict]]:
    """What a cell shows, each with the arguments of a call: derivatives that it binds or calls, functions that it calls."""
    space = shell.user_ns
    if options.function:
        if options.function not in space:
            raise UsageError(f"%%autodiff: there is no `{options.function}`")
        return [(space[options.function], *calls.of(space[options.function]))]
    derivatives = [space[name] for name in dict.fromkeys(names) if isinstance(space.get(name), Compiled)]
    derivatives += [one for one, _, _ in calls.found.values() if isinstance(one, Compiled)]
    derivatives = list({id(one): one for one in derivatives}.values())
    covered = {id(plain_function(one.function)) for one in derivatives}
    plain = [one for one, _, _ in calls.found.values() if not isinstance(one, Compiled) and id(one) not in covered]
    defined = []
    if options.types and not derivatives and not plain:
        defined = [space[name] for name in names if isinstance(space.get(name), types.FunctionType)]
    return [(one, *calls.of(one)) for one in (*derivatives, *plain, *defined)]


def view_of(function, args: tuple, kwargs: dict, options) -> View:
    """The page of a derivative, or of that of a plain function, for the arguments of a call, or for types.

    Raises AutodiffError for what has none, UsageError where neither the arguments nor their types are known.
    """
    wrt = tuple(int(w) if w.lstrip("-").isdigit() else w for w in options.wrt.split(",") if w)
    called = bool(args or kwargs)
    if isinstance(function, Compiled):
        made = function
        if not called and made._specialisations.latest() is None or options.types:
            made.specialize(*kinds_of(made.function, options.types))
        elif called and made.options.target == "cpu":
            made._latest = made._find(*made._bind(args, kwargs))
        return page(made, args, kwargs, options)
    if not callable(function):
        raise UsageError(f"%%autodiff: a function is needed, not {type(function).__name__}")
    if called and not options.types:
        floats = tuple(k for k, value in enumerate(args) if is_floating(value))
        wrt = wrt or floats + tuple(name for name, value in kwargs.items() if is_floating(value))
    else:
        args, kwargs, called = tuple(kinds_of(function, options.types)), {}, False
        wrt = wrt or (0,)
    chosen = wrt[0] if len(wrt) == 1 else wrt
    mode = Options("numba" if options.time else "python")
    made = Gradient(function, wrt=chosen, options=mode)
    try:
        made.specialize(*args, **kwargs)
    except NonDifferentiable:               # a result that is no single number has a pullback
        made = JointPullback(function, wrt=chosen, options=mode)
        made.specialize(*args, **kwargs)
    return page(made, args if called else (), kwargs, options)


def page(made: Compiled, args: tuple, kwargs: dict, options) -> View:
    """The page of a derivative with the sizes of a call, if there was one, and with times, if they are asked for."""
    called = bool(args or kwargs) and made._latest is not None
    if options.time and not called:
        raise UsageError(f"%%autodiff --time: `{made.__name__}` is not called in the cell, with arguments to measure it for")
    try:
        times = made.times(*args, **kwargs) if options.time else None
    except ValueError as e:
        raise UsageError(f"%%autodiff --time: {e}") from None
    return made._page(made.tape.bill(*args, **kwargs) if called else (), options.stage, times)


def kinds_of(function, given: str) -> list:
    """Arguments of a function that is not called: the types that are given, or its annotations."""
    name = getattr(function, "__name__", "this")
    try:
        found = said(function, name, given)
    except Mistake as e:
        raise UsageError(f"%%autodiff: {e}") from None
    if found is None:
        raise UsageError(f"%%autodiff: `{name}` is not called: call it in the cell, or give the types of its arguments: "
                         "--types 'float64[::1]; float64'")
    return found


def load(shell) -> None:
    """Give an IPython shell the magics."""
    @no_var_expand
    def autodiff(line, cell=None):
        try:
            options = OPTIONS.parse_args(shlex.split(line))
        except ValueError as e:             # a quotation that does not end
            raise UsageError(f"%%autodiff: {e}") from None
        if cell is None and not options.function:
            raise UsageError("%autodiff: which function? `%%autodiff` shows those of a cell")
        value, calls, names = (None, Calls(""), []) if cell is None else run(shell, cell)
        found = shown(shell, options, calls, names)
        if not found:
            print("%%autodiff: nothing to show: the cell neither calls a function of its own nor makes a derivative; "
                  "--types 'float64[::1]; float64' says for which arguments to show what it defines")
        for function, args, kwargs in found:
            try:
                display(view_of(function, args, kwargs, options))
            except AutodiffError as e:      # the cell ran: there is only nothing to see
                display(e)
            except KeyError as e:           # no such stage
                raise UsageError(f"%%autodiff: {e.args[0]}") from None
        return value
    autodiff.__doc__ = f"{OPTIONS.format_help()}\n{__doc__}"
    shell.register_magic_function(autodiff, "line_cell", "autodiff")


__all__ = ["load"]
