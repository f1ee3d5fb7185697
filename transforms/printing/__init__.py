"""Programs as Python text."""
