"""Run notebooks, so that what they show cannot fail: `python .ci/notebook.py NOTEBOOK.ipynb PAGE.md ...`.

Their code cells, or the blocks of a page fenced as ```ipython, run in order in an IPython shell of their own process, in
an empty directory, without a kernel or a browser. The exit status is 1 if a cell failed; then what was printed is shown.
Outputs are not stored: a notebook in the repository has none.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS = 600


def cells_of(path):
    """The texts of the code cells of a notebook or page. Raises ValueError where there are none, or outputs are stored."""
    if path.suffix == ".md":
        found = re.findall(r"^```ipython\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        if not found:
            raise ValueError(f"{path} has no cells")
        return found
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    if any(cell["outputs"] or cell["execution_count"] for cell in cells):
        raise ValueError(f"{path} holds outputs: clear them")
    return ["".join(cell["source"]) for cell in cells]


def run_here(path):
    """Run the cells of a notebook in this process; whether all went well."""
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    for number, text in enumerate(cells_of(path), 1):
        if not shell.run_cell(text, store_history=True).success:
            print(f"{path}: cell {number} of the code cells failed")
            return False
    return True


def run(path):
    """Run a notebook in a process of its own; whether all went well."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run([sys.executable, Path(__file__).resolve(), "--here", path.resolve()], cwd=directory,
                              timeout=SECONDS, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(f"{path}: {'passed' if done.returncode == 0 else 'FAILED'} in {time.perf_counter() - began:.1f} s")
    if done.returncode:
        print(done.stdout)
    return done.returncode == 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        sys.exit(not run_here(Path(sys.argv[2])))
    failed = [name for name in sys.argv[1:] if not run(Path(name))]
    sys.exit(bool(failed))
