"""Options of the test run."""

import os
import tempfile

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")          # before anything imports numba.cuda; a GPU's tests set it to 0

if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):         # the processes that tests start have the bytecode of the first
    _bytecode = tempfile.TemporaryDirectory()
    os.environ["PYTHONPYCACHEPREFIX"] = _bytecode.name


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files from what is found")
