"""Deciding: from executed builds to the vote."""
