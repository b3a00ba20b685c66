"""Execute claimed builds on a machine."""
