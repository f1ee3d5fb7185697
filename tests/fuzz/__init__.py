"""Random programs, compared with NumPy and with differences: see docs/testing.md. Run: `python -m tests.fuzz --help`."""
