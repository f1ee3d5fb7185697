"""Calls of compiled functions: binding, guards, the fast path, results in given arrays, pickling, errors that leave."""
