"""Migrate sign-in, tokens, the audit log, visibility, and acting on pages."""
