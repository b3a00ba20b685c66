"""Read benchgate.yaml, and write its first version for a project."""
