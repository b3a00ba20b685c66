"""Authentication, authorisation and the audit log."""
