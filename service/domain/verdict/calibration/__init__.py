"""Calibration: comparisons of a program with itself, their schedule and their meaning for votes."""
