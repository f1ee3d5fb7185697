"""Loops: what an iteration hands to the next, iterators, generators, comprehensions."""
