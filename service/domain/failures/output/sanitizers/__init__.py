"""Reports of sanitizers, and the stacks in them."""
