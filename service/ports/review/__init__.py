"""Review servers and changes."""
