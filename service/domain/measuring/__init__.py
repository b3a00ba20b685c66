"""Measuring: the order of launches, repetitions, raw records and instruction counts."""
