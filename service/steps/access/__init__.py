"""Use cases of access: sign-in, API tokens, visibility and the audit log."""
