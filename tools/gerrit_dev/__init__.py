"""Run a real Gerrit on loopback, with accounts, a project and a label, for tests and experiments."""
