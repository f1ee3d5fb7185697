"""What a name holds after a loop that may not run, and sizes of what a loop carries."""

from __future__ import annotations

from ..language.build import ZERO
from ..language.core import Const, Resize, Var
from ..language.errors import TypeConflict
from ..language.ops import PARTS
from .structures import rebuild
from .values import Array, Buffer, GrowList, Scalar, Sequence, Sized, Value, is_number, leaves


class _Template(Value):
    def __init__(self, what):
        self.what = what


class CarriedShapes:
    """Templates of carried values, and where their sizes come from."""

    def varies(self, size, before) -> bool:
        """Whether the size of an array at the end of an iteration is another one than `before`, or known only there."""
        if self.same_size(size, before):
            return False
        if isinstance(size, Const) and isinstance(before, Const):
            return True
        here, self.b = self.b, self.active_loops[-1][0].place[0]
        try:
            if self.rematerialise(size, probe=True) is None:
                return True
        finally:
            self.b = here
        return bool(self.made_of(size) & self.made_of(before))

    def made_of(self, size) -> set:
        """The variables that an integer is computed from, itself included."""
        waiting, seen = [size], set()
        while waiting:
            atom = waiting.pop()
            if isinstance(atom, Var) and atom not in seen:
                seen.add(atom)
                waiting.extend(self.b.facts.definition.get(atom, ("", ()))[1])
        return seen

    def chosen_from(self, size) -> set:
        """The sizes that a size is one of, by the branches that were taken."""
        return set().union(*map(self.chosen_from, self.sizes_by_path[size])) if size in self.sizes_by_path else {size}

    def unrelated(self, sizes) -> bool:
        """Whether no two of these are computed from one variable: then a program means them to be equal."""
        found = list(map(self.made_of, sizes))
        return not any(a & b for k, a in enumerate(found) for b in found[:k])

    def own_sized(self, name, leaf, stmt, dtype) -> tuple:
        """Growable memory that a loop carries an array in, as it changes its length."""
        arr = self.list_memory(name, dtype or leaf.dtype, 0, leaf.shape[1:])
        live = stmt.live_head | stmt.live_out
        for root in self.memory_of(leaf):
            if self.shared(root, name, live):
                self.note_twins((arr, root))
        self.fill_sized(arr, leaf)
        return arr, leaf.shape[0], leaf.shape[1:]

    # -- names first bound in a loop --------------------------------------------------------------------------
    def fill_sized(self, arr, value: Array) -> None:
        """Put an array into growable memory."""
        if arr in value.roots():
            value = self.force(value, copy=True)
        self.b.forget(arr)
        self.b.add(Resize(arr, value.shape[0], self.b.loc))
        self.assign_own(Sized(arr, value.shape[0], arr.shape[1:]), value)

    def template_of(self, value, name=""):
        """Enough of a value to make a blank one before the loop."""
        here, self.b = self.b, self.active_loops[-1][0].place[0]
        try:
            return self.template(value, name)
        finally:
            self.b = here

    def template(self, value, name):
        def leaf_template(leaf):
            if isinstance(leaf, GrowList):
                sizes = tuple(self.rematerialise(s, probe=True) for s in Buffer(leaf.arr).shape[1:])
                if None in sizes or Buffer(leaf.arr).real:
                    raise self.error(TypeConflict, "a list first made inside the loop is used after it",
                                     "create it before the loop")
                return ("grow", Buffer(leaf.arr).dtype, sizes)
            if is_number(leaf):
                return ("scalar", self.dtype_of(leaf), self.is_weak(leaf))
            if isinstance(leaf, Array):
                shape = tuple(self.rematerialise(s, probe=True) for s in leaf.shape)
                if name == "%value" and shape and (shape[0] is None or isinstance(leaf, Sized)) and None not in shape[1:] \
                        and leaf.dtype not in PARTS:
                    return ("sized", leaf.dtype, leaf.shape[1:])
                if any(s is None for s in shape):
                    raise self.error(TypeConflict, "an array first made inside the loop, of a size known only there, "
                                                   "is used after it", "create it before the loop")
                return ("array", leaf.dtype, leaf.shape)
            return ("static", leaf)
        return rebuild(value, iter([_Template(leaf_template(leaf)) for leaf in leaves(value)]))

    def blank(self, name, template) -> Value:
        made = []
        for leaf in leaves(template):
            if not isinstance(leaf, _Template):         # a function or slice, before what it holds
                made.append(leaf)
                continue
            match leaf.what:
                case ("scalar", dtype, weak):
                    zero = Const({"bool": False, "int64": 0}.get(dtype, 0.0), dtype)
                    made.append(Scalar(zero, weak))
                case ("array", dtype, shape):
                    sizes = [self.rematerialise(s) for s in shape]
                    zero = Const({"bool": False, "int64": 0}.get(dtype, 0.0), dtype)
                    made.append(Buffer(self.b.alloc(name.lstrip("%"), dtype, sizes, zero)))
                case ("sized", dtype, shape):
                    sizes = [self.rematerialise(s) for s in shape]
                    made.append(Sized(self.list_memory(name, dtype, 0, sizes), ZERO, sizes))
                case ("grow", dtype, sizes):
                    made.append(self.to_grow_list(name, Sequence((), list), (dtype, sizes)))
                case ("static", value):
                    made.append(value)
        return rebuild(template, iter(made))

    def rematerialise(self, atom, probe: bool = False):
        """An integer atom computed again in the current block from what is visible here; None if impossible."""
        if isinstance(atom, Const):
            return atom
        if self.visible(atom):
            return atom
        op, args = self.b.facts.definition.get(atom, ("", ()))
        if not op or op == "dim":
            return atom if op == "dim" else None
        parts = [self.rematerialise(a, probe) for a in args]
        if any(p is None for p in parts):
            return None
        return atom if probe else self.b.let(op, *parts, dtype=atom.dtype, hint=atom.hint)

    def visible(self, atom) -> bool:
        from ..language.core import defined
        if atom in self.sizes:
            return True
        scope = self.b
        while scope is not None:
            for s in scope.stmts:
                if atom in defined(s):
                    return True
            scope = scope.parent
        return False
