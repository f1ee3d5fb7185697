"""Statements and expressions: what each kind of node means, branches and what they leave, exceptions, texts."""
