"""Conditions on what was read from outside as one generated Python function: does a specialisation still hold?

Everything a program has read is a tree: roots are objects (the globals of a module, a cell, an instance), edges are
attributes and items. The function walks it once, each value read by one subscript or attribute, and compares what it finds,
mostly by `is`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..rules import REGISTRY
from ..transforms.lower.containers.packing import reader
from ..transforms.lower.functions.places import Condition, Place, Reads

ORDER = ("missing", "is", "type", "same", "equal", "sized", "packed", "keys", "array", "there")


@dataclass
class Node:
    """A value that was read: the conditions on it, and what was read of it."""

    place: Place
    conditions: list = field(default_factory=list)
    children: dict = field(default_factory=dict)
    wanted: bool = False            # whether the code around needs it


class Writer:
    """Lines of Python with the objects they name. `fail`: the statement where a condition does not hold."""

    def __init__(self, fail: str, indent: str = "        "):
        self.fail, self.indent = fail, indent
        self.lines: list[str] = []
        self.namespace: dict[str, Any] = {"ndarray": np.ndarray, "alike": alike}
        self.names: dict[int, str] = {}
        self.packed: dict[tuple, str] = {}      # the arrays of long lists, by the keys of their places
        self.count = 0

    def constant(self, value) -> str:
        """The text for an object."""
        if value is None or type(value) in (bool, int, str):
            return repr(value)
        if id(value) not in self.names:
            self.names[id(value)] = name = f"c{len(self.names)}"
            self.namespace[name] = value
        return self.names[id(value)]

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def add(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def refuse(self, condition: str) -> None:
        self.add(f"if {condition}: {self.fail}")

    # -- conditions -------------------------------------------------------------------------------------------
    def check(self, reads: Reads, wanted=()) -> dict:
        """Lines that check all conditions; the names of what was found at the places `wanted`, by their keys."""
        roots: dict = {}
        for condition in sorted(reads.conditions.values(), key=lambda c: ORDER.index(c.kind)):
            self.node_of(roots, condition.place).conditions.append(condition)
        for place in wanted:
            self.node_of(roots, place).wanted = True
        found: dict = {}
        for node in roots.values():
            self.visit(node, self.constant(node.place.step), found)
        if reads.rules:
            known = RulesRead(tuple(reads.rules.values()))
            self.refuse(f"{self.constant(REGISTRY)}.version != {self.constant(known)}.version and not "
                        f"{self.constant(known)}.hold()")
        return found

    def node_of(self, roots: dict, place: Place) -> Node:
        within = roots if place.parent is None else self.node_of(roots, place.parent).children
        return within.setdefault(place.key, Node(place))

    def visit(self, node: Node, name: str, found: dict) -> None:
        """The conditions on a value that stands in `name`, and on what is read of it."""
        for condition in node.conditions:
            self.condition(condition, name)
        if node.wanted:
            found[node.place.key] = name
        for child in node.children.values():
            step = child.place.step
            if child.conditions and child.conditions[0].kind == "missing":
                text = self.constant(step)
                self.refuse(f"hasattr({name}, {text})" if child.place.kind == "attribute" else f"{text} in {name}")
                continue
            read = f"{self.packed.get(node.place.key) if child.place.kind == 'column' else name}[{self.constant(step)}]"
            if child.place.kind == "attribute":
                read = f"{name}.{step}" if step.isidentifier() else f"getattr({name}, {step!r})"
            if len(child.conditions) == 1 and child.conditions[0].kind == "is" and not (child.children or child.wanted):
                self.refuse(f"{read} is not {self.constant(child.conditions[0].value)}")
                continue
            inner = self.fresh()
            self.add(f"{inner} = {read}")
            self.visit(child, inner, found)

    def condition(self, condition: Condition, name: str) -> None:
        value = condition.value
        match condition.kind:
            case "is":
                self.refuse(f"{name} is not {self.constant(value)}")
            case "type":
                self.refuse(f"type({name}) is not {self.constant(value)}")
            case "same":
                self.same(name, value)
            case "equal":
                kind, kept = self.constant(type(value)), self.constant(value)
                self.refuse(f"type({name}) is not {kind} or {name} != {kept}")
            case "sized":
                self.refuse(f"type({name}) is not {self.constant(value[0])} or len({name}) != {value[1]}")
            case "packed":
                inner = self.packed[condition.place.key] = self.fresh()
                self.add(f"{inner} = {self.constant(reader(value))}({name})")
            case "keys":
                self.refuse(f"type({name}) is not {self.constant(value[0])} or tuple({name}) != {self.constant(value[1])}")
            case "array":
                self.array(name, *value)

    def same(self, name: str, value) -> None:
        """The number `value`, with its type and the sign of zero."""
        if value is None or value is True or value is False:
            self.refuse(f"{name} is not {value}")
            return
        kept, kind = self.constant(value), self.constant(type(value))
        alike = f"{name} != {kept}"
        if isinstance(value, (float, complex, np.inexact)) and (value == 0 or value != value):
            alike = f"not alike({name}, {kept})"
        self.refuse(f"{name} is not {kept} and (type({name}) is not {kind} or {alike})" if not isinstance(value, int) else
                    f"type({name}) is not {kind} or {alike}")

    def array(self, name: str, cls, dtype, sizes: tuple) -> None:
        """An array of this class and dtype with axes of the lengths 0, 1 or, for None, more."""
        kind = self.constant(dtype)
        self.refuse(f"type({name}) is not {self.constant(cls)} or ({name}.dtype is not {kind} and {name}.dtype != {kind})")
        self.sizes(name, sizes)

    def sizes(self, name: str, sizes: tuple) -> None:
        """An array with axes of known lengths; None for any from 2."""
        if not sizes:
            self.refuse(f"{name}.ndim")
            return
        lengths = [self.fresh() for _ in sizes]
        self.add(f"{', '.join(lengths)}, = {name}.shape")       # another number of axes raises
        self.refuse(" or ".join(f"{n} < 2" if size is None else f"{n} != {size}"
                                for n, size in zip(lengths, sizes, strict=True)))


class RulesRead:
    """What the registry said of some functions, looked at again only after a rule was given."""

    def __init__(self, entries: tuple):
        self.entries, self.version, self.replaced = entries, REGISTRY.version, REGISTRY.replaced

    def hold(self) -> bool:
        version = REGISTRY.version
        if REGISTRY.replaced != self.replaced or any(
                getattr(REGISTRY, table).get(key) is not found for table, key, found in self.entries):
            return False
        self.version = version
        return True


def alike(a, b) -> bool:
    """Whether two numbers are the same, zeros by their sign and nan by nan."""
    if isinstance(a, (complex, np.complexfloating)):
        return alike(a.real, b.real) and alike(a.imag, b.imag)
    return (a == b and math.copysign(1.0, a) == math.copysign(1.0, b)) or (a != a and b != b)


def holding(reads: Reads):
    """A function without arguments: whether everything outside is as it was read."""
    if not reads.conditions and not reads.rules:
        return lambda: True
    writer = Writer("return False")
    writer.check(reads)
    body = writer.lines or ["        pass"]
    lines = ["def holds():", "    try:", *body, "    except Exception:", "        return False", "    return True"]
    exec("\n".join(lines), writer.namespace)
    return writer.namespace["holds"]


__all__ = ["Writer", "holding"]
