"""The project file benchgate.yaml: its jobs, their configuration, and a first version of it."""
