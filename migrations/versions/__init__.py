"""Revisions, sorted by time."""
