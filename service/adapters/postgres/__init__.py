"""PostgreSQL, the only place that remembers."""
