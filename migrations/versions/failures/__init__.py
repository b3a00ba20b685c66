"""The migrations of failures, logs and the hosts on which builds run."""
