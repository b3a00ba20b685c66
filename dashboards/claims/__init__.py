"""Pages of claims."""
