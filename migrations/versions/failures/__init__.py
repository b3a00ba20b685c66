"""Migrate failures, logs and the hosts that builds run on."""
