"""The console review server: stands in for Gerrit, with Gerrit's rules, over a local repository."""
