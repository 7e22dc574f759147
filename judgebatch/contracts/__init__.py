"""The tables: input, output and state; one schema each, with its version."""
