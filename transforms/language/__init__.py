"""The core language: nodes, operations, building, what may meet and move, errors."""
