"""Jobs of kind benchmark: build both sides, measure them in pairs, compare."""
