"""Decide what a build, a run and a patch set come to: outcomes, overrides, the vote."""
