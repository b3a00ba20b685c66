"""Failures: found in output, identified by signatures, and triaged as known or intermittent."""
