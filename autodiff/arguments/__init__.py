"""What may be an argument: kinds, structures of leaves, long lists as arrays, sparse matrices."""
