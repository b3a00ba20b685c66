"""Commands that start the service or one part of it."""
