"""How generated code is compiled, stored and loaded."""
