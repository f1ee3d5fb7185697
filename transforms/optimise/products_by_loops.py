"""Products of matrices that loops compute one number at a time, as products of matrices, for a block of rows each.

    s = 0.0                                                 blocks = (n + 63) // 64
    for i in range(n):                                      count_1 = max(blocks, 1)
        for j in range(m):                                  size = (n + count_1 - 1) // count_1
            t = 0.0                                         s = 0.0
            for k in range(l):                              for block in range(blocks):
                t = np.add(t, a[i, k] * b[k, j])                first = block * size
            s = np.add(s, np.tanh(t))            becomes        end = min(first + size, n)
    return s                                                    a_rows = np.zeros((size, l))
                                                                for i in range(first, end):
                                                                    for i_1 in range(l):
                                                                        a_rows[i - first, i_1] = a[i, i_1]
                                                                t_rows = np.empty((size, m))
                                                                block_product_into(t_rows, a_rows, b)
                                                                for i in range(first, end):
                                                                    for j in range(m):
                                                                        s = np.add(s, np.tanh(t_rows[i - first, j]))
                                                            return s

BLAS multiplies ten times faster than such loops, which go through one of the matrices against the order of memory. What
the loops of a block add to cotangents, `a_bar[i, k] += t_bar * b[k, j]` and `b_bar[k, j] += t_bar * a[i, k]`, waits for its
end: the numbers `t_bar` are kept in rows, and two products add them. Blocks keep what waits near the processor, and small.

A cotangent that is zero, as of what a branch leaves out, or of what lies beyond a triangle, multiplies nothing, not even an
infinite number. Of what is copied for it, the program has as much in memory before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

from ..language import core
from ..language.build import Builder, integer, loops, sum_of, trips
from ..language.core import Arr, Atom, Call, Carry, Const, For, Function, Load, Loc, Merge, Ref, Store, Var, walk
from ..language.facts import Facts, combine, composed
from ..language.motion import facts_of, in_range
from ..language.names import defined_in
from ..language.queries import is_access, is_loop, is_range, is_simple, is_store, is_whole, operation
from ..language.rewrite import bottom_up
from ..language.substitution import substitute
from .contractions import STEPS, Addition, Axis, Form, Nest, Product, Sum, ends, found_in, is_few, products_of
from .simplify import raises

MOST_ROWS = 64          # in a block: BLAS gains little by more


def multiply_by_blocks(function: Function) -> Function:
    """The program whose loops leave such products to BLAS."""
    facts = facts_of(function)
    sizes: set = set()

    def change(s) -> list | None:
        if not is_whole(s) or s.step not in STEPS or s.checkpoint is not None or is_few(s, facts):
            return None
        found = found_in(s, facts)
        if not found or s.origin == "reverse" and not any(
                isinstance(t, Sum) or t.by_rows for _, sites in found for t in sites):
            return None                 # outer products wait in `outer_products.py`
        blocks, nest = Blocks(s, facts), found[0][0]
        products = products_of(nest)
        if products and all(blocks.lie(nest, p) for p in products):
            return blocks.at_once(nest, products)
        made = blocks.made(found)
        sizes.update(t for t in blocks.begin.stmts if operation(t) and t.var.dtype == "int64")
        return made
    body = bottom_up(function.body, change)
    return replace(function, body=outside_of_loops(body, sizes) if sizes else body)


def outside_of_loops(block, sizes: set) -> tuple:
    """The block with those of the sizes before its loops that do not change in them, so that memory can be, too."""
    out: list = []
    for s in block:
        s = core.with_blocks(s, lambda inner: outside_of_loops(inner, sizes))
        if is_loop(s):
            inside = defined_in(s.body) | set(core.bound_inside(s))
            moved: list = []
            for t in s.body:
                if t in sizes and not inside & set(t.args):
                    moved.append(t)
                    inside.discard(t.var)
            out += moved
            s = replace(s, body=tuple(t for t in s.body if t not in moved)) if moved else s
        out.append(s)
    return tuple(out)


def does_more(s) -> bool:
    """Whether a statement, with those inside it, has an effect or a result."""
    return bool(core.defined(s)) or any(is_store(t) or raises(t) or not is_simple(t) and not is_range(t) for t in walk((s,)))


def load_of(nest: Nest, factors) -> Load | None:
    """The load that is all of a product; None if there is more, or less."""
    s = nest.made.get(factors[0]) if len(factors) == 1 else None
    return s if isinstance(s, Load) else None


class Blocks:
    """A loop whose iterations run in blocks. begin, end: what is before and behind all blocks; head, tail: in each block
    before and behind its rows. start, stop: the range of the loop's index in a block; place: the row of an iteration."""

    def __init__(self, loop: For, facts: Facts):
        self.loop, self.facts = loop, facts
        self.step = core.known_value(loop.step)
        self.begin, self.end, self.head, self.tail, self.inner = (Builder(facts) for _ in range(5))
        self.rows = Axis(loop, *ends(loop, facts))
        self.shared: dict = {}
        self.numbers: dict = {}
        self.ends: dict = {}
        b = self.begin
        self.count = trips(b, loop.start, loop.stop, self.step)
        self.number = b.let("floordiv", b.iadd(self.count, MOST_ROWS - 1), integer(MOST_ROWS), dtype="int64", hint="blocks")
        some = b.imax(self.number, 1)
        self.size = b.let("floordiv", b.isub(b.iadd(self.count, some), 1), some, dtype="int64", hint="size")
        self.block = Var("block", "int64")
        b = self.head
        first = b.let("mul", self.block, self.size, dtype="int64", hint="first")
        last = b.let("min", b.iadd(first, self.size), self.count, dtype="int64", hint="end")
        if self.step > 0 and loop.start == integer(0):
            self.start, self.stop = first, last
        else:
            self.start, self.stop = ((b.iadd if self.step > 0 else b.isub)(loop.start, x) for x in (first, last))
        self.place = self.place_of(self.inner, loop.index)

    def lie(self, nest: Nest, s: Product) -> bool:
        """Whether what a product reads of the outermost loop need not be copied."""
        sides = (s.left, s.down, s.summed), (s.right, s.summed, s.across)
        return all(self.where_it_lies(nest, load_of(nest, factors), *axes) is not None
                   for factors, *axes in sides if any(x.loop is self.loop for x in axes))

    def at_once(self, nest: Nest, products: list[Product]) -> list:
        """The statements that do what three loops did."""
        b = self.begin = Builder(self.facts)
        for s in products:
            loc, target = s.site.loc, s.site.array
            left = self.matrix_of(nest, s.left, s.down, s.summed, s.across, loc)
            right = self.matrix_of(nest, s.right, s.summed, s.across, s.down, loc)
            lies = None if s.negative else self.where_it_lies(nest, s.site, s.down, s.across)
            if lies is not None:
                b.add(Call((lies,), "add_block_product", (left, right), loc=loc))
                continue
            total = b.make(Arr(f"{target.hint}_sum", target.dtype, (self.length(s.down), self.length(s.across))), None, loc)
            b.add(Call((total,), "block_product", (left, right), loc=loc))
            self.add_all(b, nest, s.site, (s.down, s.across, s.summed), total, s.negative)
        return b.stmts

    def add_all(self, b: Builder, nest: Nest, site: Store, axes: tuple[Axis, Axis, Axis], total: Arr,
                negative: bool = False) -> None:
        """What is added up by two axes, to where a store adds it, if a third one has indices."""
        def add(inside: Builder, k, at: dict) -> None:
            value = inside.load(total, k)
            inside.write(site.array, tuple(self.value(inside, nest, i, at) for i in site.index), inside.let(
                "neg", value, dtype=value.dtype) if negative else value, True, site.loc)
        self.each(b, *axes, total, site.loc, add)

    def made(self, found) -> list:
        """The statements that do what the loop did."""
        body: list = []
        for s in self.loop.body:
            body += self.changed(s, [(nest, sites) for nest, sites in found if nest.outer.loop is s])
        carries = self.loop.carries
        handed, after = ([Var(c.var.hint, c.var.dtype) for c in carries] for _ in range(2))
        rows = replace(self.loop, start=self.start, stop=self.stop, body=(*self.inner.stmts, *body), carries=tuple(
            replace(c, init=v, result=r) for c, v, r in zip(carries, handed, after, strict=True)))
        around = For(self.block, integer(0), self.number, integer(1), tuple(
            Carry(v, c.init, r, c.result) for c, v, r in zip(carries, handed, after, strict=True)), (
                *self.head.stmts, rows, *self.tail.stmts), loc=self.loop.loc, origin=self.loop.origin)
        return [*self.begin.stmts, around, *self.end.stmts]

    def changed(self, outer, found) -> list:
        """A statement of the loop without its products, after what prepares them."""
        if not found:
            return [outer]
        before = Builder(self.facts)
        results: dict = {}
        body: list = []
        for t in outer.body:
            here = Builder(self.facts)
            for nest, sites in found:
                if nest.inner.loop is t:
                    for s in sites:
                        if isinstance(s, Sum):
                            results |= self.sum(nest, s, before, here)
                        else:
                            self.addition(nest, s, before, here)
                    gone = {s.site for s in sites}
                    t = replace(t, carries=tuple(c for c in t.carries if c not in gone),
                                body=tuple(s for s in t.body if s not in gone))
            body += [*here.stmts, *([t] if is_simple(t) or does_more(t) else [])]
        made, = substitute((replace(outer, body=tuple(body)),), dict(results), fresh=False)
        return [*before.stmts, *([made] if does_more(made) else [])]

    # -- indices ----------------------------------------------------------------------------------------------------
    def another(self, index: Var) -> Var:
        """An index for another loop over the same range."""
        made = Var(index.hint, "int64")
        self.facts.number(made)
        self.facts.range[made] = self.facts.range[index]
        return made

    def place_of(self, b: Builder, index: Var) -> Atom:
        return b.isub(index, self.start) if self.step > 0 else b.isub(self.start, index)

    def end_of(self, one: Axis, which: str) -> Atom:
        """Where an axis begins or ends: for all blocks, or for the rows of one."""
        if (one, which) not in self.ends:
            form, varies, b = getattr(one, which), one.goes_with == which, self.begin
            at: dict = {}
            if varies:                  # by the first row, or the last one: all that any row has
                b = self.head
                first = (which == "low") == (self.step > 0)
                at = {self.loop.index: self.facts.affine(self.start if first else b.isub(self.stop, self.step))}
            self.ends[one, which] = sum_of(b, composed(form, at))
        return self.ends[one, which]

    def home(self, *axes: Axis) -> Builder:
        """Where what depends on the ends of axes is made."""
        return self.head if any(one.goes_with for one in axes) else self.begin

    def length(self, one: Axis) -> Atom:
        home = self.home(one)
        return home.imax(home.isub(self.end_of(one, "high"), self.end_of(one, "low")), 0)

    def at(self, one: Axis, place: Atom) -> Form:
        """The index of an axis at a place in memory of our own."""
        return combine(self.facts.affine(self.end_of(one, "low")), self.facts.affine(place), 1)

    def offset(self, b: Builder, one: Axis, index: Var) -> Atom:
        """The place of a loop's index in memory of our own."""
        terms = combine((0, {index: 1}), (0, {self.loop.index: 1}), int(one.shift))
        return sum_of(b, combine(terms, self.facts.affine(self.end_of(one, "low")), -1))

    def runs(self, b: Builder, one: Axis, row: Var | None = None) -> Atom:
        """Whether an axis has indices, in a row."""
        at = {} if row is None else {self.loop.index: (0, {row: 1})}
        return b.compare("lt", *(sum_of(b, composed(form, at)) for form in (one.low, one.high)))

    # -- known numbers ----------------------------------------------------------------------------------------------
    def value(self, b: Builder, nest: Nest, x, indices: dict, where: For | None = None, known: dict | None = None) -> Atom:
        """A number that is known outside a loop, for these indices: of the axes where that is the outermost one."""
        inside, at_axes = nest.within[where or self.loop], where is None
        if x in indices and not at_axes:
            return indices[x]
        if x not in inside:
            return x
        known = {} if known is None else known
        if x not in known:
            known[x] = self.made_again(b, nest, x, indices, where, known)
        return known[x]

    def made_again(self, b: Builder, nest: Nest, x, indices: dict, where: For | None, known: dict) -> Atom:
        if x.dtype == "int64":
            form = nest.form(x) if where is None else self.facts.affine(x)
            if form != (0, {x: 1}) or x in indices:
                at = {v: indices[v] if v in indices else self.value(b, nest, v, indices, where, known) for v in form[1]}
                return sum_of(b, composed(form, {v: f if isinstance(f, tuple) else (0, {f: 1}) for v, f in at.items()}))
        s = nest.made[x]
        if isinstance(s, Load):
            return b.load(s.array, tuple(self.value(b, nest, i, indices, where, known) for i in s.index), s.var.hint)
        return b.let(s.op, *(self.value(b, nest, y, indices, where, known) for y in s.args), dtype=x.dtype, hint=x.hint)

    def product(self, b: Builder, nest: Nest, factors, indices: dict) -> Atom:
        """The product of numbers that are known before the loop, for these indices of the axes."""
        return reduce(lambda x, y: b.let("mul", x, y, dtype=x.dtype), [
            self.value(b, nest, x, indices) for x in factors])

    def here(self, b: Builder, nest: Nest, x, indices: dict) -> Atom:
        """A number where the two loops are, or before them."""
        return self.value(b, nest, x, indices, (nest.outer if nest.again(x) else nest.inner).loop)

    def rows_of(self, nest: Nest, factors, along: Axis, over: Axis, loc: Loc) -> Ref:
        """Known numbers for each row of the block and each index of an axis, where another one has indices."""
        key = ("rows", self.signature(nest, factors, along), *self.key(over), *self.key(along))
        turned = self.lies_by(nest, factors, self.loop.index)
        if key not in self.shared:
            n = self.length(along)
            rows = self.shared[key] = Arr(self.named(nest, factors, "rows"), factors[0].dtype, (
                n, self.size) if turned else (self.size, n))
            self.head.make(rows, Const(0.0, rows.dtype), loc)
            self.each_row(self.head, along, over, rows, turned, loc, lambda b, place, at, k: b.write(
                rows, (k, place) if turned else (place, k), self.product(b, nest, factors, at), loc=loc))
        return Ref(self.shared[key], (), turned)

    def each_row(self, b: Builder, along: Axis, over: Axis, own: Arr, turned: bool, loc: Loc, do: Callable) -> None:
        """Loops over the rows of a block, the outer ones unless `turned`, and an axis, which `do` something, where the other
        axis has indices: given the row, the indices of both axes and the number of the second one."""
        index = self.another(self.loop.index)

        def act(inside: Builder, k: Atom) -> None:
            copy = Builder(self.facts)
            do(copy, self.place_of(copy, index), {self.loop.index: (0, {index: 1}), along.loop.index: self.at(along, k)}, k)
            self.where(inside, lambda: self.runs(inside, over, index), own, copy.stmts)

        def rows(outside: Builder, within: Callable) -> None:
            row = Builder(self.facts)
            within(row)
            outside.repeat(index, self.start, self.stop, row.block(), self.step, loc=loc, origin="array")
        n = (self.length(along),)
        if turned:
            loops(b, n, lambda b, k: rows(b, lambda row: act(row, k[0])), loc=loc)
        else:
            rows(b, lambda row: loops(row, n, lambda b, k: act(b, k[0]), loc=loc))

    def always(self, one: Axis) -> bool:
        """Whether a loop is known to run."""
        return not one.goes_with and self.facts.proven(combine(combine(one.high, one.low, -1), (1, {}), -1))

    def where(self, b: Builder, cond: Callable, own: Arr, block, strict: bool = False) -> None:
        """Statements that touch what the loop touches, on a condition, unless it is all there."""
        runs = Const(True, "bool") if not strict and self.there(block, own) else cond()
        if runs == Const(True, "bool"):
            b.stmts += block
        else:
            b.branch(runs, tuple(block))

    def there(self, block, own: Arr) -> bool:
        """Whether all elements that statements touch, but for an array of ours, are known to exist."""
        return all(in_range(self.facts, s.array, s.index) for s in walk(tuple(block)) if is_access(s)
                   and s.array is not own)

    def lies_by(self, nest: Nest, factors, index: Var) -> bool:
        """Whether numbers for the indices of an axis lie one after the other in memory."""
        s = load_of(nest, factors)
        return s is not None and index in (nest.known(s.index[-1]) or ())

    def matrix_of(self, nest: Nest, factors, down: Axis, across: Axis, other: Axis, loc: Loc) -> Ref:
        """Known numbers for the indices of two axes, where another one has indices: where they lie, or in own memory."""
        lies = self.where_it_lies(nest, load_of(nest, factors), down, across)
        if lies is not None:
            return lies
        if self.lies_by(nest, factors, down.loop.index) and not self.lies_by(nest, factors, across.loop.index):
            ref = self.matrix_of(nest, factors, across, down, other, loc)
            return replace(ref, transposed=not ref.transposed)
        key = (self.signature(nest, factors, down, across), *self.key(down), *self.key(across))
        if key not in self.shared:
            shape = self.length(down), self.length(across)
            matrix = self.shared[key] = Arr(self.named(nest, factors, "part"), factors[0].dtype, shape)
            home = self.home(down, across)
            home.make(matrix, None, loc)
            self.each(home, down, across, other, matrix, loc, lambda b, k, at: b.write(
                matrix, k, self.product(b, nest, factors, at), loc=loc))
        return Ref(self.shared[key])

    def each(self, b: Builder, down: Axis, across: Axis, other: Axis, own: Arr, loc: Loc, do: Callable) -> None:
        """Loops over two axes, which `do` something, if another one has indices: given the numbers and the indices."""
        copy = Builder(self.facts)
        loops(copy, tuple(map(self.length, (down, across))), lambda b, k: do(b, k, {
            one.loop.index: self.at(one, place) for one, place in zip((down, across), k, strict=True)}), loc=loc)
        always = other is self.rows and (b is self.head or b is self.tail)
        self.where(b, lambda: Const(True, "bool") if always else self.runs(b, other), own, copy.stmts)

    def where_it_lies(self, nest: Nest, s, down: Axis, across: Axis) -> Ref | None:
        """A matrix of which the two axes have each element, where it lies."""
        if not is_access(s) or len(s.index) < 2 or nest.within[self.loop] & set(s.index[:-2]):
            return None
        for rows, columns in ((down, across), (across, down)):
            if all(nest.form(i) == (0, {one.loop.index: 1}) and not one.goes_with and one.low == (0, {})
                   and one.high == self.facts.affine(n)
                   for i, one, n in zip(s.index[-2:], (rows, columns), s.array.shape[-2:], strict=True)):
                return Ref(s.array, s.index[:-2], rows is across)
        return None

    def named(self, nest: Nest, factors, what: str) -> str:
        """A name for memory that holds a product."""
        s = load_of(nest, factors)
        return what if s is None else f"{s.array.hint}_{what}"

    def key(self, one: Axis) -> tuple:
        return tuple((constant, frozenset(terms.items())) for constant, terms in (one.low, one.high))

    def signature(self, nest: Nest, factors, *axes: Axis, where: For | None = None) -> tuple:
        """What is equal for equal numbers, which are taken outside a loop."""
        inside, known = nest.within[where or self.loop], {}

        def told(x):
            """A value, by what is in no loop and the numbers of the axes; each of them by its own number."""
            if x not in known:
                known[x] = self.numbers.setdefault(parts(x), len(self.numbers))
            return known[x]

        def parts(x) -> tuple:
            for k, one in enumerate(axes):
                if x is one.loop.index:
                    return "axis", k
            s = nest.made.get(x) if x in inside else None
            if s is None:
                return "value", x
            if x.dtype == "int64" and x not in (form := nest.form(x) if where is None else self.facts.affine(x))[1]:
                return form[0], frozenset((told(v), c) for v, c in form[1].items())
            return ("load", s.array, *map(told, s.index)) if isinstance(s, Load) else (s.op, x.dtype, *map(told, s.args))
        return tuple(map(told, factors))

    # -- what becomes of sums and additions -------------------------------------------------------------------------
    def one_by_one(self, nest: Nest, over: Axis, before: Builder, here: Builder, own: Arr, loc: Loc, do: Callable,
                   strict: bool = False) -> None:
        """Statements for each index of one of the two loops: in the outer one, or in a loop of their own before it; where
        the other one runs, unless all that they read is there. strict: even then."""
        outside = over is nest.outer
        index, other = (over.loop.index, nest.inner) if outside else (self.another(over.loop.index), nest.outer)
        copy, inside = Builder(self.facts), here if outside else Builder(self.facts)
        do(copy, index)
        self.where(inside, lambda: self.runs(inside, other, self.loop.index), own, copy.stmts, strict)
        if outside:
            return
        start, stop = (sum_of(before, self.facts.affine(x)) for x in (over.loop.start, over.loop.stop))
        before.repeat(index, start, stop, inside.block(), over.loop.step, loc=loc, origin="array")

    def sum(self, nest: Nest, s: Sum, before: Builder, here: Builder) -> dict:
        """What is to be put for the result of a sum."""
        site = s.site
        loc, hint = (site.loc, site.array.hint) if isinstance(site, Store) else (nest.inner.loop.loc, site.result.hint)
        rows = self.rows_of(nest, s.rows, s.summed, s.free, loc)
        matrix = self.matrix_of(nest, s.matrix, s.summed, s.free, self.rows, loc)
        key = ("product", rows.array, rows.transposed, matrix.array, matrix.prefix, matrix.transposed)
        if key not in self.shared:
            made = Arr(f"{hint}_rows", s.rows[0].dtype, (self.size, self.length(s.free)))
            self.shared[key] = self.head.make(made, None, loc)
            self.head.add(Call((made,), "block_product", (rows, matrix), loc=loc))
        product = self.shared[key]

        def value(b: Builder, index: Var) -> Atom:
            total = b.load(product, (self.place, self.offset(b, s.free, index)), hint)
            for x in s.rest:
                total = b.let("mul", total, self.here(b, nest, x, {s.free.loop.index: index}), dtype=x.dtype)
            return b.let("neg", total, dtype=total.dtype) if s.negative else total
        if isinstance(site, Store):
            target, places, strict = site.array, site.index, bool(s.rest) and not self.always(s.summed)
            self.one_by_one(nest, s.free, before, here, product, loc, lambda b, index: b.write(target, tuple(
                self.here(b, nest, i, {s.free.loop.index: index}) for i in places), value(b, index), True, loc), strict)
            return {}
        added = Builder(self.facts)
        total = value(added, s.free.loop.index)
        if s.rest and not self.always(s.summed) or not self.there(added.stmts, product):
            found, total = total, Var(hint, product.dtype)
            cond = self.runs(here, s.summed, self.loop.index)
            here.branch(cond, added.block(), (), (Merge(total, found, Const(0.0, product.dtype)),), loc)
        else:
            here.stmts += added.stmts
        return {site.result: here.let("sum", site.init, total, dtype=product.dtype, hint=hint)}

    def addition(self, nest: Nest, s: Addition, before: Builder, here: Builder) -> None:
        """Keeps what an iteration computes, to be added behind its block."""
        kept = self.kept(nest, s.over, s.kept, s.negative, before, here, loc := s.site.loc)
        if s.by_rows:
            self.add_rows(nest, s, kept, loc)
        else:
            self.add_matrix(nest, s, kept, self.rows_of(nest, s.known, s.along, s.over, loc) if s.at_once else Ref(
                self.kept(nest, s.along, s.known, False, before, here, loc)), loc)

    def kept(self, nest: Nest, over: Axis, factors, negative: bool, before: Builder, here: Builder, loc: Loc) -> Arr:
        """Rows of what each iteration of a block computes, for each index of a loop; zeros where it computes nothing."""
        other = nest.inner if over is nest.outer else nest.outer
        same = factors if over is nest.outer else self.signature(nest, factors, over, where=nest.outer.loop)
        key = ("kept", nest.outer.loop, same, *self.key(over), *self.key(other), negative)
        if key in self.shared:
            return self.shared[key]
        dtype, hint = factors[0].dtype, factors[0].hint if isinstance(factors[0], Var) else "kept"
        kept = self.shared[key] = Arr(f"{hint}_rows", dtype, (self.size, self.length(over)))
        self.head.make(kept, Const(0.0, dtype), loc)

        def keep(b: Builder, index: Var) -> None:
            total = reduce(lambda x, y: b.let("mul", x, y, dtype=dtype), [
                self.here(b, nest, x, {over.loop.index: index}) for x in factors])
            total = b.let("neg", total, dtype=dtype) if negative else total
            b.write(kept, (self.place, self.offset(b, over, index)), total, loc=loc)
        self.one_by_one(nest, over, before, here, kept, loc, keep)
        return kept

    def add_rows(self, nest: Nest, s: Addition, kept: Arr, loc: Loc) -> None:
        """What a block adds to its own rows."""
        part = Arr(f"{s.site.array.hint}_rows", kept.dtype, (self.size, self.length(s.along)))
        known = self.matrix_of(nest, s.known, s.over, s.along, self.rows, loc)
        self.tail.make(part, None, loc)
        self.tail.add(Call((part,), "multiples" if s.site.array.why == core.ADJOINT else "block_product", (
            Ref(kept), known), loc=loc))
        turned = s.along.loop.index not in (nest.known(s.site.index[-1]) or ())
        self.each_row(self.tail, s.along, s.over, part, turned, loc, lambda b, place, at, k: b.write(s.site.array, tuple(
            self.value(b, nest, i, at) for i in s.site.index), b.load(part, (place, k)), True, loc))

    def add_matrix(self, nest: Nest, s: Addition, kept: Arr, rows: Ref, loc: Loc) -> None:
        """What a block adds to a matrix that all of them add to."""
        lies = self.where_it_lies(nest, s.site, s.over, s.along)
        op = "add_multiples" if s.site.array.why == core.ADJOINT else "add_block_product"
        if lies is not None:
            self.tail.add(Call((lies,), op, (Ref(kept, (), True), rows), loc=loc))
            return
        turned = s.over.loop.index in (nest.known(s.site.index[-1]) or ())
        down, across = (s.along, s.over) if turned else (s.over, s.along)
        total = Arr(f"{s.site.array.hint}_sum", kept.dtype, tuple(map(self.length, (down, across))), core.ADJOINT)
        own = self.home(down, across) is self.head
        (self.head if own else self.begin).make(total, Const(0.0, kept.dtype), loc)
        self.tail.add(Call((Ref(total, (), turned),), op, (Ref(kept, (), True), rows), loc=loc))
        self.add_all(self.tail if own else self.end, nest, s.site, (down, across, self.rows), total)


__all__ = ["multiply_by_blocks"]
