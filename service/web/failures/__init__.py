"""Take the forms that change a known failure or add one by a pattern."""
