"""Decisions: build states, outcomes, overrides, the vote and its message."""
