"""Communication with reviewers: comment commands, overrides and delivery of reviews."""
