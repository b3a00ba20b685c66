"""The machine plane's database access: stored functions only, no table."""
