"""Building: what to build, the cache key of a binary, and compiler errors."""
