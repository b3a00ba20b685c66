"""Render messages as a phone shows them, for the documents."""
