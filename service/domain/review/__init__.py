"""Gerrit: changes, events, comment commands, and the text of Gerrit's own messages."""
