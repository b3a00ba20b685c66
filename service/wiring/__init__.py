"""Composition roots: the only modules that choose concrete adapters."""
