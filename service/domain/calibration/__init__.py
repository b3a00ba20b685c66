"""Calibration: when to measure a program against itself, and what the results permit."""
