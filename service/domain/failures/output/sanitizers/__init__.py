"""Read sanitizer reports and the stacks in them."""
