"""Sentences and next steps about builds."""
