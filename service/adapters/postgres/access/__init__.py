"""Store sessions, tokens and the audit log."""
