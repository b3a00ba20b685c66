"""Jobs of kind external: another CI runs them and reports the result."""
