"""Levels of a series: its change along the commits of a branch."""
