"""Read settings from environment variables; only the outermost code does."""
