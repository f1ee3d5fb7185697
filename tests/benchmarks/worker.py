"""A process for one program and one tool. It reads a line and answers with a line, so that tools can take turns.

Environment is set by the parent: one core, fixed thresholds of the allocator, one thread for every library.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys

import numpy as np

from . import tools


def main() -> None:
    name, tool, size, threads, results = sys.argv[1:6]
    from .suite import BENCHMARKS
    out, sys.stdout = sys.stdout, sys.stderr            # answers only on the real output
    try:
        made = tools.make(BENCHMARKS[name], tool, size == "tiny", int(threads))
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {str(error)[:300]}"}), file=out, flush=True)
        return
    np.savez(results, *tools.numbers(made.result))
    print(json.dumps({"first": made.first, "note": made.note}), file=out, flush=True)
    for line in sys.stdin:
        if line.strip() == "peak":
            answer = peak_memory()
        else:
            answer = tools.seconds_of(made.call, float(line))
        print(json.dumps(answer), file=out, flush=True)


def peak_memory() -> float:
    """MiB. What `getrusage` tells includes the parent's memory from before `exec`."""
    with contextlib.suppress(OSError), open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024.0 for line in status if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


if __name__ == "__main__":
    main()
