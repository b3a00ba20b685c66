"""The servers and processes of an installation on one machine."""
