"""Intake: Gerrit events and reports of other CI systems."""
