"""Programs by several tools: fresh processes that take turns; medians, spread, and agreement of the gradients."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import numpy as np

from . import tools
from .suite import Benchmark

ENVIRONMENT = {
    # One allocator for all: page faults of fresh results alone can double a time.
    "MALLOC_TRIM_THRESHOLD_": str(1 << 33), "MALLOC_MMAP_THRESHOLD_": str(1 << 33), "MALLOC_TOP_PAD_": str(1 << 26),
    "PYTHONHASHSEED": "0",
}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1",
              "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}


@dataclass
class Timing:
    """Seconds of one tool: median, quartiles, first call; `peak`: MiB of the process; `error` if it did not run."""

    times: list = field(default_factory=list)
    first: float = float("nan")
    peak: float = float("nan")
    note: str = ""
    error: str = ""
    apart: float = 0.0          # largest distance of its results from ours, relative

    @property
    def median(self) -> float:
        return float(np.median(self.times)) if self.times else float("nan")

    @property
    def spread(self) -> float:
        """Distance of the quartiles by the median."""
        low, high = np.percentile(self.times, [25, 75])
        return float((high - low) / self.median)


class Worker:
    def __init__(self, program: Benchmark, tool: str, tiny: bool, threads: int, folder: str):
        self.results = os.path.join(folder, f"{tool.replace(' ', '_')}.npz")
        # What a user of ours stores is not what a first call is measured by.
        environment = {**os.environ, **ENVIRONMENT, **(ONE_THREAD if threads == 1 else {}),
                       "AUTODIFF_CACHE_DIR": os.path.join(folder, "store")}
        command = [*one_core(threads), sys.executable, "-m", f"{__package__}.worker", program.name, tool,
                   "tiny" if tiny else "full", str(threads), self.results]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)
        self.timing = Timing(**self.answer())
        if not self.timing.error:
            with np.load(self.results) as found:
                self.values = [found[k] for k in found.files]

    def answer(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": self.process.stderr.read()[-300:]}

    def ask(self, text: str):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self) -> Timing:
        if not self.timing.error:
            self.timing.peak = self.ask("peak")
        self.process.stdin.close()
        self.process.wait()
        return self.timing


def one_core(threads: int) -> list[str]:
    from shutil import which
    return ["taskset", "-c", str(max(os.sched_getaffinity(0)))] if threads == 1 and which("taskset") else []


def compare(program: Benchmark, names, tiny=False, rounds=9, threads=1) -> dict[str, Timing]:
    """Timings by tool. A tool whose gradients are not ours has an error instead."""
    with tempfile.TemporaryDirectory() as folder:
        workers = {n: Worker(program, n, tiny, threads, folder) for n in names if tools.runs_with(program, n)}
        going = {n: w for n, w in workers.items() if not w.timing.error}
        for _ in range(rounds):
            for worker in going.values():
                worker.timing.times.append(worker.ask("0.001" if tiny else "0.03"))
        timings = {n: w.close() for n, w in workers.items()}
    if "ours" in going:
        for name, worker in going.items():
            if name not in ("primal", "ours"):
                worker.timing.apart = distance(worker.values, going["ours"].values)
                if worker.timing.apart > 1e-8:
                    worker.timing.error = f"its gradients differ from ours by {worker.timing.apart:.1e}"
    return timings


def distance(found, wanted) -> float:
    """ADBench's measure, the largest |a - b| / max(1, |a| + |b|)."""
    return max(float(np.max(np.abs(a - b) / np.maximum(1.0, np.abs(a) + np.abs(b)), initial=0.0))
               for a, b in zip(found, wanted, strict=True))
