"""From Python's syntax tree to the core language by abstract interpretation: names, types, views and array
expressions are settled here, so that everything after handles only scalars, loops and buffers."""
