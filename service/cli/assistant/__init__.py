"""Answer the questions of a language model about a Benchgate server, by its HTTP API."""
