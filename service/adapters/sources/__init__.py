"""Fetch what a build needs: Git repositories and pinned downloads."""
