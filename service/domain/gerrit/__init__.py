"""Gerrit: changes, events, comment commands and the wording that Gerrit itself uses."""
