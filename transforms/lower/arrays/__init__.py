"""Arrays: expressions by element, views, subscripts, memory, and writes by NumPy's rules of aliasing."""
