"""Functions of NumPy that are nodes by the compiler run as Python here; `test_compiled.py` has machine code made of some."""

import pytest

from autodiff.graph import compiled


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    monkeypatch.setattr(compiled, "LIBRARY_MODE", "python")
