"""Functions of numbers for generated code, in plain Python and inside compiled code."""
