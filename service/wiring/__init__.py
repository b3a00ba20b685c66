"""The composition roots: the only modules that choose concrete adapters."""
