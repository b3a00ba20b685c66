"""Read-only queries for pages and the HTTP API."""
