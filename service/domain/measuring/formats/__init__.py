"""Read results of benchmark programs: Google Benchmark's files, and other libraries' converted to them."""
