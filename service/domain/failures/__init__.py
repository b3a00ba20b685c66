"""Failures: why a build failed, and the signatures of failures."""
