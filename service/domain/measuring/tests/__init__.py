"""Read results of test programs."""
