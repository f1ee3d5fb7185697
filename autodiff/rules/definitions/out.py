"""The argument `out=` of definitions."""


def stored(out, result):
    """The result, put into `out` where one is given."""
    if out is None:
        return result
    out[...] = result
    return out
