"""Statements without loops: assignment, branches, returns, checks."""

from __future__ import annotations

import importlib
from functools import partial

import gast

from ....runtime.raising import Meant
from ...language.build import located
from ...language.core import Const, Merge, Print, Var
from ...language.errors import UnsupportedSyntax
from ..arrays.memory import force
from ..checks import guard, raise_unless, refused_by_python
from ..functions.frames import BREAKS, CONTINUES, FALLS, RETURNS
from ..functions.names import home_of, raised_here
from ..functions.outside import attribute_outside
from ..journal import environments, restore
from ..numbers.pairs import Complex, parts_of
from ..state import Lowering
from ..structures import describe
from ..table import STATEMENTS, executes
from ..values import UNSET, Array, Buffer, Delayed, Either, Mapping, Record, Scalar, Sequence, Static, Undefined, Value
from .alternatives import narrow, whole
from .branches import Joiner
from .catching import check_of, raised_if, run_block, stop_if_left
from .expressions import make_closure
from .known_conditions import hold_in, meant_by
from .liveness import always_exits, exits, live_after, may_act
from .messages import joined, message_of, text_of
from .operators import truth_of
from .raising import is_empty
from .texts import ErrorText, Text, templated

TEMPORARY = ("t", "v", "draw")          # what is named so takes the name it is bound to
UNREACHED: dict = {}    # the names where a program has raised
DEEPEST = 250           # branches inside one another: passes take time with the square of it
UNDECORATED = ("functools", "contextlib", "builtins")       # whose decorators make objects, not functions
ADVICE = {
    "TryStar": ("`except*` cannot be differentiated", "write `except`"),
    "AsyncWith": ("`async` code cannot be differentiated", "write a plain function"),
    "AsyncFor": ("`async` code cannot be differentiated", "write a plain function"),
    "AsyncFunctionDef": ("`async` code cannot be differentiated", "write a plain function"),
    "ClassDef": ("classes cannot be defined inside a differentiated function", "define it at module level"),
}


def exec_block(lo: Lowering, stmts) -> None:
    """Run statements in order; what follows a possible exit runs only if it was not taken."""
    for position, stmt in enumerate(stmts):
        rest = stmts[position + 1:]
        if lo.exec(stmt, rest):
            return
        code = lo.env["%exit"]
        if isinstance(code, Static):
            if code.value:
                return
            continue
        if rest:
            def run(rest=rest):
                lo.env["%exit"] = Static(FALLS)
                lo.exec_block(rest)
            branch_by_code(lo, code.atom, "eq", FALLS, run, lambda: None, live_after([stmt, *rest]))
            return


def exec(lo: Lowering, stmt, rest=()) -> bool:
    """Run one statement; true if it has also run `rest`."""
    execute = STATEMENTS.get(type(stmt))
    previous = lo.node, lo.b.loc
    frame = lo.frame
    around = frame.statement
    lo.node = frame.statement = stmt
    if execute is None:
        name = type(stmt).__name__
        problem, hint = ADVICE.get(name, (f"`{name.lower()}` statements are not supported", ""))
        raise lo.error(UnsupportedSyntax, problem, hint, node=stmt)
    try:
        with located(lo.b, lo.place(stmt)):
            return bool(execute(lo, stmt, rest))
    finally:
        lo.node = previous[0]
        frame.statement = around


# -- simple statements ------------------------------------------------------------------------------------
@executes(gast.Pass)
def exec_pass(lo: Lowering, stmt, rest):
    pass


@executes(gast.Expr)
def exec_expr(lo: Lowering, stmt, rest):
    if isinstance(stmt.value, gast.Constant):
        return
    lo.eval(stmt.value)


@executes(gast.Return)
def exec_return(lo: Lowering, stmt, rest):
    lo.env["%value"] = lo.eval(stmt.value) if stmt.value is not None else Static(None)
    lo.env["%exit"] = Static(RETURNS)


@executes(gast.Break)
def exec_break(lo: Lowering, stmt, rest):
    lo.env["%exit"] = Static(BREAKS)


@executes(gast.Continue)
def exec_continue(lo: Lowering, stmt, rest):
    lo.env["%exit"] = Static(CONTINUES)


@executes(gast.FunctionDef)
def exec_function_def(lo: Lowering, stmt, rest):
    decorators = [lo.eval(d) for d in stmt.decorator_list if "jit" not in gast.unparse(d)]
    for d in decorators:
        if isinstance(d, Static) and getattr(d.value, "__module__", None) in UNDECORATED:
            raise lo.error(UnsupportedSyntax, f"the decorator `{d.value.__name__}` is not supported on inner functions",
                           "define the function at module level", node=stmt)
    function = make_closure(lo, stmt, stmt.name)
    for d in reversed(decorators):
        function = lo.call(d, [function], {})
    name = gast.copy_location(gast.Name(stmt.name, gast.Store(), None, None), stmt)
    lo.bind(name, function, stmt)


@executes(gast.Global)
def exec_global(lo: Lowering, stmt, rest):
    lo.frame.writes_globals |= frozenset(stmt.names)


@executes(gast.Nonlocal)
def exec_nonlocal(lo: Lowering, stmt, rest):
    for name in stmt.names:
        home_of(lo, name).rebound.add(name)


@executes(gast.Import)
def exec_import(lo: Lowering, stmt, rest):
    for alias in stmt.names:
        module = imported(lo, alias.name)
        if alias.asname is None:
            top = alias.name.split(".")[0]
            bind_import(lo, top, Static(imported(lo, top)))
        else:
            bind_import(lo, alias.asname, Static(module))


def bind_import(lo: Lowering, name: str, value: Value) -> None:
    """The name of an import; a global one for all that the program calls, where it is sure to come here."""
    if name not in lo.frame.writes_globals:
        lo.env[name] = value
        return
    if lo.b.last().parent is not None or lo.b.last() in lo.callers:
        raise lo.error(UnsupportedSyntax, f"the global `{name}` is imported only where the program goes this way",
                       "import it at module level")
    lo.learnt.imported[id(lo.frame.root.globals), name] = value


@executes(gast.ImportFrom)
def exec_import_from(lo: Lowering, stmt, rest):
    home = "." * stmt.level + (stmt.module or "")
    module = imported(lo, home)
    for alias in stmt.names:
        found = attribute_outside(lo, module, alias.name)
        if found is None:
            found = Static(imported(lo, f"{home.rstrip('.')}.{alias.name}" if stmt.module else f"{home}{alias.name}"))
        bind_import(lo, alias.asname or alias.name, found)


def imported(lo: Lowering, name):
    try:
        return importlib.import_module(name, lo.frame.root.globals.get("__package__"))
    except ImportError as e:
        raise refused_by_python(lo, e, UnsupportedSyntax) from None


@executes(gast.Assert)
def exec_assert(lo: Lowering, stmt, rest):
    test = truth_of(lo, stmt.test)
    if test == Const(True, "bool"):
        return
    if stmt.msg and may_act(stmt.msg) and not isinstance(test, Const):      # it is made where the assertion fails alone
        failed = lo.b.let("not", test, dtype="bool")
        conditional(lo, failed, partial(claim, lo, stmt, Const(False, "bool")), lambda: None, stmt.live_out)
    else:
        claim(lo, stmt, test)


def claim(lo: Lowering, stmt, test) -> None:
    """Raise the error of an assertion unless its test holds."""
    message = lo.eval(stmt.msg) if stmt.msg else None
    if message is not None and is_empty(message):
        raise_unless(lo, lo.b, check_of(lo, Meant(AssertionError, ("",)), cond=test), AssertionError)
    else:
        guard(lo, test, "AssertionError", message_of(lo, [message] if stmt.msg else []), "note")
    if isinstance(test, Const) and not test.value:
        raise raised_here(lo, stmt)


def print_values(lo: Lowering, args, sep: str = " ", end: str = "\n"):
    if (sep, end) != (" ", "\n") or any(
            isinstance(a, (ErrorText, Text, Sequence, Mapping, Record, Either)) or
            isinstance(a, Scalar) and a.dtype == "float32" for a in args):
        template, numbers = templated([*joined(lo, map(partial(text_of, lo), args), sep), end])
        lo.b.add(Print(tuple(numbers), lo.b.loc, template if numbers else template.format()))
        return
    parts = []
    for a in args:
        if isinstance(a, Static):
            parts.append(str(a.value))
        elif isinstance(a, (Scalar,)) or (isinstance(a, Array) and a.rank == 0):
            parts.append(lo.atom(a))
        else:
            parts.append(f"<{describe(a)}>")
    lo.b.add(Print(tuple(parts), lo.b.loc))


def named(lo: Lowering, value: Value, name: str, stmt=None) -> Value:
    """`value` as it is bound to a name: temporaries take the name; expressions used often get memory."""
    if isinstance(value, Scalar) and isinstance(value.atom, Var) and (
            value.atom.hint in (*TEMPORARY, "both", "either") or value.atom in lo.sizes and "_" in value.atom.hint
            and value.atom not in lo.parameter_leaves and not lo.frames[1:]):
        value.atom.hint = name
    if isinstance(value, Scalar) and isinstance(value.atom, Complex):
        for part, which in zip(parts_of(value.atom), ("re", "im"), strict=True):
            if isinstance(part, Var) and part.hint in ("t", "v"):
                part.hint = f"{name}_{which}"
    if isinstance(value, Delayed) and value.forced is None:
        value.hint = name
        if value.rank and lo.frame.uses.get(name, 2) > 1 and value.roots():
            force(lo, value, name)
        elif value.rank and lo.frame.uses.get(name, 2) > 1:
            force(lo, value, name)
    if isinstance(value, Buffer) and value.arr.hint in TEMPORARY:
        value.arr.hint = name
    if isinstance(value, Delayed) and value.forced is not None and value.forced.arr.hint in TEMPORARY:
        value.forced.arr.hint = name
    return value


# -- branches ---------------------------------------------------------------------------------------------
@executes(gast.If)
def exec_if(lo: Lowering, stmt, rest):
    cond = truth_of(lo, stmt.test)
    if isinstance(cond, Const):
        lo.exec_block(stmt.body if cond.value else stmt.orelse)
        return False
    then, orelse, live, consumed = stmt.body, stmt.orelse, live_after([stmt]), False
    if rest and (exits(then) | exits(orelse) or always_exits(then) or always_exits(orelse)):
        if always_exits(then):
            orelse, live, consumed = [*orelse, *rest], live_after([stmt, *rest]), True
        elif always_exits(orelse):
            then, live, consumed = [*then, *rest], live_after([stmt, *rest]), True
    if orelse and isinstance(orelse[-1], gast.Raise):       # the side that raises comes first
        cond, then, orelse = lo.b.let("not", cond, dtype="bool"), orelse, then
    conditional(lo, cond, lambda: lo.exec_block(then), lambda: lo.exec_block(orelse), live)
    return consumed


def conditional(lo: Lowering, cond, then, orelse, live) -> None:
    """Run both sides of a branch in copies of the environment and join the names that are live afterwards.

    Where a side raises, all that follows belongs to the other one.
    """
    before = environments(lo)
    sides = []
    outer = lo.b
    if lo.around.branches == DEEPEST:
        raise lo.error(UnsupportedSyntax, f"more than {DEEPEST} branches stand inside one another",
                       "each `elif`, and each `if` that ends in a return, stands inside the one before: look the "
                       "values up in an array instead")
    for side in (then, orelse):
        restore(lo, before)
        here = outer.child()
        lo.around.branches += 1
        hold_in(lo, here, cond, side is then)
        try:
            raised = run_block(lo, here, partial(run_side, lo, cond, side is then, side), partial(close_way, lo, live))
            sides.append(([] if raised else environments(lo), here))
        finally:
            lo.b = outer
            lo.around.branches -= 1
            lo.around.conditions.pop()
        if not sides[0][0]:
            restore(lo, before)
            raised_if(lo, cond, here)
            narrow(lo, cond, False)
            return orelse()
    join_sides(lo, cond, before, sides, live)


def branch_by_code(lo: Lowering, code, op: str, wanted: int, then, orelse, live) -> None:
    """Run `then` where an exit code compares so with the one wanted, `orelse` where it does not."""
    cond, holds = meant_by(lo, code, op, wanted)
    conditional(lo, cond, *((then, orelse) if holds else (orelse, then)), live)


def run_side(lo: Lowering, cond, holds: bool, side) -> None:
    """One side of a branch, with what its condition says of the values that are one of several."""
    narrow(lo, cond, holds)
    side()


def close_way(lo: Lowering, live, way, block, raised: bool) -> None:
    """Where the statements end that stand after a way out: what names mean on either side is joined.

    raised: whether those statements end in an error.
    """
    deep = len(lo.frames)
    here, before, out = environments(lo), way.before[:deep], way.out[:deep]
    if raised:
        raised_if(lo, way.cond, block)
        restore(lo, out)
    else:
        join_sides(lo, way.cond, before, [(here, block), (out, lo.b.child())], live)


def join_sides(lo: Lowering, cond, before, sides: list, live) -> None:
    """Put the branch into the block, and what names mean after it; a side that raises has no names."""
    outer = lo.b
    restore(lo, before)
    (then_envs, then_b), (else_envs, else_b) = sides
    merges: list[Merge] = []
    joiner = Joiner(lo, cond, (then_b, else_b), (then_envs, else_envs), merges, live)
    for frame, a, c in zip(lo.frames, then_envs, else_envs or [UNREACHED] * len(then_envs), strict=True):
        innermost = frame is lo.frame
        joiner.frame = frame
        for name in dict.fromkeys((*a, *c)):
            x, y = a.get(name, UNSET), c.get(name, UNSET)
            if c is UNREACHED and (x is frame.env.get(name, UNSET) or isinstance(x, Undefined)):
                frame.env[name] = x
            elif whole(x) is whole(y):
                frame.env[name] = x if x is y else whole(x)
            elif innermost and not name.startswith("%") and name not in live:
                frame.env[name] = Undefined(f"`{name}` is not available here")
            else:
                frame.env[name] = joiner.join_reached(name, x) if c is UNREACHED else joiner.join_name(name, x, y)
    joiner.note_twins()
    outer.branch(cond, then_b.block(), else_b.block(), tuple(merges))
    for m in merges:
        outer.facts.number(m.var)


def choose(lo: Lowering, cond, then, orelse, names=frozenset()) -> Value:
    """The value of a conditional expression; `names`: what its sides bind with `:=`."""
    results = {}
    def run(key, side):
        results[key] = side()
        lo.env["%choice"] = results[key]
    conditional(lo, cond, lambda: run(0, then), lambda: run(1, orelse), {"%choice"} | names | set(lo.env))
    value = lo.env.pop("%choice")
    stop_if_left(lo, lo.env["%exit"])
    return value
