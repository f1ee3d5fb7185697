"""`python -m tests.wild.other_tests FOLDER ...`: the tests of the package `autograd`, run on this compiler by pytest.

A refusal is an AutodiffError, or a LinAlgError that asks for another dtype; a wrong number a comparison that fails; whatever
else is raised, a crash. Tests of that package's internals are not counted.
"""

from __future__ import annotations

import os
import sys
from collections import Counter

import numpy as np
import pytest

from autodiff import AutodiffError, InternalError

from .autograd_shim import install

OWN = {                                 # tests of what is that package's own, and why
    "test_make_diagonal": "a function of its NumPy", "test_diagonal": "a function of its NumPy",
    "test_pinv": "names of its NumPy", "test_custom_where": "its where()", "test_custom_where_dtypes": "its where()",
    "test_scalar_array_box_attributes": "its numbers have a shape", "test_wrapped_name_and_docs": "its docstrings",
    "test_rfftn_odd_not_implemented": "what it refuses", "test_assignment_raises_error": "what it refuses",
    "test_convolve_generalization": "axes of its convolve()", "test_convolve_ignore": "axes of its convolve()",
    "test_convolve_ignore_dot": "axes of its convolve()"}


class Classes:
    """Which tests are right, refused, wrong, crash, or are not counted."""

    def __init__(self):
        self.counts: Counter = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.when == "call" or call.excinfo is not None:
            error, own = call.excinfo and call.excinfo.value, OWN.get(item.originalname)
            said = "not counted" if own else self.kind(error)
            self.counts[said] += 1
            if said != "right":
                text = own or getattr(error, "problem", None) or str(error).partition("\n")[0]
                print(f"\n{said:12} {item.nodeid}: {type(error).__name__ if error else ''} {text}", flush=True)
        return report

    @staticmethod
    def kind(error) -> str:
        if error is None:
            return "right"
        if isinstance(error, pytest.skip.Exception):
            return "not counted"
        if isinstance(error, AssertionError):                 # a GradientMismatch too
            return "wrong"
        known = isinstance(error, AutodiffError) and not isinstance(error, InternalError)
        return "refused" if known or isinstance(error, np.linalg.LinAlgError) else "crash"


def main() -> int:
    install()
    classes = Classes()
    pytest.main(["-q", "-s", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:warnings", "-c",
                 os.devnull, *sys.argv[1:]], plugins=[classes])
    print(", ".join(f"{n} {kind}" for kind, n in classes.counts.most_common()))
    return int(bool(classes.counts["wrong"] or classes.counts["crash"]))


if __name__ == "__main__":
    sys.exit(main())
