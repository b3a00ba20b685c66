"""Access over HTTP: who calls, and what a caller may do."""
