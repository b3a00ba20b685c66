"""Upkeep: lost hints, silent machines and failed steps."""
