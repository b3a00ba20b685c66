"""The project file benchgate.yaml and the builds planned from it."""
