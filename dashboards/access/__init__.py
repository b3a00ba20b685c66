"""Pages about accounts and the audit log."""
