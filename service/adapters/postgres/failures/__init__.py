"""Store failures, known failures and their matches."""
