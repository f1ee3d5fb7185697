"""Passes from programs to programs that compute the same with fewer operations, loops and buffers."""
