"""What the names of the functions being lowered see."""

from __future__ import annotations

from ...language.errors import UnsupportedSyntax
from ..loops.plan import OuterName, Widen, Written
from ..needs import Raised
from ..state import Lowering
from ..syntax.liveness import given_away, local_names, nonlocal_names, parameter_names
from ..values import UNSET, Array, Delayed, GrowList, Series, Value, leaves
from .frames import Frame, slot_name
from .places import trusted

GIVEN = "%list given"               # what the names begin with of functions that a call is given and that keep objects
ITERATED = "%iterated"              # names under which a loop holds what it runs over: its items are still to be read


def binding(lo: Lowering, name) -> Value:
    frame = name.frame if isinstance(name, OuterName) else lo.frame
    return frame.env.get(str(name), UNSET)


def bind_name(lo: Lowering, name, value) -> None:
    frame = name.frame if isinstance(name, OuterName) else lo.frame
    frame.env[str(name)] = value


def put(lo: Lowering, name: str, value: Value) -> None:
    """Bind a name where an assignment to it in the running function does."""
    if name in lo.frame.writes_globals:
        lo.frames[0].env[global_slot(lo, name)] = value
    else:
        home_of(lo, name).env[name] = value


def global_slot(lo: Lowering, name: str) -> str:
    """The name, in the outermost activation, of a global that the program writes. It holds the global from the start."""
    namespace = lo.frame.root.globals
    slot = slot_name(namespace, name)
    if slot not in lo.frames[0].env:
        raise Widen(("global", slot), Written(namespace, name))
    lo.global_errors.setdefault(slot, lo.error(
        UnsupportedSyntax, f"a derivative cannot follow writes to a global (`{name}`) that last beyond the call",
        "pass the value in and return the new one; where something is loaded once, call the function itself once before"))
    return slot


def home_of(lo: Lowering, name: str) -> Frame:
    """The activation in which an assignment to a name binds it: that of a function around, where `nonlocal` says so."""
    frame = lo.frame
    if frame.node is None or name not in nonlocal_names(frame.node):
        return frame
    home = frame.outer
    while home is not None and (home.node is None or name not in local_names(home.node) | parameter_names(home.node)):
        home = home.outer
    if home is None or home not in lo.frames:
        raise lo.error(UnsupportedSyntax, f"a derivative cannot follow writes to `{name}`, a variable of a function that "
                       "has returned", "keep it in an object of a class, or pass the value in and return the new one")
    return home


def seen_by_another(lo: Lowering, arr, name, live=None) -> bool:
    """Whether a name other than `name` (one of `live`, in this function) also sees the memory of `arr`."""
    for frame in lo.frames:
        for other, value in frame.env.items():
            running = other.startswith(ITERATED)
            if isinstance(name, OuterName) and frame is name.frame and other == str(name):
                continue
            if frame is lo.frame and (other == name or live is not None and other not in live and not running):
                continue
            if frame is not lo.frame and frame.calling is not None and given_away(
                    other, frame.statement, frame.calling):
                continue
            for leaf in leaves(value):
                if running and isinstance(leaf, Delayed) and leaf.forced is None:
                    continue                        # gets memory of its own if what it reads is written
                if isinstance(leaf, Array) and arr in leaf.roots() or isinstance(leaf, GrowList) and leaf.arr is arr \
                        or isinstance(leaf, Series) and arr in lo.columns:
                    return True
    return False


def name_of_memory(lo: Lowering, arr, nameless: str, but: str = "") -> str:
    """What a message calls the memory of an array or list: the user's name (other than `but`) that sees it, in the innermost
    function that has one; `nameless` where there is none."""
    for frame in (lo.frame, *reversed(lo.frames)):
        if trusted(frame.root.globals.get("__name__")):
            continue
        names = {name: value for name, value in frame.env.items() if name.isidentifier() and f"`{name}`" != but}
        names = {arr.hint: names[arr.hint], **names} if arr.hint in names else names
        for inside in (False, True):
            for name, value in names.items():
                if any(isinstance(part, Array) and part.has_memory and arr in part.roots()
                       or getattr(part, "arr", None) is arr for part in (leaves(value) if inside else [value])):
                    return f"what `{name}` holds" if inside else f"`{name}`"
    return nameless


def open_loops(lo: Lowering):
    """(builder around it, number of writes before it) of each loop being lowered."""
    return [plan.place for plan, _ in lo.around.loops]


def raised_here(lo: Lowering, stmt) -> Raised:
    return Raised(lo.b, lo.error(UnsupportedSyntax, "this is sure to raise, in a place where a value is needed",
                                 "test for it with `if`, in a statement of its own", node=stmt))
