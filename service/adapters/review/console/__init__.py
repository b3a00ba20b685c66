"""The console review server: a local replacement of Gerrit that follows Gerrit's rules."""
