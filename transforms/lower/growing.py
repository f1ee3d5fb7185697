"""Lists that grow while a program runs."""

from __future__ import annotations

from ..build import integer
from ..core import Resize
from ..errors import TypeConflict
from ..ops import promote
from .plan import Again
from .values import (
    Array,
    Buffer,
    GrowList,
    Sequence,
    Static,
    Value,
    View,
    is_number,
)


class GrowingLists:
    # -- lists that grow --------------------------------------------------------------------------------------
    def grow_request(self, name, before, after) -> None:
        """A list changed its length in a loop or branch: ask the loop around to make it growable."""
        if isinstance(before, Sequence) and isinstance(after, Sequence) and before.kind is list:
            longer = after if len(after.items) > len(before.items) else before
            item = longer.items[-1]
            if is_number(item):
                what = (self.dtype_of(item), ())
            elif isinstance(item, Array):
                what = (item.dtype, item.shape)
            else:
                return
            for plan in reversed(list(self.plans.values())):
                if name not in plan.grow:
                    plan.grow[name] = what
            raise Again

    def to_grow_list(self, name, value: Sequence, what) -> GrowList:
        dtype, shape = what
        if value.items:
            dtype = promote(dtype, *(self.dtype_of(i) for i in value.items))
        place = ("list", name)
        dtype = promote(dtype, self.widened.get(place, dtype))
        sizes = [self.rematerialise(s) for s in shape]
        if any(s is None for s in sizes):
            raise self.error(TypeConflict, f"the rows appended to `{name}` have a size known only inside the loop",
                             "preallocate an array before the loop")
        arr = self.b.alloc(name.lstrip("%"), dtype, (integer(max(8, len(value.items))), *sizes))
        for k, item in enumerate(value.items):
            if sizes:
                self.assign(self.index_array(Buffer(arr), (Static(k),)), item)
            else:
                self.store_element(arr, (integer(k),), self.atom(item, dtype))
        grown = GrowList(arr, integer(len(value.items)), all(is_number(i) and self.is_weak(i) for i in value.items))
        self.list_places[arr] = place
        self.replace_everywhere(value, grown)
        return grown

    def extend(self, grown: GrowList, items) -> None:
        for item in items:
            grown = self.append(grown, item)

    def append(self, grown: GrowList, item: Value) -> GrowList:
        b = self.b
        count = grown.count
        after = b.iadd(count, 1)
        b.forget(grown.arr)
        b.add(Resize(grown.arr, after, b.loc))
        target = Buffer(grown.arr)
        row = View(target, grown.arr.shape[1:], lambda lo, index: (count, *index), prefix=(count,))
        if len(grown.arr.shape) == 1:
            self.check_width(grown, item)
            value = self.atom(item)
            self.store_element(grown.arr, (count,), self.cast(value, grown.arr.dtype))
        else:
            self.assign(row, item)
        longer = GrowList(grown.arr, after, grown.weak)
        self.replace_everywhere(grown, longer)
        return longer
