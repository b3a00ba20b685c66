"""Triage: known failures, and the evidence about signatures."""
