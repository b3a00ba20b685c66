"""Failures: why a build failed, the signatures of failures, and known failures."""
