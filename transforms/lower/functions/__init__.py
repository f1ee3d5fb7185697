"""Functions: names and activations, calls that are inlined and calls that stay, recursion, what is read from outside."""
