"""Artifacts of machines over HTTP."""
