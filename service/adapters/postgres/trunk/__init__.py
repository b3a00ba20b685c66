"""Store regressions, and read them as a viewer sees them."""
