"""Which inputs each result can depend on: a core program to the program that computes sets of inputs beside its values.

Every scalar and element that has a derivative gets the handle of a set of input numbers (`runtime/index_sets.py`):

    v = f(x, y)         v_set = x_set | y_set
    v = a[i]            v_set = a_set[i]
    a[i] = v            a_set[i] = v_set            (+= : the union with what is there)
    if c: ...           the same branch, where c is known: where it does not depend on the inputs
    library call        each result depends on the rows and columns, or all elements, of its operands

Values that depend on the inputs (`unknown.py`) are not computed: the sets found hold for every value of them. So where a
condition is unknown, both sides run and their sets are united; a store that may not happen adds to the set that is there;
an unknown index stands for every index of its axis; the iterations of a loop that ends at an unknown one are all run, and
a loop of which nothing is known runs until no set grows. What is left of the values decides known branches, indices, trip
counts and sizes, exactly.

Propagating index sets: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, section 7.1.
"""

from __future__ import annotations

from dataclasses import replace

from ...runtime.library_calls import CALLS
from ..language import core
from ..language.build import Builder, headed, integer, loops, place_of, product
from ..language.core import Alloc, Arr, Call, Carry, Const, For, Function, If, Let, Load, Merge, Ref, Store, Swap, Var, While
from ..language.errors import SparsityError
from ..language.names import mentioned
from ..language.queries import is_size
from ..optimise.simplify import simplify
from .forward import live_in
from .unknown import Unknown

EMPTY = integer(0)
TRUE, FALSE = Const(True, "bool"), Const(False, "bool")
WAY_OUT = "give the structure: sparsity=, a sparse or boolean array that is true wherever the derivative may not be zero"


class Structure:
    """The program under construction. `sets`: variable -> handle, buffer -> buffer of handles; what is missing has none.

    uncertain: whether it is unknown if the block under construction runs; own: buffers allocated since that is so.
    flags: unknown truth value -> (whether it may be true, whether it may be false).
    searches: for each loop around that runs until no set grows: (a flag in memory that one did, buffers allocated inside).
    """

    def __init__(self, function: Function, wanted, registry):
        self.function, self.registry = function, registry
        self.live = live_in(function, wanted, registry)
        self.unknown = Unknown(function, wanted)
        self.pool = Arr("pool", "int64", (Var("pool_size", "int64"),))
        self.sets: dict = {}
        self.flags: dict = {}
        self.b = Builder()
        self.uncertain = False
        self.own: set = set()
        self.searches: list = []
        self.last_loc = None

    # -- sets -------------------------------------------------------------------------------------------------
    def of(self, x):
        return self.sets.get(x, EMPTY) if isinstance(x, Var) else EMPTY

    def array(self, a: Arr) -> Arr:
        if a not in self.sets:
            self.sets[a] = Arr(f"{a.hint}_set", "int64", a.shape)
        return self.sets[a]

    def new(self, v: Var) -> Var:
        var = self.sets[v] = Var(f"{v.hint}_set", "int64")
        return var

    def union(self, b: Builder, *handles):
        total: core.Atom = EMPTY
        for h in handles:
            if h != EMPTY and h is not total:
                total = h if total == EMPTY else b.let("union_sets", self.pool, total, h, dtype="int64", hint="set")
        return total

    def inside(self, b: Builder, array: Arr, index):
        """Whether an element exists; None if that is sure, because the program itself gets there."""
        if not self.uncertain:
            return None
        cond: core.Atom = TRUE
        for i, s in zip(index, array.shape, strict=False):
            for part in (b.compare("ge", i, EMPTY), b.compare("lt", i, s)):
                cond = b.let("and", cond, part, dtype="bool")
        return None if cond == TRUE else cond

    def fetch(self, b: Builder, var: Var, array: Arr, index, default) -> None:
        """`var = array[index]`; `default` where an uncertain block asks for what does not exist."""
        inside = self.inside(b, array, index)
        if inside is None:
            b.read(var, array, index)
            return
        at = b.child()
        got = at.read(Var(var.hint, var.dtype), array, index)
        b.branch(inside, at.block(), (), (Merge(var, got, default),))

    def put(self, b: Builder, array: Arr, index, value, keep: bool) -> None:
        """The set of an element; `keep`: united with the one that is there."""
        if keep and value == EMPTY:
            return
        inside = self.inside(b, array, index)
        at = b if inside is None else b.child()
        if keep:
            old = at.read(Var("old", "int64"), array, index)
            flags = [flag for flag, fresh in self.searches if array not in fresh]
            if flags:
                value = at.let("grow_set", self.pool, old, value, dtype="int64", hint="set")
                set_flags(at, flags, at.compare("ne", value, old))
            else:
                value = self.union(at, old, value)
        at.write(array, index, value)
        if inside is not None:
            b.branch(inside, at.block())

    def everywhere(self, array: Arr, index, body, b: Builder | None = None, start=None):
        """`body(builder, index, carried)` for every element that an index with unknown parts may mean; what it carries last.

        Parts of the index that are None stand for a whole axis, as unknown ones do.
        """
        b = b or self.b
        for k, i in enumerate(index):
            if i is None or i in self.unknown:
                axis = b.index("ijklmp"[k % 6], EMPTY, array.shape[k])
                inner = b.child()
                head, result = Var("set", "int64"), Var("set", "int64")
                last = self.everywhere(array, (*index[:k], axis, *index[k + 1:]), body, inner, head)
                carries = () if start is None else (Carry(head, start, last, result),)
                b.repeat(axis, EMPTY, array.shape[k], inner.block(), carries=carries, origin="array")
                return result
        return body(b, index, start)

    def all_of(self, array: Arr, index):
        """The union of the sets of the elements that an index may mean."""
        def body(b, at, total):
            var = Var(f"{array.hint}_set", "int64")
            self.fetch(b, var, self.array(array), at, EMPTY)
            return self.union(b, *([] if total is None else [total]), var)
        certain = not any(i is None or i in self.unknown for i in index)
        return self.everywhere(array, index, body, start=None if certain else EMPTY)

    # -- statements -------------------------------------------------------------------------------------------
    def block(self, block, after=lambda: None) -> tuple:
        outer, self.b = self.b, Builder(parent=self.b)
        try:
            for stmt in block:
                self.statement(stmt)
            after()
            return self.b.block()
        finally:
            self.b = outer

    def open_block(self, block, after=lambda: None) -> tuple:
        """A block of which it is unknown whether it runs."""
        kept = self.uncertain, self.own
        self.uncertain, self.own = True, set()
        try:
            return self.block(block, after)
        finally:
            self.uncertain, self.own = kept

    def refuse(self, stmt, problem: str):
        raise SparsityError(problem, stmt.loc if stmt.loc.line else None, WAY_OUT)

    def statement(self, stmt) -> None:
        match stmt:
            case For() | While():
                return self.loop(stmt)
            case If():
                return self.branch(stmt)
            case core.Comment() | core.Print():
                return None
            case core.Guard():
                if not self.uncertain and stmt.cond not in self.unknown:
                    parts = tuple(EMPTY if p in self.unknown else p for p in stmt.parts)
                    self.b.add(replace(stmt, parts=parts))
                return None
        if any(x in self.live for x in core.results(stmt)):
            self.last_loc = headed(self.b, stmt.loc, self.last_loc)
        match stmt:
            case Let():
                self.let(stmt)
            case Load(var=v, array=a, index=index):
                if v not in self.unknown:
                    self.fetch(self.b, v, a, index, Const(0, v.dtype))
                if v in self.live:
                    self.sets[v] = self.all_of(a, index)
            case Store():
                self.store(stmt)
            case Alloc(array=a) | core.Resize(array=a):
                self.memory(stmt, a)
            case Swap():
                self.swap(stmt)
            case Call():
                self.call(stmt)
        return None

    def let(self, stmt: Let) -> None:
        v = stmt.var
        if v not in self.unknown:
            if stmt.op == "wrap_index" and self.uncertain:          # it may be out of range here, where nothing follows
                i, n, *_ = stmt.args
                below = self.b.compare("lt", i, EMPTY)
                self.b.branch(below, merges=(Merge(v, self.b.iadd(i, n), i),))
            else:
                self.b.add(stmt)
        elif v.dtype == "bool":
            self.flags[v] = self.possible(stmt)
        if v in self.live:
            self.sets[v] = self.union(self.b, *map(self.of, self.registry.passes_through(stmt)))

    def may(self, x) -> tuple:
        """(whether a truth value may be true, whether it may be false)"""
        if isinstance(x, Const) or x not in self.unknown:
            return x, self.b.let("not", x, dtype="bool")
        return self.flags.get(x, (TRUE, TRUE))

    def possible(self, stmt: Let) -> tuple:
        let = self.b.let
        if stmt.op in ("and", "or") and all(a.dtype == "bool" for a in stmt.args):
            (t, f), (u, g) = map(self.may, stmt.args)
            one, other = ("and", "or") if stmt.op == "and" else ("or", "and")
            return let(one, t, u, dtype="bool"), let(other, f, g, dtype="bool")
        if stmt.op == "not" and stmt.args[0].dtype == "bool":
            return self.may(stmt.args[0])[::-1]
        return TRUE, TRUE

    def store(self, stmt: Store) -> None:
        a, value = stmt.array, self.of(stmt.value)
        if a not in self.unknown:
            inside = self.inside(self.b, a, stmt.index)
            self.b.add(stmt if inside is None else If(inside, (stmt,), ()))
        if a in self.live:
            keep = bool(stmt.accumulate) or (self.uncertain and a not in self.own) or self.unknown.any(stmt.index)
            target = self.array(a)
            self.everywhere(a, stmt.index, lambda b, at, _: self.put(b, target, at, value, keep))

    def memory(self, stmt, a: Arr) -> None:
        """An allocation, or a list that grows."""
        if isinstance(stmt, Alloc):
            self.own.add(a)
        if a in self.unknown.sizes:
            if a in self.live:
                self.refuse(stmt, f"the size of `{a.hint}` depends on values of the inputs, so that the structure does too")
            return
        if isinstance(stmt, Alloc) and stmt.fill in self.unknown:
            stmt = replace(stmt, fill=None)
        self.b.add(stmt)
        if a in self.live:
            self.b.add(Alloc(self.array(a), EMPTY) if isinstance(stmt, Alloc) else replace(stmt, array=self.array(a)))
            for _, fresh in self.searches if isinstance(stmt, Alloc) else ():
                fresh.add(self.array(a))

    def swap(self, stmt: Swap) -> None:
        alive = any(t in self.live for t in stmt.targets)
        if alive and self.uncertain and not self.own.issuperset(stmt.targets):
            self.refuse(stmt, "whether these arrays change places depends on values of the inputs")
        if not self.uncertain and not self.unknown.sizes.intersection(stmt.targets):
            self.b.add(stmt)
        if alive:
            self.b.add(Swap(tuple(map(self.array, stmt.targets)), tuple(map(self.array, stmt.sources))))

    # -- branches ---------------------------------------------------------------------------------------------
    def branch(self, stmt: If) -> None:
        if stmt.cond in self.unknown:
            return self.both(stmt)
        merges = [m for m in stmt.merges if m.var not in self.unknown]
        joined = [m for m in stmt.merges if m.var in self.live]
        flagged = [m for m in stmt.merges if m.var in self.unknown and m.var.dtype == "bool"]
        ends: list = []

        def sides(name):
            def after():
                ends.append([*(self.of(getattr(m, name)) for m in joined),
                             *(f for m in flagged for f in self.may(getattr(m, name)))])
            return after
        then, orelse = self.block(stmt.then, sides("then")), self.block(stmt.orelse, sides("orelse"))
        heads = [self.new(m.var) for m in joined]
        for m in flagged:
            self.flags[m.var] = Var("may_be", "bool"), Var("may_not_be", "bool")
            heads += self.flags[m.var]
        merges += [Merge(head, t, e) for head, t, e in zip(heads, *ends, strict=True)]
        self.b.add(replace(stmt, then=then, orelse=orelse, merges=tuple(merges)))
        return None

    def both(self, stmt: If) -> None:
        """Each side that is possible; what they leave is united."""
        joined = [m for m in stmt.merges if m.var in self.live]
        flagged = [m for m in stmt.merges if m.var.dtype == "bool"]
        found: list[list] = []
        possible = self.may(stmt.cond)
        for cond, side, name in zip(possible, (stmt.then, stmt.orelse), ("then", "orelse"), strict=True):
            absent = [EMPTY] * len(joined) + [FALSE] * (2 * len(flagged))
            if cond == FALSE:
                found.append(absent)
                continue
            ends: list = []

            def after(name=name, ends=ends):
                ends.append([*(self.of(getattr(m, name)) for m in joined),
                             *(f for m in flagged for f in self.may(getattr(m, name)))])
            body = self.open_block(side, after)
            if cond == TRUE:
                self.b.stmts.extend(body)
                found.append(ends[0])
                continue
            heads = [Var("set", "int64") for _ in joined] + [Var("may_be", "bool") for _ in absent[len(joined):]]
            self.b.branch(cond, body, (), tuple(map(Merge, heads, ends[0], absent)))
            found.append(heads)
        for m, t, e in zip(joined, *found, strict=False):
            self.sets[m.var] = self.union(self.b, t, e)
        rest = [self.b.let("or", t, e, dtype="bool")
                for t, e in zip(found[0][len(joined):], found[1][len(joined):], strict=True)]
        for m, t, f in zip(flagged, rest[::2], rest[1::2], strict=True):
            self.flags[m.var] = t, f

    # -- loops ------------------------------------------------------------------------------------------------
    def loop(self, stmt) -> None:
        moving = [c for c in stmt.carries if c.var in self.live or c.result in self.live]
        if self.unknown.uncounted(stmt):
            return self.until_stable(stmt, moving)
        ends_early = isinstance(stmt, For) and stmt.exit is not None and stmt.exit in self.unknown
        inits = [self.of(c.init) for c in moving]
        heads = [self.new(c.var) for c in moving]
        nexts: list = []

        def after():
            nexts.extend(self.of(c.next) for c in moving)
            if ends_early:                          # it may end here: what it leaves is the union over all iterations
                nexts.extend(self.union(self.b, t, self.of(c.next)) for t, c in zip(totals, moving, strict=True))
        totals = [Var(f"{c.result.hint}_set", "int64") for c in moving] if ends_early else []
        body = self.open_block(stmt.body, after) if ends_early else self.block(stmt.body, after)
        results = [self.new(c.result) for c in moving]
        last = [Var("set", "int64") for _ in moving] if ends_early else results
        carries = [Carry(*c) for c in zip(heads, inits, nexts, last, strict=False)]
        if ends_early:
            carries += [Carry(*c) for c in zip(totals, inits, nexts[len(moving):], results, strict=True)]
            stmt = replace(stmt, exit=None)
        if isinstance(stmt, For):
            stmt = replace(stmt, checkpoint=None, trip=None if stmt.trip in self.unknown else stmt.trip)
        known = tuple(c for c in stmt.carries if c.var not in self.unknown)
        self.b.add(replace(stmt, carries=(*known, *carries), body=body))
        return None

    def until_stable(self, stmt, moving) -> None:
        """A loop of which no iteration is known: its body, until no set grows."""
        changed = core.written(stmt.body)
        written = [a for a in dict.fromkeys(mentioned(stmt.body)) if a in changed and a in self.live]
        if not moving and not written:
            return
        grown = self.b.make(Arr("grown", "int64", (integer(1),)), EMPTY)
        inits = [self.of(c.init) for c in moving]
        heads = [self.new(c.var) for c in moving]
        again = Var("again", "bool")
        ends: list = []

        def after():
            b = self.b
            for c, head in zip(moving, heads, strict=True):
                new = b.let("grow_set", self.pool, head, self.of(c.next), dtype="int64", hint="set")
                set_flags(b, (grown,), b.compare("ne", new, head))
                ends.append(new)
            ends.append(b.compare("ne", b.read(Var("flag", "int64"), grown, (EMPTY,)), EMPTY))
        self.searches.append((grown, set()))
        inner = self.open_block(stmt.body, after)
        self.searches.pop()
        reset = Builder(parent=self.b)
        reset.write(grown, (EMPTY,), EMPTY)
        results = [self.new(c.result) for c in moving]
        carries = [Carry(*c) for c in zip(heads, inits, ends, results, strict=False)]
        carries.append(Carry(again, TRUE, ends[-1], Var("again", "bool")))
        self.b.repeat_while(again, tuple(carries), (*reset.stmts, *inner), Var("n", "int64"), Var("trip", "int64"), stmt.loc)

    # -- library calls ----------------------------------------------------------------------------------------
    def call(self, stmt: Call) -> None:
        """Products by rows and columns; of other calls everything depends on everything, of solves on the right-hand
        side column by column."""
        arrays = [o if isinstance(o, Var) else core.array_of(o) for o in stmt.outs]
        if not self.unknown.any((*stmt.args, *arrays)):
            if self.uncertain:
                self.refuse(stmt, "whether this call runs depends on values of the inputs")
            self.b.add(stmt)
        if not any(a in self.live for a in arrays):
            return
        refs = [x if isinstance(x, Ref) else Ref(x) for x in stmt.args if isinstance(x, (Ref, Arr))]
        numbers = [self.of(x) for x in stmt.args if isinstance(x, Var)]
        if stmt.op == "matmul":
            parts = [self.lines(refs[0], 0), self.lines(refs[1], len(refs[1].shape) - 1)]
            lines = True
        elif stmt.op == "gram":
            parts = [self.lines(refs[0], 1)] * 2
            lines = True
        elif stmt.op == "solve":
            parts = [self.lines(refs[0], None), self.lines(refs[1], 1 if len(refs[1].shape) > 1 else None)]
            lines = True
        else:
            parts, lines = [self.lines(r, None) for r in refs], False
        for out in stmt.outs:
            if core.array_of(out) not in self.live:
                continue
            if isinstance(out, Var):
                self.sets[out] = self.union(self.b, *numbers, *parts)
                continue
            ref = out if isinstance(out, Ref) else Ref(out)
            adds = stmt.op in CALLS and CALLS[stmt.op].adds
            keep = (self.uncertain and ref.array not in self.own) or self.unknown.any(ref.prefix) or adds
            shape = ref.shape

            def element(b, index, ref=ref, keep=keep):
                handles = list(numbers)
                for part, axis in zip(parts, (0, -1) if lines else (0,) * len(parts), strict=True):
                    if isinstance(part, Arr):
                        part = b.read(Var("set", "int64"), part, (index[axis],))
                    handles.append(part)
                value = self.union(b, *handles)
                place = (*ref.prefix, *(index[::-1] if ref.transposed else index))
                self.everywhere(ref.array, place, lambda bb, at, _: self.put(bb, self.array(ref.array), at, value, keep), b)
            loops(self.b, shape, element)

    def lines(self, ref: Ref, axis):
        """Of an operand: for axis 0 the union of each row, for 1 of each column, in a buffer; None: of all, a handle."""
        if ref.array not in self.live:
            return EMPTY
        rank = len(ref.shape)
        if axis is None or rank == 1:
            return self.all_of(ref.array, (*ref.prefix, *[None] * rank))
        out = self.b.make(Arr("line_set", "int64", (ref.shape[axis],)), EMPTY)
        own = rank - 1 - axis if ref.transposed else axis

        def line(b, index):
            outer, self.b = self.b, b
            place = [None] * rank
            place[own] = index[0]
            b.write(out, index, self.all_of(ref.array, (*ref.prefix, *place)))
            self.b = outer
        loops(self.b, out.shape, line)
        return out


def set_flags(b: Builder, flags, cond) -> None:
    """Emit what sets flags in memory where a condition holds."""
    then = b.child()
    for flag in flags:
        then.write(flag, (EMPTY,), integer(1))
    b.branch(cond, then.block())


def structure(function: Function, wanted, results, registry) -> tuple[Function, Arr]:
    """(program, its parameter for the pool): from the parameters of `function` and a pool to the sets of its results.

    wanted: the parameters whose elements are the inputs, numbered in this order, each in C order.
    results: those of the program whose sets are returned: a handle for a number, a buffer of handles for an array.
    Raises SparsityError where the sets depend on the values of the inputs.
    """
    made = Structure(function, wanted, registry)
    b = made.b
    sizes = [s for s in function.body if is_size(s) and s.args[0] in function.params]
    for made_first in sizes:
        b.add(made_first)
    first = integer(1)
    for p in wanted:
        shape = p.shape if isinstance(p, Arr) else ()
        if isinstance(p, Var):
            made.sets[p] = first
        else:
            target = b.make(made.array(p), EMPTY)
            loops(b, shape, lambda bb, i, target=target, first=first: bb.store(
                target, i, bb.iadd(first, place_of(bb, i, target.shape))))
        first = b.iadd(first, product(b, shape))
    for p in function.params:
        if isinstance(p, Arr) and p in made.live and p not in wanted:
            b.make(made.array(p), EMPTY)
    for stmt in function.body:
        if stmt not in sizes:
            made.statement(stmt)
    found = []
    for r in results:
        if isinstance(r, Arr) and (r not in made.live or r not in made.sets):
            if r in made.unknown.sizes:
                raise SparsityError(f"the size of the result `{r.hint}` depends on values of the inputs", None, WAY_OUT)
            b.make(made.array(r), EMPTY)
        found.append(made.array(r) if isinstance(r, Arr) else made.of(r))
    program = replace(function, name=f"{function.name}_structure", params=(*function.params, made.pool), body=b.block(),
                      returns=tuple(found), tape=())
    return simplify(program, keep_draws=False), made.pool       # it runs on a copy of the generator


__all__ = ["structure"]
