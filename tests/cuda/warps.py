"""Warps, which the simulator has not: a block whose threads exchange values, as plain threads of Python.

`Block(n).run(function, ...)` calls a device function by n threads at once, with a `cuda` that has shuffles, votes, barriers,
shared memory and atomic additions. A lane that is not named in the mask of an exchange, or does not come to it, is an error.
"""

import contextlib
import threading
import types

import numpy as np

WAIT = 5.0                              # seconds after which a lane counts as missing


def signed(bits: int) -> int:
    """The number that 32 bits are as an int32, which is what masks are on a device."""
    return bits - (1 << 32) if bits >> 31 else bits


class Block:
    """The threads of a block, in warps of 32."""

    def __init__(self, n: int):
        self.n, self.local, self.lock = n, threading.local(), threading.Lock()
        self.slots = [[None] * 32 for _ in range(-(-n // 32))]
        self.barriers: dict = {}
        self.memory: dict = {}
        self.exchanges = 0
        self.cuda = types.SimpleNamespace(
            shared=types.SimpleNamespace(array=self.shared), atomic=types.SimpleNamespace(add=self.atomic_add),
            syncthreads=lambda: self.barrier("block", self.n).wait(WAIT), activemask=lambda: signed(self.present()),
            lanemask_lt=lambda: (1 << self.lane) - 1, popc=lambda x: bin(x & (1 << 64) - 1).count("1"),
            ffs=lambda x: (x & -x).bit_length(), shfl_down_sync=lambda mask, value, delta: self.from_lane(
                mask, value, self.lane + delta), shfl_sync=self.from_lane,
            match_any_sync=lambda mask, key: self.vote(mask, key, lambda other: other == key),
            ballot_sync=lambda mask, yes: self.vote(mask, yes, bool),
            any_sync=lambda mask, yes: self.vote(mask, yes, bool) != 0)

    @property
    def lane(self) -> int:
        return self.local.t % 32

    def present(self) -> int:
        count = min(32, self.n - self.local.t // 32 * 32)
        return (1 << count) - 1

    def barrier(self, name, count):
        with self.lock:
            return self.barriers.setdefault(name, threading.Barrier(count))

    def exchange(self, mask, value) -> dict:
        """The values of the lanes of a mask, which all come here."""
        mask, warp = int(mask) & 0xffffffff, self.local.t // 32
        assert mask >> self.lane & 1, "a lane outside of the mask"
        lanes = [k for k in range(32) if mask >> k & 1]
        barrier = self.barrier((warp, mask), len(lanes))
        self.slots[warp][self.lane] = value
        barrier.wait(WAIT)
        self.exchanges += 1
        assert self.exchanges < 10_000, "the threads exchange values without end"
        found = {k: self.slots[warp][k] for k in lanes}
        barrier.wait(WAIT)
        return found

    def from_lane(self, mask, value, lane):
        return self.exchange(mask, value).get(lane, value)

    def vote(self, mask, value, agrees) -> int:
        return signed(sum(1 << k for k, other in self.exchange(mask, value).items() if agrees(other)))

    def shared(self, shape, dtype):
        with self.lock:
            return self.memory.setdefault("shared", np.empty(shape, object))

    def atomic_add(self, array, index, value):
        with self.lock:
            array[index] += value

    def adapted(self, function):
        """The function, with what it calls, in this block."""
        function = getattr(function, "py_func", function)
        if not isinstance(function, types.FunctionType):
            return function
        known = {**function.__globals__, "cuda": self.cuda, "place": lambda: self.local.t, "threads": lambda: self.n}
        inner = tuple(types.CellType(self.adapted(cell.cell_contents)) for cell in function.__closure__ or ())
        return types.FunctionType(function.__code__, known, function.__name__, function.__defaults__, inner)

    def run(self, function, *columns) -> list:
        """The results of the threads, each called with its elements of the columns."""
        function, results, failed = self.adapted(function), [None] * self.n, []

        def thread(t):
            self.local.t = t
            try:
                results[t] = function(*(column[t] for column in columns))
            except Exception as error:
                failed.append(error)
                for barrier in self.barriers.values():
                    barrier.abort()
        threads = [threading.Thread(target=thread, args=(t,)) for t in range(self.n)]
        with contextlib.ExitStack() as stack:
            for one in threads:
                one.start()
                stack.callback(one.join)
        if failed:
            raise next((e for e in failed if not isinstance(e, threading.BrokenBarrierError)), failed[0])
        return results
