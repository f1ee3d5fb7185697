"""Lists, dicts, records: of known length, of a length of the run, growing, shared between names."""
