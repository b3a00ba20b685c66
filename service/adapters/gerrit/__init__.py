"""Gerrit as the review server: REST for the truth, SSH for its events."""
