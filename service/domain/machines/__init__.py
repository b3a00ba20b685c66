"""Machines: their environment, connections, mounts and fitness for measuring."""
