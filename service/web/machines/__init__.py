"""Receive what operators do with machines on the pages."""
