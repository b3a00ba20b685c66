"""Use cases of access: sign-in and the audit log."""
