"""Plan launches of programs, and read what they measured."""
