"""Numbers: dtypes and casts, Python's and NumPy's integers, complex numbers as pairs, errors of `math`."""
