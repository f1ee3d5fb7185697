"""What the fields of nodes are to a program, and the functions of nodes that follow from it.

A node's class says the role of each field that mentions names, once, in the order in which they are mentioned. Short
functions of each class are made from that at import, as `dataclasses` makes them: they run for every statement of a program.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container

MEANING = {
    "reads": "atoms and buffers that are read, before the statement's blocks run",
    "arguments": "the same, with refs",
    "element": "atoms: which element of the field `array` is read or written",
    "tells": "scalars that are read, with texts between them",
    "limit": "a word and atoms that are read, or None",
    "again": "buffers that another field mentions too",
    "writes": "buffers that are written, rebound or resized",
    "fills": "fresh scalars, and buffers and refs that are written",
    "allocates": "a buffer that is made; its sizes are read",
    "binds": "scalars that are bound in the block that holds the statement",
    "binds inside": "scalars that are bound in the statement's blocks",
    "block": "statements",
    "leaves": "atoms that are read at the end of the statement's block (of the one of that name)",
}
Role = str | type                   # a class: nodes of that class, whose fields have roles of their own

ROLES: dict[type, dict[str, Role]] = {}


def roles(**fields: Role) -> Callable[[type], type]:
    """Declare the roles of a node's fields; fields that are left out mention no names."""
    assert all(isinstance(role, type) or role in MEANING for role in fields.values())

    def declare(cls):
        ROLES[cls] = fields
        return cls
    return declare


def statements() -> list[type]:
    """The classes of statements."""
    parts = {role for fields in ROLES.values() for role in fields.values() if isinstance(role, type)}
    return [cls for cls in ROLES if cls not in parts]


def fields_of(cls: type, wanted: Container[Role]) -> list[tuple[str, str, str | None]]:
    """The fields of these roles, in order, as (name, role, None); those of parts with the name of the field of the parts."""
    out: list = []
    for name, role in ROLES[cls].items():
        if isinstance(role, type):
            out += [(part, r, name) for part, r, _ in fields_of(role, wanted)]
        elif role in wanted:
            out.append((name, role, None))
    return out


def is_many(cls: type, field: str) -> bool:
    """Whether a field holds a tuple."""
    return str(cls.__annotations__[field]).startswith("tuple")


def tuple_of(cls: type, templates: dict[str, str]) -> str:
    """The text of the tuple of what the fields of a node `s` hold that have these roles.

    templates: by role, the text of an item, `{}` standing for the field; "" for all that the field holds.
    """
    items = []
    for name, role, parts in fields_of(cls, templates):
        value = f"s.{name}"
        if parts:
            items.append(f"*[p.{name} for p in s.{parts}]")
        elif templates[role]:
            items.append(templates[role].format(value))
        elif is_many(cls, name):
            items.append(f"*{value}")
        elif str(cls.__annotations__[name]).endswith("None"):
            items.append(f"*(() if {value} is None else ({value},))")
        else:
            items.append(value)
    if len(items) == 1 and items[0].startswith("*s."):
        return items[0][1:]                                     # the tuple that the node has
    return f"({', '.join(items)},)" if items else "()"


def made_from(cls: type, changed: dict[str, str]) -> str:
    """The text of a node like the node `s`, but for the fields that are changed to texts."""
    return f"{cls.__name__}({', '.join(changed.get(f.name, f's.{f.name}') for f in dataclasses.fields(cls))})"


def with_changed(cls: type, blocks: list[str], names: dict) -> Callable:
    """The function (s, change) that gives a node with `change` applied to these fields; `s`, if that gives them back."""
    made = ", ".join(f"{b} := change(s.{b})" for b in blocks)
    kept = " and ".join(f"{b} is s.{b}" for b in blocks)
    return function_of("s, change", f"s if [{made}] and {kept} else {made_from(cls, {b: b for b in blocks})}", names)


def function_of(parameters: str, text: str, names: dict) -> Callable:
    """The function that gives the value of an expression."""
    return eval(f"lambda {parameters}: {text}", names)


def tuples(templates: dict[str, str], names: dict) -> dict[type, Callable]:
    """By class of statements, the function that gives the tuple of `tuple_of`."""
    return {cls: function_of("s", tuple_of(cls, templates), names) for cls in statements()}
