"""Options of the test run."""

import os

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")          # before anything imports numba.cuda; a GPU's tests set it to 0


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files from what is found")
