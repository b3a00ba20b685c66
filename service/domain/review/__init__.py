"""Review: changes, events, votes, and the commands and comments on a change."""
