"""Statistical inference: the randomisation test, interim looks and verdicts."""
