"""Decide from pairs whether a benchmark got slower, faster or stayed the same."""
