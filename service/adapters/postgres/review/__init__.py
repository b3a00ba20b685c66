"""Store changes, comments and who sees them."""
