"""Receive builds that other CIs run."""
