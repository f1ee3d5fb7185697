"""The `__dict__` of an object, as a class that is lowered like a user's own."""

import builtins
from dataclasses import dataclass
from typing import Any, ClassVar

from ...transforms.lower.containers.records import fields_now, instance_dict
from ..decorators import defines


@dataclass(eq=False)
class Attributes:
    """What an object's own attributes are, by name; what is written here is set on the object."""

    stands_for: ClassVar[type] = dict
    owner: Any

    def __getitem__(self, name):
        return fields_now(self.owner)[name]

    def __setitem__(self, name, value):
        setattr(self.owner, name, value)

    def __contains__(self, name):
        return name in fields_now(self.owner)

    def __len__(self):
        return len(fields_now(self.owner))

    def __iter__(self):
        return iter(list(fields_now(self.owner)))

    def __eq__(self, other):
        return fields_now(self.owner) == dict(other)

    def keys(self):
        return fields_now(self.owner).keys()

    def values(self):
        return fields_now(self.owner).values()

    def items(self):
        return fields_now(self.owner).items()

    def get(self, name, default=None):
        return fields_now(self.owner).get(name, default)

    def copy(self):
        return fields_now(self.owner)

    def update(self, other=(), /, **more):
        for name, value in dict(other, **more).items():
            setattr(self.owner, name, value)


@defines(instance_dict)
def attributes_of(owner):
    return Attributes(owner)


@defines(builtins.vars)
def vars_(object):
    return object.__dict__
