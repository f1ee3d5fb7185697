"""Derivatives of functions in files, as text or pages; which functions differentiate; what is kept on disk.

A file is not run as a script is: of it, imports, definitions and the assignments that the function needs are run,
nothing under `if __name__ == "__main__"`, and no prints, plots and fits that stand beside them.

The types of the arguments come from --types, else from annotations, else from a call of the function in the file
whose arguments can be computed without more; else they are guessed from what it does with them, which is said.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numba

from .arguments.kinds import flatten
from .calling.compiled import Compiled, Differentiable
from .calling.progress import LINE
from .inspecting.colours import coloured, has_colours
from .inspecting.view import View
from .operators.gradients import Gradient
from .operators.hessian_products import HessianProduct
from .operators.jacobians import Hessian, Jacobian
from .operators.pullbacks import Vjp
from .options import Options
from .runtime.machine_code.contents import clear, kept_files
from .survey.findings import report, survey
from .survey.kinds import arguments_for, has_floats, names_in, shown
from .survey.scripts import Mistake, Script
from .transforms.language.errors import AutodiffError, NonDifferentiable
from .transforms.source.definitions import plain_function

PYTHON = Options("python")
OPERATORS: dict[str, Callable[..., Compiled]] = {
    "grad": lambda f, wrt: Gradient(f, wrt=wrt, options=PYTHON), "jacobian": lambda f, wrt: Jacobian(f, wrt, options=PYTHON),
    "hessian": lambda f, wrt: Hessian(f, wrt, options=PYTHON), "vjp": lambda f, wrt: Vjp(f, options=PYTHON),
    "primal": lambda f, wrt: Differentiable(f, PYTHON)}
UNTIMED = ("--time runs {}, for which its arguments must be known, not their types alone: by a call in the file with values "
           "that can be computed, or by --types 'np.ones(1000); 2.0'")
EXAMPLES = """examples:
  python -m autodiff show model.py:energy                   its gradient
  python -m autodiff show model.py:energy --wrt x,k         with respect to two arguments
  python -m autodiff show model.py:residuals --of jacobian --types 'float64[:,::1]; float64'
  python -m autodiff view model.py:energy -o energy.html    beside the function, for a browser
  python -m autodiff check model.py                         which of its functions differentiate
  python -m autodiff cache                                  what is kept on disk, and where
exit status: 0; 1 where a function does not differentiate; 2 for a mistake in the command or the file
AUTODIFF_CACHE_DIR sets where generated modules are kept; NO_COLOR and AUTODIFF_PROGRESS=0 turn off colours and progress"""


def main(arguments=None) -> int:
    """Run a command; its exit status."""
    options = parser().parse_args(arguments)
    LINE.command = True
    try:
        status = options.run(options)
        sys.stdout.flush()
        return status
    except Mistake as e:
        print(f"autodiff: {e}", file=sys.stderr)
        return 2
    except AutodiffError as e:
        print(f"{type(e).__name__}: {e}", file=sys.stderr)
        return 1
    except BrokenPipeError:                     # whoever reads has enough: `... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m autodiff", description=__doc__, epilog=EXAMPLES,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = made.add_subparsers(dest="command", required=True, metavar="show|view|check|cache")
    show = commands.add_parser("show", help="print the generated derivative of a function")
    view = commands.add_parser("view", help="write a page that shows it beside the function")
    for one, run in ((show, shows), (view, views)):
        one.set_defaults(run=run)
        one.add_argument("function", metavar="FILE.py:FUNCTION", help="or PACKAGE.MODULE:FUNCTION, which is imported")
        one.add_argument("--wrt", default="", metavar="NAMES",
                         help="names or positions, separated by commas (default: the first argument that has a derivative)")
        one.add_argument("--types", default="", metavar="TYPES",
                         help="Numba types of the arguments, separated by semicolons, 'float64[:,::1]; float64', or "
                              "expressions with names of the file, 'START; float64'")
        one.add_argument("--of", choices=list(OPERATORS),
                         help="the derivative (default: the one that the function is decorated with, else grad, or vjp "
                              "where it returns more than a number)")
    view.add_argument("--time", action="store_true", help="run it to measure how long each line takes: the arguments "
                      "must be known, from a call in the file or from expressions in --types")
    view.add_argument("-o", "--out", metavar="OUT.html", help="the page (default: FUNCTION.html)")
    show.add_argument("--stage", help="an intermediate program: lower, fuse, reverse, any later pass, or final")
    check = commands.add_parser("check", help="tell which functions of a file or package differentiate")
    check.set_defaults(run=checks)
    check.add_argument("what", metavar="FILE.py|PACKAGE")
    check.add_argument("--all", action="store_true", help="a line for each function, not only for what stands in the way")
    check.add_argument("--seconds", type=float, default=30.0, help="at most for one function (default 30)")
    cache = commands.add_parser("cache", help="tell what is kept on disk, or remove it")
    cache.set_defaults(run=caches)
    cache.add_argument("action", nargs="?", choices=["clear"],
                       help="remove all generated modules and machine code; they are made again when they are needed")
    return made


# -- show and view ------------------------------------------------------------------------------------------------


def shows(options) -> int:
    made, *_ = derivative(options)
    if options.stage and options.stage not in made.stages:
        raise Mistake(f"there is no stage {options.stage}; there are {', '.join(made.stages)}")
    text = str(made.stages[options.stage]) if options.stage else made.source
    print(coloured(text) if has_colours(sys.stdout) else text, end="" if text.endswith("\n") else "\n")
    return 0


def views(options) -> int:
    made, name, args, keywords = derivative(options)
    out = options.out or f"{name}.html"
    page = timed(made, name, args, keywords) if options.time else made.view()
    try:
        page.save(out)
    except OSError as e:
        raise Mistake(f"{out} cannot be written: {e.strerror}") from None
    print(out)
    return 0


def timed(made, name: str, args: tuple, keywords: dict) -> View:
    """The page of a derivative with its times, for arguments that are values."""
    if any(isinstance(x, numba.types.Type) for value in (*args, *keywords.values()) for x in flatten(value)):
        raise Mistake(UNTIMED.format(name))
    try:
        return made._like(mode="numba").view(*args, time=True, **keywords)
    except AutodiffError:
        raise
    except Exception as e:
        raise Mistake(f"--time: {name}: {e}".split("\n")[0]) from None


def derivative(options) -> tuple[Any, str, tuple, dict]:
    """(the derivative that a command asks for, made for its arguments, the name of the function, the arguments)."""
    script, function, name = found(options.function, names_in(options.types))
    own = function if isinstance(function, Compiled) else None
    plain = undecorated(function)
    arguments = arguments_for(plain, name, script, options.types)
    refusal: AutodiffError | None = None
    for args, keywords in arguments.tries:
        wrt = wrt_of(options.wrt, plain, name, args, keywords)
        try:
            made = specialized(options.of, own, plain, None if not options.wrt else wrt, wrt, args, keywords, name)
        except AutodiffError as e:
            refusal = refusal or e
            continue
        except (TypeError, ValueError) as e:    # arguments or options that do not go together
            raise Mistake(f"{name}: {e}".split("\n")[0]) from None
        if arguments.guessed:
            if getattr(options, "time", False):
                raise Mistake(UNTIMED.format(name))
            note(args, plain, name)
        return made, name.rpartition(".")[2], args, keywords
    assert refusal is not None
    if arguments.guessed:
        note(arguments.tries[0][0], plain, name)
    raise refusal


def specialized(of, own, plain, asked, wrt, args, keywords, name: str):
    """A derivative for some arguments. of: the one that is asked for, own: that which the file has, if any."""
    if own is not None and of is None and asked is None and own.kind != "primal":
        vector = vector_of(own, args, keywords) if isinstance(own, HessianProduct) else ()
        return own._like(mode="python").specialize(*args, *vector, **keywords)
    try:
        return OPERATORS[of or "grad"](plain, wrt).specialize(*args, **keywords)
    except NonDifferentiable as e:
        if of is not None or not e.problem.startswith("grad needs a scalar loss"):
            raise
    made = OPERATORS["vjp"](plain, wrt).specialize(*args, **keywords)
    print(f"autodiff: {name} returns more than one number: this is its pullback (--of vjp)", file=sys.stderr)
    return made


def vector_of(product: HessianProduct, args: tuple, keywords: dict) -> tuple:
    """The last argument of a product with a Hessian: of the kind of the arguments that it is differentiated in."""
    bound = inspect.signature(plain_function(undecorated(product))).bind_partial(*args, **keywords).arguments
    values = list(bound.values())
    parts = [bound[w] if isinstance(w, str) else values[w] for w in (
        product.wrt if isinstance(product.wrt, (tuple, list)) else [product.wrt])]
    return (parts[0],) if isinstance(product.wrt, (int, str)) else (tuple(parts),)


def found(text: str, more: set[str]) -> tuple[Script | None, Any, str]:
    """(the file, the function, its name) of FILE.py:FUNCTION; no file for PACKAGE.MODULE:FUNCTION. more: other names of the
    file that are needed."""
    path, colon, name = text.rpartition(":")
    if not colon or path == "" or name.endswith(".py"):
        has = Script(text).functions() if text.endswith(".py") else []
        raise Mistake(f"{text} names no function: say FILE.py:FUNCTION" + f"; it has {', '.join(has)}" * bool(has))
    script = Script(path) if path.endswith((".py", ".pyw")) or os.path.exists(path) else None
    if script is None:
        try:
            module = importlib.import_module(path)
        except (Exception, SystemExit) as e:
            told = f"there is no Python file {path}, and importing it says {type(e).__name__}: {e}"
            raise Mistake(told.split("\n")[0]) from None
    else:
        module = script.run({name.split(".")[0], *more})
    try:
        function = attrgetter(name)(module)
    except AttributeError:
        has = script.functions() if script is not None else [n for n, f in vars(module).items() if inspect.isfunction(f)]
        raise Mistake(f"{path} has no function {name}" + f"; it has {', '.join(has)}" * bool(has)) from None
    plain = plain_function(undecorated(function)) if callable(function) else None
    if isinstance(function, type) or not hasattr(plain, "__code__"):
        raise Mistake(f"{name} of {path} is no function with Python source: it is {describe(function)}")
    return script, function, name


def undecorated(function: Any) -> Any:
    """The function behind operators on it."""
    while isinstance(function, Compiled):
        function = function.function
    return function


def describe(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"


def wrt_of(text: str, function, name: str, args: tuple, keywords: dict):
    """What --wrt says: a name or position, or several; else the first argument that has a derivative."""
    bound = inspect.signature(plain_function(function)).bind_partial(*args, **keywords).arguments
    if not text:
        return next((k for k, value in enumerate(bound.values()) if has_floats(value)), 0)
    asked = [int(w) if w.strip().lstrip("-").isdigit() else w.strip() for w in text.split(",")]
    for w in asked:
        if w not in bound if isinstance(w, str) else not -len(bound) <= w < len(bound):
            raise Mistake(f"--wrt: {name} has no argument {w}; it has {', '.join(bound)}")
    return asked[0] if len(asked) == 1 else tuple(asked)


def note(args: tuple, function, name: str) -> None:
    """Say which types were guessed, and how to say others."""
    names = inspect.signature(plain_function(function)).parameters
    pairs = ", ".join(f"{n}: {shown(a)}" for n, a in zip(names, args, strict=False))
    print(f"autodiff: the types of {name}'s arguments are guessed ({pairs}); for others say "
          f"--types '{'; '.join(map(shown, args))}'", file=sys.stderr)


# -- check and cache ----------------------------------------------------------------------------------------------


def checks(options) -> int:
    try:
        print(report(survey(options.what, options.seconds), options.all))
    except ModuleNotFoundError as e:
        raise Mistake(str(e)) from None
    return 0


def caches(options) -> int:
    if options.action == "clear":
        count, size = clear()
        print(f"removed {count} files, {amount(size)}")
        return 0
    folder = None
    for kept in kept_files():
        if kept.folder != folder:
            print(kept.folder)
            folder = kept.folder
        print(f"  {kept.what:34} {len(kept.files):7} files {amount(kept.bytes):>10}")
    print("`python -m autodiff cache clear` removes these files; they are made again when they are needed.")
    return 0


def amount(size: int) -> str:
    """A number of bytes for people."""
    value, unit = float(size), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


if __name__ == "__main__":
    sys.exit(main())
