"""Migrations for failures, known failures, logs and hosts."""
