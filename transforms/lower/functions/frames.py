"""Activations of inlined functions."""

from __future__ import annotations

from ..values import UNSET, Static, Value

FALLS, CONTINUES, BREAKS, RETURNS = range(4)            # how statements end: what "%exit" holds
LIBRARIES = ("numpy", "scipy", "math", "autodiff")


class Frame:
    """One activation of an inlined function: its names and where its free names are found."""

    def __init__(self, definition, cells, namespace, outer=None, node=None, key=None):
        self.definition = definition
        self.cells, self.globals = cells, namespace
        self.outer = outer
        self.root = outer.root if outer is not None else self
        self.env: dict[str, Value] = {"%exit": Static(0), "%value": UNSET}
        self.node = node
        self.key = key                  # the function, or the tree of an inner one
        self.uses = {}
        self.bound: tuple = ()
        self.builder = None             # where its statements begin
        self.declared: dict = {}        # types that a jitted function declares for its names
        self.jitted = False
        self.writes_globals: frozenset = frozenset()    # the names that `global` statements have named
        self.rebound: set = set()       # its names that others bind: functions inside, which say `nonlocal`, and loops over
                                        # generators
        self.unread: set = set()        # those of the latter that are not read in a later iteration or after the loop
        self.statement = None           # that runs, or the body of a lambda
        self.calling = None             # the call in it that runs


def site_of(lo, node) -> tuple:
    """Where in the source a node of the running function stands, for what is learnt of it."""
    return lo.frame.definition.name, getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def slot_name(namespace: dict, name: str) -> str:
    """Under which name the outermost activation holds a global that the program writes."""
    return f"%global {id(namespace)} {name}"
