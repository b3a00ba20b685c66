"""Gerrit as the review server: REST for changes and reviews, SSH for events."""
