"""Benchgate's side of Gerrit's Checks tab: runs, their results, and their form."""
