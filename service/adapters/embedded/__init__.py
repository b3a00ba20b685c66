"""Start and stop the servers of an installation on one machine."""
