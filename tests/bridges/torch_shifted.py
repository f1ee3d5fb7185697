"""A function that another process compiles with another number outside; see `test_torch_compile.py`."""

SHIFT = 0.0


def shifted(x):
    return (x + SHIFT) ** 2
