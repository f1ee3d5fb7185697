"""The arguments of the calls of a function that stand in its file, for the kinds that they have.

They are computed from the statements before a call that bind their names. These may call functions of NumPy, SciPy and
Python that compute something and have no other effect, and functions of the file that do no more. A call whose arguments
need more (a file, a fit, what a user types) tells nothing.
"""

from __future__ import annotations

import ast
import builtins
import copy
import types
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .limits import TookTooLong, limited
from .scripts import BLOCKS, DEFINITIONS, IMPORTS, Script, binds, blocks, changes, own_parts, reads

SECONDS = 5.0                           # of computing, for the arguments of a function
SAME = ("grad", "value_and_grad", "differentiable", "jacobian", "hessian", "jit", "njit")     # take the function's arguments
METHODS = ("primal", "specialize", "debug", "view")
FIRST = ("vjp", "linearize", "entry", "cfunc")            # f(function, *arguments)
TUPLES = ("jvp", "check_grads")         # f(function, (arguments))
SOLVERS = ("minimize", "least_squares", "root")         # of SciPy: f(function, x0, args=(more arguments))
OURS = ("out", "sweep")                 # keywords that are not the function's

LIBRARIES = ("numpy", "math", "cmath", "scipy", "itertools", "collections", "operator", "dataclasses", "typing", "types",
             "argparse")                # of a script without arguments
EFFECTS = ("scipy.optimize", "scipy.integrate", "scipy.io", "scipy.datasets", "numpy.lib.npyio", "numpy.lib._npyio",
           "numpy.testing", "numpy.f2py", "numpy.ctypeslib", "numpy.lib.format")
NAMED = frozenset("""load save savez savez_compressed loadtxt savetxt genfromtxt fromfile tofile dump memmap open_memmap
    fromregex seterr seterrcall set_printoptions seed setbufsize write writelines read show plot savefig send""".split())
BUILTINS = frozenset("""abs all any bool complex dict divmod enumerate filter float frozenset int isinstance iter len list
    map max min next pow range reversed round set slice sorted str sum tuple zip""".split())
MORE = (ast.Global, ast.Nonlocal, ast.With, ast.AsyncWith, ast.Await, ast.Yield, ast.YieldFrom, ast.AsyncFor, ast.Delete)


Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Site:
    """A call. arguments, keywords: expressions for those of the function. local: the statements before it in the functions
    around it; outer: those of the file. functions: these functions, the outermost first."""

    line: int
    arguments: list[ast.expr]
    keywords: dict[str, ast.expr]
    local: list[ast.stmt] = field(default_factory=list)
    outer: list[ast.stmt] = field(default_factory=list)
    functions: tuple[Function, ...] = ()


class Unknown(Exception):
    """An argument is not known without running more."""


def arguments_in(script: Script, name: str) -> tuple[tuple, dict, int] | None:
    """(arguments, keywords, line) of the first call in the file whose arguments can be computed; None if there is none.

    The script has been run for the function.
    """
    try:
        with limited(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for site in sorted(Finder(script, name).sites, key=lambda s: s.line):
                try:
                    return (*computed(script, site, {name}), site.line)
                except TookTooLong:
                    break
                except (Exception, SystemExit):             # arguments that fail tell nothing either
                    continue
    except TookTooLong:
        pass
    return None


# -- the calls ----------------------------------------------------------------------------------------------------


class Finder:
    """The calls of a function in its file: by its name, by names of operators on it, by SciPy's solvers."""

    def __init__(self, script: Script, name: str):
        self.names, self.sites = {name}, list[Site]()
        for node in ast.walk(script.tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self.names |= {t.id for t, v in paired(target, node.value) if isinstance(t, ast.Name) and self.operator(
                        v.value if isinstance(v, ast.Attribute) and v.attr == "primal" else v) in SAME}
        self.body = script.tree.body
        self.search(self.body, Site(0, [], {}), False)

    def operator(self, node: ast.AST) -> str:
        """The name of an operator that is called with the function: `grad` of `autodiff.grad(f, wrt=1)`; "" of others."""
        if not isinstance(node, ast.Call) or not node.args or not self.is_function(node.args[0]):
            return ""
        return ast.unparse(node.func).rpartition(".")[2]

    def is_function(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute) and node.attr == "function":
            node = node.value
        return isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) in self.names

    def search(self, block: list[ast.stmt], at: Site, inside: bool) -> None:
        """The calls in a block. at: its place, as that of a call; inside: whether it is in a function."""
        local, outer = list(at.local), list(at.outer)
        for node in block:
            here = Site(node.lineno, [], {}, list(local), list(outer), at.functions)
            if isinstance(node, FUNCTIONS):
                own = Site(0, [], {}, [*local, *defaults_of(node)], list(self.body), (*at.functions, node))
                self.search(node.body, own, True)
            elif isinstance(node, ast.ClassDef):
                self.search(node.body, here, inside)
            for part in headers(node):
                if isinstance(part, ast.Call) and (given := self.given(part)) is not None:
                    self.sites.append(Site(part.lineno, *given, here.local, here.outer, here.functions))
            (here.local if inside else here.outer).extend(entering(node))
            for name, found in blocks(node).items():
                for statements in [one.body for one in found] if name in ("handlers", "cases") else [found]:
                    self.search(statements, here, inside)
            (local if inside else outer).append(node)

    def given(self, call: ast.Call) -> tuple[list[ast.expr], dict[str, ast.expr]] | None:
        """(arguments, keywords) of the function in a call; None if it is none of it, or they are not written one by one."""
        keywords = {k.arg: k.value for k in call.keywords}
        args, own = list(call.args), {}
        name, made = self.operator(call), self.operator(call.func)
        if self.is_function(call.func) or made in SAME or isinstance(call.func, ast.Attribute) \
                and call.func.attr in METHODS and self.is_function(call.func.value):
            own = {k: v for k, v in keywords.items() if k not in OURS}
        elif made == "hvp":
            args = args[:-1]
        elif name in FIRST:
            args = args[1:]
        elif name in TUPLES and len(args) > 1 and isinstance(args[1], (ast.Tuple, ast.List)):
            args = args[1].elts
        elif len(args) > 1 and ast.unparse(call.func).rpartition(".")[2] in SOLVERS and (
                self.is_function(args[0]) or self.operator(args[0]) in SAME):
            more = keywords.get("args", ast.Tuple([]))
            args = [args[1], *(more.elts if isinstance(more, ast.Tuple) else [more])]
        else:
            return None
        if None in own or any(isinstance(a, ast.Starred) for a in args):
            return None
        return args, {k: v for k, v in own.items() if k is not None}


def paired(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """What an assignment binds, with the expressions for it."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]


def headers(node: ast.stmt) -> Iterator[ast.AST]:
    """A statement's parts, without the statements in it."""
    compound = bool(blocks(node)) or isinstance(node, DEFINITIONS)
    for name, value in ast.iter_fields(node):
        if not (compound and name in BLOCKS):
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.AST):
                    yield from own_parts(part)


def defaults_of(node: Function) -> list[ast.stmt]:
    """Assignments of the default values of a function's parameters."""
    args = node.args
    last = [*args.posonlyargs, *args.args]
    known = [*zip(last[len(last) - len(args.defaults):], args.defaults, strict=True),
             *((a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None)]
    return [assign(ast.Name(a.arg, ast.Store()), d, node) for a, d in known]


def parameters_of(node: Function) -> tuple[list[str], list[str]]:
    """(names of the parameters that may be given by their places, names of the others)."""
    args = node.args
    others = [a.arg for a in (*args.kwonlyargs, args.vararg, args.kwarg) if a is not None]
    return [a.arg for a in (*args.posonlyargs, *args.args)], others


def entering(node: ast.stmt) -> list[ast.stmt]:
    """What is bound where the body of a loop begins for the first time."""
    if not isinstance(node, ast.For):
        return []
    first: ast.expr = node.iter
    for name in ("iter", "next"):
        first = ast.Call(ast.Name(name, ast.Load()), [first], [])
    return [assign(node.target, first, node)]


def assign(target: ast.expr, value: ast.expr, place: ast.stmt) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(ast.Assign([copy.deepcopy(target)], copy.deepcopy(value)), place))


# -- their arguments ----------------------------------------------------------------------------------------------


def computed(script: Script, site: Site, asked: set[str]) -> tuple[tuple, dict]:
    """The arguments and keywords of a call. Raises Unknown, or what computing them raises.

    Parameters of the function that the call stands in are those of a call of it, in turn. asked: the functions whose calls
    are being looked at.
    """
    space = dict(vars(script.module))
    expressions = [*site.arguments, *site.keywords.values()]
    needs = set().union(*(reads(ast.Expr(e)) for e in expressions))
    inner, needs = before(site.local, needs)
    for function in site.functions:
        placed, others = parameters_of(function)
        if needs & {*placed, *others}:
            space.update(passed(script, function, asked))
            needs -= {*placed, *others}
    outer, _ = before(site.outer, needs - set(space), frozenset(space))
    statements = [*outer, *inner]
    Quiet(script, space).check([*statements, *expressions])
    for name in set().union(*(changes(p) for s in statements for p in own_parts(s) if isinstance(p, ast.stmt))) & set(space):
        space[name] = copy.deepcopy(space[name])        # the file's own stays as it is

    def value(e: ast.expr) -> Any:
        return eval(compile(ast.Expression(e), str(script.path), "eval", script.flags, dont_inherit=True), space)
    with script.as_imported():
        exec(compile(ast.Module(statements, []), str(script.path), "exec", script.flags, dont_inherit=True), space)
        return tuple(map(value, site.arguments)), {k: value(e) for k, e in site.keywords.items()}


def passed(script: Script, function: Function, asked: set[str]) -> dict[str, Any]:
    """The parameters of a function as in the first call of it that tells them. Raises Unknown if none does."""
    if function.name in asked:
        raise Unknown
    names, _ = parameters_of(function)
    for site in Finder(script, function.name).sites:
        try:
            values, keywords = computed(script, site, {*asked, function.name})
        except TookTooLong:
            raise
        except (Exception, SystemExit):
            continue
        if len(values) <= len(names):
            given = dict(zip(names, values, strict=False)) | keywords
            rest = [s for s in defaults_of(function) if not binds(s) & set(given)]
            space = dict(vars(script.module))
            Quiet(script, space).check(rest)
            exec(compile(ast.Module(rest, []), str(script.path), "exec", script.flags, dont_inherit=True), space)
            return given | {name: space[name] for s in rest for name in binds(s)}
    raise Unknown


def before(statements: list[ast.stmt], needs: set[str], known: frozenset = frozenset()) -> tuple[list[ast.stmt], set[str]]:
    """Of statements that run one after the other, those that make what some names hold; and the names that they need more,
    but for those that are known."""
    chosen: list[ast.stmt] = []
    needs = set(needs)
    for node in reversed(statements):
        parts = [node] if isinstance(node, DEFINITIONS) else [p for p in own_parts(node) if isinstance(p, ast.stmt)]
        bound = set().union(*map(binds, parts))
        if bound & needs:
            chosen.insert(0, node)
            if isinstance(node, ast.Assign) and all(isinstance(part, (ast.Name, ast.Tuple, ast.Store)) for t in node.targets
                                                    for part in ast.walk(t)):
                needs -= bound                  # what it was before does not count
            needs |= reads(node) - known
    return chosen, needs


class Quiet:
    """Whether code only computes: Unknown where it may do more. space: what its names hold."""

    def __init__(self, script: Script, space: dict):
        self.script, self.space = script, space
        self.seen: set[str] = set()

    def check(self, nodes: Iterable[ast.AST]) -> None:
        nodes = list(nodes)
        own = {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)
               and not isinstance(part.ctx, ast.Load)}
        own |= {part.arg for node in nodes for part in ast.walk(node) if isinstance(part, ast.arg)}
        own |= {part.name for node in nodes for part in ast.walk(node) if isinstance(part, DEFINITIONS)}
        own |= {name for node in nodes for part in ast.walk(node) if isinstance(part, IMPORTS) for name in binds(part)}
        for node in nodes:
            self.visit(node, own)

    def visit(self, node: ast.AST, own: set[str]) -> None:
        if isinstance(node, MORE):
            raise Unknown
        if isinstance(node, IMPORTS):
            names = [node.module or "."] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            if any(name.split(".")[0] not in LIBRARIES or name.startswith(EFFECTS) for name in names):
                raise Unknown
        if isinstance(node, ast.Attribute):
            if node.attr in NAMED or node.attr.startswith(("save", "write", "to_", "read_", "plot")):
                raise Unknown
            if (found := self.of_module(node, own)) is not None:
                self.judge(found[0])
                return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
            if node.id in self.space:
                self.judge(self.space[node.id])
            elif node.id not in BUILTINS and not is_error(getattr(builtins, node.id, None)):
                raise Unknown
        for part in ast.iter_child_nodes(node):
            self.visit(part, own)

    def of_module(self, node: ast.Attribute, own: set[str]) -> tuple[Any] | None:
        """What `module.name` stands for, in a tuple; None if it is not of a module."""
        above = None
        if isinstance(node.value, ast.Attribute):
            above = self.of_module(node.value, own)
        elif isinstance(node.value, ast.Name) and node.value.id not in own:
            above = (self.space.get(node.value.id),)
        return (getattr(above[0], node.attr),) if above is not None and isinstance(above[0], types.ModuleType) else None

    def judge(self, value: Any) -> None:
        """Whether what a name holds may be used: a function or class is one that only computes."""
        kind = type(value)
        if isinstance(value, types.ModuleType):
            return
        if not callable(value):
            if kind.__module__ == self.script.module.__name__:
                self.judge(kind)
            elif kind.__module__.split(".")[0] not in (*LIBRARIES, "builtins", "enum"):
                raise Unknown
            return
        name = getattr(value, "__name__", "")
        home = getattr(value, "__module__", None) or kind.__module__
        if home == self.script.module.__name__ and isinstance(value, (types.FunctionType, type)):
            self.own(getattr(value, "__qualname__", name))
        elif not (home == "builtins" and (name in BUILTINS or is_error(value))
                  or home.split(".")[0] in LIBRARIES and not home.startswith(EFFECTS) and name not in NAMED):
            raise Unknown

    def own(self, name: str) -> None:
        """Whether a function or class of the file only computes."""
        if name in self.seen:
            return
        self.seen.add(name)
        found = [node for node in self.script.tree.body if isinstance(node, DEFINITIONS) and node.name == name]
        if not found:
            raise Unknown
        self.check(found)


def is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


__all__ = ["arguments_in"]
