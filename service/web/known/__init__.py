"""The forms by which people change a known failure, or add one by a pattern."""
