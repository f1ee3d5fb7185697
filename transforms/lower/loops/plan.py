"""What is known of a loop while it is lowered again and again."""

from __future__ import annotations

from ...language.core import Var
from ..functions.frames import Frame

LENGTHS = "lengths"         # of a loop that could be written out: it stays one if arrays change their length


def place_of_plan(lo, stmt) -> tuple:
    """What tells the plan of a loop from those of others: its statement, and the calls that it stands in."""
    return id(stmt), tuple(id(f) for f in lo.frames)


class Again(Exception):
    """A guess about a loop was wrong: lower it again with what was learnt. `plan` says which loop, if not the innermost."""

    def __init__(self, plan=None):
        self.plan = plan


class Widen(Exception):
    """A list made at a place of the source holds numbers of a wider type than guessed: lower everything again."""

    def __init__(self, place, dtype):
        self.place, self.dtype = place, dtype


class Written:
    """A global that a program writes: its namespace and name."""

    def __init__(self, namespace: dict, name: str):
        self.namespace, self.name = namespace, name


class OuterName(str):
    """A name of a function that waits for this one."""

    frame: Frame

    def __new__(cls, name, frame: Frame):
        made = super().__new__(cls, name)
        made.frame = frame
        return made

    def __eq__(self, other):
        return isinstance(other, OuterName) and other.frame is self.frame and str(other) == str(self)

    def __hash__(self):
        return hash((str(self), id(self.frame)))


class Plan:
    """What is known of a loop's carried names, improved from one attempt to the next."""

    def __init__(self):
        self.dtype: dict = {}
        self.strong: set = set()
        self.kinds: dict = {}           # numbers that are of other kinds by path -> those
        self.array: dict = {}
        self.boxed: dict = {}           # numbers that are arrays of rank 0 for NumPy: where those were made
        self.whole: dict = {}           # arrays of floats that are of integers at the end of some iteration -> True
        self.template: dict = {}
        self.grow: dict = {}
        self.maybe: set = set()         # names bound before the loop that some iterations delete
        self.always: dict = {}          # names first bound in the loop -> whether every iteration binds them
        self.taken: dict = {}           # names -> the objects of others that iterations bind them to
        self.either: dict = {}          # names that are one of several options: key of an option -> a template of it
        self.lists: dict = {}
        self.one_size: set = set()      # names, with places, for which branches are to choose between arrays of one shape
        self.also: list = []            # names the body does not assign to, whose objects it changes
        self.apart: list = []           # names bound to other objects in the body, while others see the first one
        self.listed: set = set()        # names whose objects a growing list holds at the head, from an iteration before
        self.twins: set = set()         # pairs of what may be one memory at the head: (name, which copy) or an array
        self.unordered: set = set()     # arrays that lie in one order at the head of an iteration and in another at its end
        self.place: tuple = ()
        self.items_first = False        # whether the items get memory before the loop, which changes what they read
        self.counters: dict = {}        # integers that an iteration changes by a constant, or a sum -> which; None if not
        self.rising: dict = {}          # integers from 0 upwards that no iteration lowers -> whether that held
        self.range: tuple = ()          # (start, stop, step) of a loop whose iterations are known to run to its end
        self.index: Var | None = None   # of the present attempt: the index of a `for`
        self.changes: dict = {}         # of the present attempt: by how much an iteration changes integers that are carried
        self.leaves = False             # whether iterations may leave by errors that are caught around the loop
        self.unsettled = False          # of the present attempt: numbers turned out to be of other kinds
        self.shared: dict = {}          # of the present attempt: arrays that get copies -> what is seen otherwise too
        self.opened: list = []          # of the present attempt: objects at the head of an iteration

    def learn(self, table: dict, key, value) -> None:
        if table.get(key) == value:
            raise RuntimeError(f"no progress on {key}")
        table[key] = value
        raise Again
