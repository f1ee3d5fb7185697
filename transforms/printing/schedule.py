"""What a printer decides before it writes: how often values are used and where, which integers are printed in the places of
their uses, and where names begin and end.

    n = x.shape[0]; k = i + 1                     for i in range(x.shape[0] - 1):
    y[i] = x[k] * x[k]                                y[i] = x[i + 1] * x[i + 1]
"""

from __future__ import annotations

from ..language import core
from ..language.core import Const, Function, Ref, Var, defined, operands, sub_blocks
from ..language.queries import is_assignment, is_plain, is_size, operation, sole
from .coalescing import Coalescer

CHEAP = ("add", "sub", "mul", "neg")        # integers that are computed where they are used; LLVM finds those that are equal
OPERATIONS = 2                              # that an integer printed in place may take,
OFTEN = 8                                   # and those of all its places together


def filled(stmt, rebound):
    """The store of a nest that only fills an array, or whole axes of it, with one value, and the nest's indices. rebound:
    arrays whose names change what they mean, among them those that grow."""
    axes: dict = {}
    while is_plain(stmt) and stmt.origin != "parallel":
        axes[stmt.index], stmt = stmt.stop, sole(stmt.body)
    if not axes or not is_assignment(stmt) or stmt.value in axes or stmt.array in rebound:
        return None
    used = [i for i in stmt.index if i in axes]
    whole = all(axes[i] == size for i, size in zip(stmt.index, stmt.array.shape, strict=True) if i in axes)
    return (stmt, axes) if whole and len(used) == len(set(used)) == len(axes) else None


class Schedule:
    """Facts about a program's text.

    uses: how often a variable stands in the text. use_block, path: the block of a variable's last use, and the blocks
    around its definition. in_place: integers that are printed where they are used. anchored: what those read, which must
    have a name, or be printed in place too.
    """

    def __init__(self, function: Function, shared: Coalescer, slices: bool = True):
        self.shared, self.slices = shared, slices
        self.uses: dict[Var, int] = {}
        self.use_block: dict[Var, int] = {}
        self.path: dict[Var, tuple[int, ...]] = {}
        self.stable: set[Var] = {p for p in function.params if isinstance(p, Var)}
        self.integers: dict = {}
        self.rebound = core.rebound(function.body)
        self.count(function.body, ())
        self.use(id(function.body), *function.returns)
        self.in_place: set[Var] = set()
        self.anchored: set[Var] = set()
        self.place_integers()

    def count(self, block, path) -> None:
        here, path = id(block), (*path, id(block))
        for stmt in block:
            for v in defined(stmt):
                self.path[v] = path
            fill = self.fill_of(stmt)
            if fill is not None:
                store, axes = fill
                self.use(here, *(i for i in store.index if i not in axes), store.value)
                continue
            match stmt:
                case core.For(index=i, carries=carries, body=body, exit=stop):
                    self.stable.add(i)
                    self.use(here, stmt.start, stmt.stop, stmt.step, *(c.init for c in carries))
                    self.use(id(body), *(c.next for c in carries), *([] if stop is None else [stop]))
                case core.While(carries=carries, body=body):
                    self.stable.add(stmt.counter)
                    self.use(here, *(c.init for c in carries))
                    self.use(id(body), *(c.next for c in carries))
                case core.If(cond=cond, then=then, orelse=orelse, merges=merges):
                    self.use(here, cond)
                    inline = not then and not orelse
                    self.use(here if inline else id(then) or 1, *(m.then for m in merges))
                    self.use(here if inline else -1, *(m.orelse for m in merges))
                case _:
                    self.use(here, *operands(stmt))
                    if operation(stmt) in CHEAP and stmt.var.dtype == "int64" or is_size(stmt):
                        self.integers[stmt.var] = stmt
            for v in core.bound_inside(stmt):
                self.path[v] = (*path, id(stmt.body))
            for inner in sub_blocks(stmt):
                self.count(inner, path)

    def fill_of(self, stmt):
        """The store and the indices of a nest that is printed as one line."""
        return filled(stmt, self.rebound) if self.slices else None

    def use(self, block, *atoms) -> None:
        for a in atoms:
            if isinstance(a, Ref):
                self.use(block, *a.prefix)
            if isinstance(a, Var):
                self.uses[a] = self.uses.get(a, 0) + 1
                self.use_block[a] = block

    # -- integers in place ------------------------------------------------------------------------------------
    def alone(self, v) -> bool:
        """Whether nothing else is written to the name of a variable."""
        return v not in self.shared.parent

    def place_integers(self) -> None:
        steps: dict[Var, int] = {}
        for v, stmt in self.integers.items():       # an operation reads what earlier ones compute
            if stmt.op == "dim":
                steps[v] = 0 if stmt.args[0] not in self.rebound and self.alone(v) else OFTEN
            elif self.alone(v) and all(isinstance(a, Const) or self.alone(a) or a in self.stable for a in stmt.args):
                steps[v] = 1 + sum(steps[a] for a in stmt.args if steps.get(a, OFTEN) <= OPERATIONS)
        for v in reversed(self.integers):
            stmt, uses = self.integers[v], self.uses.get(v, 0)
            if v not in steps or not self.worth_placing(v, steps[v], uses):
                continue
            self.in_place.add(v)
            for a in operands(stmt):
                if isinstance(a, Var):
                    self.uses[a] = self.uses.get(a, 0) - 1 + uses
                    self.anchored.add(a)

    def worth_placing(self, v: Var, steps: int, uses: int) -> bool:
        if not uses or self.integers[v].op == "dim":
            return uses <= 1 and steps <= OPERATIONS
        if uses == 1 and self.use_block.get(v) == self.path[v][-1] and v not in self.anchored:
            return False                            # it goes into its place with all that is used once
        unnamed = self.integers[v].var.hint == "t"         # what the user has named keeps its name
        return steps <= OPERATIONS and steps * uses <= OFTEN and (unnamed or uses == 1)

    # -- names ------------------------------------------------------------------------------------------------
    def depth(self, v: Var) -> int:
        """How many blocks stand around all definitions of a name; 0 if it is bound elsewhere."""
        paths = [self.path.get(m, ()) for m in self.shared.family(v)]
        shortest = min(paths, key=len)
        return next((k for k, step in enumerate(shortest) if any(p[k] != step for p in paths)), len(shortest))


__all__ = ["Schedule"]
