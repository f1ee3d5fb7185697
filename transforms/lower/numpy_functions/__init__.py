"""The functions of NumPy and SciPy whose meaning is written here, the others being definitions in `autodiff/rules/`."""
