"""Building on a machine: the sources of a revision, its build commands, and the binaries that they leave."""
