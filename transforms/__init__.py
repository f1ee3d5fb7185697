"""The compiler: pure functions from programs to programs, one pass a file."""
