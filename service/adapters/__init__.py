"""Adapters: each module implements a port over one external system."""
