"""Google Benchmark result files."""
