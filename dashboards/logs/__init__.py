"""The logs of builds: their page, and their text."""
