"""Migrate the database schema."""
