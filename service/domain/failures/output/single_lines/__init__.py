"""Recognise failures by single lines of a log."""
