"""Infer a verdict from pairs: estimate, randomisation test, interim looks."""
