"""Describe the project file for editors."""
