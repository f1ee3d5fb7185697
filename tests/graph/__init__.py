"""The graph face: every numbered behaviour of docs/graph.md has the test `test_s<number>_…`."""
