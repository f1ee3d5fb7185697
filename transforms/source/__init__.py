"""The text of the user's function: where it is, whether it is the code that is loaded, what it may be given."""
