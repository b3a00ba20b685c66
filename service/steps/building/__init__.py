"""Build the sources of a revision on a machine, and keep its programs."""
