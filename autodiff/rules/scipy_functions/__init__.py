"""Functions of SciPy, written with supported ones. A file is loaded when a program first calls something of its module."""
