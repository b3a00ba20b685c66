"""Compare recorded result files."""
