"""What generated code calls, and how generated code is stored and compiled."""
