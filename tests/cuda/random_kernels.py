"""Random kernels without races, whose adjoints are compared with central differences and watched for races.

`python -m tests.cuda.random_kernels FIRST END` tries the kernels of those numbers; of one number alone it prints the kernel.

A block has four threads, and exchanges values through `s` and `u`. Between two barriers such an array is either read at any
place, or each element of it touched by one thread alone, or added to atomically; then the kernel has no race.
"""

import math
import os
import random
import sys
from collections import Counter

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")
import numpy as np
from numba import cuda, float64

from autodiff.cuda import kernel
from autodiff.transforms.language.errors import AutodiffError

from ..support import module_of
from .races import watching

GRID, BLOCK, STEPS = 2, 4, 2


class Writer:
    """Writes one kernel; `self.loops` are the indices of the loops around, which all threads run alike."""

    def __init__(self, seed: int):
        self.random, self.lines, self.loops = random.Random(seed), [], []

    def text(self) -> str:
        self.put(0, "def kernel(x, z, y, w, places, n):")
        for line in ("s = cuda.shared.array(4, float64)", "u = cuda.shared.array(4, float64)",
                     "c = cuda.local.array(2, float64)", "t = cuda.threadIdx.x", "i = cuda.grid(1)", "a = x[i]",
                     "b = 0.5 * z[t]", "q = 0.2", "c[0] = a", "c[1] = b", "s[t] = math.sin(x[i])", "u[t] = z[i] * 0.5",
                     "cuda.syncthreads()"):
            self.put(1, line)
        self.block(1, 8)
        self.put(1, "cuda.syncthreads()")
        self.put(1, "y[i] += a * b + s[t] - u[3 - t] + c[0] * c[1] + 0.1 * q")
        return "\n".join(self.lines) + "\n"

    def put(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def one(self, *choices):
        return self.random.choice(choices)

    def block(self, depth: int, most: int) -> None:
        kinds = [self.private, self.own_element, self.joint, self.branch, self.uneven_loop, self.tree, self.tile, self.steps,
                 self.memory]
        for _ in range(self.random.randrange(1, most + 1)):
            self.one(*kinds, *([self.loop] if len(self.loops) < 2 else []))(depth)

    # -- expressions ----------------------------------------------------------------------------------------------
    def place(self) -> str:
        return self.one("t", "(t + 1) % 4", "3 - t", "0", "t // 2", "t ^ 1", *(f"(t + {k}) % 4" for k in self.loops))

    def value(self) -> str:
        """What a thread reads without anybody else."""
        return self.one("a", "b", "x[i]", f"z[(i + {self.random.randrange(8)}) % 8]", f"z[{self.random.randrange(8)}]",
                        "c[0]", "c[(t + 1) % 2]", "y[i]", "q", "0.3")

    def shared(self) -> str:
        return f"{self.one('s', 'u')}[{self.place()}]"

    def expression(self, *atoms) -> str:
        form = self.one("math.sin({}) + 0.3 * {}", "0.5 * {} * {}", "math.cos({} * {})", "{} - 0.4 * {} * {}",
                        "0.5 * ({} + {})", "math.tanh({}) * {} + 0.2 * {}", "max({}, {}) * 0.7",
                        "({} if {} > 0.1 else {})")
        return form.format(*(self.one(*atoms)() for _ in range(3)))

    # -- statements -----------------------------------------------------------------------------------------------
    def private(self, depth):
        self.put(depth, f"{self.one('a', 'b')} = {self.expression(self.value, self.shared)}")

    def own_element(self, depth):
        """Each thread writes an element of one array and reads the other."""
        array, other = self.one("su", "us")
        read = lambda: f"{other}[{self.place()}]"
        mine = lambda: f"{array}[t]"
        self.put(depth, "cuda.syncthreads()")
        if self.one(True, False, False):
            self.put(depth, f"if t < {self.random.randrange(1, 4)}:")
            self.put(depth + 1, f"{array}[t] = {self.expression(self.value, read, mine)}")
        elif self.one(True, False):
            self.put(depth, f"{array}[3 - t] = {self.expression(self.value, read)}")
        else:
            self.put(depth, f"{array}[t] {self.one('=', '+=', '*=', '-=')} {self.expression(self.value, read, mine)}")
        self.put(depth, "cuda.syncthreads()")

    def joint(self, depth):
        self.put(depth, "cuda.syncthreads()")
        self.put(depth, f"cuda.atomic.add({self.one('s', 'u')}, {self.one('0', '(t + 1) % 2', 't', 't // 2')}, "
                        f"{self.expression(self.value)})")
        self.put(depth, "cuda.syncthreads()")

    def branch(self, depth):
        self.put(depth, f"if {self.one('t < 2', 'x[i] > 0.0', 't % 2 == 0', 'i > 2 and t < 3', 'a > b')}:")
        self.private(depth + 1)
        self.put(depth, "else:")
        self.put(depth + 1, f"{self.one('a', 'c[0]', 'y[i]')} = {self.expression(self.value, self.shared)}")

    def uneven_loop(self, depth):
        self.put(depth, f"for p in range({self.one('t + 1', '3', 'places[i]')}):")
        self.put(depth + 1, f"{self.one('a', 'c[p % 2]')} = {self.expression(self.value, self.shared)}")
        if self.one(True, False):
            self.put(depth + 1, "if a > 0.8:")
            self.put(depth + 2, self.one("break", "continue"))
        self.put(depth + 1, f"b += {self.expression(self.value)}")

    def tree(self, depth):
        array, step = self.one("s", "u"), self.one("{0}[t] += {0}[t + h]", "{0}[t] *= {0}[t + h] * 0.5",
                                                   "{0}[t] = math.sin({0}[t]) + {0}[t + h]")
        for line in ("cuda.syncthreads()", "h = 2", "while h > 0:", "    if t < h:", "        " + step.format(array),
                     "    cuda.syncthreads()", "    h //= 2"):
            self.put(depth, line)

    def tile(self, depth):
        """A loop that fills some elements and reads some, not always the same."""
        array = self.one("s", "u")
        self.put(depth, "for m in range(n):")
        self.put(depth + 1, "cuda.syncthreads()")
        store = f"{array}[{self.one('t', '3 - t')}] = z[(m * 4 + t) % 8] * {self.one('x[i]', '0.5', 'a')}"
        guard = self.one("", "m * 4 + t < 7", "t < 3", "m == 0")
        if guard:
            self.put(depth + 1, f"if {guard}:")
        self.put(depth + 1 + bool(guard), store)
        self.put(depth + 1, "cuda.syncthreads()")
        self.put(depth + 1, f"for j in range({self.one('4', 'min(4, 7 - m * 4)', '3')}):")
        change = self.one("a + 0.3 * math.sin({} * b)", "0.5 * a + {0} * {0}", "math.tanh(a * {})")
        self.put(depth + 2, f"a = {change.format(f'{array}[j]')}")
        self.put(depth, "cuda.syncthreads()")

    def steps(self, depth):
        self.put(depth, "q = abs(a) + 1.0")
        self.put(depth, "while q > 0.7:")
        self.put(depth + 1, "q = 0.6 * q * (1.0 + 0.1 * math.sin(q))")

    def memory(self, depth):
        """Global and local memory."""
        self.put(depth, self.one("y[i] {op} {e}", "c[t % 2] {op} {e}", "cuda.atomic.add(w, i % 3, {e})",
                                 "cuda.atomic.add(w, places[i] % 3, {e})", "cuda.atomic.add(w, 0, {e})").format(
            op=self.one("=", "+=", "*="), e=self.expression(self.value)))

    def loop(self, depth):
        index = f"k{len(self.loops)}"
        head = self.one("for {} in range(n):", "for {} in range(n, -1, -1):", "for {} in range(1, 4, 2):", "while")
        if head == "while":
            self.put(depth, f"{index} = n")
        self.put(depth, f"while {index} > 0:" if head == "while" else head.format(index))
        self.loops.append(index)
        self.block(depth + 1, 3)
        self.loops.pop()
        if head == "while":
            self.put(depth + 1, f"{index} -= 1")


def function_of(seed: int):
    text, file = Writer(seed).text(), f"<kernel {seed}>"
    names = module_of(file, text, {"math": math, "cuda": cuda, "float64": float64})
    return names["kernel"], text


def verdict(seed: int) -> str:
    """"ok", or what is wrong with the adjoint of a kernel."""
    function, _ = function_of(seed)
    rng = np.random.default_rng(seed)
    args = [rng.normal(size=8), rng.normal(size=8), rng.normal(size=8), rng.normal(size=3), rng.integers(0, 4, 8), STEPS]
    names = ("x", "z", "y", "w")
    copies = lambda: [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    k = kernel(function)
    with watching() as watch:
        try:
            pullback = k.vjp[GRID, BLOCK](*copies())
        except AutodiffError as error:
            return f"refused: {error.problem}"
        seeds = {name: rng.normal(size=args[j].shape) for j, name in enumerate(names) if j in k.latest.writes}
        found = pullback(**seeds)
    if watch.found:
        return watch.report()

    def loss(j, moved) -> float:
        given = copies()
        given[j] = moved
        k[GRID, BLOCK](*given)
        return sum(float(np.sum(bar * given[names.index(name)])) for name, bar in seeds.items())
    for j, name in enumerate(names):
        if name in found:
            direction = rng.normal(size=args[j].shape)
            slope = float(np.sum(direction * found[name]))
            near = [(loss(j, args[j] + h * direction) - loss(j, args[j] - h * direction)) / (2.0 * h)
                    for h in (1e-6, 1e-5, 1e-7)]
            unsure = 1e-5 * max(1.0, abs(slope)) + abs(near[1] - near[0])       # a kink, or rounding of large numbers
            if min(abs(slope - other) for other in near) > unsure:
                return f"wrong: {name} {slope} {near}"
    return "ok"


def main(first: int, end: int) -> None:
    counts: Counter = Counter()
    for seed in range(first, end):
        found = verdict(seed)
        counts[found.partition(":")[0]] += 1
        if found != "ok":
            print(seed, found, flush=True)
    print(dict(counts))


if __name__ == "__main__":
    numbers = [int(a) for a in sys.argv[1:]]
    if len(numbers) == 1:
        written, text = function_of(numbers[0])
        print(text, verdict(numbers[0]), sep="\n")
    else:
        main(*numbers)
