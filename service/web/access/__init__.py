"""Identify callers and check what each may do."""
