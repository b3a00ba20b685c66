"""Resolve the repositories that a project is made of."""
