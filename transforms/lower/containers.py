"""The methods of lists and dicts whose length and keys are known, and what functions keep as defaults."""

from __future__ import annotations

import operator

from ..language.errors import MissingItem, MissingKey, TypeConflict, UnsupportedSyntax
from .sharing import objects
from .values import Either, KeptDefault, Mapping, Sequence, Static, Value


class Containers:
    def list_method(self, owner, name, args):
        items = owner.items
        match name:
            case "append":
                self.replace_everywhere(owner, Sequence((*items, args[0]), list))
            case "extend":
                self.replace_everywhere(owner, Sequence((*items, *self.items_to_add(owner, args[0])), list))
            case "insert" if isinstance(args[0], Static):
                new = list(items)
                new.insert(args[0].value, args[1])
                self.replace_everywhere(owner, Sequence(tuple(new), list))
            case "pop" if not args or isinstance(args[0], Static):
                new = list(items)
                try:
                    last = new.pop(*(a.value for a in args))
                except IndexError as e:
                    raise self.certain("IndexError", self.error(MissingItem, str(e))) from None
                self.replace_everywhere(owner, Sequence(tuple(new), list))
                return last
            case "copy":
                return Sequence(items, list)
            case "reverse":
                self.replace_everywhere(owner, Sequence(items[::-1], list))
            case "clear":
                self.replace_everywhere(owner, Sequence((), list))
            case _:
                raise self.error(UnsupportedSyntax, f"the list method `{name}` is not supported")
        return Static(None)

    def dict_method(self, owner: Mapping, name: str, args, kwargs) -> Value:
        items = owner.items
        for k, arg in enumerate(args):
            if isinstance(arg, Either):
                return self.split(arg, lambda v, k=k: self.dict_method(owner, name, [*args[:k], v, *args[k + 1:]], kwargs))
        match name:
            case "items":
                return Sequence(tuple(Sequence((Static(k), v)) for k, v in items.items()))
            case "keys":
                return Sequence(tuple(Static(k) for k in items))
            case "values":
                return Sequence(tuple(items.values()))
            case "get":
                return items.get(self.key_of(args[0]), args[1] if len(args) > 1 else Static(None))
            case "copy":
                return Mapping(dict(items))
            case "update":
                self.replace_everywhere(owner, Mapping({**items, **(self.dict_of(args[0]) if args else {}), **kwargs}))
                return Static(None)
            case "clear":
                self.replace_everywhere(owner, Mapping({}))
                return Static(None)
            case "setdefault":
                key = self.key_of(args[0])
                if key not in items:
                    self.replace_everywhere(owner, Mapping({**items, key: args[1] if len(args) > 1 else Static(None)}))
                    return args[1] if len(args) > 1 else Static(None)
                return items[key]
            case "pop" | "popitem" if args or items:
                key = self.key_of(args[0]) if args else next(reversed(items))
                if key not in items:
                    if len(args) > 1:
                        return args[1]
                    raise self.error(MissingKey, f"KeyError: {key!r}")
                self.replace_everywhere(owner, Mapping({k: v for k, v in items.items() if k != key}))
                return items[key] if name == "pop" else Sequence((Static(key), items[key]))
        raise self.error(UnsupportedSyntax, f"the dict method `{name}` is not supported")

    def key_of(self, key: Value):
        """A key of a dict as a Python object."""
        if isinstance(key, Sequence) and key.kind is tuple and all(isinstance(i, Static) for i in key.items):
            return tuple(i.value for i in key.items)
        if not isinstance(key, Static):
            raise self.needs_static(key, "a dict key")
        return key.value

    def dict_of(self, value: Value) -> dict:
        """The items of a dict, or of pairs of keys and values."""
        if isinstance(value, Mapping):
            return value.items
        pairs = [self.items_of(pair) for pair in self.items_of(value)]
        if any(len(pair) != 2 for pair in pairs):
            raise self.error(TypeConflict, "a dict is made of pairs of a key and a value")
        return {self.key_of(key): item for key, item in pairs}

    def dict_operator(self, function, left: Value, right: Value) -> Value | None:
        """`left | right` of dicts."""
        if function is operator.or_ and isinstance(left, Mapping) and isinstance(right, Mapping):
            return Mapping({**left.items, **right.items})
        return None

    # -- defaults ---------------------------------------------------------------------------------------------
    def kept_default(self, value: Value, node) -> Value:
        """A default of an inner function: a list or dict is made once, and a call sees what earlier ones did to it."""
        if not objects(value):
            return value
        name = f"%list default {node.lineno} {node.col_offset}"
        self.env[name] = self.bound_list(name, value)
        return KeptDefault(name)

    def closure_defaults(self, closure) -> tuple[list, dict]:
        """The defaults of an inner function as they are now: positional, by keyword."""
        now = lambda v: closure.frame.env[v.name] if isinstance(v, KeptDefault) else v  # noqa: E731
        return [now(v) for v in closure.defaults], {k: now(v) for k, v in (closure.keyword_defaults or {}).items()}


__all__ = ["Containers"]
