"""Show what happened to branches after the merge."""
