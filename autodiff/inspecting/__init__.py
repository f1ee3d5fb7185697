"""Looking inside: the tape and its size, and where a gradient comes from."""
