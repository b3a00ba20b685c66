"""The form by which people change a known failure."""
