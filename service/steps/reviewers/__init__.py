"""Reviewers: comment commands, overrides and delivery of reviews."""
