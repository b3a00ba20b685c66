"""The servers and processes of an installation that lives on one machine."""
