"""Results of test programs."""
