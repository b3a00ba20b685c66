"""Runs, builds and decisions."""
