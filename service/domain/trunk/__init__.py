"""Judge what happened to a branch after the merge: which commits made it slower, and why they got in."""
