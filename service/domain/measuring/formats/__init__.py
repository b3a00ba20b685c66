"""Results of benchmark programs: Google Benchmark's files, and those of other libraries turned into them."""
