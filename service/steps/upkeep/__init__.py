"""Upkeep: lost tasks, unresponsive machines and failed steps."""
