"""Show known failures."""
