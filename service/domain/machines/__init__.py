"""Machines: the environment and whether it is fit for measuring."""
