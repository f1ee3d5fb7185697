"""The request to know a value before the program runs."""


class NeedsStatic(Exception):
    """A value must be known before the program runs; unrolling the loop around may provide it."""

    def __init__(self, error, value=None):
        self.error, self.value = error, value
