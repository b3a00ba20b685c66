"""Failures of builds: where they are in a log, and which are the same."""
