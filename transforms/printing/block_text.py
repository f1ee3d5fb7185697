"""Statements as Python text: loops, branches and library calls stand over several lines."""

from __future__ import annotations

from ...runtime.library_calls import CALLS
from ..language import core
from ..language.core import Arr, Const, Let, Load, Store, Var, walk, written
from ..language.draws import draw_text, is_draw
from ..language.ops import DRAW, OWN_FUNCTION, USER_RULE
from ..language.python_text import as_elif, bare, commented, is_negation, words
from ..language.queries import is_loop, is_size
from ..language.units import unit_of
from .line_text import NOT, WIDTH, LineText

VIEWS = ("flat", "shaped")              # calls that give their array another shape


def comes_from(array: Arr, following) -> bool:
    """Whether the draw or the function that is called next makes this buffer."""
    stmt = next((s for s in following if not isinstance(s, (core.Comment, core.Alloc))), None)
    return isinstance(stmt, core.Call) and (is_draw(stmt) and stmt.outs[0] is array or stmt.op in VIEWS
                                            or unit_of(stmt) is not None) and array in stmt.outs


class BlockText(LineText):
    """The statements of a program."""

    def block(self, block, depth: int) -> None:
        done = 0
        for k, stmt in enumerate(block):
            if k < done:
                continue
            if self.slices and is_size(stmt) and (count := self.dimensions(block, k, depth)):
                done = k + count
                continue
            if isinstance(stmt, core.Comment) and depth > 1 and not any(
                    not isinstance(s, core.Comment) for s in block[k + 1:]):
                continue                        # nothing of what it heads is left
            if isinstance(stmt, core.Alloc) and stmt.fill is None and comes_from(stmt.array, block[k + 1:]):
                self.drawn.add(stmt.array)
                continue
            self.statement(stmt, block, depth)

    def statement(self, stmt, block, depth: int) -> None:
        around, self.doing = self.doing, stmt
        self.printed(stmt, block, depth)
        self.doing = around

    def printed(self, stmt, block, depth: int) -> None:
        told = isinstance(stmt, (core.Alloc, core.Guard))           # memory needs no comment, and errors tell the place
        if told or stmt.loc.line and stmt.loc.text:
            self.heading = None if told else stmt.loc
        match stmt:
            case Let(var=v) if v in self.schedule.in_place:
                self.places[v] = self.in_place(stmt)
                self.also.clear()
            case Let(var=v) | Load(var=v):
                reads = self.reads_of(stmt)
                if isinstance(stmt, Let):
                    text, level = self.expression(stmt)
                else:
                    text, level = self.element(stmt.array, stmt.index), 100
                if self.single(v, block) and len(text) < WIDTH - 20:
                    self.wait(v, text, level, reads)
                else:
                    self.assign(depth, self.name(v), text)
            case Store(array=a, index=i, value=v, accumulate=acc):
                where = self.element(a, i)
                value = self.atom(v)
                self.flush(depth, {a})
                if acc and is_negation(value):
                    self.put(depth, f"{where} -= {bare(value[1:])}")
                else:
                    self.put(depth, f"{where} {'+=' if acc else '='} {value}")
            case core.Alloc(array=a, fill=f):
                self.put(depth, f"{self.name(a)} = {self.allocation(a, f, depth == 1)}")
            case core.For() if (fill := self.schedule.fill_of(stmt)) is not None:
                self.fill_axes(fill, depth)
            case core.For():
                self.for_loop(stmt, depth)
            case core.While():
                self.while_loop(stmt, depth)
            case core.If():
                self.branch(stmt, depth, block)
            case core.Swap(targets=t, sources=s):
                self.flush(depth, set(t))
                self.put(depth, f"{', '.join(map(self.name, t))} = {', '.join(map(self.name, s))}")
            case core.Call():
                self.library_call(stmt, depth)
            case core.Resize(array=a, length=n):
                self.helpers.add("resize")
                length = self.atom(n)
                self.flush(depth, {a})
                self.put(depth, f"{self.name(a)} = resize({self.name(a)}, {length})")
            case core.Guard(cond=Const(value=value)) if value:
                pass
            case core.Guard():
                self.guard(stmt, depth)
            case core.Print(parts=parts, template=template) if template is not None:
                self.helpers.add("print_line")
                self.put(depth, f"print_line({', '.join([repr(template), *map(self.atom, parts)])})")
            case core.Print(parts=parts):
                shown = ", ".join(repr(p) if isinstance(p, str) else self.atom(p) for p in parts)
                self.put(depth, f"print({shown})")
            case core.Comment(section=False) if stmt.loc.line:
                pass                                # what stands below says so itself
            case core.Comment(text=text, section=section):
                self.flush(depth, block=block) if section else None
                self.heading = self.headed = None
                self.put(depth, commented(f"---- {text} ----" if section else text))

    def guard(self, stmt: core.Guard, depth: int) -> None:
        """A check; checks that follow each other and raise the same are one."""
        c, call = stmt.cond, self.raising(stmt)
        if isinstance(c, Const):
            return self.put(depth, call)
        negated = c in self.pending and self.pending[c][0].startswith("not ") and self.pending[c][1] == NOT
        tests = [self.atom(c)[len("not "):] if negated else self.atom(c, NOT + 1)]
        line, earlier, *alike = self.guarded
        if line == len(self.lines) - 2 and alike == [negated, call, depth] and tests[0] in earlier:
            return None
        joined = (" or " if negated else " and ").join([*earlier, *tests])
        if line == len(self.lines) - 2 and alike == [negated, call, depth] and len(joined) < WIDTH:
            del self.lines[line:]
            tests = [*earlier, *tests]
        whole = joined if len(tests) > 1 else tests[0]
        self.put(depth, f"if {whole}:" if negated else f"if not ({whole}):" if len(tests) > 1 else f"if not {whole}:")
        self.put(depth + 1, call)
        self.guarded = (len(self.lines) - 2, tests, negated, call, depth)
        return None

    def fill_axes(self, fill: tuple, depth: int) -> None:
        """One value for whole axes of an array."""
        store, axes = fill
        self.heading = store.loc if store.loc.line and store.loc.text else self.heading
        where = ", ".join(":" if i in axes else self.atom(i) for i in store.index)
        value = self.atom(store.value)
        self.flush(depth, {store.array})
        self.put(depth, f"{self.name(store.array)}[{':' if len(axes) == len(store.index) else where}] = {value}")

    def dimensions(self, block, k: int, depth: int) -> int:
        """Print the sizes of an array that `block[k:]` reads one after the other, if it reads all; how many these are."""
        array = block[k].args[0]
        rank = len(array.shape)
        found = block[k:k + rank]
        if rank < 2 or len(found) < rank or not all(
                is_size(s) and s.args[0] is array and s.args[1] == axis
                and s.var not in self.schedule.in_place and not self.single(s.var, block) for axis, s in enumerate(found)):
            return 0
        self.put(depth, f"{', '.join(self.name(s.var) for s in found)} = {self.name(array)}.shape")
        return rank

    def bind_carries(self, pairs, depth) -> None:
        """Simultaneous assignment of names; sequential where the order does not matter."""
        moves = []
        for var, atom in pairs:
            name = self.name(var)
            text = self.atom(atom)
            if text != name:
                moves.append((name, text, atom))
        names = {m[0] for m in moves}
        clash = any(n in words(later[1]) for k, (n, _, _) in enumerate(moves) for later in moves[k + 1:])
        if clash and names:
            self.flush_readers(depth, names)
            self.put(depth, f"{', '.join(m[0] for m in moves)} = {', '.join(m[1] for m in moves)}")
        else:
            for name, text, _ in moves:
                self.assign(depth, name, text)

    def for_loop(self, stmt: core.For, depth: int) -> None:
        start, stop, step = self.atom(stmt.start), self.atom(stmt.stop), self.atom(stmt.step)
        inits = [(c.var, c.init) for c in stmt.carries]
        self.flush_before_loop(stmt, depth)
        self.bind_carries(inits, depth)
        if stmt.trip is not None:
            self.put(depth, f"{self.name(stmt.trip)} = 0")
        if step != "1":
            bounds = f"{start}, {stop}, {step}"
        else:
            bounds = stop if start == "0" else f"{start}, {stop}"
        self.names.open()
        parallel = stmt.origin == "parallel"
        index = self.names.of(stmt.index, alone=parallel)
        self.put(depth, f"for {index} in {'prange' if parallel else 'range'}({bounds}):")
        begin = len(self.lines)
        self.block(stmt.body, depth + 1)
        stop_text = None
        if stmt.exit is not None:
            stop_text = self.atom(stmt.exit)
            if not stop_text.isidentifier() and stop_text not in ("True",):
                stop = self.name(Var("stop", "bool"))
                self.put(depth + 1, f"{stop} = {stop_text}")
                stop_text = stop
        self.bind_carries([(c.var, c.next) for c in stmt.carries], depth + 1)
        if stmt.trip is not None:
            self.put(depth + 1, f"{self.name(stmt.trip)} += 1")
        if stop_text is not None:
            self.put(depth + 1, f"if {stop_text}:")
            self.put(depth + 2, "break")
        if self.empty_since(begin):
            self.put(depth + 1, "pass")
        self.leave()

    def empty_since(self, begin: int) -> bool:
        """Whether only comments were written from line `begin` on."""
        return all(line.lstrip().startswith("#") for line in self.lines[begin:])

    def flush_before_loop(self, stmt, depth) -> None:
        self.flush(depth, written((stmt,)) | {None})
        self.flush_readers(depth, self.names.known(self.loop_names(stmt)))

    def loop_names(self, stmt):
        for s in walk((stmt,)):
            if is_loop(s):
                for c in s.carries:
                    yield c.var
            elif isinstance(s, core.If):
                for m in s.merges:
                    yield m.var

    def while_loop(self, stmt: core.While, depth: int) -> None:
        inits = [(c.var, c.init) for c in stmt.carries]
        counted = self.uses.get(stmt.counter) or self.uses.get(stmt.trip)
        self.flush_before_loop(stmt, depth)
        self.bind_carries(inits, depth)
        if counted:
            self.put(depth, f"{self.name(stmt.counter)} = 0")
        self.put(depth, f"while {self.name(stmt.cond)}:")
        self.names.open()
        self.block(stmt.body, depth + 1)
        self.bind_carries([(c.var, c.next) for c in stmt.carries], depth + 1)
        if counted:
            self.put(depth + 1, f"{self.name(stmt.counter)} += 1")
        self.leave()

    def branch(self, stmt: core.If, depth: int, block) -> None:
        if not stmt.then and not stmt.orelse:
            return self.choice(stmt, depth, block)
        cond = self.atom(stmt.cond, 0)
        self.flush_before_loop(stmt, depth)
        begin_if = len(self.lines)
        self.put(depth, f"if {cond}:")
        begin = len(self.lines)
        self.side(stmt.then, [(m.var, m.then) for m in stmt.merges], depth + 1)
        empty = self.empty_since(begin)
        if empty:
            self.put(depth + 1, "pass")
        mark = len(self.lines)
        self.put(depth, "else:")
        begin = len(self.lines)
        self.side(stmt.orelse, [(m.var, m.orelse) for m in stmt.merges], depth + 1)
        if self.empty_since(begin):
            del self.lines[mark:]
            if empty:
                del self.lines[begin_if:]
        elif empty:
            del self.lines[begin_if:mark + 1]
            rest = self.lines[begin_if:]
            del self.lines[begin_if:]
            self.put(depth, f"if not ({cond}):" if not cond.isidentifier() else f"if not {cond}:")
            self.lines.extend(rest)
        else:
            self.lines[mark:] = as_elif(self.lines[mark:], depth)
        return None

    def leave(self) -> None:
        """A block ends."""
        self.names.close()
        self.heading = self.headed

    def side(self, block, merged, depth: int) -> None:
        self.names.open()
        self.block(block, depth)
        self.bind_carries(merged, depth)
        self.leave()

    def choice(self, stmt, depth, block) -> None:
        """Empty branches: conditional expressions."""
        if len(stmt.merges) == 1:
            m = stmt.merges[0]
            reads: frozenset = frozenset()
            for a in (stmt.cond, m.then, m.orelse):
                if a in self.pending:
                    reads |= self.pending[a][2]
            text = f"{self.atom(m.then, 11)} if {self.atom(stmt.cond, 11)} else {self.atom(m.orelse, 11)}"
            if self.single(m.var, block) and len(text) < WIDTH - 30:
                self.wait(m.var, text, 10, reads)
            else:
                self.assign(depth, self.name(m.var), text)
            return
        if not stmt.merges:
            return
        cond = self.atom(stmt.cond)
        if not cond.isidentifier():
            name = self.name(Var("cond", "bool"))
            self.put(depth, f"{name} = {cond}")
            cond = name
        targets = [self.name(m.var) for m in stmt.merges]
        values = [f"{self.atom(m.then, 11)} if {cond} else {self.atom(m.orelse, 11)}" for m in stmt.merges]
        self.flush_readers(depth, set(targets))
        if any(t in words(v) for k, t in enumerate(targets) for v in values[k + 1:]):
            self.put(depth, f"{', '.join(targets)} = {', '.join(f'({v})' for v in values)}")
            return
        for target, value in zip(targets, values, strict=True):
            self.put(depth, f"{target} = {value}")

    def library_call(self, stmt, depth) -> None:
        outs, op, args = stmt.outs, stmt.op, stmt.args
        if op.startswith(DRAW):
            return self.draw(stmt, depth)
        unit = unit_of(stmt)
        if unit is not None:
            return self.unit_call(stmt, self.units.get(unit, unit.name), depth)
        if op.startswith(OWN_FUNCTION):
            self.flush(depth, {o for o in outs if isinstance(o, Arr)})
            shown = ", ".join(self.name(o) for o in outs if isinstance(o, Var))
            self.put(depth, f"{shown} = {op.removeprefix(OWN_FUNCTION)}({', '.join(map(self.ref, args))})")
            return
        if op.startswith(USER_RULE):
            value = self.ref(args[0])
            self.flush(depth, {o for o in outs if isinstance(o, Arr)})
            if isinstance(outs[0], Var):
                self.put(depth, f"{self.name(outs[0])} = {value}")
            else:
                self.assign_arrays(depth, outs, [value])
            return
        call = CALLS.get(op)
        helper = call.helper if call else op
        self.helpers.add(helper)
        shown = ", ".join((*(self.ref(a) for a in args), *map(repr, stmt.static)))
        arrays = {core.array_of(o) for o in outs if not isinstance(o, Var)}
        self.flush(depth, arrays)
        if call and call.fills:
            self.put(depth, f"{helper}({self.ref(outs[0])}, {shown})")
        elif op in VIEWS and outs[0] in self.drawn:
            self.put(depth, f"{self.name(outs[0])} = {helper}({shown})")
        elif len(outs) == 1 and arrays:
            self.assign_arrays(depth, outs, [f"{helper}({shown})"])
        elif arrays:
            parts = self.name(Var("parts", "float64"))
            self.put(depth, f"{parts} = {helper}({shown})")
            self.assign_arrays(depth, outs, [f"{parts}[{k}]" for k in range(len(outs))])
        else:
            self.put(depth, f"{', '.join(map(self.name, outs))} = {helper}({shown})")

    def unit_call(self, stmt, function: str, depth) -> None:
        """A call of a unit; arrays that it returns are copied where memory for them is not made just before."""
        shown = f"{function}({', '.join(map(self.ref, stmt.args))})"
        self.flush(depth, {core.array_of(o) for o in stmt.outs if not isinstance(o, Var)})
        copied = [(o, Var("part", "float64")) for o in stmt.outs if not isinstance(o, Var) and o not in self.drawn]
        parts = dict(copied)
        targets = [self.name(parts.get(o, o)) if not isinstance(o, Var) or self.uses.get(o) else "_" for o in stmt.outs]
        if len(copied) == len(targets) == 1:
            self.assign_arrays(depth, stmt.outs, [shown])
        elif set(targets) <= {"_"}:                 # called for the errors that it raises
            self.put(depth, shown)
        else:
            self.flush_readers(depth, set(targets))
            self.put(depth, f"{', '.join(targets)} = {shown}")
            if parts:
                self.assign_arrays(depth, parts, [self.name(part) for part in parts.values()])

    def draw(self, stmt, depth) -> None:
        """A draw, into an array of its own if that was allocated just before."""
        target = stmt.outs[0]
        text, helper = draw_text(stmt, self.ref(stmt.args[0]), [self.ref(a) for a in stmt.args[1:]])
        if helper:
            self.helpers.add(helper)
        self.flush(depth, {core.array_of(o) for o in stmt.outs if not isinstance(o, Var)})
        if isinstance(target, Var) or target in self.drawn:
            self.put(depth, f"{self.name(target)} = {text}")
        else:
            self.assign_arrays(depth, (target,), [text])
