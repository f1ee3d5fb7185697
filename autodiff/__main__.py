"""`python -m autodiff show FILE.py:FUNCTION`: print the generated gradient of a function in a file.
`python -m autodiff view FILE.py:FUNCTION -o OUT.html`: the gradient beside the function, as a page for a browser.
`python -m autodiff check FILE.py` or `PACKAGE`: which functions differentiate, and what stands in the way of the others.
"""

from __future__ import annotations

import argparse
import inspect
import sys

import numba

from .calling.compiled import Compiled
from .operators.gradients import Gradient
from .options import Options
from .survey.findings import module_of_file, report, survey
from .transforms.language.errors import AutodiffError
from .transforms.source.definitions import plain_function


def load(path: str, name: str):
    """The function `name` of a Python file."""
    module = module_of_file(path)
    if not hasattr(module, name):
        raise SystemExit(f"autodiff: {path} has no function {name}")
    return getattr(module, name)


def kinds_of(function, given: list[str]) -> list:
    """Numba types of the arguments: from `--types`, else annotations, else float64 vectors."""
    parameters = [p for p in inspect.signature(plain_function(function)).parameters.values() if p.default is p.empty]
    if given:
        return [eval(t, {}, vars(numba.types)) for t in given]
    kinds = []
    for p in parameters:
        annotation = getattr(p.annotation, "__name__", str(p.annotation)).rpartition(".")[2]
        kinds.append({"float": numba.types.float64, "int": numba.types.int64, "Generator": numba.types.npy_rng}.get(
            annotation, numba.types.float64[::1]))
    return kinds


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m autodiff", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("show", help="print the generated gradient of a function")
    view = commands.add_parser("view", help="write a page that shows the gradient beside the function")
    for one in (show, view):
        one.add_argument("function", metavar="FILE.py:FUNCTION")
        one.add_argument("--wrt", default="0", help="names or positions, separated by commas (default: the first argument)")
        one.add_argument("--types", default="", help="Numba types of the arguments, separated by semicolons: "
                                                     "'float64[:,::1]; float64' (default: annotations, else float64[::1])")
    view.add_argument("-o", "--out", metavar="OUT.html", help="the page (default: FUNCTION.html)")
    show.add_argument("--stage", help="an intermediate program: lower, fuse, reverse, any later pass, or final")
    check = commands.add_parser("check", help="tell which functions of a file or package differentiate")
    check.add_argument("what", metavar="FILE.py|PACKAGE")
    check.add_argument("--all", action="store_true", help="a line for each function, not only for what stands in the way")
    check.add_argument("--seconds", type=float, default=30.0, help="at most for one function (default 30)")
    options = parser.parse_args(arguments)
    if options.command == "check":
        return tell(options)
    path, _, name = options.function.rpartition(":")
    function = load(path, name)
    if isinstance(function, Compiled):
        function = function.function
    wrt = tuple(int(w) if w.lstrip("-").isdigit() else w for w in options.wrt.split(","))
    made = Gradient(function, wrt=wrt[0] if len(wrt) == 1 else wrt, options=Options("python"))
    try:
        made.specialize(*kinds_of(function, [t.strip() for t in options.types.split(";") if t.strip()]))
    except AutodiffError as e:
        print(f"{type(e).__name__}: {e}", file=sys.stderr)
        return 1
    if options.command == "view":
        out = options.out or f"{name}.html"
        made.view().save(out)
        print(out)
        return 0
    if options.stage and options.stage not in made.stages:
        print(f"autodiff: there is no stage {options.stage}; there are {', '.join(made.stages)}", file=sys.stderr)
        return 1
    text = str(made.stages[options.stage]) if options.stage else made.source
    print(coloured(text) if sys.stdout.isatty() else text)
    return 0


def tell(options) -> int:
    """The report of `check`."""
    try:
        print(report(survey(options.what, options.seconds), options.all))
    except ModuleNotFoundError as e:
        print(f"autodiff: {e}", file=sys.stderr)
        return 1
    return 0


def coloured(text: str) -> str:
    """With syntax colours, if Pygments is there."""
    try:
        from pygments import formatters, highlight, lexers  # may not be there
    except ImportError:
        return text
    return highlight(text, lexers.PythonLexer(), formatters.TerminalFormatter())


if __name__ == "__main__":
    sys.exit(main())
