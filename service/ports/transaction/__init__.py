"""The parts of a unit of work: Protocols of what steps read and write."""
