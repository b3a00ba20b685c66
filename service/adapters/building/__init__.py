"""Build untrusted sources in a sandbox and keep what was built."""
