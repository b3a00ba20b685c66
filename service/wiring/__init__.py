"""The composition roots: the only modules that name concrete adapters."""
