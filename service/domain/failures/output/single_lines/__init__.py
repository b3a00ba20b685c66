"""Failures that one line of a log names, and the words for signals in it."""
