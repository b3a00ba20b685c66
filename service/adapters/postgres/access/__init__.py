"""Sessions, tokens and the audit log in PostgreSQL."""
