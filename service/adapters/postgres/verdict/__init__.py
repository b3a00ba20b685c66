"""Store samples, comparisons and series."""
